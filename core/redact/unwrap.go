package redact

import "strings"

// wrapWidth is how many base64 characters must stand before a line break for it to be a wrap: tools wrap at 60, 64 or
// 76, and prose has no such words.
const wrapWidth = 32

// deepest is how much indentation is taken out after a line break.
const deepest = 1 << 10

// unwrap takes the line breaks out of long runs of base64 or hexadecimal, with the indentation that follows. The
// result is nil when there are none.
func unwrap(parent *view) *view {
	s := parent.text
	var v *view
	var text strings.Builder
	from := 0
	for i := 0; i < len(s); i++ {
		step := strings.IndexByte(s[i:], '\n')
		if step < 0 {
			// A carriage return at the very end may be the first half of a line break.
			step = len(strings.TrimSuffix(s[i:], "\r"))
		}
		i += step
		end := i
		if end > 0 && s[end-1] == '\r' {
			end--
		}
		if i == len(s) || !wrapped(s[:end]) {
			continue
		}
		if v == nil {
			v = &view{parent: parent, cut: -1}
			text.Grow(len(s))
		}
		text.WriteString(s[from:end])
		for i+1 < len(s) && i-end < deepest && (s[i+1] == ' ' || s[i+1] == '\t') {
			i++
		}
		from = i + 1
		v.pieces = append(v.pieces, piece{at: uint32(text.Len()), from: uint32(end), width: uint16(from - end)})
	}
	if v == nil {
		return nil
	}
	text.WriteString(s[from:])
	v.text = text.String()
	return v
}

func wrapped(before string) bool {
	n := len(before)
	if n < wrapWidth {
		return false
	}
	for i := n - 1; i >= n-wrapWidth; i-- {
		if !isBase64(before[i]) {
			return false
		}
	}
	return true
}
