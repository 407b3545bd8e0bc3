package card

import (
	"fmt"
	"slices"
	"strings"

	"tillerman/db"
	"tillerman/tui/keys"
	"tillerman/tui/paint"
	"tillerman/tui/text"
)

// Resize lays the payload out for a window and notes whether its end is in it. The window is what Render draws next.
func (c *Card) Resize(p *paint.Painter, width, height int) {
	switch {
	case c.rule != nil:
		c.rule.resize(p, width, height)
		return
	case c.change != nil:
		c.change.resize(p, width, height)
		return
	}
	if width != c.width || c.lines == nil {
		rolls := payload(p, c.Request, width)
		if c.About.Asked != "" {
			rolls = append(rolls, newRoll(p, paint.Soft, "changed by the operator:", width),
				difference(p, laidOut(c.About.Asked), laidOut(c.About.Arguments), width))
		}
		c.set(nil, rolls...)
	}
	c.fit(width, height)
}

// Repaint lays everything out anew at the next Resize: the theme has changed, or what is known.
func (c *Card) Repaint() {
	c.pane.Repaint()
	if c.rule != nil {
		c.rule.Repaint()
	}
	if c.change != nil {
		c.change.Repaint()
		c.change.editor.drawn = nil
	}
}

// Lines is how many lines there are at the current width.
func (c *Card) Lines() int { return c.window().Lines() }

// window is the pane that is shown.
func (c *Card) window() *pane {
	switch {
	case c.rule != nil:
		return &c.rule.pane
	case c.change != nil:
		return &c.change.pane
	}
	return &c.pane
}

func payload(p *paint.Painter, r db.Request, width int) []*roll {
	first, rest, _ := strings.Cut(r.Payload, "\n")
	if r.Act == "write" && strings.HasPrefix(first, "--- ") && strings.HasPrefix(rest, "+++ ") { // the engine's: a new file never begins so
		return []*roll{newDiff(p, r.Payload, width)}
	}
	rolls := []*roll{newRoll(p, paint.Strong, r.Payload, width)}
	switch r.Act { // what would be written, read or asked for says nothing of where
	case "write", "read", "net":
		if r.Target != r.Payload {
			rolls = append([]*roll{newRoll(p, paint.Person, r.Act+" "+text.Line(r.Target), width)}, rolls...)
		}
	}
	return rolls
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

// Frame is how many lines the card takes beside its payload; a compact one leaves out why it asks, what the digest does not
// cover, and what was decided before.
func (c *Card) Frame(compact bool) int {
	if compact {
		return Frame(compact)
	}
	return Frame(compact) + len(c.facts())
}

// fact is a line about the request.
type fact struct{ name, says string }

// facts are the lines that only some requests have. A rule or a change that is being made takes their room.
func (c *Card) facts() []fact {
	if c.rule != nil || c.change != nil {
		return nil
	}
	var out []fact
	if c.apart() {
		out = append(out, fact{"sandbox: ", c.Request.Sandbox})
	}
	if c.Request.Covers != "" {
		out = append(out, fact{"not covered: ", c.Request.Covers})
	}
	if c.About.Before != "" {
		out = append(out, fact{"before: ", c.About.Before})
	}
	return out
}

// apart says that the title has no room for the sandbox beside the place, so that it gets a line of its own.
func (c *Card) apart() bool {
	const beside = len("▌ Approve?    sandbox  ·  in ") + len(" since 15:04:05 ") + 40 // of the place
	if c.Request.Act == db.BudgetAct || c.Request.Act == db.QuestionAct {
		return false
	}
	used := beside + text.Width(text.Line(c.Request.Act)) + text.Width(text.Line(c.Request.Sandbox))
	if c.About.Asked != "" {
		used += len(changed) + 2
	}
	return used > c.width+4
}

// changed marks a call that is not as the model asked for it.
const changed = "changed by the operator"

// Frame is how many lines any card takes beside its contents.
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
	title := c.title(start(), v).Right(paint.Person, v.Waits)
	if v.Of > 1 {
		title.Right(paint.Soft, fmt.Sprintf("   %d of %d", v.Nth, v.Of))
	}
	out := append([]string{title.Right(paint.Text, " ").String()}, c.window().rows(p, width)...)
	if v.Compact {
		return append(out, c.bottom(start(), v, width))
	}
	why := start()
	switch {
	case c.rule != nil:
		why.Add(paint.Soft, "a rule never crosses a deny or an ask of the policy; "+c.revocable(v.Keys))
	case c.change != nil:
		why.Add(paint.Soft, "the policy judges what you make of it, and asks anew where it asks")
	case r.Act == db.QuestionAct:
		why.Add(paint.Soft, "an answer is information for the agent, never a permission")
	case r.Act != db.BudgetAct:
		why.Add(paint.Soft, "asks because ").Add(paint.Text, because(r))
	}
	out = append(out, why.String())
	for _, f := range c.facts() {
		out = append(out, start().Add(paint.Soft, f.name).Add(paint.Text, text.Line(f.says)).String())
	}
	note := c.note(start(), p)
	c.state(note, v) // beside the keys it would cover one of them
	return append(out, note.String(), c.bottom(start(), v, width))
}

