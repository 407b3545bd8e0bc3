package card

import (
	"strings"
	"unicode"

	"tillerman/tui/paint"
	"tillerman/tui/text"
)

// Send is the key that sends a deny with its reason. It is not Enter: Enter, space and Esc never decide.
const Send = "ctrl+d"

// reason is the field for a deny's reason.
type reason struct {
	text   []rune
	cursor int
	stop   bool
	sent   bool
	closed bool // left without a decision
}

// press edits the field. typed is the text a key stands for, "" for none.
func (r *reason) press(key, typed string) {
	switch key {
	case Send:
		r.sent = true
	case "esc":
		r.closed = true
	case "left":
		r.cursor = max(0, r.cursor-1)
	case "right":
		r.cursor = min(len(r.text), r.cursor+1)
	case "home":
		r.cursor = 0
	case "end":
		r.cursor = len(r.text)
	case "backspace":
		if r.cursor > 0 {
			r.text = append(r.text[:r.cursor-1], r.text[r.cursor:]...)
			r.cursor--
		}
	case "delete":
		if r.cursor < len(r.text) {
			r.text = append(r.text[:r.cursor], r.text[r.cursor+1:]...)
		}
	case "ctrl+u":
		r.text, r.cursor = append([]rune(nil), r.text[r.cursor:]...), 0
	default:
		r.insert(typed)
	}
}

// insert puts text in at the cursor; line ends become spaces.
func (r *reason) insert(s string) {
	s = strings.Map(func(c rune) rune {
		if c == '\n' || c == '\r' || c == '\t' {
			return ' '
		}
		if unicode.IsControl(c) {
			return -1
		}
		return c
	}, s)
	in := []rune(s)
	r.text = append(r.text[:r.cursor:r.cursor], append(in, r.text[r.cursor:]...)...)
	r.cursor += len(in)
}

func (r *reason) render(l *paint.Line, p *paint.Painter) *paint.Line {
	word := "why deny? "
	if r.stop {
		word = "why deny and stop? "
	}
	before, after := text.Line(string(r.text[:r.cursor])), text.Line(string(r.text[r.cursor:]))
	if over := text.Width(before) - 40; over > 0 { // keep the cursor in sight
		before = p.Pick("…", "~") + tail(before, 40)
	}
	l.Add(paint.Person, word).Add(paint.Strong, before).Add(paint.Accent, p.Pick("▏", "|")).Add(paint.Strong, after)
	return l.Right(paint.Soft, Send+" denies · esc back ")
}

// tail is the end of a clean text in at most width cells.
func tail(s string, width int) string {
	r := []rune(s)
	for len(r) > 0 && text.Width(string(r)) > width {
		r = r[1:]
	}
	return string(r)
}
