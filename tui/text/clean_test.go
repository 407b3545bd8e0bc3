package text

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"github.com/clipperhouse/uax29/v2/graphemes"
	"pgregory.net/rapid"
)

func TestClean(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"plain", "ls -la\n\nfoo \\x1b", "ls -la\n\nfoo \\x1b"},
		{"carriage return", "rm -rf /\rls", `rm -rf /\rls`},
		{"C0 and DEL", "\x00\a\b\t\v\f\x1b\x7f", `\x00\a\b\t\v\f\x1b\x7f`},
		{"C1 as bytes", "\x9b2J\x85", `\x9b2J\x85`},
		{"C1 as code points", "\u009b2J\u0085", `\u009b2J\u0085`},
		{"invalid", "bad\xff \xed\xa0\x80 \xe2\x82", `bad\xff \xed\xa0\x80 \xe2\x82`},
		{"replacement character", "\ufffd", "\ufffd"},
		{"bidi", "a\u202eb\u2066c\u200fd\u061c", `a\u202eb\u2066c\u200fd\u061c`},
		{"zero width", "a\u200bb\u00ad\ufeff\u2060\u034f\u3164", `a\u200bb\u00ad\ufeff\u2060\u034f\u3164`},
		{"separators", "a\u2028b\u2029", `a\u2028b\u2029`},
		{"private use and noncharacters", "\ue0b0\U0010fffd\ufdd0\U0001ffff", `\ue0b0\U0010fffd\ufdd0\U0001ffff`},
		{"accent", "e\u0301 Яблоко́", "e\u0301 Яблоко́"},
		{"mark with no base", "\u0301a\n\u0301\x1b\u0301", `\u0301a` + "\n" + `\u0301\x1b\u0301`},
		{"too many marks", "e" + strings.Repeat("\u0301", 10), "e" + strings.Repeat("\u0301", 8) + `\u0301\u0301`},
		{"family", "👨‍👩‍👧‍👦", "👨‍👩‍👧‍👦"},
		{"skin tones and hearts", "👩🏻‍❤️‍💋‍👨🏽", "👩🏻‍❤️‍💋‍👨🏽"},
		{"joiner at the end", "👨\u200d", `👨\u200d`},
		{"joiner between letters", "a\u200db\u200cc", `a\u200db\u200cc`},
		{"Persian", "می\u200cخواهم", "می\u200cخواهم"},
		{"Persian at the end", "می\u200c", "می" + `\u200c`},
		{"Sinhala and Devanagari", "ක්\u200dර क्\u200dष", "ක්\u200dර क्\u200dष"},
		{"Hindi", "नमस्ते दुनिया", "नमस्ते दुनिया"},
		{"selectors", "❤️ ☺︎ 1️⃣ a\ufe0f 1\ufe0f \ufe0f", "❤️ ☺︎ 1️⃣ " + `a\ufe0f 1\ufe0f \ufe0f`},
		{"other selectors", "a\ufe00世\U000e0100", `a\ufe00世\U000e0100`},
		{"two selectors", "❤\ufe0f\ufe0f", "❤\ufe0f" + `\ufe0f`},
		{"flag", "🇩🇪", "🇩🇪"},
		{"half a flag", "🇩🇪🇫", `🇩🇪\U0001f1eb`},
		{"England", "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f", "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"},
		{"hidden tags", "🏴\U000e0067\U000e007f", `🏴\U000e0067\U000e007f`},
		{"modifier alone", "🏽 x🏽", `\U0001f3fd x\U0001f3fd`},
		{"Hangul", "\u1112\u1161\u11ab \u1161", "\u1112\u1161\u11ab " + `\u1161`},
		{"prepended", "\u0d4eക \u0d4e", "\u0d4eക \u0d4e"[:len("\u0d4eക ")] + `\u0d4e`},
		{"Thai", "น้ำ", "น้ำ"},
		{"Thai sign alone", "\u0e33", `\u0e33`},
		{"Myanmar", "ကာ", "ကာ"},
		{"CJK", "日本　語", "日本　語"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Clean(tt.in); got != tt.want {
				t.Errorf("Clean(%+q)\n got %+q\nwant %+q", tt.in, got, tt.want)
			}
		})
	}
}