// title says what is asked, where, and under which sandbox.
func (c *Card) title(l *paint.Line, v View) *paint.Line {
	r, dot := c.Request, v.Painter.Pick(" · ", " - ")
	switch {
	case c.rule != nil:
		return l.Add(paint.Person, "Allow for the rest of this run?").Gap(2).Add(paint.Person, text.Line(r.Act))
	case c.change != nil && c.change.comparing():
		return l.Add(paint.Person, "Approve as changed?").Gap(2).Add(paint.Person, text.Line(r.Act))
	case c.change != nil:
		return l.Add(paint.Person, "Change the call").Gap(2).Add(paint.Person, text.Line(r.Act)).Gap(2).Add(paint.Soft, "its arguments, JSON")
	case r.Act == db.BudgetAct:
		return l.Add(paint.Person, fmt.Sprintf("The %s budget is used up: raise or end?", strings.TrimSuffix(text.Line(r.Target), "s")))
	case r.Act == db.QuestionAct:
		return l.Add(paint.Person, "The agent asks").Gap(2).Add(paint.Soft, "in "+text.Line(v.Place))
	}
	l.Add(paint.Person, "Approve?").Gap(2).Add(paint.Person, text.Line(r.Act)).Gap(2)
	if c.About.Asked != "" {
		l.Add(paint.Strong, changed).Gap(2)
	}
	// Where there is little room the place is cut, never what confines the act.
	if !v.Compact && c.apart() {
		return l.Add(paint.Soft, "in "+text.Line(v.Place))
	}
	return l.Add(paint.Soft, "sandbox "+text.Line(r.Sandbox)+dot+"in "+text.Line(v.Place))
}

// revocable says how a rule is taken back.
func (c *Card) revocable(m *keys.Map) string {
	if b, ok := m.Get(keys.Rules, keys.OnLive); ok && len(b.Keys) > 0 {
		return keys.Cap(b.Keys[0]) + " lists and revokes rules"
	}
	return "tillerman rules lists and revokes them"
}

// bottom is the field when one is open, else the keys.
func (c *Card) bottom(l *paint.Line, v View, width int) string {
	p := v.Painter
	switch {
	case c.reason != nil:
		return c.reason.Render(l, p, width-2, bindings(v.Keys, keys.InReason, keys.Send, keys.Discard)).String()
	case c.answer != nil:
		return c.answer.Render(l, p, width-2, bindings(v.Keys, keys.InAnswer, keys.Answer, keys.Close)).String()
	case c.rule != nil && c.rule.editor != nil:
		return capsOf(l, bindings(v.Keys, keys.InRule, keys.Try, keys.Close), width, nil).String()
	case c.rule != nil:
		return c.guardedCaps(l, v, bindings(v.Keys, keys.OnRule, keys.GiveRule, keys.Pattern, keys.Close), width, keys.GiveRule, !c.rule.ready())
	case c.change != nil && !c.change.comparing():
		if words := c.change.note(); v.Compact && words != "" {
			return l.Add(paint.Bad, text.Line(words)).String()
		}
		return capsOf(l, bindings(v.Keys, keys.InChange, keys.Compare, keys.Outside, keys.Close), width, nil).String()
	case c.change != nil:
		return c.guardedCaps(l, v, bindings(v.Keys, keys.OnChange, keys.AsMade, keys.Rework, keys.Close), width, keys.AsMade, !c.change.seenEnd)
	}
	return c.caps(l, v, width).String()
}

