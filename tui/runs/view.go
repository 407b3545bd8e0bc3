package runs

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tillerman/db"
	"tillerman/tui/frame"
	"tillerman/tui/keys"
	"tillerman/tui/paint"
	"tillerman/tui/plain"
	"tillerman/tui/steps"
	"tillerman/tui/text"
)

// View draws the screen.
func (m *Model) View() string {
	p := m.deps.Painter
	if frame.TooSmall(m.width, m.height) {
		return frame.Small(p, m.width, m.height)
	}
	lines := []string{m.header(), p.Line(m.width, paint.Plain).String()}
	lines = append(lines, p.Line(m.width, paint.Plain).Gap(2).Add(paint.Accent, "/ ").Add(paint.Strong, text.Line(m.field.Value())).Add(paint.Accent, p.Pick("▏", "|")).
		Right(paint.Dim, "by "+m.sorted()+"  ").String())
	lines = append(lines, m.columns())
	for i := range m.rows() {
		switch at := m.top + i; {
		case at < len(m.found):
			lines = append(lines, m.row(m.found[at], at == m.selected))
		case i == 0:
			lines = append(lines, m.nothing())
		default:
			lines = append(lines, p.Line(m.width, paint.Plain).String())
		}
	}
	count := fmt.Sprintf("%s of %s", plain.Count(int64(len(m.found))), plain.Count(int64(len(m.all))))
	if !m.complete {
		count += ", reading older ones"
	}
	lines = append(lines, p.Line(m.width, paint.Plain).Gap(2).Add(paint.Dim, count).String(), m.footer())
	return frame.Exactly(p, lines, m.width, m.height)
}

func (m *Model) header() string {
	p := m.deps.Painter
	live, need := 0, 0
	for _, r := range m.all {
		switch r.State() {
		case "running", "cancelling", "paused", "pausing", "driver unseen":
			live++
		case "waits for you":
			live++
			need++
		case "interrupted":
			need++
		default:
			if r.Status == db.Paused {
				need++
			}
		}
	}
	l := frame.Title(p, m.width).Gap(2).Add(paint.Strong, "runs").Gap(3).Add(paint.Soft, plain.Count(int64(len(m.all)))+" in this store")
	if live > 0 {
		l.Right(paint.Good, fmt.Sprintf("%d live", live))
	}
	if need > 0 {
		l.Right(paint.Person, fmt.Sprintf("   %d need you", need))
	}
	return l.Right(paint.Soft, "  ").String()
}

// nothing says what an empty list means.
func (m *Model) nothing() string {
	p := m.deps.Painter
	l := p.Line(m.width, paint.Plain).Gap(4)
	switch {
	case m.err != nil:
		return l.Add(paint.Bad, text.Line(m.err.Error())).String()
	case len(m.all) == 0 && m.complete:
		return l.Add(paint.Text, "no runs yet. Leave with q, then try: ").Add(paint.Accent, "tillerman demo").Add(paint.Text, ` or tillerman run "GOAL"`).String()
	case len(m.all) == 0:
		return l.Add(paint.Italic, "reading the store").String()
	}
	return l.Add(paint.Italic, "no run fits").String()
}

// widths are the columns that fit, from the right.
type widths struct{ model, steps, tokens, cost, took, when int }

func (m *Model) widths() widths {
	w := widths{steps: 6, when: 11}
	if m.width >= 60 {
		w.tokens = 8
	}
	if m.width >= 84 {
		w.took, w.cost = 11, 10
	}
	if m.width >= 104 {
		w.model = 20
	}
	return w
}

func (m *Model) columns() string {
	w := m.widths()
	l := m.deps.Painter.Line(m.width, paint.Plain).Gap(2).Add(paint.Dim, fmt.Sprintf("%8s  goal", "run"))
	put := func(n int, s string, left bool) {
		if n > 0 && left {
			l.Right(paint.Dim, fmt.Sprintf(" %-*s", n-1, s))
		} else if n > 0 {
			l.Right(paint.Dim, fmt.Sprintf("%*s", n, s))
		}
	}
	put(w.model, "model", true)
	put(w.steps, "steps", false)
	put(w.tokens, "tokens", false)
	put(w.cost, "cost", false)
	put(w.took, "time", false)
	put(w.when, "when", false)
	return l.Right(paint.Dim, "  ").String()
}

