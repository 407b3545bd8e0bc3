package text

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestWrap(t *testing.T) {
	for _, tt := range []struct {
		in    string
		width int
		rows  string
		words string
	}{
		{"", 10, "", ""},
		{"abc", 10, "abc", "abc"},
		{"a\n\nb\n", 10, "a||b", "a||b"},
		{"the quick brown fox", 10, "the quick |brown fox", "the quick |brown fox"},
		{"the quick brown fox", 8, "the quic|k brown |fox", "the |quick |brown |fox"},
		{"the quick", 3, "the| qu|ick", "the| |qui|ck"},
		{"incomprehensible", 6, "incomp|rehens|ible", "incomp|rehens|ible"},
		{"see 日本語のテキスト", 8, "see 日本|語のテキ|スト", "see 日本|語のテキ|スト"},
		{"日本", 1, "日|本", "日|本"},
		{"ab", 0, "a|b", "a|b"},
		{"👨\u200d👩\u200d👧ab", 6, "👨\u200d👩\u200d👧|ab", "👨\u200d👩\u200d👧|ab"},
		{"नमस्ते", 3, "नम|स्ते", "नम|स्ते"},
	} {
		if got := strings.Join(Wrap(tt.in, tt.width), "|"); got != tt.rows {
			t.Errorf("Wrap(%+q, %d)\n got %+q\nwant %+q", tt.in, tt.width, got, tt.rows)
		}
		if got := strings.Join(WrapWords(tt.in, tt.width), "|"); got != tt.words {
			t.Errorf("WrapWords(%+q, %d)\n got %+q\nwant %+q", tt.in, tt.width, got, tt.words)
		}
	}
}

func TestWrapLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw, width := anyText().Draw(t, "text"), rapid.IntRange(26, 50).Draw(t, "width")
		for _, form := range []func(string) string{Clean, Safe, Payload} {
			s := form(raw)
			for _, wrap := range []func(string, int) []string{Wrap, WrapWords} {
				rows := wrap(s, width)
				if got, want := strings.Join(rows, ""), strings.ReplaceAll(s, "\n", ""); got != want {
					t.Fatalf("the rows of %+q hold %+q", want, got)
				}
				if len(rows) < strings.Count(strings.TrimSuffix(s, "\n"), "\n") {
					t.Fatalf("%d rows of %+q", len(rows), s)
				}
				for _, row := range rows {
					if w := widest(row); w > width {
						t.Fatalf("row of %d cells in %d: %+q", w, width, row)
					}
				}
			}
		}
	})
}

func anyWrapper(t *rapid.T, text string) Wrapper {
	form, least := rapid.SampledFrom([]Form{Natural, Even, Exact}).Draw(t, "form"), 26
	if form == Exact {
		least = 12
	}
	return Wrapper{
		Text:    text,
		Width:   rapid.IntRange(least, 50).Draw(t, "width"),
		Form:    form,
		Words:   rapid.Bool().Draw(t, "words"),
		Tab:     rapid.SampledFrom([]int{0, 4, 8}).Draw(t, "tab"),
		ShowTab: rapid.Bool().Draw(t, "show"),
	}
}

