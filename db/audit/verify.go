package audit

import (
	"crypto/hmac"
	"fmt"
	"slices"
)

// Fault is what is wrong with a log: the first row that does not fit and why.
type Fault struct {
	Seq int64  `json:"seq"` // the row, as it should be numbered
	Msg string `json:"what"`
}

func (f *Fault) Error() string { return fmt.Sprintf("row %d: %s", f.Seq, f.Msg) }

// Verifier checks a log row by row, in the order of its rows. It holds one hash, not the log: a million rows need no
// more memory than one. The zero value starts at the first row; it is for one goroutine.
//
// Its rules: numbers are dense from 1; a row's prev is the hash of the row before, "" for the first; a row's hash is the
// seal of its prev and body; its body reads back and names the same number. Once a row is keyed, every later one is: a
// log does not fall back to no key. Another key may follow a key.
type Verifier struct {
	Keys    Keys
	Anchors []Anchor // of this log, in any order

	count     int64
	head      string
	first     int64 // rows before it were not looked at
	keyedFrom int64
	unkeyed   int64            // rows without a key
	missing   map[string]int64 // keys that rows were sealed with and that are not here, with the first such row
	fault     *Fault
	due       []Anchor // ascending; those up to count are dropped
	sorted    bool
	checked   int
	fitted    int64 // the count of the newest anchor that fits
}

// From starts behind a row: what stands before it is not looked at, but the next row has to follow it.
func (v *Verifier) From(count int64, head string) {
	v.count, v.head, v.first = count, head, count
	v.sort()
	v.checkAnchors()
}

// Add takes the next row. It returns the fault once there is one; what comes after it is not looked at.
func (v *Verifier) Add(l Link) *Fault {
	if v.fault != nil {
		return v.fault
	}
	v.sort()
	if msg := v.check(l); msg != "" {
		v.fault = &Fault{v.count + 1, msg}
		return v.fault
	}
	v.count++
	v.head = l.Hash
	v.checkAnchors()
	return v.fault
}

// check says what is wrong with the row that should be number count+1.
func (v *Verifier) check(l Link) string {
	want := v.count + 1
	switch {
	case l.Seq > want+1:
		return fmt.Sprintf("rows %d to %d are missing", want, l.Seq-1)
	case l.Seq == want+1:
		return "it is missing"
	case l.Seq < want:
		return fmt.Sprintf("a row numbered %d stands in its place", l.Seq)
	}
	e, err := Parse(l.Body)
	switch {
	case err != nil:
		return err.Error()
	case e.Seq != want:
		return fmt.Sprintf("its content is that of row %d: it was moved or put in", e.Seq)
	case l.Prev != v.head && v.count == 0:
		return "it claims a row before it, and it is the first"
	case l.Prev != v.head:
		return fmt.Sprintf("it does not follow row %d: one of the two was changed or replaced", v.count)
	case l.Copy != nil && !l.Copy.of(e):
		return "the columns that rows are found by differ from its content"
	}
	return v.checkSeal(l)
}

// checkSeal says what is wrong with a row's hash.
func (v *Verifier) checkSeal(l Link) string {
	id := SealedBy(l.Hash)
	if id == "" && v.keyedFrom != 0 {
		return fmt.Sprintf("it was written without the key, and rows are keyed from row %d on", v.keyedFrom)
	}
	key, known := v.Keys[id]
	switch {
	case id == "":
		v.unkeyed++
	case v.keyedFrom == 0:
		v.keyedFrom = l.Seq
	}
	if id != "" && !known {
		if v.missing == nil {
			v.missing = map[string]int64{}
		}
		if _, seen := v.missing[id]; !seen {
			v.missing[id] = l.Seq
		}
		return ""
	}
	if !hmac.Equal([]byte(Seal(key, l.Prev, l.Body)), []byte(l.Hash)) {
		return "its content is not what was written: the hash differs"
	}
	return ""
}

func (v *Verifier) sort() {
	if v.sorted {
		return
	}
	v.sorted = true
	v.due = slices.Clone(v.Anchors)
	slices.SortStableFunc(v.due, func(a, b Anchor) int { return int(min(1, max(-1, a.Count-b.Count))) })
}

// checkAnchors holds the log so far against the anchors over as many rows.
func (v *Verifier) checkAnchors() {
	for len(v.due) > 0 && v.due[0].Count <= v.count && v.fault == nil {
		a := v.due[0]
		v.due = v.due[1:]
		if a.Count < v.count { // of rows that were not looked at
			continue
		}
		if a.Head != v.head {
			v.fault = &Fault{v.fitted + 1, fmt.Sprintf("rows %d to %d are not those that the anchor of %s was made over: at least one was replaced", v.fitted+1, a.Count, a.when())}
			return
		}
		v.checked++
		v.fitted = a.Count
	}
}