func (m *Model) row(f match, selected bool) string {
	p, r, w := m.deps.Painter, f.row, m.widths()
	ground, mark := paint.Plain, "  "
	if selected {
		ground, mark = paint.Selected, p.Pick("▌ ", "> ")
	}
	sign, role, word := frame.StateBy(p, r.State(), r.PausedBy(m.self))
	l := p.Line(m.width, ground).Add(paint.Accent, mark).Add(role, sign).Add(paint.Soft, fmt.Sprintf("%7d", r.ID)).Gap(2)
	room := m.width - 12 - w.model - w.steps - w.tokens - w.cost - w.took - w.when - 3
	if word != "success" { // how it stands is never cut for its goal
		room -= text.Width(word) + 2
	}
	highlight(l, p, r.Goal, f.hits, room)
	if word != "success" {
		l.Gap(2).Add(role, word)
	}
	if w.model > 0 {
		l.Right(paint.Soft, " "+text.Fit(text.Truncate(text.Line(r.Model), w.model-2, p.Pick("…", "~")), w.model-1))
	}
	l.Right(paint.Text, fmt.Sprintf("%*d", w.steps, r.Steps))
	if w.tokens > 0 {
		l.Right(paint.Soft, fmt.Sprintf("%*s", w.tokens, steps.Short(r.Tokens)))
	}
	if w.cost > 0 {
		cost := "n/m"
		if r.CostMicros != nil {
			cost = plain.Cost(r.CostMicros, p.ASCII())
		}
		l.Right(paint.Soft, text.Pad("", w.cost-text.Width(cost))+cost)
	}
	if w.took > 0 {
		l.Right(paint.Soft, fmt.Sprintf("%*s", w.took, plain.Duration(r.DurationMS)))
	}
	return l.Right(paint.Soft, fmt.Sprintf("%*s", w.when, When(r.CreatedAt, m.deps.Now()))).Right(paint.Soft, "  ").String()
}

// leastGoal is what a narrow window leaves of a goal at least, in cells.
const leastGoal = 8

// highlight draws a goal in room cells with the letters that were found. Offsets count in the goal's raw bytes; where
// cleaning changed the goal, or it was cut, the letters are not marked.
func highlight(l *paint.Line, p *paint.Painter, goal string, hits []int, room int) {
	clean := text.Line(goal)
	if room = max(leastGoal, room); text.Width(clean) > room {
		cut := text.Truncate(clean, room, p.Pick("…", "~"))
		kept := strings.TrimSuffix(cut, p.Pick("…", "~"))
		if clean == goal && strings.HasPrefix(goal, kept) {
			hits = slices.DeleteFunc(slices.Clone(hits), func(h int) bool { return h >= len(kept) })
			highlight(l, p, kept, hits, room)
			l.Add(paint.Text, p.Pick("…", "~"))
			return
		}
		l.Add(paint.Text, cut)
		return
	}
	if clean != goal || len(hits) == 0 {
		l.Add(paint.Text, clean)
		return
	}
	at := map[int]bool{}
	for _, h := range hits {
		at[h] = true
	}
	from := 0
	flush := func(to int) {
		if to > from {
			l.Add(paint.Text, clean[from:to])
		}
		from = to
	}
	for i, r := range clean {
		if at[i] {
			flush(i)
			l.Add(paint.Accent, string(r))
			from = i + len(string(r))
		}
	}
	flush(len(clean))
}

// When is a past time for people.
func When(atMS int64, now time.Time) string {
	t := time.UnixMilli(atMS).In(now.Location())
	age := now.Sub(t)
	switch {
	case age < time.Minute:
		return "now"
	case age < time.Hour:
		return fmt.Sprintf("%d min ago", int(age.Minutes()))
	case age < 12*time.Hour:
		return fmt.Sprintf("%d h ago", int(age.Hours()))
	case t.Year() == now.Year() && t.YearDay() == now.YearDay():
		return "today"
	case age < 6*24*time.Hour:
		return t.Format("Mon 15:04")
	}
	return t.Format("2006-01-02")
}

func (m *Model) footer() string {
	l := m.deps.Painter.Line(m.width, paint.Plain).Gap(2)
	var caps []keys.Binding
	for _, a := range []keys.Action{keys.Open, keys.Sort, keys.Audit} {
		if b, ok := m.deps.Keys.Get(a, keys.OnRuns); ok {
			caps = append(caps, b)
		}
	}
	if m.field.Value() == "" {
		for _, a := range []keys.Action{keys.Back, keys.Help, keys.Quit} {
			b, ok := m.deps.Keys.Get(a, keys.Anywhere)
			if !ok || a == keys.Back && !m.deps.Back {
				continue
			}
			// Letters are the search here: of a binding's keys the ones that are no letters are left.
			b.Keys = slices.DeleteFunc(slices.Clone(b.Keys), func(k string) bool { return len([]rune(k)) == 1 })
			caps = append(caps, b)
		}
	} else {
		caps = append(caps, keys.Binding{Keys: []string{"esc"}, Name: "clear"})
	}
	return frame.Caps(l, caps, m.width)
}
