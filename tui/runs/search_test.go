package runs

import (
	"context"
	"reflect"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"tillerman/tui/benchstore"
	"tillerman/tui/keys"
)

// TestALongerQueryFindsTheSameAmongWhatWasFound types words into a list that reaches past what is searched letter by
// letter, and looks at every letter whether a search from the start finds the same.
func TestALongerQueryFindsTheSameAmongWhatWasFound(t *testing.T) {
	if testing.Short() {
		t.Skip("twenty thousand runs")
	}
	store := benchstore.Open(t)
	benchstore.Runs(t, store, loadLimit+500)
	m := New(Deps{Store: store, Keys: keys.Default(), Now: time.Now})
	m.Resize(120, 40)
	for limit := pageSize; !m.complete; limit = loadLimit {
		m.Update(m.load(limit)())
	}
	for _, word := range []string{"module 123", "mtp m3", "x", "module 77"} {
		for n, letter := range word {
			_, search := m.Press(tea.KeyPressMsg{Text: string(letter), Code: letter})
			more := m.Update(search())
			want, _ := find(context.Background(), word[:n+1], m.all, m.targets, narrowed{})
			if len(want) != len(m.found) || len(want) > 0 && !reflect.DeepEqual(want, m.found) {
				t.Fatalf("%q: %d found, %d from the start", word[:n+1], len(m.found), len(want))
			}
			if more != nil {
				m.Update(more())
			}
		}
		if word == "module 77" && m.found[len(m.found)-1].row.ID > 500 {
			t.Errorf("no run older than those searched by letters among %d", len(m.found))
		}
		m.Press(tea.KeyPressMsg{Code: tea.KeyEscape})
	}
}
