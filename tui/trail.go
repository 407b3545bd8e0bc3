package tui

import (
	tea "charm.land/bubbletea/v2"

	"tillerman/tui/audit"
)

// openAudit shows the audit trail of a run, of all for 0.
func (m *Model) openAudit(run int64) tea.Cmd {
	m.closeAudit()
	m.audit = audit.New(audit.Deps{Store: m.opts.Store, Keys: m.opts.Keys, Painter: m.painter, Verify: m.opts.Verify}, run)
	m.audit.Resize(m.width, m.height)
	m.auditFrom, m.screen = m.screen, auditScreen
	return m.audit.Init()
}

func (m *Model) closeAudit() {
	if m.audit != nil {
		m.audit.Close()
		m.audit = nil
	}
}
