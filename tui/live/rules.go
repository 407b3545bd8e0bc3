package live

import (
	"context"
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"tillerman/db"
	"tillerman/tui/card"
	"tillerman/tui/keys"
	"tillerman/tui/paint"
	"tillerman/tui/text"
)

// rules is the list of the rules that were given for the rest of the run.
type rules struct {
	guard    card.Guard // of the key that takes one back
	selected int        // among all, from 0
	revokes  int64      // the rule that the key was pressed on
}

// pressRules gives a key to the list. It returns true when the guard has to be asked after card.Alone.
func (m *Model) pressRules(now time.Time, b keys.Binding) bool {
	list, r := m.snap.Rules, &m.rules
	what := card.Noise
	switch b.Action {
	case keys.Up, keys.Down:
		what = card.Harmless
	case keys.Revoke:
		what = card.Harmless
		if r.selected < len(list) && list[r.selected].RevokedAt == 0 {
			what = card.Decision
		} else {
			m.notice = "that rule was revoked already"
		}
	}
	ask := r.guard.Press(now, string(b.Action), what)
	switch b.Action {
	case keys.Up:
		r.selected = max(0, r.selected-1)
	case keys.Down:
		r.selected = min(len(list)-1, r.selected+1)
	case keys.Revoke:
		if ask {
			r.revokes = list[r.selected].ID
		}
	}
	return ask
}

// revoke takes back the rule that the key stood alone on.
func (m *Model) revoke(now time.Time) tea.Cmd {
	if m.rules.guard.Settle(now) == "" {
		return nil
	}
	store, run, id := m.deps.Store, m.runID, m.rules.revokes
	return m.write(func() tea.Msg {
		_, err := store.RevokeRule(context.Background(), run, id, db.Here("key x"))
		return revokedMsg{run, err}
	})
}

// rulesLines is how many lines the whole list takes.
func (m *Model) rulesLines() int { return len(m.snap.Rules) + 2 }

// drawRules draws the list as at most height lines; the selected rule and the keys stay.
func (m *Model) drawRules(height int) []string {
	p, s := m.deps.Painter, m.snap
	start := func() *paint.Line {
		return p.Line(m.width, paint.Panel).Add(paint.Accent, p.Pick("▌", "|")).Gap(1)
	}
	title := start().Add(paint.Strong, "Rules for the rest of this run").Gap(2).Add(paint.Soft, "given by people; they never cross a deny or an ask of the policy")
	if m.card != nil {
		title.Right(paint.Person, "a question waits: esc first ")
	}
	armed := m.rules.guard.Armed(m.deps.Pressed())
	foot := start()
	for i, a := range []keys.Action{keys.Revoke, keys.Close} {
		if b, ok := m.deps.Keys.Get(a, keys.InRules); ok && len(b.Keys) > 0 {
			role := paint.Strong
			if a == keys.Revoke && !armed {
				role = paint.Faint
			}
			foot.Gap(3*min(i, 1)).On(role, paint.Cap, " "+keys.Cap(b.Keys[0])+" ").Add(paint.Soft, " "+b.Name)
		}
	}
	if !armed {
		foot.Right(paint.Soft, "one moment ")
	}
	room := max(0, height-2)
	first := max(0, min(m.rules.selected-room/2, len(s.Rules)-room))
	out := []string{title.String()}
	for i := first; i < min(len(s.Rules), first+room); i++ {
		out = append(out, m.ruleLine(s.Rules[i], i == m.rules.selected))
	}
	if height < 3 { // the selected rule and the keys stay
		out = nil
		if height == 2 {
			out = []string{m.ruleLine(s.Rules[m.rules.selected], true)}
		}
	}
	return append(out, foot.String())[:max(0, min(height, len(out)+1))]
}

func (m *Model) ruleLine(r db.Rule, selected bool) string {
	p := m.deps.Painter
	ground, mark := paint.Panel, "  "
	if selected {
		ground, mark = paint.Selected, p.Pick("▌ ", "> ")
	}
	role, state := paint.Strong, "by "+r.MadeBy.Who(m.self)
	if r.RevokedBy != nil {
		role, state = paint.Soft, "revoked by "+r.RevokedBy.Who(m.self)
	}
	return p.Line(m.width, ground).Add(paint.Accent, mark).Add(paint.Soft, fmt.Sprintf("%3d  allow ", r.ID)).Add(paint.Person, text.Line(r.Act)).Gap(1).
		Add(role, text.Line(r.Text())).Right(paint.Soft, text.Line(state)+" ").String()
}
