package db

import (
	"cmp"
	"database/sql"
	"slices"
)

// Split is where a run's duration went, in milliseconds. The parts add up to the duration.
type Split struct {
	Model  int64 `json:"model_ms"`
	Tool   int64 `json:"tool_ms"`
	Person int64 `json:"person_ms"`
	Retry  int64 `json:"retry_ms"`
	Gate   int64 `json:"gate_ms"`
	Away   int64 `json:"away_ms"`   // nobody drove, or paused by the operator
	Engine int64 `json:"engine_ms"` // the rest
}

// stretch is a part of a drive that something other than the engine took, in ms since the drive began.
type stretch struct {
	drive    int
	kind     string
	from, to int64
}

// addTime splits the run's duration. Inside a drive spans are measured on the monotonic clock; between drives only the
// wall clock is left, and a clock that went back counts as no time.
func addTime(q querier, sum *Summary) error {
	ds, err := drives(q, sum.RunID)
	if err != nil {
		return err
	}
	all, err := stretches(q, sum.RunID)
	if err != nil {
		return err
	}
	byDrive := map[int][]stretch{}
	for _, st := range all {
		byDrive[st.drive] = append(byDrive[st.drive], st)
	}
	t := &sum.Time
	for i, d := range ds {
		if i > 0 {
			before := ds[i-1]
			gap := max(0, d.StartedAt-before.StartedAt-before.ElapsedMS)
			t.Away += gap
			sum.DurationMS += gap
		}
		sum.DurationMS += d.ElapsedMS
		t.divide(byDrive[d.Drive], d.ElapsedMS)
	}
	t.Engine = sum.DurationMS - t.Model - t.Tool - t.Person - t.Retry - t.Gate - t.Away
	return nil
}

// stretches lists a run's spans that say where its time went.
func stretches(q querier, runID int64) ([]stretch, error) {
	return list(q, func(r *sql.Rows) (stretch, error) {
		var st stretch
		var took sql.NullInt64
		err := r.Scan(&st.kind, &st.drive, &st.from, &took)
		st.to = st.from + took.Int64
		if !took.Valid {
			st.to = 1<<63 - 1 // open or cut off: up to the last that is known
		}
		return st, err
	}, `SELECT kind, drive, start_ms, duration_ms FROM spans WHERE run_id = ? AND kind NOT IN ('run', 'step') ORDER BY span`, runID)
}

// divide adds a drive's time. A moment that several stretches cover belongs to the one that began last: a question asked
// by a tool is a person's time, not the tool's. So no moment counts twice, and the parts never exceed the drive.
func (t *Split) divide(all []stretch, elapsed int64) {
	slices.SortStableFunc(all, func(a, b stretch) int { return cmp.Compare(a.from, b.from) })
	var at int64
	var open []stretch // the one that began last is last
	pass := func(to int64) {
		for at < to && len(open) > 0 {
			last := open[len(open)-1]
			if last.to <= at {
				open = open[:len(open)-1]
				continue
			}
			end := min(to, last.to)
			t.add(last.kind, end-at)
			at = end
		}
		at = max(at, to)
	}
	for _, st := range all {
		pass(min(st.from, elapsed))
		open = append(open, st)
	}
	pass(elapsed)
}

func (t *Split) add(kind string, took int64) {
	switch kind {
	case "model":
		t.Model += took
	case "call":
		t.Tool += took
	case "question":
		t.Person += took
	case "retry":
		t.Retry += took
	case "gate":
		t.Gate += took
	case "pause":
		t.Away += took
	}
}
