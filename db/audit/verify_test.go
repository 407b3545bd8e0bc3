package audit

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
)

var (
	secret = []byte("thirty-two bytes that nobody has")
	theirs = []byte("another key, of whoever attacks.")
)

// written is a log of n rows as the store writes it.
func written(n int, key []byte) []Link {
	links := make([]Link, n)
	prev := ""
	for i := range links {
		e := whole()
		e.Seq, e.At, e.Target = int64(i+1), int64(1000+i), fmt.Sprintf("make %d", i)
		links[i] = sealed(e, prev, key)
		prev = links[i].Hash
	}
	return links
}

func sealed(e Entry, prev string, key []byte) Link {
	body := e.Canonical()
	return Link{Seq: e.Seq, Body: body, Prev: prev, Hash: Seal(key, prev, body)}
}

// resealed is what somebody who knows the format, and only the given key, can make of a log from row k on.
func resealed(links []Link, k int, key []byte) []Link {
	out := slices.Clone(links)
	prev := ""
	if k > 0 {
		prev = out[k-1].Hash
	}
	for i := k; i < len(out); i++ {
		e, err := Parse(out[i].Body)
		if err != nil {
			panic(err)
		}
		e.Seq = int64(i + 1)
		out[i] = sealed(e, prev, key)
		prev = out[i].Hash
	}
	return out
}

// anchored are anchors over a log at some of its rows.
func anchored(links []Link, key []byte, at ...int) []Anchor {
	var out []Anchor
	for _, n := range at {
		out = append(out, Anchor{Store: "/s", Count: int64(n), Head: links[n-1].Hash, At: int64(n)}.Signed(key))
	}
	return out
}

func verified(links []Link, keys Keys, anchors []Anchor) Report {
	v := Verifier{Keys: keys, Anchors: anchors}
	for _, l := range links {
		if v.Add(l) != nil {
			break
		}
	}
	return v.Report()
}

