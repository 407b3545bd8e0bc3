// Package budget is the form in which an operator sets a run's ceilings anew: up or down, one or several, checked before
// anything is stored.
package budget

import (
	"errors"
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"tillerman/db"
	"tillerman/tui/card"
	"tillerman/tui/feed"
	"tillerman/tui/keys"
	"tillerman/tui/paint"
	"tillerman/tui/plain"
	"tillerman/tui/text"
)

// Used is what a run has consumed.
type Used struct {
	Steps                       int
	TimeMS, Tokens, MoneyMicros int64
	Unpriced                    bool // the money of some call is not known
}

// ceiling is one of the four.
type ceiling struct {
	name  string
	field *card.Field
	hint  string // how a value is written
	now   string // the ceiling in force, and who set it
	used  string
	// below says that a value is less than what is used already.
	below func(db.Budget) bool
	parse func(string, *db.Budget) error
}

// Form holds what was typed. It is for one goroutine.
type Form struct {
	ceilings []ceiling
	active   int
	err      error
}

// New opens the form over the ceilings in force.
func New(l feed.Limits, u Used) *Form {
	f := &Form{ceilings: []ceiling{
		{name: "steps", hint: "60 (at least 1)", parse: steps},
		{name: "time", hint: "90s, 10m, 2h", parse: duration},
		{name: "tokens", hint: "200k", parse: tokens},
		{name: "money", hint: "2.50", parse: money},
	}}
	for i := range f.ceilings {
		f.ceilings[i].field = card.NewField("")
	}
	f.Stands(l, u)
	return f
}

// Stands takes the ceilings in force and what is used by now: both go on while somebody types.
func (f *Form) Stands(l feed.Limits, u Used) {
	put := func(i int, set bool, words, by, used string, below func(db.Budget) bool) {
		if !set {
			words = "none"
		}
		if by != "" {
			words += " (" + by + ")"
		}
		c := &f.ceilings[i]
		c.now, c.used, c.below = words, used, below
	}
	put(0, l.Steps > 0, fmt.Sprint(l.Steps), l.StepsBy, fmt.Sprint(u.Steps),
		func(b db.Budget) bool { return b.MaxSteps != nil && *b.MaxSteps > 0 && *b.MaxSteps <= u.Steps })
	put(1, l.TimeMS > 0, plain.Duration(l.TimeMS), l.TimeBy, plain.Duration(u.TimeMS)+", waiting included",
		func(b db.Budget) bool { return under(b.TimeMS, u.TimeMS) })
	put(2, l.Tokens > 0, plain.Count(l.Tokens), l.TokensBy, plain.Count(u.Tokens),
		func(b db.Budget) bool { return under(b.Tokens, u.Tokens) })
	put(3, l.MoneyMicros > 0, plain.Amount(l.MoneyMicros), l.MoneyBy, spent(u),
		func(b db.Budget) bool { return under(b.MoneyMicros, u.MoneyMicros) })
}

// spent is the money used, where it is known.
func spent(u Used) string {
	if u.Unpriced {
		return "unknown"
	}
	return plain.Amount(u.MoneyMicros)
}

func under(ceiling *int64, used int64) bool {
	return ceiling != nil && *ceiling > 0 && *ceiling <= used
}

// Press handles a key at now. It returns true when Enter may be meant: then Settle must be asked after card.Alone.
func (f *Form) Press(now time.Time, msg tea.KeyPressMsg, a keys.Action) (settle bool) {
	f.err = nil
	switch a {
	case keys.Next:
		f.active = (f.active + 1) % len(f.ceilings)
	case keys.Previous:
		f.active = (f.active + len(f.ceilings) - 1) % len(f.ceilings)
	case keys.SetLimit:
		if !f.ceilings[f.active].field.Enter(now) {
			f.err = errors.New("that came with a burst of keys: to set, press the key by itself")
			return false
		}
		return true
	default:
		f.ceilings[f.active].field.Press(now, msg)
	}
	return false
}

// Insert puts pasted text into the field that has the cursor.
func (f *Form) Insert(s string) { f.ceilings[f.active].field.Insert(s) }

