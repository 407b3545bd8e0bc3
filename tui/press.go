package tui

import (
	tea "charm.land/bubbletea/v2"

	"tillerman/tui/keys"
)

// press routes a key: what lies on top first, then the screen, then what holds anywhere.
func (m *Model) press(msg tea.KeyPressMsg) tea.Cmd {
	key := msg.String()
	switch {
	case key == "ctrl+z":
		return suspend()
	case m.quit:
		return m.pressQuit(key)
	case m.help:
		m.pressHelp(key)
		if !m.help && m.live != nil {
			return m.live.Wake()
		}
		return nil
	}
	handled, cmd := m.pressScreen(msg)
	if handled {
		return cmd
	}
	return tea.Batch(cmd, m.pressAnywhere(key))
}

// pressAnywhere handles the keys that hold on every screen.
func (m *Model) pressAnywhere(key string) tea.Cmd {
	b, ok := m.opts.Keys.Find(key)
	if !ok {
		return nil
	}
	switch b.Action {
	case keys.Help:
		m.help, m.helpTop = true, 0
		m.cover()
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

// pressHelp scrolls the help or closes it.
func (m *Model) pressHelp(key string) {
	switch b, _ := m.opts.Keys.Find(key, keys.OnLive); b.Action {
	case keys.Up:
		m.helpTop = max(0, m.helpTop-1)
	case keys.Down:
		m.helpTop++
	case keys.PageUp:
		m.helpTop = max(0, m.helpTop-max(1, m.height-4))
	case keys.PageDown:
		m.helpTop += max(1, m.height-4)
	case keys.Help, keys.Back, keys.Quit:
		m.help = false
	}
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
		if b, ok := m.opts.Keys.Find(msg.String(), keys.OnRuns); ok && b.Action == keys.Audit {
			return true, m.openAudit(0)
		}
		if m.runs != nil {
			return m.runs.Press(msg)
		}
	case summaryScreen:
		if m.summary != nil {
			if b, ok := m.opts.Keys.Find(msg.String(), keys.OnSummary); ok && b.Action == keys.Audit {
				return true, m.openAudit(m.summary.RunID())
			}
			return m.summary.Press(msg)
		}
	case auditScreen:
		if m.audit != nil {
			return m.audit.Press(msg)
		}
	}
	return false, nil
}

// goBack closes what is on top: a summary or steps lead back to the list, the list to the run of this console.
func (m *Model) goBack() tea.Cmd {
	switch {
	case m.screen == auditScreen && m.auditFrom == summaryScreen:
		m.closeAudit()
		m.screen = summaryScreen
	case m.screen != runsScreen:
		return m.openRuns()
	case m.ownRuns():
		return m.openLive(m.opts.Own.ID)
	}
	return nil
}
