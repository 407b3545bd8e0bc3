package audit

import (
	"context"
	"testing"

	tea "charm.land/bubbletea/v2"

	"tillerman/db/audit"
)

// TestAPageIsTurnedOnce: a key that is held down turns a page, not the same one again and again.
func TestAPageIsTurnedOnce(t *testing.T) {
	m := screen(t, trail(t, 3*page), 0, 100, 30)
	end, home := tea.KeyPressMsg{Code: tea.KeyPgDown}, tea.KeyPressMsg{Code: tea.KeyPgUp}
	for m.selected < len(m.rows)-1 {
		press(t, m, end)
	}
	first := m.rows[0].Seq
	_, turn := m.Press(end)
	m.Press(end)
	settled(t, m, turn)
	if len(m.before) != 2 || m.rows[0].Seq != first-page {
		t.Fatalf("%d pages deep, at row %d, below %d", len(m.before), m.rows[0].Seq, first)
	}
	_, turn = m.Press(home)
	m.Press(home)
	settled(t, m, turn)
	if len(m.before) != 1 || m.rows[0].Seq != first {
		t.Errorf("%d pages deep, at row %d", len(m.before), m.rows[0].Seq)
	}
}

// TestLateRowsAreOfAnotherScreen: what was read for a trail that was left is not shown on the next one.
func TestLateRowsAreOfAnotherScreen(t *testing.T) {
	store := trail(t, 3)
	left := screen(t, store, 2, 100, 30)
	rows, account := left.read(false), left.ask()
	left.Close()
	m := screen(t, store, 0, 100, 30)
	m.asked = left.asked
	before := len(m.rows)
	m.Update(rows())
	m.Update(account())
	if len(m.rows) != before || m.err != nil || m.account != nil {
		t.Errorf("%d rows of %d, %v, %q", len(m.rows), before, m.err, m.account)
	}
}

// TestTheNewestVerdictHolds: a verification that was begun anew says nothing any more.
func TestTheNewestVerdictHolds(t *testing.T) {
	m := screen(t, trail(t, 1), 0, 100, 30)
	older := m.checking
	m.verify()
	m.Update(verifiedMsg{check: older, report: audit.Report{Verdict: audit.Intact}})
	m.Update(progressMsg{check: older, rows: 7})
	if m.report != nil || m.checked != 0 || older.Err() != context.Canceled {
		t.Errorf("%+v, %d rows, %v", m.report, m.checked, older.Err())
	}
}
