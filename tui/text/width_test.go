package text

import (
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"
)

func TestFit(t *testing.T) {
	for _, tt := range []struct {
		in    string
		width int
		want  string
	}{
		{"abc", 5, "abc  "},
		{"abc", 3, "abc"},
		{"abcdef", 4, "abc…"},
		{"abc", 1, "…"},
		{"abc", 0, ""},
		{"abc", -3, ""},
		{"", 3, "   "},
		{"a\nb", 6, `a\nb  `},
		{"a\nb", 3, "a… "},
		{"日本語", 6, "日本語"},
		{"日本語", 5, "日本…"},
		{"日本語", 4, "日… "},
		{"日", 1, "…"},
		{"🏳️\u200d🌈aaaaaaa", 8, "🏳aaaaaaa"},
		{"👨\u200d👩\u200d👧 x", 5, "👨 x "},
		{"e" + strings.Repeat("\u0301", 8) + "x", 2, "e" + strings.Repeat("\u0301", 8) + "x"},
		{"नमस्ते", 4, "नमस्\u200cते"},
		{"नमस्ते", 3, "नम…"},
		{"x\ry", 3, "x… "},
	} {
		if got := Fit(tt.in, tt.width); got != tt.want {
			t.Errorf("Fit(%+q, %d)\n got %+q\nwant %+q", tt.in, tt.width, got, tt.want)
		}
	}
}

func TestTruncate(t *testing.T) {
	for _, tt := range []struct {
		in    string
		width int
		tail  string
		want  string
	}{
		{"abcdef", 6, "…", "abcdef"},
		{"abcdef", 5, "…", "abcd…"},
		{"abcdef", 5, "", "abcde"},
		{"abcdef", 2, "...", "ab"},
		{"abcdef", 0, "…", ""},
		{"👨\u200d👩\u200d👧x", 7, "…", "👨\u200d👩\u200d👧x"},
		{"👨\u200d👩\u200d👧x", 6, "…", "…"}, // the family alone takes six where code points are counted
		{"👨\u200d👩\u200d👧x", 5, "…", "…"},
		{"नि", 1, "", ""},
	} {
		if got := Truncate(tt.in, tt.width, tt.tail); got != tt.want {
			t.Errorf("Truncate(%+q, %d, %q) = %+q, want %+q", tt.in, tt.width, tt.tail, got, tt.want)
		}
	}
}

func TestFitIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, width := anyText().Draw(t, "text"), rapid.IntRange(0, 40).Draw(t, "width")
		got := Fit(s, width)
		checkClean(t, strings.ReplaceAll(got, "\u200c", ""))
		if c, w := ansi.StringWidth(got), ansi.StringWidthWc(got); c != width || w != width {
			t.Fatalf("Fit(%+q, %d) = %+q: %d cells by clusters, %d by code points", s, width, got, c, w)
		}
		if Width(got) != width {
			t.Fatalf("Width(%+q) = %d, want %d", got, Width(got), width)
		}
		if line := Truncate(s, width, "…"); max(ansi.StringWidth(line), ansi.StringWidthWc(line)) > width {
			t.Fatalf("Truncate(%+q, %d) = %+q", s, width, line)
		}
		if line := Clean(s); ansi.StringWidth(line) <= width && !strings.Contains(line, "\n") {
			if padded := Pad(line, width); Width(padded) != width || !strings.HasPrefix(padded, line) {
				t.Fatalf("Pad(%+q, %d) = %+q", line, width, padded)
			}
		}
	})
}

// What is cut off is not looked at.
func TestFitReadsNoMoreThanItShows(t *testing.T) {
	long := "\x1b" + strings.Repeat("é\x1b", 5<<20)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 100 {
		Fit(long, 80)
	}
	runtime.ReadMemStats(&after)
	if n := (after.TotalAlloc - before.TotalAlloc) / 100; n > 4096 {
		t.Errorf("%d bytes for 80 cells", n)
	}
}

