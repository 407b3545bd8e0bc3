package card

import (
	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"

	"tillerman/tui/paint"
	"tillerman/tui/text"
)

// Send is the key that sends a deny with its reason. It is not Enter: Enter, space and Esc never decide.
const Send = "ctrl+d"

// reasonLimit bounds a reason in characters: a model reads it.
const reasonLimit = 2000

// reason is the field for a deny's reason.
type reason struct {
	field  textinput.Model
	stop   bool
	sent   bool
	closed bool // left without a decision
}

func newReason(stop bool) *reason {
	r := &reason{field: textinput.New(), stop: stop}
	r.field.CharLimit = reasonLimit
	_ = r.field.Focus() // the command blinks a cursor; ours stands still
	return r
}

// press edits the field.
func (r *reason) press(msg tea.KeyPressMsg) {
	switch msg.String() {
	case Send:
		r.sent = true
	case "esc":
		r.closed = true
	default:
		r.field, _ = r.field.Update(msg)
	}
}

// insert puts pasted text in at the cursor; line ends become spaces.
func (r *reason) insert(s string) { r.field, _ = r.field.Update(tea.PasteMsg{Content: s}) }

func (r *reason) render(l *paint.Line, p *paint.Painter) *paint.Line {
	word := "why deny? "
	if r.stop {
		word = "why deny and stop? "
	}
	all := []rune(r.field.Value())
	at := min(r.field.Position(), len(all))
	before, after := text.Line(string(all[:at])), text.Line(string(all[at:]))
	if text.Width(before) > 40 { // keep the cursor in sight
		before = p.Pick("…", "~") + tail(before, 40)
	}
	l.Add(paint.Person, word).Add(paint.Strong, before).Add(paint.Accent, p.Pick("▏", "|")).Add(paint.Strong, after)
	return l.Right(paint.Soft, Send+" denies"+p.Pick(" · ", ", ")+"esc back ")
}

// tail is the end of a clean text in at most width cells.
func tail(s string, width int) string {
	r := []rune(s)
	for len(r) > 0 && text.Width(string(r)) > width {
		r = r[1:]
	}
	return string(r)
}
