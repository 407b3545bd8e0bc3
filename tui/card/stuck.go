package card

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"tillerman/db"
	"tillerman/tui/keys"
	"tillerman/tui/paint"
	"tillerman/tui/text"
)

// Stuck is the card of a call that had begun when its process died and that must not happen twice: nobody but a person
// can say what became of it. Its keys are guarded like those of a question. It is for one goroutine.
type Stuck struct {
	Call    db.Call
	BegunAt int64  // wall clock, ms
	changed string // what changed in the workspace since, "" while it is looked for

	pane
	guard  Guard
	answer string // done, retry, fail: what the open field is for
	field  *Field
	wants  string // what the field lacks
	draft  string // a finding that could not be stored
}

// NewStuck shows a call at now.
func NewStuck(c db.Call, begunAt int64, now time.Time) *Stuck {
	return &Stuck{Call: c, BegunAt: begunAt, guard: NewGuard(now)}
}

// Same says whether the card is about this call, begun at this time.
func (c *Stuck) Same(call db.Call, begunAt int64) bool {
	return c.Call.Step == call.Step && c.Call.Position == call.Position && c.BegunAt == begunAt
}

// Changed takes what changed in the workspace since the call began, in words.
func (c *Stuck) Changed(words string) {
	c.changed = words
	c.Repaint()
}

// Armed says whether a key that resolves would count now.
func (c *Stuck) Armed(now time.Time) bool { return c.guard.Armed(now) }

// Arming is how long it still takes until one counts.
func (c *Stuck) Arming(now time.Time) time.Duration { return c.guard.Left(now) }

// Rearm makes the card arm anew from now.
func (c *Stuck) Rearm(now time.Time) { c.guard = NewGuard(now) }

// Field says that the field for the finding is open and takes all keys.
func (c *Stuck) Field() bool { return c.field != nil }

// Payload is the call as it would be copied.
func (c *Stuck) Payload() string {
	if c.Call.Target != "" {
		return c.Call.Target
	}
	return c.Call.Name + " " + c.Call.Arguments
}

// Resize lays the evidence out for a window and notes whether its end is in it.
func (c *Stuck) Resize(p *paint.Painter, width, height int) {
	if width != c.width || c.lines == nil {
		c.set(nil, c.evidence(p, width)...)
	}
	c.fit(width, height)
}

// evidence is everything that is known about the call.
func (c *Stuck) evidence(p *paint.Painter, width int) []*roll {
	out := []*roll{newRoll(p, paint.Strong, c.Payload(), width)}
	changed := c.changed
	if changed == "" {
		changed = "looking at the workspace" + p.Pick("…", "...")
	}
	for _, fact := range []string{
		"asked as  " + c.Call.Name + " " + c.Call.Arguments,
		fmt.Sprintf("begun     %s, step %d, call %d, key %s", time.UnixMilli(c.BegunAt).Format("2006-01-02 15:04:05"), c.Call.Step, c.Call.Position, c.Call.Key),
		"files     " + changed,
	} {
		out = append(out, newRoll(p, paint.Soft, fact, width))
	}
	return out
}

// Press handles a key. handled says that the card took it; settle that Settle has to be called after Alone.
func (c *Stuck) Press(now time.Time, msg tea.KeyPressMsg, b keys.Binding) (handled, settle bool) {
	if c.field != nil {
		c.wants = ""
		switch b.Action {
		case keys.Record:
			if c.field.full {
				c.wants = "that does not fit"
			} else if strings.TrimSpace(c.field.Value()) == "" {
				c.wants = "say what you found: it is required"
			}
		case keys.Close:
			c.field = nil
			c.Rearm(now)
		default:
			c.field.Press(now, msg)
		}
		return true, false
	}
	what := Noise
	switch b.Action {
	case keys.Happened, keys.Again, keys.Failed:
		what = Harmless
		if c.seenEnd {
			what = Decision
		}
	case keys.PageDown, keys.PageUp, keys.Copy:
		what = Harmless
	}
	ready := c.guard.Press(now, string(b.Action), what)
	switch b.Action {
	case keys.PageDown:
		c.page(1)
		return true, false
	case keys.PageUp:
		c.page(-1)
		return true, false
	case keys.Happened, keys.Again, keys.Failed:
		return true, ready
	}
	return false, false
}

