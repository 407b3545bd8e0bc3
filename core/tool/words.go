package tool

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// commandLine writes argv as one line that a POSIX shell (with $'…', as in POSIX.1-2024) would split into the same
// words. It is for reading: nothing here passes commands through a shell.
func commandLine(argv []string) string {
	words := make([]string, len(argv))
	for i, word := range argv {
		words[i] = shellWord(word)
	}
	return strings.Join(words, " ")
}

func shellWord(word string) string {
	if word != "" && !strings.ContainsFunc(word, needsQuotes) {
		return word
	}
	if utf8.ValidString(word) && !strings.ContainsFunc(word, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	var b strings.Builder
	b.WriteString("$'")
	for len(word) > 0 {
		r, size := utf8.DecodeRuneInString(word)
		switch {
		case r == '\'' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == utf8.RuneError && size == 1, r < 0x20, !strconv.IsPrint(r):
			for i := range size {
				// Three octal digits: unlike \x they cannot run on into the text behind them.
				fmt.Fprintf(&b, `\%03o`, word[i])
			}
		default:
			b.WriteRune(r)
		}
		word = word[size:]
	}
	b.WriteString("'")
	return b.String()
}

// needsQuotes says which characters may mean something to a shell. "=" and "~" do in some places.
func needsQuotes(r rune) bool {
	plain := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-./:,+@%", r)
	return !plain
}