// capsOf puts keys with their words on a line of width cells, closer together where there is little room. faint says
// which do nothing yet.
func capsOf(l *paint.Line, list []keys.Binding, width int, faint func(keys.Binding) bool) *paint.Line {
	const wide, close = 3, 1
	need := 0
	for _, b := range list {
		need += text.Width(keys.Cap(b.Keys[0])) + text.Width(b.Name) + 3 + wide
	}
	gap := wide
	if need > width-len(" one moment ") {
		gap = close
	}
	for _, b := range list {
		role := paint.Strong
		if faint != nil && faint(b) {
			role = paint.Faint
		}
		l.On(role, paint.Cap, " "+keys.Cap(b.Keys[0])+" ").Add(paint.Soft, " "+b.Name).Gap(gap)
	}
	return l
}

// guardedCaps are keys of which one decides; off is that it does not yet, whatever the guard says.
func (c *Card) guardedCaps(l *paint.Line, v View, list []keys.Binding, width int, decides keys.Action, off bool) string {
	capsOf(l, list, width, func(b keys.Binding) bool { return b.Action == decides && (off || !v.Armed || v.Behind) })
	if v.Compact {
		c.state(l, v)
	}
	return l.String()
}

// state says at the right why no key decides yet.
func (c *Card) state(l *paint.Line, v View) {
	switch {
	case c.reason != nil, c.answer != nil, c.rule != nil && c.rule.editor != nil, c.change != nil && !c.change.comparing(): // a text takes every key
	case v.Behind:
		l.Right(paint.Person, "waits: esc first ")
	case !v.Armed:
		l.Right(paint.Soft, "one moment ")
	case !c.window().seenEnd && v.Compact:
		l.Right(paint.Person, "pgdn first ")
	}
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
	case c.rule != nil:
		if c.rule.editor == nil {
			c.rule.more(l, p, "giving it is off")
		}
		return l
	case c.change != nil:
		switch words := c.change.note(); {
		case words != "":
			l.Add(paint.Bad, text.Line(words))
		case c.change.comparing():
			c.change.more(l, p, "approve is off")
		}
		return l
	case c.more(l, p, c.off()):
	case c.hides():
		return l.Add(paint.Bad, "contains hidden or control characters, shown as escapes")
	case strings.TrimSpace(c.Request.Said) != "":
		said, _, _ := strings.Cut(strings.TrimSpace(c.Request.Said), "\n")
		return l.Add(paint.Soft, "model says: ").Add(paint.Italic, text.Line(said))
	}
	return l
}

// hides says that the payload holds what does not show. A long one is looked through once, not at every frame.
func (c *Card) hides() bool {
	if c.hidden == nil {
		hidden := text.Hidden(c.Request.Payload)
		c.hidden = &hidden
	}
	return *c.hidden
}

// off names what does not work before the end of the payload was seen.
func (c *Card) off() string {
	if c.Request.Act == db.QuestionAct {
		return "answering is off"
	}
	return "approve is off"
}

// caps are the keys that decide, and why they do not yet.
func (c *Card) caps(l *paint.Line, v View, width int) *paint.Line {
	var list []keys.Binding
	switch c.Request.Act {
	case db.BudgetAct:
		list = bindings(v.Keys, keys.OnLive, keys.Budget)
		for _, b := range bindings(v.Keys, keys.OnCard, keys.Deny) {
			b.Name = "end the run"
			list = append(list, b)
		}
		if len(list) > 0 && list[0].Action == keys.Budget {
			list[0].Name = "raise"
		}
	case db.QuestionAct:
		list = bindings(v.Keys, keys.OnAsk, keys.Choose, keys.Write, keys.Deny, keys.Defer)
		for i, b := range list {
			if n := min(c.About.Choices, len(b.Keys)); b.Action == keys.Choose && n > 1 {
				list[i].Keys = []string{b.Keys[0] + "-" + b.Keys[n-1]}
			}
		}
	default:
		list = bindings(v.Keys, keys.OnCard, keys.Approve, keys.Deny, keys.Allow, keys.Change, keys.DenyStop, keys.Defer)
	}
	list = slices.DeleteFunc(list, func(b keys.Binding) bool { return b.Place != keys.OnLive && !c.Takes(b.Action) })
	capsOf(l, list, width, func(b keys.Binding) bool {
		return !v.Armed || v.Behind || c.positive(b.Action) && !c.seenEnd
	})
	if v.Compact {
		c.state(l, v)
	}
	return l
}
