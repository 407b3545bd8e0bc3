package text

import "unicode/utf8"

const hexDigits = "0123456789abcdef"

// appendEscape adds the visible form of the first code point or invalid byte of
// s and returns how many bytes of s that was. The syntax is that of a Go string
// literal.
func appendEscape(dst []byte, s string) ([]byte, int) {
	r, w := utf8.DecodeRuneInString(s)
	switch {
	case r == utf8.RuneError && w == 1:
		return appendHex(append(dst, `\x`...), rune(s[0]), 2), 1
	case r >= '\a' && r <= '\r':
		return append(dst, '\\', "abtnvfr"[r-'\a']), w
	case r < utf8.RuneSelf:
		return appendHex(append(dst, `\x`...), r, 2), w
	case r < 0x10000:
		return appendHex(append(dst, `\u`...), r, 4), w
	}
	return appendHex(append(dst, `\U`...), r, 8), w
}

func appendHex(dst []byte, r rune, digits int) []byte {
	for shift := 4 * (digits - 1); shift >= 0; shift -= 4 {
		dst = append(dst, hexDigits[r>>shift&0xf])
	}
	return dst
}

// Quote shows a name, for a list with one name a row. A name that cannot be
// mistaken for another is shown as it is. All others are shown as a Go string
// literal, which strconv.Unquote turns back into exactly s: names with anything
// that [Line] would escape, with a quotation mark, a backslash, a space at either
// end or a space that is not the ASCII one, and the empty name.
func Quote(s string) string {
	b := append(make([]byte, 0, len(s)+2), '"')
	quoted := s == "" || s[0] == ' ' || s[len(s)-1] == ' '
	for pos := 0; pos < len(s); {
		r, w := utf8.DecodeRuneInString(s[pos:])
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', s[pos])
			pos++
			quoted = true
			continue
		case blank(r), r == '\u3000', isPrepend(r): // the last could hide a quotation mark in its cluster
			b, _ = appendEscape(b, s[pos:])
			pos += w
			quoted = true
			continue
		}
		u := unitAt(s, pos, Natural)
		b = u.appendTo(b, s)
		quoted = quoted || u.changed()
		pos = u.end
	}
	if !quoted {
		return s
	}
	return string(append(b, '"'))
}

// Hidden reports whether s holds anything that [Clean] shows as an escape, other
// than tabs: a reader should be told that the text is not what a terminal would
// have made of it.
func Hidden(s string) bool {
	for pos := plain(s); pos < len(s); pos += plain(s[pos:]) {
		if s[pos] == '\t' || s[pos] == '\n' {
			pos++
			continue
		}
		u := unitAt(s, pos, Natural)
		if u.changed() {
			return true
		}
		pos = u.end
	}
	return false
}

// escapes reports whether b must be escaped wherever it stands.
func escapes(b byte) bool { return b < ' ' || b == 0x7f }

// plain gives how many bytes s starts with that are printable ASCII and each a
// cluster of their own. The byte before a non-ASCII one may be a mark's base.
func plain(s string) int {
	for i := range len(s) {
		if b := s[i]; b < ' ' || b >= 0x7f {
			if b >= utf8.RuneSelf {
				i = max(i-1, 0)
			}
			return i
		}
	}
	return len(s)
}