func TestForms(t *testing.T) {
	for _, tt := range []struct{ name, in, safe, payload string }{
		{"family", "👨‍👩‍👧", "👨", `👨\u200d👩\u200d👧`},
		{"rainbow flag", "🏳️‍🌈a", "🏳a", `🏳\ufe0f\u200d🌈a`},
		{"flag", "🇩🇪", "🇩🇪", "🇩🇪"},
		{"heart", "❤️", "❤", `❤\ufe0f`},
		{"text heart", "❤︎", "❤︎", `❤\ufe0e`},
		{"keycap", "1️⃣", "1", `1\ufe0f` + `\u20e3`},
		{"skin", "👍🏽", "👍", `👍\U0001f3fd`},
		{"conjunct", "स्ते", "स्\u200cते", `स\u094dते`},
		{"vowel sign", "नि", "न…", `न\u093f`},
		{"Hindi", "नमस्ते दुनिया", "नमस्\u200cते दुन…य…", `नमस\u094dते दुन\u093fय\u093e`},
		{"Thai", "น้ำ", "น้ํา", `น้\u0e33`},
		{"halfwidth", "ｶﾞ", "ｶ゛", `ｶ\uff9e`},
		{"Hangul", "\u1112\u1161\u11ab", "한", `ᄒ\u1161\u11ab`},
		{"Hangul in part", "하\u11ab", "한", `하\u11ab`},
		{"accent", "e\u0301", "e\u0301", "e\u0301"},
		{"spaces", "a\u00a0b\u2003c\u3000d\u2800", "a\u00a0b\u2003c\u3000d\u2800", `a\u00a0b\u2003c` + "\u3000" + `d\u2800`},
		{"joiner", "می\u200cخ", "می\u200cخ", `می\u200cخ`},
		{"lines", "a\nb\r", "a\n" + `b\r`, "a\n" + `b\r`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Safe(tt.in); got != tt.safe {
				t.Errorf("Safe(%+q)\n got %+q\nwant %+q", tt.in, got, tt.safe)
			}
			if got := Payload(tt.in); got != tt.payload {
				t.Errorf("Payload(%+q)\n got %+q\nwant %+q", tt.in, got, tt.payload)
			}
		})
	}
}

func TestLineAndHidden(t *testing.T) {
	if got, want := Line("a\nb\t\x1b"), `a\nb\t\x1b`; got != want {
		t.Errorf("Line = %q, want %q", got, want)
	}
	for s, want := range map[string]bool{
		"": false, "a\n\tb": false, "é👨‍👩‍👧": false, "a\rb": true, "a\u202e": true, "\xff": true, "\t\t\x00": true,
	} {
		if got := Hidden(s); got != want {
			t.Errorf("Hidden(%q) = %v", s, got)
		}
	}
}

// forbidden gives what may not be in clean text, independently of the code
// under test. The code points that context can allow are left to allowed.
func forbidden(r rune) bool {
	in := func(lo, hi rune) bool { return r >= lo && r <= hi }
	return r < ' ' && r != '\n' || in(0x7f, 0x9f) || r == 0xad || r == 0x34f || r == 0x61c || in(0x115f, 0x1160) ||
		in(0x17b4, 0x17b5) || in(0x180b, 0x180f) || in(0x200b, 0x200b) || in(0x200e, 0x200f) || in(0x2028, 0x202e) ||
		in(0x2060, 0x206f) || r == 0x3164 || in(0xfe00, 0xfe0d) || r == 0xfeff || r == 0xffa0 || in(0xfff0, 0xfffb) ||
		in(0xe000, 0xf8ff) || in(0xe0080, 0xe0fff) || r == 0xe0001 || r >= 0xf0000 || in(0xfdd0, 0xfdef) || r&0xfffe == 0xfffe ||
		unicode.Is(unicode.Co, r) || unicode.Is(unicode.Cs, r)
}

// checkClean fails if s could do anything to a terminal but print characters that
// stay in their own cells.
func checkClean(t rapid.TB, s string) {
	t.Helper()
	if !utf8.ValidString(s) {
		t.Fatalf("not UTF-8: %q", s)
	}
	for _, r := range s {
		if forbidden(r) {
			t.Fatalf("%U in %+q", r, s)
		}
	}
	g := graphemes.FromString(s)
	for g.Next() {
		c := g.Value()
		if c == "\n" {
			continue
		}
		if ansi.StringWidth(c) < 1 || ansi.StringWidthWc(c) < 1 {
			t.Fatalf("%+q takes no cell, in %+q", c, s)
		}
		if n := utf8.RuneCountInString(c); n > maxRunes {
			t.Fatalf("cluster of %d code points in %+q", n, s)
		}
		marks := 0
		for _, r := range c {
			if unicode.In(r, unicode.Mn, unicode.Me) && r != vs15 && r != vs16 {
				marks++
			}
		}
		if marks > maxMarks {
			t.Fatalf("%d marks in %+q", marks, c)
		}
	}
	for line := range strings.SplitSeq(s, "\n") {
		checkAlone(t, line)
	}
}

