package card

import (
	"fmt"
	"time"
	"unicode/utf8"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"

	"tillerman/tui/keys"
	"tillerman/tui/paint"
	"tillerman/tui/text"
)

// fieldLimit bounds what is typed, in characters: a model reads it.
const fieldLimit = 2000

// leastTyped is how much of what is typed is in sight at least, in cells.
const leastTyped = 10

// Burst is the quiet before an Enter that is meant: a paste that comes as keys holds line ends too, and comes faster.
const Burst = 60 * time.Millisecond

// Field is a line of text that takes all keys until it is sent or left. It is for one goroutine.
type Field struct {
	prompt  string
	input   textinput.Model
	last    time.Time // of the newest key
	pending bool      // an Enter that may be meant
	full    bool      // the last text did not fit in
}

// NewField opens an empty field. prompt stands before it.
func NewField(prompt string) *Field {
	f := &Field{prompt: prompt, input: textinput.New()}
	f.input.CharLimit = fieldLimit
	_ = f.input.Focus() // the command blinks a cursor; ours stands still
	return f
}

// Value is what was typed.
func (f *Field) Value() string { return f.input.Value() }

// Press edits the field at now.
func (f *Field) Press(now time.Time, msg tea.KeyPressMsg) {
	if f.pending { // the Enter before was a line end of a paste
		f.Insert(" ")
	}
	f.pending, f.last = false, now
	if f.full = !f.fits(msg.Text); !f.full {
		f.input, _ = f.input.Update(msg)
	}
}

// Insert puts pasted text in at the cursor, whole or not at all; line ends become spaces.
func (f *Field) Insert(s string) {
	f.pending = false
	if f.full = !f.fits(s); !f.full {
		f.input, _ = f.input.Update(tea.PasteMsg{Content: s})
	}
}

func (f *Field) fits(s string) bool {
	return s == "" || utf8.RuneCountInString(f.input.Value())+utf8.RuneCountInString(s) <= fieldLimit
}

// Full says that the last text did not fit in. What stands in the field is not what was meant: it is not sent until a key
// has said otherwise.
func (f *Field) Full() bool { return f.full }

// Enter notes Enter at now. It returns true when it may be meant: then Entered must be asked after Alone. One in the
// middle of a burst is a line end of a paste, and stays text.
func (f *Field) Enter(now time.Time) bool {
	burst := f.pending || now.Sub(f.last) < Burst
	f.last = now
	if f.full {
		return false
	}
	if burst {
		f.Insert(" ")
		return false
	}
	f.pending = true
	return true
}

// Entered says once that Enter was pressed and nothing came after it by now.
func (f *Field) Entered(now time.Time) bool {
	if !f.pending || now.Sub(f.last) < Alone {
		return false
	}
	f.pending = false
	return true
}

// Render puts the field on a line: the prompt, the text around the cursor, and at the right what its keys do.
func (f *Field) Render(l *paint.Line, p *paint.Painter, width int, bindings []keys.Binding) *paint.Line {
	full := ""
	if f.full { // in the place of the keys
		full, bindings = fmt.Sprintf(" that does not fit: %d characters ", fieldLimit), nil
	}
	prompt := f.prompt
	space := func() int {
		n := width - text.Width(prompt) - text.Width(full) - 6
		for _, b := range bindings {
			if len(b.Keys) > 0 {
				n -= text.Width(keys.Cap(b.Keys[0])) + text.Width(b.Name) + 3
			}
		}
		return n
	}
	for len(bindings) > 0 && space() < leastTyped { // what is typed stays in sight
		bindings = bindings[:len(bindings)-1]
	}
	if over := leastTyped - space(); over > 0 && full == "" {
		prompt = text.Truncate(prompt, max(4, text.Width(prompt)-over), p.Pick("… ", "~ "))
	}
	room := max(leastTyped, space())
	all := []rune(f.input.Value())
	at := min(f.input.Position(), len(all))
	before, after := text.Line(string(all[:at])), text.Line(string(all[at:]))
	if text.Width(before) > room { // keep the cursor in sight
		before = p.Pick("…", "~") + tail(before, room-1)
	}
	l.Add(paint.Person, prompt).Add(paint.Strong, before).Add(paint.Accent, p.Pick("▏", "|")).Add(paint.Strong, after)
	l.Right(paint.Bad, full)
	for _, b := range bindings {
		if len(b.Keys) > 0 {
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
