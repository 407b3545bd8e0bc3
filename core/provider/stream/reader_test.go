package stream_test

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"tillerman/core/provider/stream"
)

type event struct{ name, data string }

// readAll returns the events and what ended them.
func readAll(src io.Reader, max int64) ([]event, error) {
	r := stream.NewReader(src, max)
	var all []event
	for {
		ev, err := r.Next()
		if err != nil {
			return all, err
		}
		all = append(all, event{ev.Name, string(ev.Data)})
	}
}

func TestReader(t *testing.T) {
	const cut = "cut"
	for _, c := range []struct {
		name, in string
		want     []event
		end      string // "" for a clean end, cut, with the pending event after it
	}{
		{"one", "data: a\n\n", []event{{"", "a"}}, ""},
		{"no space after the colon", "data:a\n\n", []event{{"", "a"}}, ""},
		{"only the first space goes", "data:  a\n\n", []event{{"", " a"}}, ""},
		{"named", "event: ping\ndata: {}\n\n", []event{{"ping", "{}"}}, ""},
		{"name does not stay", "event: x\ndata: 1\n\ndata: 2\n\n", []event{{"x", "1"}, {"", "2"}}, ""},
		{"event without data is none", "event: x\n\ndata: 2\n\n", []event{{"", "2"}}, ""},
		{"several data lines", "data: a\ndata: b\ndata:\n\n", []event{{"", "a\nb\n"}}, ""},
		{"empty data line", "data\n\n", []event{{"", ""}}, ""},
		{"CRLF", "event: e\r\ndata: a\r\n\r\ndata: b\r\n\r\n", []event{{"e", "a"}, {"", "b"}}, ""},
		{"lone CR", "data: a\r\rdata: b\r\r", []event{{"", "a"}, {"", "b"}}, ""},
		{"mixed ends", "data: a\r\n\ndata: b\n\rdata: c\r\r\n", []event{{"", "a"}, {"", "b"}, {"", "c"}}, ""},
		{"byte order mark", "\xef\xbb\xbfdata: a\n\n", []event{{"", "a"}}, ""},
		{"a second mark is text", "\xef\xbb\xbf\xef\xbb\xbfdata: a\n\n", nil, ""},
		{"mark in the middle", "data: a\n\n\xef\xbb\xbfdata: b\n\n", []event{{"", "a"}}, ""},
		{"comments", ": PROCESSING\n\n:\n: x\ndata: a\n: y\n\n", []event{{"", "a"}}, ""},
		{"id and retry pass", "id: 1\nretry: 10\ndata: a\n\n", []event{{"", "a"}}, ""},
		{"field names are exact", "Data: a\ndat: b\ndatax: c\n data: d\n\n", nil, ""},
		{"colon in data", "data: a:b\n\n", []event{{"", "a:b"}}, ""},
		{"bytes stay as they are", "data: \x00\xff\x1b[m 杭\n\n", []event{{"", "\x00\xff\x1b[m 杭"}}, ""},
		{"nothing", "", nil, ""},
		{"only a comment, not ended", ": x", nil, ""},
		{"line not ended", "data: a\n\ndata: b", []event{{"", "a"}}, cut + ":b"},
		{"event not ended", "data: a\n\nevent: x\ndata: b\n", []event{{"", "a"}}, cut + "x:b"},
		{"ended after the name", "event: x\n", nil, cut + "x:"},
		{"ended inside a field name", "data: a\n\nda", []event{{"", "a"}}, cut + ":"},
		{"blank line ended by CR alone", "data: a\r\n\r", []event{{"", "a"}}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			for split, src := range map[string]io.Reader{
				"whole":    strings.NewReader(c.in),
				"bytes":    iotest.OneByteReader(strings.NewReader(c.in)),
				"data+EOF": iotest.DataErrReader(strings.NewReader(c.in)),
			} {
				got, err := readAll(src, 0)
				if !reflect.DeepEqual(got, c.want) {
					t.Errorf("%s: %q, want %q", split, got, c.want)
				}
				end := ""
				var inside *stream.CutError
				if errors.As(err, &inside) {
					end = cut + inside.Pending.Name + ":" + string(inside.Pending.Data)
				} else if err != io.EOF {
					t.Errorf("%s: ended with %v", split, err)
				}
				if end != c.end {
					t.Errorf("%s: ended %q, want %q", split, end, c.end)
				}
			}
		})
	}
}

// An event is given out as soon as its blank line is there: a reader that waits for more would show text late.
func TestReaderDoesNotReadAhead(t *testing.T) {
	broken := errors.New("read too far")
	for _, in := range []string{"data: a\n\n", "data: a\r\r", "data: a\r\n\r"} {
		r := stream.NewReader(io.MultiReader(strings.NewReader(in), iotest.ErrReader(broken)), 0)
		if ev, err := r.Next(); err != nil || string(ev.Data) != "a" {
			t.Errorf("%q: %q, %v", in, ev.Data, err)
		}
		if _, err := r.Next(); err != broken {
			t.Errorf("%q: then %v", in, err)
		}
	}
}

func TestReaderLongLines(t *testing.T) {
	for _, size := range []int{70_000, 5 << 20} {
		data := strings.Repeat("x", size)
		got, err := readAll(strings.NewReader("data: "+data+"\n\ndata: after\n\n"), 0)
		if err != io.EOF || len(got) != 2 || got[0].data != data || got[1].data != "after" {
			t.Errorf("%d bytes: %d events, %v", size, len(got), err)
		}
	}
}

