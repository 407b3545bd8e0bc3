package tui

import (
	"context"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"tillerman/db"
	"tillerman/tui/card"
	"tillerman/tui/frame"
	"tillerman/tui/keys"
	"tillerman/tui/paint"
	"tillerman/tui/text"
)

// leave ends the console, or asks first when a run of this process would stop with it.
func (m *Model) leave() tea.Cmd {
	if !m.ownRuns() {
		return tea.Quit
	}
	m.quit, m.leaving = true, card.NewGuard(m.opts.Pressed())
	m.cover()
	return m.armLeaving()
}

// cover tells the run on the screen that something lies over it.
func (m *Model) cover() {
	if m.live != nil {
		m.live.Cover()
	}
}

// stay takes the question of leaving off the screen.
func (m *Model) stay() tea.Cmd {
	m.quit = false
	if m.live != nil {
		return m.live.Wake()
	}
	return nil
}

// leaveMsg looks whether the key that was pressed has stood alone.
type leaveMsg struct{}

// pressQuit answers the question of leaving a live run. It is guarded like any other question: a letter that was typed
// ahead neither cancels a run nor gives it away.
func (m *Model) pressQuit(key string) tea.Cmd {
	b, ok := m.opts.Keys.Find(key, keys.Leaving)
	ok = ok && b.Place == keys.Leaving
	what := card.Noise
	if ok && b.Action != keys.Stay && m.leaveDisabled(b.Action) == "" {
		what = card.Decision
	}
	if m.leaving.Press(m.opts.Pressed(), string(b.Action), what) {
		return tea.Tick(card.Alone, func(time.Time) tea.Msg { return leaveMsg{} })
	}
	if ok && b.Action == keys.Stay {
		return m.stay()
	}
	return m.armLeaving()
}

// leaveDisabled is why an answer to the question of leaving does nothing now, "" when it does something.
func (m *Model) leaveDisabled(a keys.Action) string {
	if a != keys.HandOver {
		return ""
	}
	switch {
	case m.opts.Own.Leave == nil:
		return "this run cannot be handed to another process"
	case m.handing:
		return "it is being handed over already"
	}
	return ""
}

// leaves does what the key stands for that has stood alone.
func (m *Model) leaves(a keys.Action) tea.Cmd {
	switch a {
	case keys.LeaveNow:
		return m.cancelAndLeave()
	case keys.HandOver:
		m.handing = true
		m.opts.Own.Leave()
		if m.live == nil || m.live.RunID() != m.opts.Own.ID { // what the run waits for is said
			return m.openLive(m.opts.Own.ID)
		}
		return m.live.Tick()
	}
	return nil
}

// armLeaving draws the question again when its keys count.
func (m *Model) armLeaving() tea.Cmd {
	return tea.Tick(m.leaving.Left(m.opts.Pressed()), func(time.Time) tea.Msg { return leaveMsg{} })
}

func (m *Model) cancelAndLeave() tea.Cmd {
	m.left = true
	shown := m.stay()
	store, id, done := m.opts.Store, m.opts.Own.ID, m.opts.Own.Done
	flag := m.flag(id)
	return tea.Batch(shown, func() tea.Msg {
		_, _, _ = store.Control(context.Background(), db.Control{RunID: id, Kind: "cancel", By: db.Here("key q")})
		flag()
		<-done
		return tea.QuitMsg{}
	})
}

// write begins at once what stores something, so that it is under way whatever becomes of the command.
func (m *Model) write(work func() tea.Msg) tea.Cmd {
	done := make(chan tea.Msg, 1)
	m.writes.Add(1)
	m.guard.Go(func() {
		defer m.writes.Done()
		done <- work()
	})
	return func() tea.Msg { return <-done }
}

// writesFor bounds how long leaving waits for what is being stored: longer than a store waits for another process.
const writesFor = 10 * time.Second

// written waits until what is being stored is.
func (m *Model) written() {
	all := make(chan struct{})
	m.guard.Go(func() {
		m.writes.Wait()
		close(all)
	})
	select {
	case <-all:
	case <-time.After(writesFor):
	}
}

// leaveLines are a key of the question with what it does, whole.
func (m *Model) leaveLines(b keys.Binding) []string {
	const indent = 16
	var out []string
	for i, part := range text.WrapWords(b.Help, max(8, m.width-indent-1)) {
		l := m.painter.Line(m.width, paint.Plain).Gap(4)
		for _, k := range b.Keys {
			if i == 0 {
				l.On(paint.Strong, paint.Cap, " "+keys.Cap(k)+" ").Gap(1)
			}
		}
		out = append(out, l.To(indent).Add(paint.Text, strings.TrimLeft(part, " ")).String())
	}
	return out
}

// quitView asks how to leave a run of this console, or says what the leaving waits for.
func (m *Model) quitView() string {
	p := m.painter
	empty := p.Line(m.width, paint.Plain).String()
	lines := []string{frame.Title(p, m.width).Gap(2).Add(paint.Strong, "leave?").String(), empty}
	say := func(role paint.Role, words string) {
		for _, part := range text.WrapWords(text.Line(words), max(8, m.width-6)) {
			lines = append(lines, p.Line(m.width, paint.Plain).Gap(4).Add(role, part).String())
		}
	}
	say(paint.Text, fmt.Sprintf("Run %d is still going in this window.", m.opts.Own.ID))
	if m.handing {
		say(paint.Person, "A process of its own takes it over at the next safe point; this window closes then.")
		if m.live != nil && m.live.RunID() == m.opts.Own.ID {
			if doing := m.live.Doing(); doing != "" {
				say(paint.Text, "Now: "+doing+".")
			}
		}
		say(paint.Soft, "You need not wait: close this terminal, and the run goes on. Its questions wait in the inbox.")
	}
	lines = append(lines, empty)
	for _, b := range m.opts.Keys.In(keys.Leaving) {
		if b.Action == keys.HandOver && (m.handing || m.opts.Own.Leave == nil) {
			continue
		}
		lines = append(lines, m.leaveLines(b)...)
	}
	if !m.leaving.Armed(m.opts.Pressed()) {
		lines = append(lines, p.Line(m.width, paint.Plain).Gap(4).Add(paint.Soft, "one moment").String())
	}
	return frame.Exactly(p, lines, m.width, m.height)
}
