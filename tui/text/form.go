package text

import "unicode/utf8"

// Form says what becomes of the characters that are harmless but not drawn
// alike by all terminals.
type Form uint8

const (
	// Natural leaves them as they are.
	Natural Form = iota
	// Even replaces what terminals draw in different widths by a plainer form
	// that is as wide everywhere: an emoji of several by the first of them, a
	// letter with a vowel sign that takes a cell in some by the letter and an
	// ellipsis. What has no such form is escaped. It is for cells and rows inside a
	// frame.
	Even
	// Exact escapes them, and everything else that does not show: joiners,
	// selectors, spaces that are not the ASCII or the ideographic one. Nothing is
	// left out. It is for what a person decides about.
	Exact
)

// unit is the smallest piece of a text s that is drawn as one: a grapheme cluster,
// an escape, or a cluster and the escape of the code point that may not be part
// of it.
type unit struct {
	start, tail, end int    // s[start:tail] is drawn as it is, s[tail:end] as an escape
	instead          string // drawn in place of s[start:tail] if it is not empty
}

// changed reports whether the unit is drawn as something else than the source.
func (u unit) changed() bool { return u.instead != "" || u.tail < u.end }

// appendTo adds what is drawn for the unit of s.
func (u unit) appendTo(dst []byte, s string) []byte {
	if u.instead != "" {
		dst = append(dst, u.instead...)
	} else {
		dst = append(dst, s[u.start:u.tail]...)
	}
	if u.tail < u.end {
		dst, _ = appendEscape(dst, s[u.tail:])
	}
	return dst
}

// unitAt gives the unit of s that starts at pos. It depends only on what s holds
// from there on. A newline is escaped; who keeps newlines looks for them first.
func unitAt(s string, pos int, form Form) unit {
	if b := s[pos]; escapes(b) {
		return unit{start: pos, tail: pos, end: pos + 1}
	} else if b < utf8.RuneSelf && (pos+1 == len(s) || s[pos+1] < utf8.RuneSelf) {
		return unit{start: pos, tail: pos + 1, end: pos + 1}
	}
	n, size := keep(s[pos:], form)
	u := unit{start: pos, tail: pos + n, end: pos + n}
	if form != Natural && !isEven(s[pos:u.tail]) {
		if form == Even {
			u.instead = levelled(s[pos:u.tail])
		}
		if u.instead == "" {
			u.tail = pos + evenPrefix(s[pos:u.tail])
			u.end = u.tail
		}
	}
	if n == 0 || u.end < pos+size {
		_, w := utf8.DecodeRuneInString(s[u.tail:])
		u.end = u.tail + w
	}
	return u
}

// Clean makes s safe to print. Newlines stay; everything else that a terminal
// obeys, does not show, or lets change what stands beside it becomes an escape.
// That is:
//
//   - C0 controls with tab and carriage return, DEL, and C1 controls, as bytes
//     and as code points; so no ESC, CSI, OSC, DCS, APC, SOS or PM is left;
//   - bytes that are not UTF-8;
//   - format characters with all bidirectional controls, line and paragraph
//     separators, private use, noncharacters, and code points that this version
//     of Unicode does not assign;
//   - characters that draw nothing: zero width ones, fillers, joiners, variation
//     selectors, tags. A joiner stays inside an emoji and between two letters of
//     Arabic, Syriac or an Indic script. A variation selector stays after a
//     pictograph and in a keycap. Tags stay in the flags of England, Scotland
//     and Wales;
//   - marks with nothing to stand on, the ninth and later marks on one letter, and
//     all of a cluster beyond its sixteenth code point;
//   - letters that would swallow a border after them, and half a flag.
//
// For code and diffs, see [Expand].
func Clean(s string) string { return render(s, 0, len(s), Natural, false) }

// Line is [Clean] for text that must stay on one row: a newline is shown as \n.
func Line(s string) string { return render(s, 0, len(s), Natural, true) }

// Safe is [Clean] in the [Even] form: as wide in terminals that count clusters
// as in those that count code points, and changed where that needs it.
func Safe(s string) string { return render(s, 0, len(s), Even, false) }

// Payload is [Clean] in the [Exact] form: as wide in all terminals, with nothing
// left out and nothing unseen. It is for the text that a person approves.
func Payload(s string) string { return render(s, 0, len(s), Exact, false) }

// render shows s[from:to], which holds whole units, in the form.
func render(s string, from, to int, form Form, oneLine bool) string {
	e := edit{src: s[:to], from: from}
	for pos := from + plain(s[from:to]); pos < to; pos += plain(s[pos:to]) {
		if s[pos] == '\n' && !oneLine {
			pos++
			continue
		}
		u := unitAt(s, pos, form)
		e.add(u)
		pos = u.end
	}
	return e.text()
}