// forever gives the same bytes for ever. The length must divide that of the buffers it fills.
type forever string

func (f forever) Read(p []byte) (int, error) {
	n := copy(p, f)
	for n < len(p) {
		n += copy(p[n:], p[:n])
	}
	return n, nil
}

func TestReaderLimit(t *testing.T) {
	var large *stream.TooLargeError
	for name, c := range map[string]struct {
		src io.Reader
		max int64
	}{
		"a line that never ends":      {io.MultiReader(strings.NewReader("data: "), forever("x")), 1 << 20},
		"the same at the default":     {io.MultiReader(strings.NewReader("data: "), forever("x")), 0},
		"an event that never ends":    {forever("data:xy\n"), 1 << 20},
		"a comment that never ends":   {io.MultiReader(strings.NewReader(": "), forever("x")), 1 << 20},
		"a field that never ends":     {forever("x"), 1 << 20},
		"one byte over":               {strings.NewReader("data: 12345\n\n"), 10},
		"one byte over in two lines":  {strings.NewReader("data: 12\ndata: 34567\n\n"), 10},
		"over after a line break fed": {iotest.OneByteReader(strings.NewReader("data: 12345\n\n")), 10},
	} {
		_, err := readAll(c.src, c.max)
		if !errors.As(err, &large) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want := c.max
		if want == 0 {
			want = stream.MaxEvent
		}
		if large.Limit != want {
			t.Errorf("%s: limit %d, want %d", name, large.Limit, want)
		}
	}
	if got, err := readAll(strings.NewReader("data: 1234\n\n: 45678901\n\ndata: 1234\n\n"), 10); err != io.EOF || len(got) != 2 {
		t.Errorf("events within the limit: %q, %v", got, err)
	}
}

func TestReaderKeepsTheSourcesError(t *testing.T) {
	broken := errors.New("reset")
	r := stream.NewReader(io.MultiReader(strings.NewReader("data: a\n"), iotest.ErrReader(broken)), 0)
	for range 2 {
		if _, err := r.Next(); err != broken {
			t.Errorf("got %v", err)
		}
	}
	if _, err := stream.NewReader(stuck{}, 0).Next(); err != io.ErrNoProgress {
		t.Errorf("a source that gives nothing: %v", err)
	}
}

type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

// However a stream is written and split, the events are the ones that were meant.
func TestReaderAnySplit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		end := rapid.SampledFrom([]string{"\n", "\r\n", "\r"})
		text := rapid.StringMatching(`[a-z杭州😀 :{}"\\]{0,12}`)
		var in strings.Builder
		if rapid.Bool().Draw(t, "mark") {
			in.WriteString("\uFEFF")
		}
		var want []event
		for range rapid.IntRange(0, 5).Draw(t, "events") {
			var ev event
			if rapid.Bool().Draw(t, "named") {
				ev.name = rapid.StringMatching(`[a-z_]{1,8}`).Draw(t, "name")
				in.WriteString("event:" + ev.name + end.Draw(t, "end"))
			}
			lines := rapid.SliceOfN(text, 0, 3).Draw(t, "lines")
			for _, line := range lines {
				if rapid.Bool().Draw(t, "comment") {
					in.WriteString(": ping" + end.Draw(t, "end"))
				}
				in.WriteString("data: " + line + end.Draw(t, "end"))
			}
			ev.data = strings.Join(lines, "\n")
			in.WriteString("\r\n")
			if len(lines) > 0 {
				want = append(want, ev)
			}
		}
		sizes := rapid.SliceOfN(rapid.IntRange(1, 9), 1, 20).Draw(t, "sizes")
		got, err := readAll(&pieces{rest: []byte(in.String()), sizes: sizes}, 0)
		if err != io.EOF || !reflect.DeepEqual(got, want) {
			t.Fatalf("%q gave %q, %v, want %q", in.String(), got, err, want)
		}
	})
}

// pieces reads in pieces of the given sizes, over and over.
type pieces struct {
	rest  []byte
	sizes []int
	n     int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), p.sizes[p.n%len(p.sizes)])], p.rest)
	p.rest = p.rest[n:]
	p.n++
	return n, nil
}

func FuzzReader(f *testing.F) {
	for _, seed := range []string{"data: a\n\n", "\xef\xbb\xbfevent:x\r\ndata:1\r\ndata:2\r\r", ": c\n\ndata", "data:\xff\r\n\r\n"} {
		f.Add([]byte(seed), uint8(1))
	}
	f.Fuzz(func(t *testing.T, in []byte, size uint8) {
		const limit = 1 << 10
		whole, end := readAll(bytes.NewReader(in), limit)
		split, splitEnd := readAll(&pieces{rest: in, sizes: []int{int(size) + 1, 1}}, limit)
		if !reflect.DeepEqual(whole, split) || (end == io.EOF) != (splitEnd == io.EOF) {
			t.Fatalf("whole %q, %v; split %q, %v", whole, end, split, splitEnd)
		}
		for _, ev := range whole {
			if len(ev.data) > limit || strings.ContainsAny(ev.name, "\r\n") || strings.Contains(ev.data, "\r") {
				t.Fatalf("event %q", ev)
			}
		}
	})
}