// Settle returns the change that Enter stands for by now, nil when there is none: then the form says what is wrong.
func (f *Form) Settle(now time.Time) *db.Budget {
	if !f.ceilings[f.active].field.Entered(now) {
		return nil
	}
	b, err := f.budget()
	if f.err = err; err != nil {
		return nil
	}
	return &b
}

// budget is what was typed.
func (f *Form) budget() (db.Budget, error) {
	var b db.Budget
	for i, c := range f.ceilings {
		typed := c.field.Value()
		if blank(typed) {
			continue
		}
		if err := c.parse(typed, &b); err != nil {
			f.active = i
			return b, fmt.Errorf("%s: %s is no ceiling; write one like %s", c.name, text.Quote(typed), c.hint)
		}
	}
	if b == (db.Budget{}) {
		return b, errors.New("nothing was changed: type a ceiling first")
	}
	return b, nil
}

// Lines is how many lines the whole form takes.
func (f *Form) Lines() int { return len(f.ceilings) + 3 }

// Render draws the form as exactly height lines of width cells. Where there is no room for all of it the ceiling with
// the cursor stays.
func (f *Form) Render(p *paint.Painter, m *keys.Map, width, height int, waits bool) []string {
	start := func() *paint.Line {
		return p.Line(width, paint.Panel).Add(paint.Accent, p.Pick("▌", "|")).Gap(1)
	}
	title := start().Add(paint.Strong, "Budgets").Gap(2).Add(paint.Soft, "absolute ceilings, up or down; empty stays as it is, 0 lifts one")
	if waits {
		title.Right(paint.Person, "a question waits: esc first ")
	}
	var rows []string
	for i, c := range f.ceilings {
		rows = append(rows, f.row(start(), p, c, i == f.active, width))
	}
	foot := start()
	for i, a := range []keys.Action{keys.SetLimit, keys.Next, keys.Close} {
		if b, ok := m.Get(a, keys.InBudget); ok && len(b.Keys) > 0 {
			foot.Gap(3*min(i, 1)).On(paint.Strong, paint.Cap, " "+keys.Cap(b.Keys[0])+" ").Add(paint.Soft, " "+b.Name)
		}
	}
	note := start()
	if f.err != nil {
		note.Add(paint.Bad, f.err.Error())
	}
	switch {
	case height >= f.Lines():
		return append(append([]string{title.String()}, rows...), note.String(), foot.String())
	case f.err != nil:
		foot = note
	}
	room := max(0, height-1)
	var out []string
	if room > len(rows) {
		out, room = append(out, title.String()), room-1
	}
	first := max(0, min(f.active-room/2, len(rows)-room))
	out = append(out, rows[first:min(len(rows), first+room)]...)
	return append(out, foot.String())[:max(0, height)]
}

// row is one ceiling: its name, what was typed, what is in force and used.
func (f *Form) row(l *paint.Line, p *paint.Painter, c ceiling, active bool, width int) string {
	const box = 16
	name, role := paint.Soft, paint.Soft
	if active {
		name, role = paint.Accent, paint.Strong
	}
	l.Gap(2).Add(name, fmt.Sprintf("%-8s", c.name))
	typed := text.Line(c.field.Value())
	if over := text.Width(typed) - (box - 2); over > 0 {
		typed = text.Truncate(typed, box-2, p.Pick("…", "~"))
	}
	ground := paint.Panel
	if active {
		ground = paint.Cap
		typed += p.Pick("▏", "|")
	}
	l.On(role, ground, text.Pad(typed, box))
	if width < 44 {
		return l.Gap(1).Add(paint.Soft, "now "+text.Line(c.now)).String()
	}
	l.Gap(2).Add(paint.Soft, "now ").Add(paint.Text, text.Line(c.now)).Add(paint.Soft, ", used "+c.used)
	var b db.Budget
	switch {
	case blank(c.field.Value()):
		if active {
			l.Gap(2).Add(paint.Soft, "like "+c.hint)
		}
	case c.parse(c.field.Value(), &b) != nil:
		l.Gap(2).Add(paint.Bad, "like "+c.hint)
	case c.below(b):
		l.Gap(2).Add(paint.Person, "already used: the run stops for it at the next boundary")
	}
	return l.String()
}