// Verdict is what a verification comes to.
type Verdict string

// The verdicts. Of several that hold the first in this order is given: altered, short, unverifiable, intact.
const (
	Intact       Verdict = "intact"
	Altered      Verdict = "altered"      // see Fault
	Unverifiable Verdict = "unverifiable" // a key is missing, or no row carries the one that was given
	Short        Verdict = "short"        // rows that an anchor was made over are gone
)

// Report is the end of a verification.
type Report struct {
	Verdict Verdict `json:"verdict"`
	Fault   *Fault  `json:"fault,omitempty"` // of an altered log
	Msg     string  `json:"message"`         // one sentence
	Rows    int64   `json:"rows"`            // up to which the log was looked at
	Head    string  `json:"head"`            // hash of the last one
	// Before is how many rows were not looked at, because they stand in segments that were not given.
	Before int64 `json:"rows_not_given,omitempty"`
	// KeyedFrom is the first keyed row, 0 when none is. Rows before it are vouched for only by what follows.
	KeyedFrom int64 `json:"keyed_from,omitempty"`
	// Anchors counts those that fit, Anchored is the rows that the newest of them covers.
	Anchors  int   `json:"anchors"`
	Anchored int64 `json:"anchored"`
	// Blind lists what this verification cannot notice.
	Blind []string `json:"cannot_notice"`
}

// Report says what came out, after the last row.
func (v *Verifier) Report() Report {
	v.sort()
	if v.count == 0 {
		v.checkAnchors()
	}
	r := Report{
		Verdict: Intact, Fault: v.fault, Rows: v.count, Head: v.head, Before: v.first, KeyedFrom: v.keyedFrom, Anchors: v.checked, Anchored: v.fitted,
		Msg: fmt.Sprintf("%d rows, every one follows the one before", v.count-v.first),
	}
	switch {
	case v.fault != nil:
		r.Verdict, r.Msg = Altered, v.fault.Error()
	case len(v.due) > 0:
		a := v.due[len(v.due)-1]
		r.Verdict, r.Msg = Short, fmt.Sprintf("the log has %d rows, and the anchor of %s was made over %d: rows were cut off, or the whole log was replaced", v.count, a.when(), a.Count)
	case len(v.missing) > 0:
		r.Verdict, r.Msg = Unverifiable, v.Unchecked()
	case len(v.Keys) > 0 && v.keyedFrom == 0 && v.count > v.first:
		r.Verdict = Unverifiable
		r.Msg = "no row was written with the key that was given: it was never used here, or the whole log was replaced without it; an anchor tells which"
	case v.first > 0 && v.fitted < v.first:
		r.Verdict = Unverifiable
		r.Msg = fmt.Sprintf("rows 1 to %d stand in segments that were not given, and no anchor was made over them", v.first)
	}
	r.Blind = v.blind()
	return r
}

// Unchecked says which rows' contents were not checked because a key is missing, "" when none were passed over.
func (v *Verifier) Unchecked() string {
	if len(v.missing) == 0 {
		return ""
	}
	first, id := int64(0), ""
	for k, seq := range v.missing {
		if first == 0 || seq < first {
			first, id = seq, k
		}
	}
	return fmt.Sprintf("from row %d on rows are sealed with the key %s, which was not given; numbers and links fit, contents were not checked", first, id)
}

// blind lists what cannot be noticed from what was given.
func (v *Verifier) blind() []string {
	var out []string
	back := ""
	if v.fitted > 0 {
		back = fmt.Sprintf(", back to row %d, the last that an anchor covers", v.fitted)
	}
	switch {
	case v.keyedFrom == 0:
		out = append(out, "without a key: whoever can write the store can rewrite rows and every hash after them"+back)
	case v.unkeyed > 0:
		out = append(out, fmt.Sprintf("rows before %d were written without a key: a log that was written anew up to there, before the key went on with it, looks the same", v.keyedFrom))
	}
	if v.keyedFrom != 0 {
		out = append(out, "whoever can read the key and write the store can rewrite rows"+back)
	}
	if behind := v.count - v.fitted; v.fitted == 0 {
		out = append(out, "without an anchor: rows cut off at the end, however many")
	} else if behind > 0 {
		out = append(out, fmt.Sprintf("rows cut off after row %d, the last that an anchor covers", v.fitted))
	}
	return append(out, "a row that was false when it was written, and what ran outside tillerman")
}
