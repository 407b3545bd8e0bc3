package live

import (
	"context"
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"tillerman/db"
	"tillerman/tui/card"
)

// showCard puts the oldest open question on the screen. A question that stays keeps its card, and with it what was
// typed and seen.
func (m *Model) showCard() tea.Cmd {
	if len(m.snap.Open) == 0 {
		if m.left() {
			m.tear("what you were writing about was answered elsewhere or withdrawn")
		}
		m.card = nil
		return nil
	}
	r := m.snap.Open[0]
	if m.card != nil && m.card.Request.ID == r.ID && m.card.Request.Digest == r.Digest {
		return nil
	}
	c := card.New(r, m.deps.Pressed())
	c.About, c.Clean = m.about(r), m.clean
	gone := m.left()
	m.card = c
	switch {
	case gone:
		m.tear("what you were writing about was answered or has changed: this is asked now")
	case !m.Torn(): // what became of a text is said until it was read
		m.notice = ""
	}
	return arm(card.ArmAfter)
}

// tear says that a field has closed under somebody's hands. The rest of what is being typed means nothing: its letters would
// be keys of the screen.
func (m *Model) tear(words string) {
	guard := card.NewGuard(m.deps.Pressed())
	m.torn, m.notice = &guard, words
}

// Torn says that a field has closed under somebody's hands, and no key has come since that was not on its way.
func (m *Model) Torn() bool { return m.torn != nil }

// left says that something is being written on the card that is not this person's own decision on its way.
func (m *Model) left() bool {
	return m.card != nil && m.card.Field() && m.card.Request.ID != m.deciding
}

// arm draws again when a question has armed.
func arm(after time.Duration) tea.Cmd {
	return tea.Tick(after, func(time.Time) tea.Msg { return armMsg{} })
}

// decide writes a decision the way every surface does.
func (m *Model) decide(d *db.Decision) tea.Cmd {
	if d == nil || m.card == nil {
		return nil
	}
	how := pressedFor(m.card.Request, d)
	m.deciding = m.card.Request.ID
	d.Reason = m.clean(d.Reason)
	store, run, c, id := m.deps.Store, m.runID, m.card, m.card.Request.ID
	return m.write(func() tea.Msg {
		r, err := store.Decide(context.Background(), id, *d, db.Here(how))
		return decidedMsg{run, c, *d, r, err}
	})
}

func (m *Model) decided(msg decidedMsg) {
	deferred := msg.request.Decision == "defer"
	if msg.run == m.runID && (msg.err != nil || deferred) { // the question stands
		m.deciding = 0
	}
	if msg.err != nil && msg.card != nil {
		msg.card.Unstored(msg.made)
	}
	switch {
	case msg.err != nil:
		m.say(msg.run, msg.err.Error())
	case deferred:
		m.say(msg.run, "put off: it stays in the inbox; the run pauses")
	}
}

// say puts words on the screen that tell of a run: of another one than is shown when it was left meanwhile.
func (m *Model) say(run int64, words string) {
	if m.notice = words; run != m.runID {
		m.notice = fmt.Sprintf("run %d: %s", run, words)
	}
}
