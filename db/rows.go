package db

import (
	"context"
	"database/sql"
)

// RunRow is a run in a long list: less than a Listed, so that thousands are read at once.
type RunRow struct {
	ID         int64
	Goal       string
	Workspace  string
	Model      string
	Status     Status
	Outcome    string
	Steps      int
	Tokens     int64
	DurationMS int64
	CostMicros *int64
	CreatedAt  int64

	pause                      OperatorPause
	driven, unseen, cancelling bool
	waiting                    int
}

// State is how the run stands; see Listed.State.
func (r RunRow) State() string {
	return Listed{Run: Run{Status: r.Status, Outcome: r.Outcome}, Driven: r.driven, Unseen: r.unseen, Waiting: r.waiting, Cancelling: r.cancelling, Pause: r.pause}.State()
}

// PausedBy is who paused the run, as seen from self; "" when nobody did.
func (r RunRow) PausedBy(self Actor) string {
	if !r.pause.InForce && !r.pause.Asked {
		return ""
	}
	return r.pause.By.Who(self)
}

// Driven says that somebody drives the run, as far as can be told from here.
func (r RunRow) Driven() bool { return r.driven }

// OlderRunRows lists root runs below an id in which every word of query occurs, newest first, at most limit: what a list
// of the newest leaves out.
func (s *Store) OlderRunRows(ctx context.Context, query string, before int64, limit int) ([]RunRow, error) {
	found, err := s.Runs(ctx, Filter{Query: query, Before: before, Limit: limit})
	if err != nil {
		return nil, err
	}
	rows := make([]RunRow, 0, len(found))
	for _, l := range found {
		rows = append(rows, RunRow{
			ID: l.ID, Goal: l.Goal, Workspace: l.Workspace, Model: l.Model, Status: l.Status, Outcome: l.Outcome, Steps: l.Sealed, Tokens: l.Tokens,
			DurationMS: l.DurationMS, CostMicros: l.CostMicros, CreatedAt: l.CreatedAt, pause: l.Pause, driven: l.Driven, unseen: l.Unseen, cancelling: l.Cancelling,
			waiting: l.Waiting,
		})
	}
	return rows, nil
}

// RunRows lists the newest root runs, newest first, at most limit.
func (s *Store) RunRows(ctx context.Context, limit int) ([]RunRow, error) {
	rows, err := list(s.reader(ctx), func(r *sql.Rows) (RunRow, error) {
		var row RunRow
		var st standing
		err := r.Scan(append([]any{&row.ID, &row.Goal, &row.Workspace, &row.Model, &row.Status, &row.Outcome, &row.Steps, &row.CreatedAt}, st.fields()...)...)
		row.Tokens, row.DurationMS, row.CostMicros = st.tokens, st.durationMS, st.costMicros
		row.waiting, row.cancelling = st.waiting, st.cancelling
		row.driven, row.unseen = st.drives(s.self)
		if err == nil {
			row.pause, err = st.operatorPause()
		}
		return row, err
	}, `SELECT r.id, r.goal, r.workspace, r.model, r.status, coalesce(r.outcome,''), r.sealed, r.created_at, `+standingColumns+standingTables+`
 WHERE r.parent_id IS NULL ORDER BY r.id DESC LIMIT ?`, limit)
	return rows, wrap("read", s.path, err)
}
