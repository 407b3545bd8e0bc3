package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestAnchorsReadBack(t *testing.T) {
	links := written(30, secret)
	want := append(anchored(written(5, nil), nil, 5), anchored(links, secret, 10, 30)...)
	var file bytes.Buffer
	for _, a := range want {
		file.Write(a.Line())
	}
	file.WriteString("\n  \n")
	got, _, err := ReadAnchors(&file)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v %+v", err, got)
	}
	if err := CheckSignatures(got, KeysOf(secret)); err != nil {
		t.Error(err)
	}
}

// Every field of an anchor is signed.
func TestForgedAnchors(t *testing.T) {
	links := written(30, secret)
	for name, change := range map[string]func(*Anchor){
		"count": func(a *Anchor) { a.Count = 7 }, "head": func(a *Anchor) { a.Head = links[0].Hash }, "time": func(a *Anchor) { a.At++ }, "store": func(a *Anchor) { a.Store = "/other" },
		"signature":         func(a *Anchor) { a.Signature = strings.Repeat("0", 64) },
		"signed by another": func(a *Anchor) { *a = a.Signed(theirs); a.Key = KeyID(secret) },
		"not signed at all": func(a *Anchor) { a.Key, a.Signature = "", "" },
	} {
		list := anchored(links, secret, 10, 20)
		change(&list[1])
		var fault *Fault
		if err := CheckSignatures(list, KeysOf(secret)); !errors.As(err, &fault) || fault.Seq != list[1].Count {
			t.Errorf("another %s: %v", name, err)
		}
	}
	err := CheckSignatures(anchored(links, theirs, 10), KeysOf(secret))
	var fault *Fault
	if err == nil || errors.As(err, &fault) || !strings.Contains(err.Error(), KeyID(theirs)) {
		t.Errorf("signed with a key that is not here: %v", err)
	}
}

func TestAnchorsOfAStore(t *testing.T) {
	mine, other := Anchor{Store: "/a", Count: 1, Head: "x"}, Anchor{Store: "/b", Count: 2, Head: "y"}
	for _, c := range []struct {
		all  []Anchor
		sure bool
		want int
	}{{[]Anchor{mine, other, mine}, false, 2}, {[]Anchor{mine, other}, true, 1}, {[]Anchor{other}, false, 0}, {[]Anchor{other, other}, true, 2}, {nil, true, 0}} {
		if got := AnchorsFor(c.all, "/a", c.sure); len(got) != c.want {
			t.Errorf("%+v, %t: %+v", c.all, c.sure, got)
		}
	}
	if got := AnchorsFor([]Anchor{other, {Store: "/c"}}, "/a", true); len(got) != 0 {
		t.Errorf("those of two other stores: %+v", got)
	}
}

func TestBadAnchorFiles(t *testing.T) {
	good := string(anchored(written(3, nil), nil, 3)[0].Line())
	for name, text := range map[string]string{
		"no JSON": "x\n", "cut short": good[:5] + "x\n", "another line cut short": `{"what":"i` + "\n", "two on a line": strings.TrimSpace(good) + good, "unknown field": `{"format":1,"count":1,"head":"a","what":1}` + "\n",
		"other format": `{"format":2,"count":1,"head":"a"}` + "\n", "no row": `{"format":1,"count":0,"head":"a"}` + "\n", "no head": `{"format":1,"count":1}` + "\n",
		"key without signature": `{"format":1,"count":1,"head":"a","key":"b"}` + "\n", "keyed row, no signature": `{"format":1,"count":1,"head":"k:a"}` + "\n",
		"a list": "[]\n", "null": "null\n", "a line without end": strings.Repeat("x", maxLine+1),
	} {
		got, _, err := ReadAnchors(strings.NewReader(good + text))
		if !errors.Is(err, ErrAnchor) || !strings.Contains(err.Error(), "line 2") || len(got) != 1 {
			t.Errorf("%s: %v, %d before it", name, err, len(got))
		}
	}
}

// A disk that was full, or a crash, leaves a beginning of a line. It must not make a log unverifiable for ever.
func TestCutOffAnchorsAreLeftOut(t *testing.T) {
	good := string(anchored(written(3, nil), nil, 3)[0].Line())
	for end := 1; end < len(good)-2; end++ {
		zeros := strings.Repeat("\x00", end)
		for _, text := range []string{good + good[:end], good + good[:end] + "\n", good + zeros, zeros + "\n" + good} {
			if got, cut, err := ReadAnchors(strings.NewReader(text)); len(got) != 1 || cut != 1 || err != nil {
				t.Fatalf("cut after %d bytes: %d anchors, %d cut, %v", end, len(got), cut, err)
			}
		}
	}
}

func FuzzReadAnchors(f *testing.F) {
	for _, a := range append(anchored(written(3, nil), nil, 3), anchored(written(3, secret), secret, 3)...) {
		f.Add(a.Line())
	}
	f.Add([]byte("{}\n\n["))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, _, err := ReadAnchors(bytes.NewReader(text))
		if err != nil && !errors.Is(err, ErrAnchor) {
			t.Errorf("%v", err)
		}
		for _, a := range got {
			again, _, err := ReadAnchors(bytes.NewReader(a.Line()))
			if err != nil || len(again) != 1 || again[0] != a {
				b, _ := json.Marshal(a)
				t.Errorf("%s reads back as %+v, %v", b, again, err)
			}
		}
		_ = CheckSignatures(got, KeysOf(secret))
	})
}
