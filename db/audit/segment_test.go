package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func rowsOf(links []Link) iter.Seq2[Link, error] {
	return func(yield func(Link, error) bool) {
		for _, l := range links {
			if !yield(l, nil) {
				return
			}
		}
	}
}

// exported writes a log as segments that end at the given rows and returns their files.
func exported(t *testing.T, dir string, links []Link, ends ...int) []string {
	t.Helper()
	var files []string
	from := 0
	for _, end := range ends {
		h := Header{Store: "/s", PrevRows: int64(from), At: 1, Version: "0.1.0"}
		if from > 0 {
			h.PrevHead = links[from-1].Hash
		}
		got, err := WriteSegment(dir, h, rowsOf(links[from:end]), func(h Header) string { return filepath.Join(dir, SegmentName(h.First, h.Last)) })
		if err != nil || got.First != int64(from+1) || got.Last != int64(end) {
			t.Fatalf("%+v, %v", got, err)
		}
		files = append(files, filepath.Join(dir, SegmentName(got.First, got.Last)))
		from = end
	}
	return files
}

// readSegments verifies files one after another.
func readSegments(t *testing.T, keys Keys, files ...string) (Report, error) {
	t.Helper()
	v := Verifier{Keys: keys}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		_, err = v.AddSegment(f)
		_ = f.Close()
		if err != nil {
			return v.Report(), err
		}
	}
	return v.Report(), nil
}

func TestSegmentsAreVerifiedAcrossBorders(t *testing.T) {
	dir := t.TempDir()
	links := written(100, secret)
	e := whole()
	e.Seq, e.Target, e.Reason = 101, "bytes \xff\x00 that are no text", "<&>\u2028"
	links = append(links, sealed(e, links[99].Hash, secret))
	files := exported(t, dir, links, 30, 31, 101)
	r, err := readSegments(t, KeysOf(secret), files...)
	if err != nil || r.Verdict != Intact || r.Rows != 101 || r.Head != links[100].Hash {
		t.Fatalf("%+v, %v", r, err)
	}
	for _, f := range files {
		if info, err := os.Stat(f); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info.Mode(), err)
		}
	}
	if left, err := filepath.Glob(filepath.Join(dir, ".*")); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	heads, err := Segments(dir)
	if err != nil || len(heads) != 3 || heads[2].First != 32 {
		t.Errorf("%+v, %v", heads, err)
	}
	for name, c := range map[string]struct {
		files []string
		want  string
	}{
		"one is missing":    {[]string{files[0], files[2]}, "rows 31 to 31 are missing"},
		"one comes twice":   {[]string{files[0], files[0]}, "two segments hold it"},
		"in another order":  {[]string{files[1], files[0]}, "two segments hold it"},
		"of a later branch": {[]string{files[0], exported(t, t.TempDir(), resealed(withRow(links, 5), 5, theirs), 30, 40)[1]}, "follows another row"},
	} {
		_, err := readSegments(t, KeysOf(secret), c.files...)
		var fault *Fault
		if !errors.As(err, &fault) || !strings.Contains(fault.Msg, c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if r, err := readSegments(t, KeysOf(secret), files[1], files[2]); err != nil || r.Verdict != Unverifiable || r.Before != 30 {
		t.Errorf("without the first: %+v, %v", r, err)
	}
}

func TestSegmentIsNeverWrittenOver(t *testing.T) {
	dir := t.TempDir()
	links := written(10, nil)
	name := exported(t, dir, links, 10)[0]
	before, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	_, err = WriteSegment(dir, Header{Version: "other"}, rowsOf(links), func(Header) string { return name })
	after, err2 := os.ReadFile(name)
	if !errors.Is(err, os.ErrExist) || err2 != nil || !bytes.Equal(before, after) {
		t.Errorf("%v %v", err, err2)
	}
	h, err := WriteSegment(dir, Header{PrevRows: 10, PrevHead: "x"}, rowsOf(nil), func(Header) string { t.Error("named"); return name })
	if err != nil || h.Last != 0 {
		t.Errorf("without rows: %+v, %v", h, err)
	}
	broken := errors.New("broken")
	_, err = WriteSegment(dir, Header{}, func(yield func(Link, error) bool) { yield(Link{}, broken) }, func(Header) string { t.Error("named"); return name })
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); !errors.Is(err, broken) || len(left) != 1 {
		t.Errorf("%v, files %v", err, left)
	}
}

// Whatever single byte of a segment is changed, it is noticed, without a key too.
func TestEveryByteOfASegmentCounts(t *testing.T) {
	dir := t.TempDir()
	name := exported(t, dir, written(3, nil), 3)[0]
	body, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	header, _, _ := bytes.Cut(body, []byte("\n"))
	free := map[string]bool{`"store":"`: true, `"at":`: true, `"version":"`: true} // what the header says of itself only
	for i := range body {
		if i < len(header) && inFree(header, i, free) {
			continue
		}
		changed := slices.Clone(body)
		changed[i] ^= 1
		v := Verifier{}
		if _, err := v.AddSegment(bytes.NewReader(changed)); err == nil {
			t.Fatalf("byte %d of %d (%q) was changed unnoticed", i, len(body), body[max(0, i-10):min(len(body), i+10)])
		}
	}
	for i := range body {
		v := Verifier{}
		if _, err := v.AddSegment(bytes.NewReader(body[:i])); err == nil {
			t.Fatalf("cut after %d bytes unnoticed", i)
		}
	}
}

// inFree says whether byte i lies in a header field that nothing else confirms.
func inFree(header []byte, i int, free map[string]bool) bool {
	for field := range free {
		at := bytes.Index(header, []byte(field)) + len(field)
		end := at + bytes.IndexAny(header[at:], `",`)
		if i >= at && i < end {
			return true
		}
	}
	return false
}

func TestReadableFieldsHaveToAgree(t *testing.T) {
	dir := t.TempDir()
	name := exported(t, dir, written(3, nil), 3)[0]
	body, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	_, rows, _ := bytes.Cut(body, []byte("\n"))
	rows = bytes.Replace(rows, []byte(`"user":"ann"`), []byte(`"user":"bob"`), 1)
	h, err := SegmentHeader(name)
	if err != nil {
		t.Fatal(err)
	}
	h.Digest = digestOf(rows)
	line, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	v := Verifier{}
	_, err = v.AddSegment(bytes.NewReader(append(append(line, '\n'), rows...)))
	var fault *Fault
	if !errors.As(err, &fault) || fault.Seq != 1 || !strings.Contains(fault.Msg, "readable fields") {
		t.Error(err)
	}
}

func FuzzSegment(f *testing.F) {
	dir := f.TempDir()
	links := written(3, nil)
	_, err := WriteSegment(dir, Header{Store: "/s"}, rowsOf(links), func(Header) string { return filepath.Join(dir, "s") })
	if err != nil {
		f.Fatal(err)
	}
	body, err := os.ReadFile(filepath.Join(dir, "s"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(body)
	f.Add([]byte("{}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		v := Verifier{}
		h, err := v.AddSegment(bytes.NewReader(text))
		var fault *Fault
		if err != nil && !errors.As(err, &fault) && !errors.Is(err, ErrSegment) {
			t.Errorf("%v", err)
		}
		if err == nil && (v.Report().Rows != h.Last || v.head != h.Head) {
			t.Errorf("%+v was taken for %d rows", h, v.Report().Rows)
		}
	})
}

func digestOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
