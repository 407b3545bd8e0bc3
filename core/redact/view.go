package redact

import (
	"html"
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

// way is one kind of escape: the byte that it begins with, and how it is read.
type way struct {
	mark byte
	read func(string) (string, int)
}

// views returns s and the ways to read it with escapes undone: JSON and C escapes three times (JSON inside JSON inside
// the arguments of a call), percent escapes twice, HTML's references, a shell's backslashes and quotes, line breaks taken
// out of wrapped base64 and hexadecimal; and of those mixed, what is met: percent, HTML and a shell inside JSON, and
// JSON and HTML inside the others, HTML in itself. With more to come, an escape that the end of s cuts off is left out of the views of it.
func views(s string, more bool) []*view {
	slash, hundredth, amp := way{'\\', backslash}, way{'%', percent}, way{'&', reference}
	var all []*view
	add := func(v *view, w way) *view {
		if v == nil {
			return nil
		}
		if v = unescape(v, w.mark, more, w.read); v != nil {
			all = append(all, v)
		}
		return v
	}
	plain := &view{text: s, cut: -1}
	all = append(all, plain)
	for v, depth := plain, 0; v != nil && depth < 3; depth++ {
		v = add(v, slash)
	}
	texts := all
	for _, v := range texts[:min(2, len(texts))] {
		references := add(v, amp)
		add(references, slash)
		add(references, amp)
		add(v, way{'\\', shellBackslash})
		add(v, way{'\'', shellQuotes})
	}
	// Undoing backslashes leaves percent escapes as they are: one reading serves for both.
	once := add(texts[min(1, len(texts)-1)], hundredth)
	for _, v := range []*view{once, add(once, hundredth)} {
		add(v, slash)
		add(v, amp)
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

// backslash reads the escapes of JSON (RFC 8259, section 7) and those that C, Go and shells print besides: \x41, \101,
// \U00000041, \a, \e, \v.
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
		if strings.HasPrefix(s[2:], "{") {
			return bracedEscape(s)
		}
		return unicodeEscape(s)
	case 'U':
		return longEscape(s)
	case 'a':
		return "\a", 2
	case 'e', 'E':
		return "\x1b", 2
	case 'v':
		return "\v", 2
	case '0', '1', '2', '3', '4', '5', '6', '7':
		return octal(s)
	}
	return "", 0
}

// octal reads \101: up to three digits that make a byte. Some programs want a zero before the three.
func octal(s string) (string, int) {
	first, n := 1, 0
	if len(s) > 1 && s[1] == '0' && len(s) > 4 && isOctal(s[2]) && isOctal(s[3]) && isOctal(s[4]) {
		first = 2
	}
	i := first
	for ; i < len(s) && i < first+3 && isOctal(s[i]); i++ {
		n = n<<3 | int(s[i]-'0')
	}
	switch {
	case i == len(s) && i < 5:
		return "", -1
	case n > 0xff:
		return "", 0
	}
	return string([]byte{byte(n)}), i
}

func isOctal(c byte) bool { return c >= '0' && c <= '7' }

// longEscape reads \U0001F600.
func longEscape(s string) (string, int) {
	var r rune
	for i := 2; i < 10; i += 2 {
		c, ok, short := hexByte(s[min(i, len(s)):])
		switch {
		case short:
			return "", -1
		case !ok:
			return "", 0
		}
		r = r<<8 | rune(c)
	}
	return string(r), 10
}

// bracedEscape reads \u{1F600}, as JavaScript, Rust and Swift write it: one to eight digits.
func bracedEscape(s string) (string, int) {
	var r rune
	for i := 3; i < len(s); i++ {
		digit, ok, _ := hexByte("0" + s[i:i+1])
		switch {
		case s[i] == '}' && i > 3:
			return string(r), i + 1
		case !ok || i == 3+8:
			return "", 0
		}
		r = r<<4 | rune(digit)
	}
	return "", -1
}

// shellBackslash reads a backslash as a shell does outside quotes: the next character loses its meaning, a line break
// goes.
func shellBackslash(s string) (string, int) {
	switch {
	case len(s) < 2:
		return "", -1
	case s[1] == '\n':
		return "", 2
	case s[1] >= utf8.RuneSelf:
		return "", 0
	}
	return s[1:2], 2
}

// shellQuotes reads the ways to write a single quote between single quotes.
func shellQuotes(s string) (string, int) {
	for _, form := range []string{`'\''`, `'"'"'`} {
		if strings.HasPrefix(s, form) {
			return "'", len(form)
		}
		if strings.HasPrefix(form, s) {
			return "", -1
		}
	}
	return "", 0
}

// longestReference is the most bytes of a reference that is read, leading zeros included.
const longestReference = 12

// reference reads the references of HTML that programs write for characters with a meaning there, and numbers for any.
func reference(s string) (string, int) {
	end := strings.IndexByte(s[:min(len(s), longestReference)], ';')
	if end < 0 {
		if len(s) < longestReference && strings.IndexFunc(s[1:], notInReference) < 0 {
			return "", -1
		}
		return "", 0
	}
	text := html.UnescapeString(s[:end+1])
	if strings.HasPrefix(text, "&") && text != "&" {
		return "", 0
	}
	return text, end + 1
}

func notInReference(r rune) bool {
	return r != '#' && (r < '0' || r > '9') && (r|0x20 < 'a' || r|0x20 > 'z')
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
