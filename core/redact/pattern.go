package redact

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"net/url"
	"slices"
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

// patternsOf lists the ways to write value: as it is, with + for spaces (query strings), in hexadecimal and in base64, and
// in these once more when it was escaped or encoded before (a password in a JSON file in base64, base64 twice).
// Percent, JSON and backslash escapes and wrapped lines around all of it are undone by views and need no pattern.
func patternsOf(value string, mark int) []pattern {
	list := []pattern{{text: value}}
	if strings.Contains(value, " ") {
		list = append(list, pattern{text: strings.ReplaceAll(value, " ", "+")})
	}
	list = append(list, encoded(value)...)
	for _, text := range escaped(value) {
		list = append(list, encoded(text)...)
	}
	for _, p := range encoded(value) {
		list = append(list, encoded(p.text)...)
	}
	seen := make(map[string]bool, len(list))
	kept := list[:0]
	for _, p := range list {
		if p.mark = mark; !seen[p.text] {
			seen[p.text] = true
			kept = append(kept, p)
		}
	}
	return kept
}

// encoded is a text in hexadecimal and in base64.
func encoded(text string) []pattern {
	digits := hex.EncodeToString([]byte(text))
	list := []pattern{{text: digits}, {text: strings.ToUpper(digits)}}
	for skip := range 3 {
		for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			list = append(list, base64Pattern(encoding, text, skip))
		}
	}
	return list
}

// escaped is a value as JSON, HTML and addresses hold it, where that is another text.
func escaped(value string) []string {
	list := []string{
		quoted(value, true), quoted(value, false), html.EscapeString(value), url.QueryEscape(value), url.PathEscape(value),
	}
	return slices.DeleteFunc(list, func(s string) bool { return s == value })
}

// quoted is a value as it stands between the quotes of a JSON string, with or without <, > and & escaped.
func quoted(value string, forHTML bool) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(forHTML)
	_ = enc.Encode(value) // a string always encodes
	return strings.TrimSuffix(strings.TrimPrefix(b.String(), `"`), "\"\n")
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
