package card

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"tillerman/db"
	"tillerman/tui/detail"
	"tillerman/tui/keys"
	"tillerman/tui/paint"
	"tillerman/tui/text"
)

// Card is one question on the screen. It is bound to the request's id and digest when it is made; a decision made on it
// can be about nothing else. It is for one goroutine.
type Card struct {
	Request db.Request
	guard   Guard
	reason  *reason // the field for a deny's reason, nil when it is not open

	width, height int // of the payload's window
	lines         []string
	offset        int
	seenEnd       bool
}

// New shows a request at now.
func New(r db.Request, now time.Time) *Card { return &Card{Request: r, guard: NewGuard(now)} }

// Armed says whether a decision key would count now.
func (c *Card) Armed(now time.Time) bool { return c.guard.Armed(now) }

// Arming is how long it still takes until a decision key counts.
func (c *Card) Arming(now time.Time) time.Duration { return c.guard.Left(now) }

// SeenEnd says whether the end of the payload has been on the screen.
func (c *Card) SeenEnd() bool { return c.seenEnd }

// Field says that the reason field is open and takes all keys.
func (c *Card) Field() bool { return c.reason != nil }

// Resize lays the payload out for a window and notes whether its end is in it. The window is what Render draws next.
func (c *Card) Resize(p *paint.Painter, width, height int) {
	if width != c.width || c.lines == nil {
		c.lines = payload(p, c.Request, width)
	}
	c.width, c.height = width, height
	c.scroll(0)
}

// Repaint lays the payload out anew at the next Resize: the theme has changed.
func (c *Card) Repaint() { c.lines = nil }

func payload(p *paint.Painter, r db.Request, width int) []string {
	raw := strings.Split(strings.TrimRight(r.Payload, "\n"), "\n")
	if len(raw) > 1 && strings.HasPrefix(raw[0], "--- ") && strings.HasPrefix(raw[1], "+++ ") {
		return detail.Diff(p, width, paint.Panel, raw)
	}
	var out []string
	for _, l := range raw {
		for _, part := range text.Wrap(text.Payload(l), max(4, width)) {
			out = append(out, p.Line(width, paint.Panel).Add(paint.Strong, part).String())
		}
	}
	return out
}

// Lines is how many lines the payload takes at the current width.
func (c *Card) Lines() int { return len(c.lines) }

func (c *Card) scroll(by int) {
	last := max(0, len(c.lines)-c.height)
	c.offset = min(max(0, c.offset+by), last)
	if c.height > 0 && c.offset >= last {
		c.seenEnd = true
	}
}

// Press handles a key. handled says that the card took it; settle that Settle has to be called after Alone.
func (c *Card) Press(now time.Time, msg tea.KeyPressMsg, b keys.Binding) (handled, settle bool) {
	if c.reason != nil {
		c.reason.press(msg, b.Action)
		if c.reason.closed {
			c.reason = nil
			c.guard = NewGuard(now)
		}
		return true, false
	}
	what := Noise
	switch b.Action {
	case keys.Approve:
		what = Harmless
		if c.seenEnd {
			what = Decision
		}
	case keys.Deny, keys.DenyStop, keys.Defer:
		what = Decision
	case keys.PageDown, keys.PageUp, keys.Copy:
		what = Harmless
	}
	ready := c.guard.Press(now, string(b.Action), what)
	switch b.Action {
	case keys.PageDown:
		c.scroll(max(1, c.height-1))
		return true, false
	case keys.PageUp:
		c.scroll(-max(1, c.height-1))
		return true, false
	case keys.Approve, keys.Deny, keys.DenyStop, keys.Defer:
		return true, ready
	}
	return false, false
}

// Disturb notes a paste, or other input that was not pressed key by key. An open reason field takes it as text.
func (c *Card) Disturb(now time.Time, pasted string) {
	if c.reason != nil {
		c.reason.insert(pasted)
		return
	}
	c.guard.Disturb(now)
}

// Settle returns the decision that stands by now, nil when there is none. A deny opens the reason field first and is
// made by Confirm.
func (c *Card) Settle(now time.Time) *db.Decision {
	switch keys.Action(c.guard.Settle(now)) {
	case keys.Approve:
		return &db.Decision{Answer: "approve", Digest: c.Request.Digest}
	case keys.Defer:
		return &db.Decision{Answer: "defer", Digest: c.Request.Digest}
	case keys.Deny:
		c.reason = newReason(false)
	case keys.DenyStop:
		c.reason = newReason(true)
	}
	return nil
}

// Confirm returns the deny that the reason field was sent with, nil when it was not.
func (c *Card) Confirm() *db.Decision {
	if c.reason == nil || !c.reason.sent {
		return nil
	}
	d := &db.Decision{Answer: "deny", Digest: c.Request.Digest, Reason: strings.TrimSpace(c.reason.field.Value()), Stop: c.reason.stop}
	c.reason = nil
	return d
}

