package tool

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestQuoteName(t *testing.T) {
	for name, want := range map[string]string{
		"main.go":          "main.go",
		"a b/c-d":          "a b/c-d",
		"-rf":              "-rf",
		"Яблоко":           "Яблоко",
		"pages/[id].ts":    "pages/[id].ts",
		"two\nlines":       `"two\nlines"`,
		"bad\xff":          `"bad\xff"`,
		"rtl\u202egpj.exe": `"rtl\u202egpj.exe"`,
		"esc\x1b[2Jname":   `"esc\x1b[2Jname"`,
		`a"b`:              `"a\"b"`,
		"a:1":              `"a:1"`,
		"[x]":              `"[x]"`,
		"trail ":           `"trail "`,
	} {
		if got := QuoteName(name); got != want {
			t.Errorf("QuoteName(%q) = %s, want %s", name, got, want)
		}
	}
}

func TestUnquoteNameTakesBothForms(t *testing.T) {
	for given, want := range map[string]string{
		"main.go": "main.go", `"bad\xff"`: "bad\xff", `"`: `"`, `"open`: `"open`, `a"b`: `a"b`, `"a" b`: `"a" b`,
	} {
		if got := UnquoteName(given); got != want {
			t.Errorf("UnquoteName(%q) = %q, want %q", given, got, want)
		}
	}
}

func checkName(t interface{ Fatalf(string, ...any) }, name string) {
	quoted := QuoteName(name)
	if back := UnquoteName(quoted); back != name {
		t.Fatalf("%q is quoted as %s, which means %q", name, quoted, back)
	}
	if !utf8.ValidString(quoted) || strings.ContainsAny(quoted, "\n\r\x1b") {
		t.Fatalf("%q is quoted as %q", name, quoted)
	}
}

func TestNamesSurviveQuoting(t *testing.T) {
	for _, name := range oddNames {
		checkName(t, name)
	}
	rapid.Check(t, func(t *rapid.T) {
		checkName(t, string(rapid.SliceOf(rapid.Byte()).Draw(t, "name")))
	})
}

func FuzzNames(f *testing.F) {
	for _, name := range oddNames {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		checkName(t, name)
		UnquoteName(name)
	})
}
