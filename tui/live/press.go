package live

import (
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"tillerman/tui/card"
	"tillerman/tui/keys"
)

// Press handles a key. handled is false for a key that means nothing here.
func (m *Model) Press(msg tea.KeyPressMsg) (handled bool, cmd tea.Cmd) {
	if m.torn != nil && msg.String() != "ctrl+c" {
		now := m.deps.Pressed()
		if !m.torn.Armed(now) {
			*m.torn = card.NewGuard(now)
			return true, nil
		}
	}
	m.notice, m.torn = "", nil
	if m.over != nothing {
		return true, m.pressOver(msg)
	}
	b, ok := m.deps.Keys.Find(msg.String(), keys.OnLive)
	ready := m.watch(b, m.Typing())
	var arming tea.Cmd
	for _, q := range []struct {
		open  bool
		press func(tea.KeyPressMsg) (bool, tea.Cmd)
	}{{m.card != nil, m.pressCard}, {m.stuck != nil, m.pressStuck}} {
		if !q.open {
			continue
		}
		taken, cmd := q.press(msg)
		if taken {
			return true, cmd
		}
		arming = tea.Batch(arming, cmd) // the key meant nothing to the question, which has to arm anew
	}
	if !ok {
		return false, arming
	}
	handled, cmd = m.act(b, ready)
	return handled, tea.Batch(arming, cmd)
}

// act does what a key of this screen means. ready says that a key which steers the run stood alone so far.
func (m *Model) act(b keys.Binding, ready bool) (handled bool, cmd tea.Cmd) {
	switch b.Action {
	case keys.Up:
		return true, m.move(-1)
	case keys.Down:
		return true, m.move(1)
	case keys.Top:
		return true, m.moveTo(1)
	case keys.Follow:
		m.follow = true
		return true, m.moveTo(m.total())
	case keys.PageDown:
		m.detailTop += max(1, m.height/2)
	case keys.PageUp:
		m.detailTop = max(0, m.detailTop-max(1, m.height/2))
	case keys.Detail:
		m.onlyDetail = !m.onlyDetail
	default:
		if !steers(b.Action) {
			return false, nil
		}
		return true, m.begin(b, ready)
	}
	return true, nil
}

// begin waits whether a key that steers the run stands alone.
func (m *Model) begin(b keys.Binding, ready bool) tea.Cmd {
	switch m.notice = m.Disabled(b.Action); {
	case m.notice != "":
	case ready:
		if m.pauses = "pause"; m.snap.Pause != nil {
			m.pauses = "continue"
		}
		f := m.feed
		return tea.Tick(card.Alone, func(time.Time) tea.Msg { return keyMsg{f} })
	default:
		m.notice = fmt.Sprintf("for %s wait a moment, then press %s by itself", b.Name, keys.Cap(b.Keys[0]))
	}
	return nil
}

// watch notes every key with the guard of this screen. It returns true when the key may steer the run: like a decision,
// that takes a key that stands alone, not a letter of a word, a paste or a terminal's reply.
func (m *Model) watch(b keys.Binding, typing bool) bool {
	what := card.Harmless
	switch {
	case typing:
	case steers(b.Action):
		what = card.Decision
	case b.Action == "":
		what = card.Noise
	}
	return m.guard.Press(m.deps.Pressed(), string(b.Action), what)
}

// pressCard gives a key to the question first. In a window that cannot show it nothing decides.
func (m *Model) pressCard(msg tea.KeyPressMsg) (bool, tea.Cmd) {
	key := msg.String()
	if m.tooSmall() {
		return false, nil
	}
	c := m.card
	place := c.Place()
	b, ok := m.deps.Keys.Find(key, place)
	if ok && b.Place != place {
		b = keys.Binding{}
	}
	if m.away == c { // the text is with an editor: what is typed here would be lost
		if b.Action != keys.Close {
			return true, nil
		}
		m.away = nil
	}
	switch {
	case b.Action == keys.Copy && !c.Field():
		m.notice = "copied what would happen"
		return true, tea.SetClipboard(c.Request.Payload)
	case b.Action == keys.Outside:
		return true, m.outside()
	}
	handled, settle := c.Press(m.deps.Pressed(), msg, b)
	if d := c.Confirm(); d != nil {
		return true, m.decide(d)
	}
	cmds := []tea.Cmd{m.try()}
	if settle {
		cmds = append(cmds, tea.Tick(card.Alone, func(time.Time) tea.Msg { return settleMsg{c} }))
	}
	if now := m.deps.Pressed(); !c.Armed(now) { // drawn again when it is
		cmds = append(cmds, arm(c.Arming(now)))
	}
	m.layout()
	return handled, tea.Batch(cmds...)
}

func (m *Model) total() int {
	if m.snap == nil {
		return 0
	}
	return m.snap.Total
}

func (m *Model) move(by int) tea.Cmd {
	m.follow = false
	return m.moveTo(m.selected + by)
}

// moveTo selects a step. Following the newest is a state that only the person changes.
func (m *Model) moveTo(step int) tea.Cmd {
	step = min(max(1, step), max(1, m.total()))
	if step != m.selected {
		m.selected, m.detailTop, m.detailLines, m.detailKnown, m.detailErr = step, 0, nil, false, nil
	}
	if step == 1 && m.total() > 1 {
		m.follow = false
	}
	m.layout()
	return m.loadDetail()
}