// Disturb notes a paste, or other input that was not pressed key by key. An open field takes it as text.
func (c *Stuck) Disturb(now time.Time, pasted string) {
	if c.field != nil {
		c.field.Insert(pasted)
		return
	}
	c.guard.Disturb(now)
}

// Settle opens the field for the finding when a key has stood alone by now.
func (c *Stuck) Settle(now time.Time) {
	switch keys.Action(c.guard.Settle(now)) {
	case keys.Happened:
		c.answer, c.field = "done", NewField("it happened, what did you find? ")
	case keys.Again:
		c.answer, c.field = "retry", NewField("do it again, what did you find? ")
	case keys.Failed:
		c.answer, c.field = "fail", NewField("it failed, what did you find? ")
	default:
		return
	}
	c.field.Insert(c.draft)
}

// Unstored takes back a finding that could not be stored: the next field begins with it.
func (c *Stuck) Unstored(finding string) { c.draft = finding }

// Confirm returns the resolution that the field was sent with by this binding, nil when it was not or says nothing.
func (c *Stuck) Confirm(b keys.Binding) *db.Resolution {
	if c.field == nil || b.Action != keys.Record || c.wants != "" {
		return nil
	}
	r := &db.Resolution{Answer: c.answer, Reason: strings.TrimSpace(c.field.Value()), Key: c.Call.Key, Begun: c.BegunAt}
	c.field = nil
	return r
}

// Render draws the card: Frame lines and the window of its evidence.
func (c *Stuck) Render(v View, width int) []string {
	p := v.Painter
	start := func() *paint.Line {
		return p.Line(width, paint.Panel).Add(paint.Person, p.Pick("▌", "|")).Gap(1)
	}
	title := start().Add(paint.Person, "Did it happen?").Gap(2).Add(paint.Person, text.Line(c.Call.Name)).Gap(2).Add(paint.Soft, "in "+text.Line(v.Place))
	out := append([]string{title.Right(paint.Person, v.Waits).Right(paint.Text, " ").String()}, c.rows(p, width)...)
	if !v.Compact {
		note := start()
		if !c.more(note, p, "answers are off") {
			note.Add(paint.Soft, "look, then say what you found")
		}
		out = append(out, start().Add(paint.Text, "Its process died while it ran, and it must not run twice unseen.").String(), note.String())
	}
	return append(out, c.bottom(start(), v, width))
}

// bottom is the field when it is open, else the keys.
func (c *Stuck) bottom(l *paint.Line, v View, width int) string {
	if c.wants != "" {
		l.Right(paint.Bad, c.wants+" ")
		return c.field.Render(l, v.Painter, width-2-text.Width(c.wants), nil).String()
	}
	if c.field != nil {
		return c.field.Render(l, v.Painter, width-2, bindings(v.Keys, keys.InFinding, keys.Record, keys.Close)).String()
	}
	for i, b := range bindings(v.Keys, keys.OnStuck, keys.Happened, keys.Again, keys.Failed) {
		role := paint.Strong
		if !v.Armed || v.Behind || !c.seenEnd {
			role = paint.Faint
		}
		l.Gap(3*min(i, 1)).On(role, paint.Cap, " "+keys.Cap(b.Keys[0])+" ").Add(paint.Soft, " "+b.Name)
	}
	switch {
	case v.Behind:
		l.Right(paint.Person, "waits: esc first ")
	case !v.Armed:
		l.Right(paint.Soft, "one moment ")
	case !c.seenEnd && v.Compact:
		l.Right(paint.Person, "pgdn first ")
	}
	return l.String()
}
