package audit

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// AnchorEvery is how many rows may pass without an anchor: a run writes a few rows a step, so a run of a day that loses
// its end loses less than about a hundred steps of evidence, and one small write in a thousand rows costs nothing.
const AnchorEvery = 1000

// Anchor says how long a log was at a time, and what its last row was. Kept where the log's writer cannot change it, it
// makes a cut end and a rewrite of the whole log noticeable.
type Anchor struct {
	Format int    `json:"format"` // 1
	Store  string `json:"store"`  // the store's file; tells logs apart whose anchors stand in one file
	Count  int64  `json:"count"`  // rows
	Head   string `json:"head"`   // hash of the last one
	At     int64  `json:"at"`     // ms since the epoch
	Key    string `json:"key,omitempty"`
	// Signature is an HMAC-SHA-256 over all of the above, with the key that Key names; "" without a key.
	Signature string `json:"signature,omitempty"`
}

// anchorFormat leads what is signed.
const anchorFormat = "tillerman audit anchor 1"

// Signed is the anchor with its signature; without a key it stays unsigned.
func (a Anchor) Signed(key []byte) Anchor {
	a.Format, a.Key, a.Signature = 1, KeyID(key), ""
	if a.Key != "" {
		a.Signature = a.signature(key)
	}
	return a
}

func (a Anchor) signature(key []byte) string {
	e := Entry{Action: anchorFormat, Target: a.Store, Seq: a.Count, Digest: a.Head, At: a.At, Note: a.Key}
	return Hash(key, anchorFormat, e.Canonical())
}

// when is the anchor's time for people, in UTC: who verifies may sit elsewhere.
func (a Anchor) when() string { return time.UnixMilli(a.At).UTC().Format("2006-01-02 15:04:05 UTC") }

// Line is the anchor as one line of JSON with its newline, as it stands in files and is given to commands.
func (a Anchor) Line() []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(a); err != nil { // strings and numbers always encode
		return nil
	}
	return b.Bytes()
}

// maxLine bounds a line of a file of anchors.
const maxLine = 64 << 10

// ErrAnchor says that a file of anchors holds something else.
var ErrAnchor = errors.New("not an audit anchor")

// ReadAnchors reads a file of anchors, one a line. Empty lines are skipped, and so are those of zero bytes and those that only
// begin as an anchor does: a full disk or a crash cut them off. cut counts them; leaving them out gives nothing away, because whoever could
// cut a line could remove it. Any other line that is no anchor is an error that names it, with ErrAnchor.
func ReadAnchors(r io.Reader) (out []Anchor, cut int, err error) {
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, maxLine)
	n := 0
	for sc.Scan() {
		n++
		switch {
		case len(bytes.TrimSpace(sc.Bytes())) == 0:
			continue
		case len(bytes.Trim(sc.Bytes(), "\x00")) == 0: // a crash before the disk had it can leave zeros
			cut++
			continue
		}
		a, err := parseAnchor(sc.Bytes())
		if errors.Is(err, io.ErrUnexpectedEOF) && bytes.HasPrefix(sc.Bytes(), anchorBegins[:min(len(anchorBegins), len(sc.Bytes()))]) {
			cut++
			continue
		}
		if err != nil {
			return out, cut, fmt.Errorf("line %d: %w", n, err)
		}
		out = append(out, a)
	}
	if err := sc.Err(); err != nil {
		return out, cut, fmt.Errorf("line %d: %w: %w", n+1, ErrAnchor, err)
	}
	return out, cut, nil
}

// anchorBegins is what every line of Anchor.Line begins with.
var anchorBegins = []byte(`{"format":1,"store":"`)

func parseAnchor(line []byte) (Anchor, error) {
	var a Anchor
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&a); err != nil {
		return a, fmt.Errorf("%w: %w", ErrAnchor, err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return a, fmt.Errorf("%w: more than one value", ErrAnchor)
	}
	switch {
	case a.Format != 1:
		return a, fmt.Errorf("%w: format %d is not known", ErrAnchor, a.Format)
	case a.Count < 1 || a.Head == "":
		return a, fmt.Errorf("%w: it names no row", ErrAnchor)
	case (a.Key == "") != (a.Signature == ""):
		return a, fmt.Errorf("%w: key and signature belong together", ErrAnchor)
	case SealedBy(a.Head) != "" && a.Key == "":
		return a, fmt.Errorf("%w: it is not signed, and the row it names is keyed", ErrAnchor)
	}
	return a, nil
}

// AnchorsFor picks the anchors of one store. When sure, that is when somebody named the anchors for this log, a file that
// holds those of a single other store is taken as this one's: a store may have been moved or copied.
func AnchorsFor(all []Anchor, store string, sure bool) []Anchor {
	var out []Anchor
	stores := map[string]bool{}
	for _, a := range all {
		stores[a.Store] = true
		if a.Store == store {
			out = append(out, a)
		}
	}
	if len(out) == 0 && sure && len(stores) == 1 {
		return all
	}
	return out
}

// CheckSignatures says which anchors were not made with the keys: one that was changed or forged is a *Fault of the row
// it names, one by a key that is not there an error that says so. An unsigned anchor is refused once keys are given and
// an earlier one is signed: whoever cannot sign must not be able to anchor.
func CheckSignatures(anchors []Anchor, keys Keys) error {
	signed := false
	var missing error
	for _, a := range anchors {
		key, known := keys[a.Key]
		switch {
		case a.Key == "" && signed:
			return &Fault{a.Count, fmt.Sprintf("the anchor of %s over it is not signed, and earlier ones are", a.when())}
		case a.Key == "":
		case !known:
			missing = fmt.Errorf("the anchor of %s is signed with the key %s, which was not given", a.when(), strings.ToValidUTF8(a.Key, "?"))
		case a.Signature != a.signature(key):
			return &Fault{a.Count, fmt.Sprintf("the anchor of %s over it was changed or forged: its signature does not fit", a.when())}
		}
		signed = signed || a.Key != ""
	}
	return missing
}
