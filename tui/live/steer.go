package live

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"tillerman/db"
	"tillerman/tui/budget"
	"tillerman/tui/card"
	"tillerman/tui/feed"
	"tillerman/tui/keys"
)

// overlay is what lies over the screen's own keys.
type overlay int

const (
	nothing overlay = iota
	telling
	budgeting
	killing
	listing
)

// covers says that what lies over the screen stands in the place of a question.
func (m *Model) covers() bool { return m.over == budgeting || m.over == killing || m.over == listing }

// Messages of steering.
type (
	// keyMsg looks whether the key that was pressed has stood alone.
	keyMsg struct{ feed *feed.Feed }
	// overMsg does the same for what lies over the screen.
	overMsg struct{ feed *feed.Feed }
	// orderedMsg says what became of an order.
	orderedMsg struct {
		run   int64
		kind  string
		fresh bool
		err   error
		body  string       // of a message to the agent
		form  *budget.Form // of new ceilings
	}
)

// steer handles the messages of steering.
func (m *Model) steer(msg tea.Msg) tea.Cmd {
	now := m.deps.Pressed()
	switch msg := msg.(type) {
	case keyMsg:
		if msg.feed == m.feed {
			return m.meant(keys.Action(m.guard.Settle(now)))
		}
	case overMsg:
		if msg.feed == m.feed {
			return m.overMeant(now)
		}
	case orderedMsg:
		m.ordered(msg)
	default:
		return m.stuckMsg(msg)
	}
	return nil
}

// steers says that an action gives the run an order, or begins to: its key has to stand alone.
func steers(a keys.Action) bool {
	switch a {
	case keys.Cancel, keys.Kill, keys.Pause, keys.Tell, keys.Budget, keys.Rules:
		return true
	}
	return false
}

// Disabled is why an action that steers the run does nothing now, "" when it does something.
func (m *Model) Disabled(a keys.Action) string {
	s := m.snap
	switch {
	case !steers(a):
		return ""
	case s == nil:
		return "the run is being loaded"
	case a == keys.Rules && len(s.Rules) == 0:
		return "no rule was given for this run"
	case a == keys.Rules:
	case s.Summary != nil && a == keys.Budget:
		return fmt.Sprintf("the run has ended; a larger budget goes with tillerman resume %d", m.runID)
	case s.Summary != nil:
		return "the run has ended"
	case (a == keys.Cancel || a == keys.Kill) && !s.Driven && m.deps.Settle == nil:
		return fmt.Sprintf("nobody drives it: tillerman %s %d", a, m.runID)
	case s.Cancel == nil:
	case a == keys.Kill && s.Cancel.Kind == "kill":
		return "kill was already requested"
	case a == keys.Cancel:
		return s.Cancel.Kind + " was already requested"
	case a != keys.Kill:
		return "the run is stopping"
	}
	return ""
}

// meant does what a key that stood alone stands for.
func (m *Model) meant(a keys.Action) tea.Cmd {
	if m.notice = m.Disabled(a); m.notice != "" || m.over != nothing {
		return nil
	}
	now := m.deps.Pressed()
	switch a {
	case keys.Cancel:
		return m.stop("cancel", "key c")
	case keys.Pause:
		return m.order(db.Control{Kind: m.pauses, By: db.Here("key p")}, nil, nil)
	case keys.Tell:
		m.over, m.tell = telling, card.NewField("tell the agent: ")
		m.tell.Insert(m.untold) // what could not be sent
		m.untold = ""
	case keys.Budget:
		m.over, m.form, m.unset = budgeting, m.unset, nil
		if m.form == nil {
			m.form = budget.New(m.snap.Limits, m.used())
		}
		m.form.Stands(m.snap.Limits, m.used())
	case keys.Kill:
		m.over, m.kill = killing, card.NewGuard(now)
		m.layout()
		return arm(card.ArmAfter)
	case keys.Rules:
		m.over, m.rules = listing, rules{guard: card.NewGuard(now), selected: len(m.snap.Rules) - 1}
		m.layout()
		return arm(card.ArmAfter)
	}
	m.layout()
	return nil
}

// used is what the run has consumed of its ceilings.
func (m *Model) used() budget.Used {
	s := m.snap
	return budget.Used{Steps: s.Run.Sealed, TimeMS: s.DrivenMS, Tokens: s.Spend.Billed, MoneyMicros: s.Spend.CostMicros, Unpriced: s.Spend.Unpriced > 0}
}

// close leaves what lies over the screen. The questions below arm anew: keys went elsewhere until now.
func (m *Model) close() tea.Cmd {
	if m.over == nothing {
		return nil
	}
	m.over, m.tell, m.form = nothing, nil, nil
	m.rearm()
	m.layout()
	return arm(card.ArmAfter)
}

