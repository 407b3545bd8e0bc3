package text

import (
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

func TestQuote(t *testing.T) {
	for in, want := range map[string]string{
		"main.go":           "main.go",
		"-rf":               "-rf",
		"it's here":         "it's here",
		"Яблоко":            "Яблоко",
		"two\nlines":        `"two\nlines"`,
		"esc\x1b[2Jname":    `"esc\x1b[2Jname"`,
		"rtl\u202egpj.exe":  `"rtl\u202egpj.exe"`,
		`a"b`:               `"a\"b"`,
		`a\x1b`:             `"a\\x1b"`,
		"bad\xff":           `"bad\xff"`,
		"":                  `""`,
		" a":                `" a"`,
		"a ":                `"a "`,
		"a\u00a0b":          `"a\u00a0b"`,
		"a\u3000b":          `"a\u3000b"`,
		"\U000e0041":        `"\U000e0041"`,
		"\"\u0301":          `"\"\u0301"`,
		"\u0d4e\"":          `"\u0d4e\""`,
		"한글.txt":            "한글.txt",
		"👨‍👩‍👧.txt":         "👨‍👩‍👧.txt",
		"a\u0301\u200b.txt": "\"a\u0301\\u200b.txt\"",
	} {
		if got := Quote(in); got != want {
			t.Errorf("Quote(%+q)\n got %+q\nwant %+q", in, got, want)
		}
	}
}

// Every shown name stands for one name.
func TestQuoteIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anyText().Draw(t, "name")
		got := Quote(s)
		checkClean(t, got)
		if got == s {
			if Line(s) != s {
				t.Fatalf("Quote left %+q as it is", s)
			}
			return
		}
		if back, err := strconv.Unquote(got); err != nil || back != s {
			t.Fatalf("Unquote(%s) = %+q, %v; want %+q", got, back, err, s)
		}
	})
}
