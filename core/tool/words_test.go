package tool

import (
	"slices"
	"testing"

	"mvdan.cc/sh/v3/shell"
	"pgregory.net/rapid"
)

func TestCommandLine(t *testing.T) {
	for want, argv := range map[string][]string{
		`go test ./...`:              {"go", "test", "./..."},
		`sh -c 'a; b | c'`:           {"sh", "-c", "a; b | c"},
		`echo '' 'it'\''s'`:          {"echo", "", "it's"},
		`echo $'two\nlines'`:         {"echo", "two\nlines"},
		`echo $'\033[2J' $'\0151'`:   {"echo", "\x1b[2J", "\r1"},
		`echo $'\342\200\256x' 'яб'`: {"echo", "\u202ex", "яб"},
		`echo '~' 'a=b' '$x' '*'`:    {"echo", "~", "a=b", "$x", "*"},
	} {
		if got := commandLine(argv); got != want {
			t.Errorf("%q: got %s, want %s", argv, got, want)
		}
	}
}

func TestCommandLineMeansItsWords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringOf(rapid.RuneFrom([]rune("ab '\"\\$`*~=\n\t\r\x1b#;&|é\u202e0")))
		argv := rapid.SliceOfN(word, 1, 4).Draw(t, "argv")
		line := commandLine(argv)
		back, err := shell.Fields(line, func(string) string { return "" })
		if err != nil || !slices.Equal(back, argv) {
			t.Fatalf("%q is written %s, which means %q (%v)", argv, line, back, err)
		}
	})
}
