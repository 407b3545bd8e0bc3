package card

import (
	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"

	"tillerman/tui/keys"
	"tillerman/tui/paint"
	"tillerman/tui/text"
)

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

// press edits the field. Enter does nothing: Enter, space and Esc never decide.
func (r *reason) press(msg tea.KeyPressMsg, a keys.Action) {
	switch a {
	case keys.Send:
		r.sent = true
	case keys.Discard:
		r.closed = true
	default:
		r.field, _ = r.field.Update(msg)
	}
}

// insert puts pasted text in at the cursor; line ends become spaces.
func (r *reason) insert(s string) { r.field, _ = r.field.Update(tea.PasteMsg{Content: s}) }

func (r *reason) render(l *paint.Line, p *paint.Painter, m *keys.Map) *paint.Line {
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
	for _, a := range []keys.Action{keys.Send, keys.Discard} {
		if b, ok := m.Get(a, keys.InReason); ok && len(b.Keys) > 0 {
			l.Right(paint.Strong, " "+keys.Cap(b.Keys[0])).Right(paint.Soft, " "+b.Name+" ")
		}
	}
	return l
}

// tail is the end of a clean text in at most width cells.
func tail(s string, width int) string {
	r := []rune(s)
	for len(r) > 0 && text.Width(string(r)) > width {
		r = r[1:]
	}
	return string(r)
}
