package redact

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
)

// pattern is one way a secret can be written that no decoding in view.go undoes.
type pattern struct {
	text string
	mark int // index of the secret's mark
	// partial: the base64 character after the text holds the secret's last bits and others. (The one before may hold
	// up to four of its first bits; it stays, or a stream would have to hold back the end of every word.)
	partial bool
}

// patternsOf lists the ways to write value: as it is, with + for spaces (query strings), in hexadecimal and in base64.
// Percent, JSON and backslash escapes and wrapped lines are undone by views and need no pattern.
func patternsOf(value string, mark int) []pattern {
	list := []pattern{{text: value, mark: mark}}
	if strings.Contains(value, " ") {
		list = append(list, pattern{text: strings.ReplaceAll(value, " ", "+"), mark: mark})
	}
	digits := hex.EncodeToString([]byte(value))
	list = append(list, pattern{text: digits, mark: mark})
	if upper := strings.ToUpper(digits); upper != digits {
		list = append(list, pattern{text: upper, mark: mark})
	}
	for skip := range 3 {
		for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			p := base64Pattern(encoding, value, skip)
			p.mark = mark
			if last := list[len(list)-1]; last.text != p.text {
				list = append(list, p)
			}
		}
	}
	return list
}

// base64Pattern gives the characters that value certainly produces when skip bytes stand before it in its group of
// three. Base64 (RFC 4648, section 4) turns 3 bytes into 4 characters of 6 bits, so there are three alignments.
func base64Pattern(encoding *base64.Encoding, value string, skip int) pattern {
	text := encoding.EncodeToString([]byte(strings.Repeat("\x00", skip) + value))
	first := (8*skip + 5) / 6
	bits := 8 * (skip + len(value))
	return pattern{text: text[first : bits/6], partial: bits%6 != 0}
}

func isBase64(c byte) bool {
	return isAlnum(c) || c == '+' || c == '/' || c == '-' || c == '_'
}

func isAlnum(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}
