package tool

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// sampleSize is how much of a file is looked at to tell text from bytes; git looks at as many.
const sampleSize = 8000

// binary says whether a file that begins with sample is no text: it has a NUL, as git decides it, or more than three
// bytes in ten are not valid UTF-8. Text in an old one-byte encoding with some accents still counts as text.
func binary(sample []byte) bool {
	if bytes.IndexByte(sample, 0) >= 0 {
		return true
	}
	invalid := 0
	for i := 0; i < len(sample); {
		r, n := utf8.DecodeRune(sample[i:])
		if r == utf8.RuneError && n == 1 && utf8.FullRune(sample[i:]) {
			invalid++
		}
		i += n
	}
	return invalid*10 > len(sample)*3
}

// escapeInvalid makes text of bytes: what is valid UTF-8 stays, every other byte becomes \xNN. It says how many there
// were.
func escapeInvalid(text []byte) (string, int) {
	if utf8.Valid(text) {
		return string(text), 0
	}
	var b strings.Builder
	b.Grow(len(text) + 64)
	escaped := 0
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		if r == utf8.RuneError && n == 1 {
			fmt.Fprintf(&b, `\x%02x`, text[0])
			escaped++
		} else {
			b.Write(text[:n])
		}
		text = text[n:]
	}
	return b.String(), escaped
}

// runeStart moves i back to where a character of s begins, at most three bytes: text that is not UTF-8 is cut where it
// was asked to be cut.
func runeStart(s string, i int) int {
	for back := i; back >= 0 && back > i-utf8.UTFMax; back-- {
		if back == len(s) || utf8.RuneStart(s[back]) {
			return back
		}
	}
	return i
}

// plural writes a count with its noun.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// failed is the result of a call that did not do what it was asked. Its text begins with a fixed word for the kind.
func failed(format string, args ...any) Result {
	return Result{Text: fmt.Sprintf(format, args...), Failed: true}
}