func TestWidth(t *testing.T) {
	for s, want := range map[string]int{
		"": 0, "abc": 3, "日本": 4, "e\u0301": 1, "👨\u200d👩\u200d👧": 2, "🇩🇪": 2, "\x1b[31mred\x1b[m": 3,
	} {
		if got := Width(s); got != want {
			t.Errorf("Width(%+q) = %d, want %d", s, got, want)
		}
	}
}

func TestExpand(t *testing.T) {
	for _, tt := range []struct {
		in   string
		stop int
		show bool
		want string
	}{
		{"\tgo build", 8, false, "        go build"},
		{"\tgo build", 4, true, "→   go build"},
		{"ab\tc\n\td", 4, false, "ab  c\n    d"},
		{"abc\td", 4, true, "abc→d"},
		{"abcd\te", 4, true, "abcd→   e"},
		{"日\tx", 4, false, "日  x"},
		{"\x1b\tx", 8, false, `\x1b    x`},
		{"e\u0301\tx", 4, false, "e\u0301   x"},
		{"a\tb", 0, false, "a       b"},
		{"a\t\u0301", 4, false, "a   " + `\u0301`},
		{"no tabs", 8, true, "no tabs"},
	} {
		if got := Expand(tt.in, tt.stop, tt.show); got != tt.want {
			t.Errorf("Expand(%+q, %d, %v)\n got %+q\nwant %+q", tt.in, tt.stop, tt.show, got, tt.want)
		}
	}
}

func TestExpandReachesTheStop(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, stop := anyText().Draw(t, "text"), rapid.IntRange(1, 12).Draw(t, "stop")
		got := Expand(s+"\tX", stop, rapid.Bool().Draw(t, "show"))
		checkClean(t, got)
		line := got[strings.LastIndexByte(got, '\n')+1:]
		if w := Width(line[:len(line)-1]); w%stop != 0 {
			t.Fatalf("X stands in column %d of %+q", w, line)
		}
		if again := Clean(got); again != got {
			t.Fatalf("not stable: %+q, %+q", got, again)
		}
	})
}

func TestExcerpt(t *testing.T) {
	lines := "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"
	for _, tt := range []struct {
		in                string
		head, tail, width int
		want              string
	}{
		{lines, 2, 3, 40, "1|2|… 5 lines left out …|8|9|10"},
		{lines, 10, 10, 40, "1|2|3|4|5|6|7|8|9|10"},
		{lines, 5, 4, 40, "1|2|3|4|5|6|7|8|9|10"},
		{lines, 4, 4, 40, "1|2|3|4|… 2 lines left out …|7|8|9|10"},
		{lines, 0, 1, 40, "… 9 lines left out …|10"},
		{lines, 1, 0, 40, "1|… 9 lines left out …"},
		{lines, 0, -1, 9, "… 10 lin…"},
		{"a\rb", 5, 5, 0, `a\rb`},
		{"abcdefgh\n\tx", 5, 5, 6, "abcde…|" + `\tx`},
		{"a\n\n\nb", 1, 2, 9, "a|||b"},
		{"", 1, 1, 9, ""},
		{"\n", 1, 1, 9, ""},
	} {
		if got := strings.Join(Excerpt(tt.in, tt.head, tt.tail, tt.width), "|"); got != tt.want {
			t.Errorf("Excerpt(%q, %d, %d, %d)\n got %q\nwant %q", tt.in, tt.head, tt.tail, tt.width, got, tt.want)
		}
	}
}

func TestExcerptRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, width := anyText().Draw(t, "text"), rapid.IntRange(1, 30).Draw(t, "width")
		head, tail := rapid.IntRange(0, 5).Draw(t, "head"), rapid.IntRange(0, 5).Draw(t, "tail")
		rows := Excerpt(s, head, tail, width)
		if len(rows) > head+tail+1 {
			t.Fatalf("%d rows for %d and %d", len(rows), head, tail)
		}
		for _, row := range rows {
			if !utf8.ValidString(row) || strings.Contains(row, "\n") || widest(row) > width {
				t.Fatalf("row %+q", row)
			}
		}
	})
}