func TestUntouchedLogsAreIntact(t *testing.T) {
	for name, key := range map[string][]byte{"plain": nil, "keyed": secret} {
		links := written(100, key)
		r := verified(links, KeysOf(key), anchored(links, key, 1, 50, 100))
		if r.Verdict != Intact || r.Rows != 100 || r.Head != links[99].Hash || r.Anchors != 3 || r.Anchored != 100 {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if r := verified(nil, nil, nil); r.Verdict != Intact || r.Rows != 0 {
		t.Errorf("an empty log: %+v", r)
	}
}

// damage is one thing done to a log by somebody who has no key.
type damage struct {
	links    []Link
	at       int  // first row that is another one, from 0
	cut      bool // only rows at the end are gone
	appended bool // only rows at the end were put in, sealed without a key
	resealed bool // every hash from at on was made again, without a key
	exact    bool // the fault is to be found at that very row
}

// damaged does something at random to a log.
func damaged(r *rand.Rand, links []Link) (string, damage) {
	n := len(links)
	out := slices.Clone(links)
	at := r.IntN(n)
	edit := func(i int) Link {
		e, err := Parse(out[i].Body)
		if err != nil {
			panic(err)
		}
		texts := []*string{&e.Action, &e.User, &e.Surface, &e.Host, &e.Agent, &e.Act, &e.Target, &e.Rule, &e.Layer, &e.PolicyDigest, &e.Model, &e.Digest, &e.Decision, &e.Reason, &e.Note, &e.Version}
		numbers := []*int64{&e.At, &e.PID, &e.RunID, &e.Step, &e.Position, &e.RequestID}
		if i := r.IntN(len(texts) + len(numbers)); i < len(texts) {
			*texts[i] += "x"
		} else {
			*numbers[i-len(texts)]++
		}
		l := out[i]
		l.Body = e.Canonical()
		return l
	}
	switch r.IntN(10) {
	case 0:
		out[at] = edit(at)
		return "edit", damage{links: out, at: at, exact: true}
	case 1: // and its own hash
		out[at] = edit(at)
		out[at].Hash = Seal(nil, out[at].Prev, out[at].Body)
		return "edit and hash", damage{links: out, at: at, resealed: at == n-1}
	case 2:
		b := []byte(out[at].Hash)
		b[len(b)-1-r.IntN(64)] ^= 1
		out[at].Hash = string(b)
		return "other hash", damage{links: out, at: at, exact: true}
	case 3:
		out[at].Prev = out[r.IntN(n)].Hash
		return "other prev", damage{links: out, at: at, exact: true}
	case 4:
		k := 1 + r.IntN(min(5, n-at))
		return "delete", damage{links: slices.Delete(out, at, at+k), at: at, cut: at+k == n, exact: true}
	case 5:
		dup := out[r.IntN(n)]
		return "insert", damage{links: slices.Insert(out, at, dup), at: at}
	case 6:
		e := whole()
		e.Seq, e.Reason = int64(n+1), "never happened"
		return "append", damage{links: append(out, sealed(e, out[n-1].Hash, nil)), at: n, appended: true}
	case 7:
		other := (at + 1 + r.IntN(n-1)) % n
		out[at], out[other] = out[other], out[at]
		if r.IntN(2) == 0 { // and their numbers
			out[at].Seq, out[other].Seq = out[other].Seq, out[at].Seq
		}
		return "reorder", damage{links: out, at: min(at, other), exact: true}
	case 8:
		return "truncate", damage{links: out[:at], at: at, cut: true}
	}
	if r.IntN(4) == 0 {
		at = 0
	}
	out[at] = edit(at)
	return "rewrite", damage{links: resealed(out, at, nil), at: at, resealed: true}
}

// A log of a thousand rows is altered ten thousand times, each time by somebody who has no key. With key and anchors
// every alteration is noticed; with less, exactly those are not that docs/audit.md names.
func TestTenThousandAlterations(t *testing.T) {
	n := 10_000
	if testing.Short() {
		n = 500
	}
	const rows = 1000
	keyed, plain := written(rows, secret), written(rows, nil)
	keyAndAnchors := midway(keyed, KeysOf(secret), anchored(keyed, secret, 250, 500, 1000))
	key := midway(keyed, KeysOf(secret), nil)
	anchors := midway(plain, nil, anchored(plain, nil, 250, 500, 1000))
	neither := midway(plain, nil, nil)
	const seed = 41
	tally := map[string]int{}
	for i := range n {
		of := func(links []Link) (string, damage) { return damaged(rand.New(rand.NewPCG(seed, uint64(i))), links) }
		name, k := of(keyed)
		_, p := of(plain)
		tally[name]++
		if p.at < rows && !p.cut && slices.EqualFunc(p.links, plain, func(a, b Link) bool { return a.Hash == b.Hash && a.Prev == b.Prev && string(a.Body) == string(b.Body) }) {
			continue // another prev that is the same one
		}
		for _, c := range []struct {
			name  string
			links damage
			from  []Verifier
			want  Verdict
		}{
			{"key and anchors", k, keyAndAnchors, expected(k.cut, Short, Altered)},
			{"key", k, key, expected(k.cut, Intact, expected(k.resealed && k.at == 0, Unverifiable, Altered))},
			{"anchors", p, anchors, expected(p.cut, Short, expected(p.appended, Intact, Altered))},
			{"neither", p, neither, expected(p.cut || p.appended || p.resealed, Intact, Altered)},
		} {
			got := reverified(c.from, c.links)
			if got.Verdict != c.want {
				t.Fatalf("alteration %d (%s at row %d) with %s: %s (%s), want %s", i, name, c.links.at+1, c.name, got.Verdict, got.Msg, c.want)
			}
			if c.links.exact && got.Verdict == Altered && got.Fault.Seq != int64(c.links.at+1) {
				t.Fatalf("alteration %d (%s at row %d) with %s is found at row %d: %s", i, name, c.links.at+1, c.name, got.Fault.Seq, got.Msg)
			}
		}
	}
	t.Logf("seed %d: %v", seed, tally)
}

// stride is how many rows apart midway stops.
const stride = 20

// midway is a verifier as it stands after every so many rows of an untouched log: what comes before an alteration need
// not be read ten thousand times.
func midway(links []Link, keys Keys, anchors []Anchor) []Verifier {
	v := Verifier{Keys: keys, Anchors: anchors}
	var out []Verifier
	for i, l := range links {
		if i%stride == 0 {
			out = append(out, v)
		}
		v.Add(l)
	}
	return append(out, v)
}

// reverified is verified for a log that is untouched up to d.at.
func reverified(from []Verifier, d damage) Report {
	v := from[d.at/stride]
	for _, l := range d.links[min(len(d.links), d.at/stride*stride):] {
		if v.Add(l) != nil {
			break
		}
	}
	return v.Report()
}

func expected(when bool, then, otherwise Verdict) Verdict {
	if when {
		return then
	}
	return otherwise
}

// What a weaker verifier, one without own hashes, numbers, key or anchors, calls clean; here each has its verdict.
func TestWhatWeakVerifiersMiss(t *testing.T) {
	keyed := written(20, secret)
	keys := KeysOf(secret)
	anchors := anchored(keyed, secret, 10, 20)
	editLast := slices.Clone(keyed)
	editLast[19].Body = edited(keyed[19])
	editOne := slices.Clone(keyed)
	editOne[7].Body = edited(keyed[7])
	headless := Link{Seq: 11, Body: []byte(`{"action":"legacy"}`)} // neither number nor hash of the one before
	for _, c := range []struct {
		name  string
		links []Link
		want  Verdict
		first int64
	}{
		{"edit a middle row", editOne, Altered, 8},
		{"delete a middle row", slices.Delete(slices.Clone(keyed), 7, 8), Altered, 8},
		{"delete the first row", keyed[1:], Altered, 1},
		{"edit the last row", editLast, Altered, 20},
		{"cut rows at the end", keyed[:15], Short, 0},
		{"edit one row and make all later hashes again", resealed(editOne, 7, nil), Altered, 8},
		{"the same with another key", resealed(editOne, 7, theirs), Altered, 1}, // somewhere in the rows up to the anchor
		{"cut the end, go on with a row without hash", append(slices.Clone(keyed[:10]), headless), Altered, 11},
		{"replace the log by one such row", []Link{{Seq: 1, Body: headless.Body}}, Altered, 1},
		{"empty the log", nil, Short, 0},
		{"begin again", written(3, nil), Short, 0},
		{"begin again, longer", written(30, nil), Altered, 1},
	} {
		r := verified(c.links, keys, anchors)
		if r.Verdict != c.want || c.first != 0 && (r.Fault == nil || r.Fault.Seq != c.first) {
			t.Errorf("%s: %s (%s), want %s at row %d", c.name, r.Verdict, r.Msg, c.want, c.first)
		}
	}
}

func edited(l Link) []byte {
	e, err := Parse(l.Body)
	if err != nil {
		panic(err)
	}
	e.Decision = "deny"
	return e.Canonical()
}

func TestKeysComeAndChange(t *testing.T) {
	plain := written(10, nil)
	later := resealed(append(slices.Clone(plain), written(10, secret)...), 10, secret)
	rotated := resealed(append(slices.Clone(later), written(10, theirs)...), 20, theirs)
	back := resealed(append(slices.Clone(later), written(3, nil)...), 20, nil)
	mine, both := KeysOf(secret), KeysOf(secret, theirs)
	for _, c := range []struct {
		name  string
		links []Link
		keys  Keys
		want  Verdict
		says  string
	}{
		{"a key comes into use later", later, mine, Intact, "rows before 11 were written without a key"},
		{"without the key", later, nil, Unverifiable, "from row 11 on rows are sealed with the key " + KeyID(secret)},
		{"with another key", later, KeysOf(theirs), Unverifiable, "from row 11 on"},
		{"another key follows", rotated, both, Intact, "rows before 11"},
		{"another key follows, only the first is given", rotated, mine, Unverifiable, "from row 21 on rows are sealed with the key " + KeyID(theirs)},
		{"no key follows", back, mine, Altered, "row 21: it was written without the key"},
		{"the rows before the key are changed", append(resealed(withRow(plain, 3), 3, nil), later[10:]...), mine, Altered, "row 11: it does not follow row 10"},
		{"a key is given for a log without", plain, mine, Unverifiable, "never used here"},
		{"a keyed row says it is not", unnamed(later, 15), mine, Altered, "row 16: it was written without the key"},
		{"a plain row says it is keyed", renamed(plain, 4), mine, Altered, "row 5: its content is not what was written"},
	} {
		r := verified(c.links, c.keys, nil)
		if r.Verdict != c.want || !strings.Contains(r.Msg+strings.Join(r.Blind, "\n"), c.says) {
			t.Errorf("%s: %s (%s; %q), want %s and %q", c.name, r.Verdict, r.Msg, r.Blind, c.want, c.says)
		}
	}
	if KeyID(secret) == KeyID(theirs) || len(KeyID(secret)) != 16 || KeyID(nil) != "" {
		t.Error("names of keys")
	}
}

func withRow(links []Link, i int) []Link {
	out := slices.Clone(links)
	out[i].Body = edited(out[i])
	return out
}

func unnamed(links []Link, i int) []Link {
	out := slices.Clone(links)
	_, out[i].Hash, _ = strings.Cut(out[i].Hash, keySeparator)
	return out
}

func renamed(links []Link, i int) []Link {
	out := slices.Clone(links)
	out[i].Hash = KeyID(secret) + keySeparator + out[i].Hash
	return out
}

func TestCopiesHaveToAgree(t *testing.T) {
	links := written(3, nil)
	for i := range links {
		e := whole()
		links[i].Copy = &Copy{RunID: e.RunID, Step: e.Step, Action: e.Action, At: int64(1000 + i)}
	}
	if r := verified(links, nil, nil); r.Verdict != Intact {
		t.Fatal(r.Msg)
	}
	for name, change := range map[string]func(*Copy){
		"run": func(c *Copy) { c.RunID = 99 }, "step": func(c *Copy) { c.Step++ }, "time": func(c *Copy) { c.At++ }, "action": func(c *Copy) { c.Action = "note" },
	} {
		was := *links[1].Copy
		change(links[1].Copy)
		if r := verified(links, nil, nil); r.Verdict != Altered || r.Fault.Seq != 2 {
			t.Errorf("another %s: %+v", name, r)
		}
		*links[1].Copy = was
	}
}

// A log is verified in the memory of one row, however long it is. TILLERMAN_LARGE=1 makes it a million.
func TestVerifyStreams(t *testing.T) {
	n := 100_000
	if os.Getenv("TILLERMAN_LARGE") != "" {
		n = 1_000_000
	}
	v := Verifier{Keys: KeysOf(secret)}
	var before, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	most := uint64(0)
	e := whole()
	prev := ""
	for i := range n {
		e.Seq = int64(i + 1)
		l := sealed(e, prev, secret)
		if f := v.Add(l); f != nil {
			t.Fatal(f)
		}
		prev = l.Hash
		if i%(n/10) == n/10-1 {
			runtime.GC()
			runtime.ReadMemStats(&now)
			most = max(most, now.HeapAlloc)
		}
	}
	if r := v.Report(); r.Verdict != Intact || r.Rows != int64(n) {
		t.Errorf("%+v", r)
	}
	if grown := int64(most) - int64(before.HeapAlloc); grown > 1<<20 {
		t.Errorf("%d rows hold %d bytes", n, grown)
	}
}

func BenchmarkVerify(b *testing.B) {
	links := written(1000, secret)
	for b.Loop() {
		if r := verified(links, KeysOf(secret), nil); r.Verdict != Intact {
			b.Fatal(r.Msg)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/row")
}
