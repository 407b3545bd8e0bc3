package redact

import (
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// view is a text with one kind of escape undone, that can say where its bytes came from.
type view struct {
	text   string
	parent *view // nil for the text itself
	pieces []piece
	// cut is where in the parent an escape begins that the text's end cut off, -1 if none: more text may change the view.
	cut int
	// first is the number of spans found before this view's.
	first int
}

// piece is an escape undone: n bytes from view.text[at] on stand for width bytes from parent.text[from] on. What lies
// between pieces is the same in both. The offsets suffice for 4 GiB, more than a text can have here.
type piece struct {
	at, from uint32
	width, n uint16
}

// views returns s and every way to read it with escapes undone: JSON and C escapes twice (JSON inside JSON), percent
// escapes twice, line breaks taken out of wrapped base64 and hexadecimal. With more to come, an escape that the end of
// s cuts off is left out of the views of it.
func views(s string, more bool) []*view {
	plain := &view{text: s, cut: -1}
	all := []*view{plain}
	texts := all
	for v, depth := plain, 0; depth < 2; depth++ {
		if v = unescape(v, '\\', more, backslash); v == nil {
			break
		}
		texts = append(texts, v)
	}
	all = texts
	// Undoing backslashes leaves percent escapes as they are: one reading serves for both.
	v := texts[min(1, len(texts)-1)]
	for depth := 0; depth < 2; depth++ {
		if v = unescape(v, '%', more, percent); v == nil {
			break
		}
		all = append(all, v)
	}
	for _, v := range texts {
		if u := unwrap(v); u != nil {
			all = append(all, u)
		}
	}
	return all
}

// source maps a part of the view to the part of the original text it came from.
func (v *view) source(from, to int) (int, int) {
	for ; v.parent != nil; v = v.parent {
		from, to = v.start(from), v.end(to)
	}
	return from, to
}

func (v *view) start(i int) int {
	from, _ := v.place(i)
	return from
}

// end maps the end of a part by its last byte, so that what was dropped after it stays outside.
func (v *view) end(i int) int {
	if i == 0 {
		return v.start(0)
	}
	_, to := v.place(i - 1)
	return to
}

// place returns the part of the parent that view.text[i] came from.
func (v *view) place(i int) (from, to int) {
	k, exact := slices.BinarySearchFunc(v.pieces, i, func(p piece, i int) int { return int(p.at) - i })
	if !exact {
		k--
	}
	if k < 0 {
		return i, i + 1
	}
	p := v.pieces[k]
	from = int(p.from)
	if into := i - int(p.at) - int(p.n); into >= 0 {
		from += int(p.width) + into
		return from, from + 1
	}
	return from, from + int(p.width)
}

// unescape undoes the escapes that begin with mark. read gives the bytes an escape at the start of its argument
// stands for and its width, 0 for none, -1 for one that the end of the text cuts off. The result is nil when there
// is nothing to undo.
func unescape(parent *view, mark byte, more bool, read func(string) (string, int)) *view {
	s := parent.text
	next := strings.IndexByte(s, mark)
	if next < 0 {
		return nil
	}
	v := &view{parent: parent, cut: -1}
	var text strings.Builder
	text.Grow(len(s))
	from := 0 // what of s is in text already
	for i := next; i < len(s); {
		meaning, width := read(s[i:])
		switch {
		case width > 0:
			text.WriteString(s[from:i])
			v.pieces = append(v.pieces, piece{uint32(text.Len()), uint32(i), uint16(width), uint16(len(meaning))})
			text.WriteString(meaning)
			i += width
			from = i
		case width < 0:
			v.cut = i
			i = len(s)
		default:
			i++
		}
		step := strings.IndexByte(s[i:], mark)
		if step < 0 {
			break
		}
		i += step
	}
	if v.cut < 0 && from == 0 {
		return nil
	}
	end := len(s)
	if v.cut >= 0 && more {
		end = v.cut
	}
	text.WriteString(s[from:end])
	v.text = text.String()
	return v
}

// percent reads %41 (RFC 3986, section 2.1).
func percent(s string) (string, int) {
	c, ok, short := hexByte(s[1:])
	switch {
	case ok:
		return string([]byte{c}), 3
	case short:
		return "", -1
	}
	return "", 0
}

// backslash reads the escapes of JSON (RFC 8259, section 7) and \x41, which many languages print.
func backslash(s string) (string, int) {
	if len(s) < 2 {
		return "", -1
	}
	switch s[1] {
	case '"', '\\', '/', '\'':
		return s[1:2], 2
	case 'b':
		return "\b", 2
	case 'f':
		return "\f", 2
	case 'n':
		return "\n", 2
	case 'r':
		return "\r", 2
	case 't':
		return "\t", 2
	case 'x':
		c, ok, short := hexByte(s[2:])
		switch {
		case ok:
			return string([]byte{c}), 4
		case short:
			return "", -1
		}
	case 'u':
		return unicodeEscape(s)
	}
	return "", 0
}

// unicodeEscape reads \u0041, and two of them that make one character together.
func unicodeEscape(s string) (string, int) {
	r, ok, short := hexRune(s[2:])
	switch {
	case short:
		return "", -1
	case !ok:
		return "", 0
	case !utf16.IsSurrogate(r):
		return string(r), 6
	case len(s) == 6 || s[6:] == `\`:
		return "", -1
	case !strings.HasPrefix(s[6:], `\u`):
		return string(utf8.RuneError), 6
	}
	second, ok, short := hexRune(s[8:])
	if short {
		return "", -1
	}
	if pair := utf16.DecodeRune(r, second); ok && pair != utf8.RuneError {
		return string(pair), 12
	}
	return string(utf8.RuneError), 6
}

func hexRune(s string) (r rune, ok, short bool) {
	high, ok, short := hexByte(s)
	if !ok {
		return 0, false, short
	}
	low, ok, short := hexByte(s[2:])
	return rune(high)<<8 | rune(low), ok, short
}

// hexByte reads two hexadecimal digits; short says that s ends before they are complete.
func hexByte(s string) (c byte, ok, short bool) {
	for i := range 2 {
		if i == len(s) {
			return 0, false, true
		}
		switch d := s[i]; {
		case d >= '0' && d <= '9':
			c = c<<4 | (d - '0')
		case d >= 'a' && d <= 'f':
			c = c<<4 | (d - 'a' + 10)
		case d >= 'A' && d <= 'F':
			c = c<<4 | (d - 'A' + 10)
		default:
			return 0, false, false
		}
	}
	return c, true, false
}