// checkRows compares all rows with the text, and every way to a row with all rows.
func checkRows(t *rapid.T, w Wrapper) {
	rows := w.Rows(0, len(w.Text)+1)
	end := 0
	for _, r := range rows {
		if r.Start != end || r.End <= r.Start {
			t.Fatalf("row %+v after %d", r, end)
		}
		end = r.End
		if got := widest(r.Text); got > w.Width {
			t.Fatalf("row of %d cells in %d: %+q", got, w.Width, r.Text)
		}
		if strings.Contains(w.Text[r.Start:r.End-1], "\n") || strings.Contains(r.Text, "\n") {
			t.Fatalf("newline inside %+v", r)
		}
	}
	if end != len(w.Text) {
		t.Fatalf("rows end at %d of %d", end, len(w.Text))
	}
	if len(rows) == 0 {
		return
	}
	i := rapid.IntRange(0, len(rows)-1).Draw(t, "row")
	at := rapid.IntRange(rows[i].Start, rows[i].End-1).Draw(t, "offset")
	n := rapid.IntRange(1, 30).Draw(t, "n")
	if got, want := w.Rows(at, n), rows[i:min(i+n, len(rows))]; !slices.Equal(got, want) {
		t.Fatalf("Rows(%d, %d)\n got %+v\nwant %+v", at, n, got, want)
	}
	if got, want := w.Up(at, n), rows[max(i-n, 0)].Start; got != want {
		t.Fatalf("Up(%d, %d) = %d, want %d", at, n, got, want)
	}
	if got, want := w.Up(len(w.Text), n), rows[max(len(rows)-n, 0)].Start; got != want {
		t.Fatalf("Up(end, %d) = %d, want %d", n, got, want)
	}
}

func TestWrapperRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := anyWrapper(t, anyText().Draw(t, "text"))
		checkRows(t, w)
		if w.Tab > 0 {
			return
		}
		var all strings.Builder
		for _, r := range w.Rows(0, len(w.Text)+1) {
			all.WriteString(r.Text)
		}
		form := map[Form]func(string) string{Natural: Clean, Even: Safe, Exact: Payload}[w.Form]
		if want := strings.ReplaceAll(form(w.Text), "\n", ""); all.String() != want {
			t.Fatalf("rows hold %+q, want %+q", all.String(), want)
		}
	})
}

// Lines longer than several blocks, with other lines between.
func TestWrapperRowsOfLongLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		for range rapid.IntRange(1, 4).Draw(t, "lines") {
			piece := anyText().Filter(func(s string) bool { return s != "" }).Draw(t, "piece")
			size := rapid.IntRange(0, 20000).Draw(t, "size")
			for n := 0; n < size; n += len(piece) {
				b.WriteString(piece)
			}
			b.WriteString("\n")
		}
		checkRows(t, anyWrapper(t, b.String()))
	})
}

func TestNoShortRowInALongLineOfASCII(t *testing.T) {
	w := Wrapper{Text: strings.Repeat("x", 100_000), Width: 77}
	rows := w.Rows(0, 1e6)
	for _, r := range rows[:len(rows)-1] {
		if len(r.Text) != 77 {
			t.Fatalf("row at %d has %d cells", r.Start, len(r.Text))
		}
	}
	w.Text = "short\n" + strings.Repeat(strings.Repeat("y", 70)+"\n", 2000)
	if got := len(w.Rows(0, 1e6)); got != 2001 {
		t.Errorf("%d rows of 2001 lines that fit", got)
	}
}

// fastest gives the shortest of some runs of f: other load only makes runs longer.
func fastest(f func()) time.Duration {
	best := time.Duration(math.MaxInt64)
	for range 7 {
		start := time.Now()
		f()
		best = min(best, time.Since(start))
	}
	return best
}

// A page of a huge line costs what a page of a long line costs, wherever it is.
func TestPageOfAHugeLine(t *testing.T) {
	for name, piece := range map[string]string{
		"ASCII": "x", "words": "lorem ipsum ", "escapes": "\x1b[31m", "CJK": "世", "marks": "\u0301",
		"families": "👨\u200d👩\u200d👧", "flags": "🇩", "invalid": "\xff",
	} {
		page := func(size int) func() {
			w := Wrapper{Text: strings.Repeat(piece, size/len(piece)), Width: 60, Form: Even, Words: name == "words"}
			return func() {
				if rows := w.Rows(w.Up(size/2, 10), 20); len(rows) != 20 {
					t.Fatalf("%s: %d rows", name, len(rows))
				}
			}
		}
		if long, huge := fastest(page(64<<10)), fastest(page(8<<20)); huge > 10*long {
			t.Errorf("%s: a page takes %v in 64 KiB, %v in 8 MiB", name, long, huge)
		}
	}
}
