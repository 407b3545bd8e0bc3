package tui

import (
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// askSynchronized asks the terminal whether it draws a frame at once (mode 2026). Bubble Tea does not ask over SSH, where
// it matters most.
func askSynchronized() tea.Cmd { return tea.Raw(ansi.RequestModeSynchronizedOutput) }

// bellEvery bounds how often something that waits may ring.
const bellEvery = 30 * time.Second

// status says outward what waits: in the title, as the program's status, and by a bell when nobody looks. It never holds
// anything of what waits.
type status struct {
	waiting int
	rang    time.Time
}

// put sets the window's title and status.
func (s *status) put(v *tea.View, m *Model) {
	v.WindowTitle = "tillerman"
	waiting := m.waiting()
	running := false
	if m.live != nil {
		if snap := m.live.Snapshot(); snap != nil {
			running = snap.Driven && !snap.Held()
			v.WindowTitle = fmt.Sprintf("tillerman run %d", m.live.RunID())
			switch snap.State {
			case "paused", "pausing", "cancelling", "interrupted", "driver unseen":
				if waiting == 0 {
					v.WindowTitle = fmt.Sprintf("(%s) %s", snap.State, v.WindowTitle)
				}
			}
		}
	}
	switch {
	case waiting > 0:
		v.WindowTitle = fmt.Sprintf("(%d waiting) %s", waiting, v.WindowTitle)
		v.ProgramStatus = &tea.ProgramStatus{State: tea.ProgramStateBlocked, Kind: tea.ProgramStatusKindPermission, App: "tillerman"}
	case running:
		v.ProgramStatus = &tea.ProgramStatus{State: tea.ProgramStateWorking, App: "tillerman"}
	default:
		v.ProgramStatus = &tea.ProgramStatus{State: tea.ProgramStateIdle, App: "tillerman"}
	}
}

// waiting is how many things of the run on the screen wait for a person: questions, and an interrupted call.
func (m *Model) waiting() int {
	if m.live == nil {
		return 0
	}
	snap := m.live.Snapshot()
	if snap == nil {
		return 0
	}
	n := len(snap.Open)
	if snap.Stuck != nil {
		n++
	}
	return n
}

// announce rings once when something begins to wait and nobody looks.
func (m *Model) announce() tea.Cmd {
	waiting := m.waiting()
	s := m.status
	began := waiting > s.waiting
	s.waiting = waiting
	if now := m.opts.Now(); began && !m.focused && now.Sub(s.rang) >= bellEvery {
		s.rang = now
		return tea.Raw("\a")
	}
	return nil
}
