package live

import (
	"fmt"
	"strings"

	"tillerman/core/tool"
	"tillerman/db"
	"tillerman/tui/card"
	"tillerman/tui/keys"
	"tillerman/tui/paint"
	"tillerman/tui/text"
)

// panelLines is what stands above the gauge would like to have, frame and contents; 0 is nothing.
func (m *Model) panelLines(compact bool) int {
	switch {
	case m.over == budgeting:
		return m.form.Lines()
	case m.over == killing:
		return len(m.killSays()) + 1
	case m.over == listing:
		return m.rulesLines()
	case m.card != nil:
		return m.card.Frame(compact) + max(1, m.card.Lines())
	case m.stuck != nil:
		return card.Frame(compact) + max(1, m.stuck.Lines())
	}
	return 0
}

// frameLines is what the question on the screen takes beside its contents.
func (m *Model) frameLines(compact bool) int {
	if m.card != nil {
		return m.card.Frame(compact)
	}
	return card.Frame(compact)
}

// panel draws what stands above the gauge: a form, a question, an interrupted call.
func (m *Model) panel(a areas) []string {
	switch {
	case m.over == budgeting:
		return m.form.Render(m.deps.Painter, m.deps.Keys, m.width, a.panel, m.card != nil && m.card.Request.Act != db.BudgetAct)
	case m.over == killing:
		return m.drawKill(a.panel)
	case m.over == listing:
		return m.drawRules(a.panel)
	case m.card != nil:
		v := m.cardView(a, m.card.Request.AskedAt)
		v.Nth, v.Of, v.Armed = 1, len(m.snap.Open), m.card.Armed(m.deps.Pressed())
		return m.card.Render(v, m.width)
	case m.stuck != nil:
		v := m.cardView(a, m.stuck.BegunAt)
		v.Armed = m.stuck.Armed(m.deps.Pressed())
		return m.stuck.Render(v, m.width)
	}
	return nil
}

func (m *Model) cardView(a areas, since int64) card.View {
	return card.View{
		Painter: m.deps.Painter, Keys: m.deps.Keys, Place: m.home(m.snap.Run.Workspace), Waits: "since " + clock(since),
		Compact: a.compact, Behind: m.over == telling,
	}
}

// killSays are the words about a kill, laid out in lines of the screen's width: what it does, and what it would reach.
func (m *Model) killSays() []string {
	p, s := m.deps.Painter, m.snap
	var lines []string
	add := func(first, rest paint.Role, lead int, words string) {
		for i, part := range text.WrapWords(words, max(4, m.width-3)) {
			line := p.Line(m.width, paint.Panel).Add(paint.Bad, p.Pick("▌", "|")).Gap(1)
			part = strings.TrimLeft(part, " ")
			if i > 0 {
				lead = 0
			}
			lead = min(lead, len(part))
			lines = append(lines, line.Add(first, part[:lead]).Add(rest, part[lead:]).String())
		}
	}
	title := fmt.Sprintf("Kill run %d?", m.runID)
	add(paint.Bad, paint.Text, len(title), title+"  ends the model call and every process now, recorded as forced")
	switch {
	case !s.Driven:
		add(paint.Soft, paint.Soft, 0, "nobody drives it: ended here, a call that had begun noted as unknown")
	case s.Now.Kind == "call" && s.Now.Reach == string(tool.ReachNone):
		add(paint.Person, paint.Person, 0, "cannot reach: "+text.Line(s.Now.Name)+", which runs to its end")
	case s.Now.Kind == "call":
		add(paint.Soft, paint.Soft, 0, "ends "+m.call())
	default:
		add(paint.Soft, paint.Soft, 0, text.Line(m.doing()))
	}
	if m.card != nil {
		add(paint.Person, paint.Person, 0, "a question waits: esc first")
	}
	return lines
}

// drawKill asks whether to kill: what would be ended, and what would not.
func (m *Model) drawKill(height int) []string {
	p := m.deps.Painter
	start := func() *paint.Line {
		return p.Line(m.width, paint.Panel).Add(paint.Bad, p.Pick("▌", "|")).Gap(1)
	}
	foot := start()
	for i, a := range []keys.Action{keys.KillNow, keys.Close} {
		if b, ok := m.deps.Keys.Get(a, keys.Killing); ok && len(b.Keys) > 0 {
			role := paint.Strong
			if a == keys.KillNow && !m.kill.Armed(m.deps.Pressed()) {
				role = paint.Faint
			}
			foot.Gap(3*min(i, 1)).On(role, paint.Cap, " "+keys.Cap(b.Keys[0])+" ").Add(paint.Soft, " "+b.Name)
		}
	}
	if !m.kill.Armed(m.deps.Pressed()) {
		foot.Right(paint.Soft, "one moment ")
	}
	lines := m.killSays()
	lines = append(lines[:min(len(lines), max(0, height-1))], foot.String()) // the keys stay
	return lines[:min(len(lines), max(0, height))]
}

// tellLine is the field for a message, in the place of the keys.
func (m *Model) tellLine() string {
	line := m.deps.Painter.Line(m.width, paint.Panel).Gap(2)
	if m.notice != "" {
		words := " " + text.Line(m.notice) + " "
		return m.tell.Render(line, m.deps.Painter, m.width-2-text.Width(words), nil).Right(paint.Person, words).String()
	}
	var list []keys.Binding
	for _, a := range []keys.Action{keys.SendTell, keys.Close} {
		if b, ok := m.deps.Keys.Get(a, keys.InTell); ok {
			list = append(list, b)
		}
	}
	return m.tell.Render(line, m.deps.Painter, m.width-2, list).String()
}
