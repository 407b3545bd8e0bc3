package observer

// Tracker finds what a reader missed by the seq of the events that it got. The zero Tracker expects every run from its
// first event on. It belongs to one reader and is not safe for concurrent use.
type Tracker struct {
	last map[int64]int64 // run → highest seq that is accounted for
}

// Seen says that the reader has everything of a run up to seq from somewhere else: it read the store before it began to
// listen, or it does not care for what was before.
func (t *Tracker) Seen(runID, seq int64) {
	if t.last == nil {
		t.last = make(map[int64]int64)
	}
	t.last[runID] = max(t.last[runID], seq)
}

// Note takes the next event and says whether events of its run are missing before it, and which: from and to are the
// first and the last of them, both included. Each gap is told once. An event that is not newer than those before it, or
// one without a seq, tells nothing.
func (t *Tracker) Note(e Event) (from, to int64, missing bool) {
	last := t.last[e.RunID]
	if e.Seq <= last {
		return 0, 0, false
	}
	t.Seen(e.RunID, e.Seq)
	if e.Seq == last+1 {
		return 0, 0, false
	}
	return last + 1, e.Seq - 1, true
}