// checkAlone fails if a border before or after the line would become part of it.
func checkAlone(t rapid.TB, line string) {
	t.Helper()
	for _, border := range []string{"│", "a", " ", "界"} {
		if got := graphemes.FromString(border + line + border).First(); got != border {
			t.Fatalf("%+q joins a %q before it", line, border)
		}
		last := ""
		g := graphemes.FromString(line + border)
		for g.Next() {
			last = g.Value()
		}
		if last != border {
			t.Fatalf("%+q joins a %q after it: %+q", line, border, last)
		}
	}
}

func checkForms(t rapid.TB, s string) {
	t.Helper()
	for _, f := range []struct {
		name string
		do   func(string) string
		form Form
	}{{"Clean", Clean, Natural}, {"Line", Line, Natural}, {"Safe", Safe, Even}, {"Payload", Payload, Exact}} {
		got := f.do(s)
		checkClean(t, got)
		if again := f.do(got); again != got {
			t.Fatalf("%s is not stable on %+q:\n once %+q\ntwice %+q", f.name, s, got, again)
		}
		if f.name == "Line" && strings.Contains(got, "\n") {
			t.Fatalf("Line(%q) has a newline", s)
		}
		if f.form != Natural {
			if c, w := ansi.StringWidth(got), ansi.StringWidthWc(got); c != w {
				t.Fatalf("%s(%+q) = %+q: width %d by clusters, %d by code points", f.name, s, got, c, w)
			}
		}
		if f.form == Exact {
			for _, r := range got {
				if r != '\n' && r != '\u3000' && !unicode.IsPrint(r) || r == vs15 || r == vs16 {
					t.Fatalf("Payload(%+q) has %U", s, r)
				}
			}
		}
	}
}

func TestFormsOfHostileText(t *testing.T) {
	for _, s := range hostile {
		checkForms(t, s)
	}
}

func TestFormsOfAnyText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { checkForms(t, anyText().Draw(t, "text")) })
}

// Every code point alone and after a letter.
func TestEveryCodePoint(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if r >= 0xd800 && r < 0xe000 || r >= 0x20 && r < 0x7f || r >= 0x3400 && r < 0xd7a0 && r%16 != 0 {
			continue
		}
		if unicode.Is(unicode.M, r) || forbidden(r) {
			checkClean(t, Clean("a"+string(r)))
		}
		s := Clean(string(r))
		if strings.HasPrefix(s, `\`) {
			continue
		}
		checkClean(t, s)
		if !unicode.IsGraphic(r) && r != '\n' {
			t.Errorf("%U is shown as it is", r)
		}
	}
}

// The tables and short cuts of this package and the segmenter must agree.
func TestRunesAgreeWithTheSegmenter(t *testing.T) {
	for r := rune(0xa0); r <= 0x1ffff; r++ {
		if r >= 0xd800 && r < 0xe000 {
			continue
		}
		s, w := string(r), utf8.RuneLen(r)
		before := len(graphemes.FromString(s+"x").First()) > w
		if unicode.IsLetter(r) && before != isPrepend(r) {
			t.Errorf("isPrepend(%U) = %v", r, !before)
		}
		after := len(graphemes.FromString("x"+s).First()) > 1
		if after != joinsBack(r) && graphic(r) {
			t.Errorf("joinsBack(%U) = %v", r, !after)
		}
		if !solitary(r) {
			continue
		}
		if before || after || !graphic(r) || blank(r) || isJamoTail(r) || !isEven(s) ||
			len(graphemes.FromString(s+"가").First()) > w || len(graphemes.FromString(s+"世").First()) > w {
			t.Errorf("solitary(%U)", r)
		}
	}
}

func TestUnchangedTextIsNotCopied(t *testing.T) {
	for _, s := range []string{strings.Repeat("plain text\n", 1000), "日本語 é 👨‍👩‍👧 नमस्ते"} {
		if n := testing.AllocsPerRun(10, func() { Clean(s) }); n != 0 {
			t.Errorf("Clean(%.20q…) allocates %v times", s, n)
		}
	}
}

// The work does not grow with the length of a cluster.
func TestLongClustersAreCheap(t *testing.T) {
	for _, piece := range []string{"👨\u200d", "\u0301", "\u1112", "क्"} {
		clean := func(size int) func() {
			s := "a" + strings.Repeat(piece, size/len(piece))
			return func() { Clean(s) }
		}
		if long, longer := fastest(clean(4<<10)), fastest(clean(64<<10)); longer > 4*16*long {
			t.Errorf("%+q: 4 KiB take %v, 64 KiB %v", piece, long, longer)
		}
	}
}
