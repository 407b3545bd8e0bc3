package canonical

import (
	"strings"
	"unicode/utf8"
)

// Escape makes a value safe inside a line: white space, control bytes, the separator, the percent sign, characters that
// change the direction of text or cannot be seen, and bytes that are not UTF-8 become %XX, as in a URL (RFC 3986, 2.1),
// which is also how to read them back. Other text stays readable.
func Escape(s string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		raw := s[:size]
		s = s[size:]
		if invalid := r == utf8.RuneError && size == 1; !invalid && !escaped(r) {
			b.WriteString(raw)
			continue
		}
		for _, c := range []byte(raw) {
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		}
	}
	return b.String()
}

// escaped says whether a character is written as bytes. The list is fixed, so that traces do not change with a version
// of Unicode.
func escaped(r rune) bool {
	switch {
	case r <= ' ', r == '%', r == '|', r >= 0x7F && r <= 0xA0: // controls and spaces
		return true
	case r == 0xAD, r == 0x61C, r == 0x180E, r == 0xFEFF: // soft hyphen, Arabic letter mark, Mongolian separator, zero-width no-break space
		return true
	case r == 0x1680, r >= 0x2000 && r <= 0x200F, r >= 0x2028 && r <= 0x202F, r >= 0x205F && r <= 0x206F, r == 0x3000: // spaces, separators, direction
		return true
	}
	return r >= 0xE0000 && r <= 0xE0FFF // tags
}
