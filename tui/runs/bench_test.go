package runs

import (
	"fmt"
	"slices"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"tillerman/tui/benchstore"
	"tillerman/tui/keys"
)

// BenchmarkFind types words into the search of a store of 100,000 runs, letter by letter, and measures the time from a
// letter to what it finds among the newest runs, and to the older ones beside them. The letter itself is drawn before the
// search begins.
func BenchmarkFind(b *testing.B) {
	store := benchstore.Open(b)
	benchstore.Runs(b, store, 100_000)
	m := New(Deps{Store: store, Keys: keys.Default(), Now: time.Now})
	m.Resize(120, 40)
	for limit := pageSize; !m.complete; limit = loadLimit {
		m.Update(m.load(limit)())
	}
	if len(m.all) != loadLimit {
		b.Fatalf("%d runs are searched letter by letter", len(m.all))
	}
	for b.Loop() {
		var took, older []time.Duration
		for _, word := range []string{"make", "tests of module 99", "mdl7", "77777", "nothing like it", "model-3 pass"} {
			for _, letter := range word {
				_, search := m.Press(tea.KeyPressMsg{Text: string(letter), Code: letter})
				began := time.Now()
				found := search()
				took = append(took, time.Since(began))
				more := m.Update(found)
				for more != nil && found != nil {
					found = more()
					older = append(older, time.Since(began))
					more = m.Update(found)
				}
			}
			if word == "77777" && !slices.ContainsFunc(m.found, func(f match) bool { return f.row.ID == 77777 }) {
				b.Errorf("%s is not found among %d", word, len(m.found))
			}
			m.Press(tea.KeyPressMsg{Code: tea.KeyEscape})
		}
		for name, times := range map[string][]time.Duration{"": took, "older-": older} {
			slices.Sort(times)
			for _, p := range []int{50, 95, 100} {
				b.ReportMetric(float64(times[(len(times)-1)*p/100].Microseconds())/1000, fmt.Sprintf("%sp%d-ms", name, p))
			}
		}
	}
}
