package observer

import (
	"maps"
	"testing"

	"pgregory.net/rapid"
)

func TestTracker(t *testing.T) {
	var tr Tracker
	tr.Seen(2, 10)
	for i, c := range []struct {
		run, seq, from, to int64
		missing            bool
	}{
		{run: 1, seq: 1},
		{run: 1, seq: 2},
		{run: 1, seq: 5, from: 3, to: 4, missing: true},
		{run: 1, seq: 5}, // again
		{run: 1, seq: 3}, // late
		{run: 1, seq: 6},
		{run: 1, seq: 0}, // without a seq
		{run: 2, seq: 11},
		{run: 2, seq: 13, from: 12, to: 12, missing: true},
		{run: 3, seq: 3, from: 1, to: 2, missing: true},
		{run: 1, seq: 7},
	} {
		from, to, missing := tr.Note(Event{RunID: c.run, Seq: c.seq})
		if from != c.from || to != c.to || missing != c.missing {
			t.Errorf("%d: run %d seq %d: %d..%d %v", i, c.run, c.seq, from, to, missing)
		}
	}
	tr.Seen(1, 4) // older than what it has
	if from, to, missing := tr.Note(Event{RunID: 1, Seq: 8}); missing {
		t.Errorf("Seen went back: %d..%d", from, to)
	}
}

// What comes out of a channel that is read now and then, and the gaps that a Tracker names, are together exactly what
// was sent up to the last event read.
func TestTrackerRecoversExactGaps(t *testing.T) {
	type id struct{ run, seq int64 }
	rapid.Check(t, func(rt *rapid.T) {
		c := NewChannel(rapid.IntRange(1, 8).Draw(rt, "size"))
		var tr Tracker
		next := make(map[int64]int64)
		last := make(map[int64]int64)
		read, gone := make(map[id]bool), make(map[id]bool)
		take := func() {
			e := <-c.Events()
			if from, to, missing := tr.Note(e); missing {
				if from > to {
					rt.Fatalf("empty gap %d..%d", from, to)
				}
				for seq := from; seq <= to; seq++ {
					gone[id{e.RunID, seq}] = true
				}
			}
			read[id{e.RunID, e.Seq}] = true
			last[e.RunID] = e.Seq
		}
		dropped, want := make(map[id]bool), make(map[id]bool)
		for range rapid.IntRange(0, 120).Draw(rt, "turns") {
			if rapid.Bool().Draw(rt, "read") {
				if len(c.Events()) > 0 {
					take()
				}
				continue
			}
			run := rapid.Int64Range(1, 3).Draw(rt, "run")
			next[run]++
			before := c.Dropped()
			c.Event(&Event{RunID: run, Seq: next[run]})
			if c.Dropped() > before {
				dropped[id{run, next[run]}] = true
			}
		}
		for len(c.Events()) > 0 {
			take()
		}
		for d := range dropped {
			if d.seq < last[d.run] { // what was dropped after the last one read has no next event to show it
				want[d] = true
			}
		}
		if !maps.Equal(gone, want) {
			rt.Fatalf("gaps %v, dropped %v", gone, want)
		}
		if int64(len(dropped)) != c.Dropped() {
			rt.Fatalf("counted %d, dropped %d", c.Dropped(), len(dropped))
		}
		for run, n := range next {
			for seq := int64(1); seq <= min(n, last[run]); seq++ {
				if read[id{run, seq}] == gone[id{run, seq}] {
					rt.Fatalf("run %d seq %d is both or neither", run, seq)
				}
			}
		}
	})
}
