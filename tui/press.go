package tui

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"tillerman/db"
	"tillerman/tui/keys"
)

// press routes a key: what lies on top first, then the screen, then what holds anywhere.
func (m *Model) press(msg tea.KeyPressMsg) tea.Cmd {
	key := msg.String()
	switch {
	case key == "ctrl+z":
		return tea.Suspend
	case m.quit:
		return m.pressQuit(key)
	case m.help:
		if b, ok := m.opts.Keys.Find(key); ok && (b.Action == keys.Help || b.Action == keys.Back || b.Action == keys.Quit) {
			m.help = false
		}
		return nil
	}
	if handled, cmd := m.pressScreen(msg); handled {
		return cmd
	}
	b, ok := m.opts.Keys.Find(key)
	if !ok {
		return nil
	}
	switch b.Action {
	case keys.Help:
		m.help = true
	case keys.Runs:
		return m.openRuns()
	case keys.Summary:
	case keys.Back:
		return m.goBack()
	case keys.Quit:
		return m.leave()
	}
	return nil
}

func (m *Model) pressScreen(msg tea.KeyPressMsg) (bool, tea.Cmd) {
	switch m.screen {
	case liveScreen:
		if m.live == nil {
			return false, nil
		}
		handled, cmd := m.live.Press(msg)
		if handled || m.live.Typing() {
			return true, cmd
		}
		if b, ok := m.opts.Keys.Find(msg.String(), keys.OnLive); ok && b.Action == keys.Summary {
			if s := m.live.Snapshot(); s != nil && s.Summary != nil {
				return true, m.openSummary(m.live.RunID())
			}
			return true, nil
		}
		return false, cmd
	case runsScreen:
		if m.runs != nil {
			return m.runs.Press(msg)
		}
	case summaryScreen:
		if m.summary != nil {
			return m.summary.Press(msg)
		}
	}
	return false, nil
}

// goBack closes what is on top: a summary or steps lead back to the list, the list leads nowhere.
func (m *Model) goBack() tea.Cmd {
	if m.screen == runsScreen {
		return nil
	}
	return m.openRuns()
}

// leave ends the console, or asks first when a run of this process would stop with it.
func (m *Model) leave() tea.Cmd {
	if m.ownRuns() {
		m.quit = true
		return nil
	}
	return tea.Quit
}

// pressQuit answers the question of leaving a live run. Only its own keys count; every other key stays.
func (m *Model) pressQuit(key string) tea.Cmd {
	switch key {
	case "c", "ctrl+c":
		m.quit, m.left = false, true
		store, id, done := m.opts.Store, m.opts.Own.ID, m.opts.Own.Done
		flag := m.flag(id)
		return func() tea.Msg {
			_, _, _ = store.Control(context.Background(), db.Control{RunID: id, Kind: "cancel", By: db.Here("key q")})
			flag()
			<-done
			return tea.QuitMsg{}
		}
	default:
		m.quit = false
	}
	return nil
}
