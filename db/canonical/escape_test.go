package canonical

import (
	"net/url"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestEscape(t *testing.T) {
	for in, want := range map[string]string{
		"":                   "",
		"plain-text_1.go":    "plain-text_1.go",
		"two words":          "two%20words",
		"a\nb\r\tc":          "a%0Ab%0D%09c",
		"a|b=c":              "a%7Cb=c",
		"100%":               "100%25",
		`{"path":"a.go"}`:    `{"path":"a.go"}`,
		"Zürich 杭州 🙂":        "Zürich%20杭州%20🙂",
		"\x00\x1b[31m\x7f":   "%00%1B[31m%7F",
		"\xff\xc3(":          "%FF%C3(",
		"\ufffd":             "\ufffd",
		"\u009b\u0085\u00a0": "%C2%9B%C2%85%C2%A0",
		"a\u202eb\u2066":     "a%E2%80%AEb%E2%81%A6",
		"\u2028\ufeff\u200b": "%E2%80%A8%EF%BB%BF%E2%80%8B",
	} {
		if got := Escape(in); got != want {
			t.Errorf("Escape(%q) = %q, want %q", in, got, want)
		}
	}
}

func checkEscape(t interface{ Fatalf(string, ...any) }, in string) {
	out := Escape(in)
	if !utf8.ValidString(out) {
		t.Fatalf("%q: not UTF-8", out)
	}
	for _, r := range out {
		if r == '|' || unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			t.Fatalf("%q holds %q", out, r)
		}
	}
	if back, err := url.PathUnescape(out); err != nil || back != in {
		t.Fatalf("%q reads back as %q, was %q: %v", out, back, in, err)
	}
}

// Whatever a value is, it stays inside its place and can be read back.
func TestEscapeReadsBack(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		checkEscape(r, rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(r, "text"))
	})
	for c := range rune(0x10000) { // all there is in scripts
		checkEscape(t, "a"+string(c)+"b")
	}
}

func FuzzEscape(f *testing.F) {
	for _, s := range []string{"", "a b|c%", "\xff\x00\u202e", strings.Repeat("é", 9)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) { checkEscape(t, in) })
}