// pressOver gives a key to what lies over the screen. In a window that cannot show it a key only leaves it.
func (m *Model) pressOver(msg tea.KeyPressMsg) tea.Cmd {
	place := map[overlay]keys.Place{telling: keys.InTell, budgeting: keys.InBudget, killing: keys.Killing, listing: keys.InRules}[m.over]
	now := m.deps.Pressed()
	b, _ := m.deps.Keys.Find(msg.String(), place)
	if b.Place != place {
		b = keys.Binding{}
	}
	if b.Action == keys.Close {
		return m.close()
	}
	if m.tooSmall() {
		return nil
	}
	ask := false
	switch m.over {
	case telling:
		if b.Action == keys.SendTell {
			if ask = m.tell.Enter(now); !ask {
				m.notice = "not sent: press the key by itself"
				if m.tell.Full() {
					m.notice = ""
				}
			}
			break
		}
		m.tell.Press(now, msg)
	case budgeting:
		ask = m.form.Press(now, msg, b.Action)
	case killing:
		what := card.Noise
		if b.Action == keys.KillNow {
			what = card.Decision
		}
		if ask = m.kill.Press(now, string(b.Action), what); !ask {
			return arm(m.kill.Left(now))
		}
	case listing:
		if ask = m.pressRules(now, b); !ask {
			return arm(m.rules.guard.Left(now))
		}
	}
	if !ask {
		return nil
	}
	f := m.feed
	return tea.Tick(card.Alone, func(time.Time) tea.Msg { return overMsg{f} })
}

// overMeant does what the key stands for that was pressed in what lies over the screen, once it stood alone.
func (m *Model) overMeant(now time.Time) tea.Cmd {
	switch m.over {
	case telling:
		if !m.tell.Entered(now) {
			return nil
		}
		words := strings.TrimSpace(m.clean(m.tell.Value()))
		if words == "" {
			m.notice = "say something, or leave"
			return nil
		}
		return tea.Batch(m.close(), m.order(db.Control{Kind: "tell", Body: words, By: db.Here("key t")}, nil, nil))
	case budgeting:
		b := m.form.Settle(now)
		if b == nil {
			return nil
		}
		form := m.form
		return tea.Batch(m.close(), m.budget(*b, form))
	case killing:
		if m.kill.Settle(now) == "" {
			return nil
		}
		why := m.Disabled(keys.Kill)
		if why != "" {
			m.notice = why
			return m.close()
		}
		return tea.Batch(m.close(), m.stop("kill", "key C"))
	case listing:
		return m.revoke(now)
	}
	return nil
}

// clean takes secrets out of what was typed, before it is stored.
func (m *Model) clean(s string) string {
	if m.deps.Clean == nil {
		return s
	}
	return m.deps.Clean(s)
}

// order stores what an operator wants of the run, when check has nothing against it; nil checks nothing. form is where new
// ceilings were typed.
func (m *Model) order(c db.Control, check func(context.Context) error, form *budget.Form) tea.Cmd {
	store := m.deps.Store
	c.RunID = m.runID
	return m.write(func() tea.Msg {
		ctx := context.Background()
		msg := orderedMsg{run: c.RunID, kind: c.Kind, body: c.Body, form: form}
		if check != nil {
			msg.err = check(ctx)
		}
		if msg.err == nil {
			_, msg.fresh, msg.err = store.Control(ctx, c)
		}
		return msg
	})
}

// budget stores new ceilings, after a look whether they can hold.
func (m *Model) budget(b db.Budget, form *budget.Form) tea.Cmd {
	id, holds := m.runID, m.deps.Check
	var check func(context.Context) error
	if holds != nil {
		check = func(ctx context.Context) error { return holds(ctx, id, b) }
	}
	return m.order(db.Control{Kind: "budget", Body: b.Encode(), By: db.Here("key b")}, check, form)
}

// stop stores the wish first, then sets the flag that the observer returns: it is set even when the row cannot be
// written, and the engine then writes it. A run that nobody drives is ended here.
func (m *Model) stop(kind, surface string) tea.Cmd {
	store, id, flag, settle, driven := m.deps.Store, m.runID, m.deps.Flag, m.deps.Settle, m.snap.Driven
	return m.write(func() tea.Msg {
		if driven && kind == "cancel" {
			defer flag()
		}
		ctx := context.Background()
		_, fresh, err := store.Control(ctx, db.Control{RunID: id, Kind: kind, By: db.Here(surface)})
		if err == nil && !driven && settle != nil {
			fresh, err = true, settle(ctx, id, kind)
			var held *db.HeldError
			if errors.As(err, &held) && held.Life == db.Alive { // taken up meanwhile: its driver obeys the row
				err = nil
			}
		}
		return orderedMsg{run: id, kind: kind, fresh: fresh, err: err}
	})
}

func (m *Model) ordered(msg orderedMsg) {
	if msg.err != nil && msg.run == m.runID { // the same key brings back what was typed
		switch msg.kind {
		case "tell":
			m.untold = msg.body
		case "budget":
			m.unset = msg.form
		}
	}
	switch {
	case msg.err != nil:
		m.say(msg.run, msg.err.Error())
	case !msg.fresh && msg.kind == "continue":
		m.say(msg.run, "the pause was lifted already")
	case !msg.fresh:
		m.say(msg.run, msg.kind+" was already requested")
	}
}