// View is what the card needs to know to draw itself.
type View struct {
	Painter *paint.Painter
	Keys    *keys.Map
	Place   string // the workspace
	Waits   string // since when
	Nth, Of int
	Armed   bool
	Compact bool
}

// Frame is how many lines a card takes beside its payload; a compact one leaves out why it asks.
func Frame(compact bool) int {
	if compact {
		return 2
	}
	return 4
}

// Render draws the card: Frame lines and the window of its payload.
func (c *Card) Render(v View, width int) []string {
	p := v.Painter
	r := c.Request
	bar := p.Pick("▌", "|")
	start := func() *paint.Line { return p.Line(width, paint.Panel).Add(paint.Person, bar).Gap(1) }
	title := start().Add(paint.Person, "Approve?").Gap(2).Add(paint.Person, text.Line(r.Act)).Gap(2).
		Add(paint.Soft, "in "+text.Line(v.Place)+p.Pick(" · ", " - ")+"sandbox "+text.Line(r.Sandbox))
	title.Right(paint.Person, v.Waits)
	if v.Of > 1 {
		title.Right(paint.Soft, fmt.Sprintf("   %d of %d", v.Nth, v.Of))
	}
	out := []string{title.Right(paint.Text, " ").String()}
	end := min(len(c.lines), c.offset+c.height)
	for _, l := range c.lines[c.offset:end] {
		out = append(out, p.Line(2, paint.Panel).Add(paint.Person, bar).String()+l+p.Line(max(0, width-2-c.width), paint.Panel).String())
	}
	if v.Compact {
		return append(out, c.bottom(start(), v))
	}
	why := start().Add(paint.Soft, "asks because ").Add(paint.Text, because(r))
	if r.Covers != "" {
		why.Add(paint.Soft, p.Pick(" · ", " - ")+"not covered: "+text.Line(r.Covers))
	}
	return append(out, why.String(), c.more(start(), p).String(), c.bottom(start(), v))
}

// bottom is the reason field when it is open, else the keys.
func (c *Card) bottom(l *paint.Line, v View) string {
	if c.reason != nil {
		return c.reason.render(l, v.Painter, v.Keys).String()
	}
	return c.caps(l, v).String()
}

// because is why the policy asks.
func because(r db.Request) string {
	s := text.Line(r.Act) + " asks by default"
	switch {
	case r.Rule != nil && r.Layer != nil:
		s = fmt.Sprintf("%s in layer %s", text.Line(*r.Rule), text.Line(*r.Layer))
	case r.Layer != nil:
		s = "layer " + text.Line(*r.Layer)
	}
	if r.Part != "" {
		s += ": " + text.Line(r.Part)
	}
	return s
}

// more says what of the payload is not on the screen, or what the model says about it.
func (c *Card) more(l *paint.Line, p *paint.Painter) *paint.Line {
	below := len(c.lines) - c.offset - c.height
	switch {
	case below > 0:
		l.Add(paint.Person, fmt.Sprintf("%s %d more lines: pgdn", p.Pick("▼", "v"), below))
		if !c.seenEnd {
			l.Add(paint.Person, "   approve is off until you saw the end")
		}
		return l
	case c.offset > 0:
		return l.Add(paint.Soft, fmt.Sprintf("end of %d lines: pgup", len(c.lines)))
	case text.Hidden(c.Request.Payload):
		return l.Add(paint.Bad, "contains hidden or control characters, shown as escapes")
	case strings.TrimSpace(c.Request.Said) != "":
		said, _, _ := strings.Cut(strings.TrimSpace(c.Request.Said), "\n")
		return l.Add(paint.Soft, "model says: ").Add(paint.Italic, text.Line(said))
	}
	return l
}

// caps are the keys that decide, and why they do not yet.
func (c *Card) caps(l *paint.Line, v View) *paint.Line {
	for _, a := range []keys.Action{keys.Approve, keys.Deny, keys.DenyStop, keys.Defer} {
		b, ok := v.Keys.Get(a, keys.OnCard)
		if !ok || len(b.Keys) == 0 {
			continue
		}
		role := paint.Strong
		if !v.Armed || a == keys.Approve && !c.seenEnd {
			role = paint.Faint
		}
		l.On(role, paint.Cap, " "+keys.Cap(b.Keys[0])+" ").Add(paint.Soft, " "+b.Name+"   ")
	}
	switch {
	case !v.Armed:
		l.Right(paint.Soft, "one moment ")
	case !c.seenEnd && v.Compact:
		l.Right(paint.Person, "pgdn first ")
	}
	return l
}
