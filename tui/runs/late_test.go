package runs

import (
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"tillerman/db"
	"tillerman/tui/benchstore"
	"tillerman/tui/keys"
)

// listed is a list of a store's runs, read whole.
func listed(t *testing.T, store *db.Store) *Model {
	t.Helper()
	m := New(Deps{Store: store, Keys: keys.Default(), Now: time.Now})
	t.Cleanup(m.Close)
	m.Resize(120, 40)
	m.Update(m.Update(m.load(pageSize)())())
	return m
}

var enter, down = tea.KeyPressMsg{Code: tea.KeyEnter}, tea.KeyPressMsg{Code: tea.KeyDown}

// TestTheSelectionStaysOnItsRun: a run that begins moves the others down, and Enter opens the one that was chosen.
func TestTheSelectionStaysOnItsRun(t *testing.T) {
	store := benchstore.Open(t)
	benchstore.Runs(t, store, 5)
	m := listed(t, store)
	rows := m.all
	m.set(rows[1:]) // before the newest began
	m.Update(m.search()())
	m.Press(down)
	m.refresh(rows)
	m.Update(m.search()())
	if _, cmd := m.Press(enter); cmd() != (OpenRun{3}) {
		t.Errorf("opens %v, at %d of %d", cmd(), m.selected, len(m.found))
	}
	_, cmd := m.Press(tea.KeyPressMsg{Text: "5", Code: '5'}) // what is looked for anew is looked at from its best
	m.Update(cmd())
	if m.selected != 0 || m.found[0].row.ID != 5 {
		t.Errorf("at %d of %d", m.selected, len(m.found))
	}
}

// TestEnterWaitsForWhatIsLookedFor: Enter right after the letters opens what they find, not what stood there before.
func TestEnterWaitsForWhatIsLookedFor(t *testing.T) {
	store := benchstore.Open(t)
	benchstore.Runs(t, store, 5)
	m := listed(t, store)
	_, search := m.Press(tea.KeyPressMsg{Text: "2", Code: '2'})
	if _, cmd := m.Press(enter); cmd != nil {
		t.Fatalf("opens %v", cmd())
	}
	if cmd := m.Update(search()); cmd == nil || cmd() != (OpenRun{m.found[0].row.ID}) || m.searched != "2" {
		t.Errorf("nothing is opened; %d found", len(m.found))
	}
	_, search = m.Press(tea.KeyPressMsg{Text: "9", Code: '9'})
	m.Press(enter)
	m.Press(tea.KeyPressMsg{Code: tea.KeyEscape}) // thought better of
	if cmd := m.Update(search()); cmd != nil {
		t.Errorf("opens %v", cmd())
	}
}

// TestALateListIsOfAnotherScreen: what was read and found for a list that was left is not shown on the next one.
func TestALateListIsOfAnotherScreen(t *testing.T) {
	store := benchstore.Open(t)
	benchstore.Runs(t, store, 5)
	left := listed(t, store)
	late, found := left.load(pageSize)(), left.search()()
	left.Close()
	m := listed(t, store)
	m.asked = left.asked
	m.set(nil)
	m.found = nil
	m.Update(late)
	m.Update(found)
	if len(m.all) != 0 || len(m.found) != 0 {
		t.Errorf("%d runs, %d found", len(m.all), len(m.found))
	}
}
