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
	pane    // of the payload
	guard   Guard
	reason  *Field // for a deny's reason, nil when it is not open
	stop    bool   // the deny ends the run too
	sent    bool
}

// New shows a request at now.
func New(r db.Request, now time.Time) *Card { return &Card{Request: r, guard: NewGuard(now)} }

// Armed says whether a decision key would count now.
func (c *Card) Armed(now time.Time) bool { return c.guard.Armed(now) }

// Arming is how long it still takes until a decision key counts.
func (c *Card) Arming(now time.Time) time.Duration { return c.guard.Left(now) }

// Rearm makes the question arm anew from now: something else had the keys until now.
func (c *Card) Rearm(now time.Time) { c.guard = NewGuard(now) }

// Field says that the reason field is open and takes all keys.
func (c *Card) Field() bool { return c.reason != nil }

// takes says whether the question can be answered by an action.
func (c *Card) takes(a keys.Action) bool {
	switch a {
	case keys.Approve, keys.DenyStop, keys.Defer:
		return c.Request.Act != db.BudgetAct
	case keys.Deny:
		return true
	}
	return false
}

// Resize lays the payload out for a window and notes whether its end is in it. The window is what Render draws next.
func (c *Card) Resize(p *paint.Painter, width, height int) {
	if width != c.width || c.lines == nil {
		c.lines = payload(p, c.Request, width)
	}
	c.fit(width, height)
}

func payload(p *paint.Painter, r db.Request, width int) []string {
	raw := strings.Split(strings.TrimRight(r.Payload, "\n"), "\n")
	if len(raw) > 1 && strings.HasPrefix(raw[0], "--- ") && strings.HasPrefix(raw[1], "+++ ") {
		return detail.Diff(p, width, paint.Panel, raw)
	}
	return wrapped(p, paint.Strong, r.Payload, width)
}

// Press handles a key. handled says that the card took it; settle that Settle has to be called after Alone.
func (c *Card) Press(now time.Time, msg tea.KeyPressMsg, b keys.Binding) (handled, settle bool) {
	if c.reason != nil {
		switch b.Action {
		case keys.Send: // Enter, space and Esc never decide
			c.sent = true
		case keys.Discard:
			c.reason = nil
			c.Rearm(now)
		default:
			c.reason.Press(now, msg)
		}
		return true, false
	}
	what := Noise
	switch {
	case b.Action == keys.Approve && c.takes(b.Action):
		what = Harmless
		if c.seenEnd {
			what = Decision
		}
	case c.takes(b.Action):
		what = Decision
	case b.Action == keys.PageDown, b.Action == keys.PageUp, b.Action == keys.Copy:
		what = Harmless
	}
	ready := c.guard.Press(now, string(b.Action), what)
	switch {
	case b.Action == keys.PageDown:
		c.page(1)
		return true, false
	case b.Action == keys.PageUp:
		c.page(-1)
		return true, false
	case c.takes(b.Action):
		return true, ready
	}
	return false, false
}

// Disturb notes a paste, or other input that was not pressed key by key. An open reason field takes it as text.
func (c *Card) Disturb(now time.Time, pasted string) {
	if c.reason != nil {
		c.reason.Insert(pasted)
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
		c.reason, c.stop, c.sent = NewField("why deny? "), false, false
		if c.Request.Act == db.BudgetAct {
			c.reason = NewField("why end? ")
		}
	case keys.DenyStop:
		c.reason, c.stop, c.sent = NewField("why deny and stop? "), true, false
	}
	return nil
}

// Confirm returns the deny that the reason field was sent with, nil when it was not.
func (c *Card) Confirm() *db.Decision {
	if c.reason == nil || !c.sent {
		return nil
	}
	d := &db.Decision{Answer: "deny", Digest: c.Request.Digest, Reason: strings.TrimSpace(c.reason.Value()), Stop: c.stop}
	c.reason, c.sent = nil, false
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
	Behind  bool // something else has the keys
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
	if r.Act == db.BudgetAct {
		title = start().Add(paint.Person, fmt.Sprintf("The %s budget is used up: raise or end?", strings.TrimSuffix(text.Line(r.Target), "s")))
	}
	title.Right(paint.Person, v.Waits)
	if v.Of > 1 {
		title.Right(paint.Soft, fmt.Sprintf("   %d of %d", v.Nth, v.Of))
	}
	out := append([]string{title.Right(paint.Text, " ").String()}, c.rows(p, width)...)
	if v.Compact {
		return append(out, c.bottom(start(), v, width))
	}
	why := start()
	if r.Act != db.BudgetAct {
		why.Add(paint.Soft, "asks because ").Add(paint.Text, because(r))
	}
	if r.Covers != "" {
		why.Add(paint.Soft, p.Pick(" · ", " - ")+"not covered: "+text.Line(r.Covers))
	}
	return append(out, why.String(), c.note(start(), p).String(), c.bottom(start(), v, width))
}

// bottom is the reason field when it is open, else the keys.
func (c *Card) bottom(l *paint.Line, v View, width int) string {
	if c.reason != nil {
		return c.reason.Render(l, v.Painter, width-2, bindings(v.Keys, keys.InReason, keys.Send, keys.Discard)).String()
	}
	return c.caps(l, v).String()
}

// bindings are the bindings of actions in a place, those without a key left out.
func bindings(m *keys.Map, place keys.Place, actions ...keys.Action) []keys.Binding {
	var out []keys.Binding
	for _, a := range actions {
		if b, ok := m.Get(a, place); ok && len(b.Keys) > 0 {
			out = append(out, b)
		}
	}
	return out
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

// note says what of the payload is not on the screen, or what the model says about it.
func (c *Card) note(l *paint.Line, p *paint.Painter) *paint.Line {
	switch {
	case c.more(l, p, "approve is off"):
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
	list := bindings(v.Keys, keys.OnCard, keys.Approve, keys.Deny, keys.DenyStop, keys.Defer)
	if c.Request.Act == db.BudgetAct {
		list = bindings(v.Keys, keys.OnLive, keys.Budget)
		for _, b := range bindings(v.Keys, keys.OnCard, keys.Deny) {
			b.Name = "end the run"
			list = append(list, b)
		}
		if len(list) > 0 && list[0].Action == keys.Budget {
			list[0].Name = "raise"
		}
	}
	for _, b := range list {
		if b.Place == keys.OnCard && !c.takes(b.Action) {
			continue
		}
		role := paint.Strong
		if !v.Armed || v.Behind || b.Action == keys.Approve && !c.seenEnd {
			role = paint.Faint
		}
		l.On(role, paint.Cap, " "+keys.Cap(b.Keys[0])+" ").Add(paint.Soft, " "+b.Name+"   ")
	}
	switch {
	case v.Behind:
		l.Right(paint.Person, "waits: esc first ")
	case !v.Armed:
		l.Right(paint.Soft, "one moment ")
	case !c.seenEnd && v.Compact:
		l.Right(paint.Person, "pgdn first ")
	}
	return l
}
