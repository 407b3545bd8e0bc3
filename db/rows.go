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

	driven, cancelling bool
	waiting            int
}

// State is how the run stands; see Listed.State.
func (r RunRow) State() string {
	return Listed{Run: Run{Status: r.Status, Outcome: r.Outcome}, Driven: r.driven, Waiting: r.waiting, Cancelling: r.cancelling}.State()
}

// RunRows lists the newest root runs, newest first, at most limit.
func (s *Store) RunRows(ctx context.Context, limit int) ([]RunRow, error) {
	rows, err := list(s.reader(ctx), func(r *sql.Rows) (RunRow, error) {
		var row RunRow
		err := r.Scan(&row.ID, &row.Goal, &row.Workspace, &row.Model, &row.Status, &row.Outcome, &row.Steps, &row.Tokens, &row.DurationMS, &row.CostMicros, &row.CreatedAt)
		return row, err
	}, `SELECT r.id, r.goal, r.workspace, r.model, r.status, coalesce(r.outcome,''), r.sealed, coalesce(s.tokens,0), coalesce(s.duration_ms,0),
 json_extract(s.detail, '$.cost_micros'), r.created_at
 FROM runs r LEFT JOIN summaries s ON s.run_id = r.id WHERE r.parent_id IS NULL ORDER BY r.id DESC LIMIT ?`, limit)
	if err != nil {
		return nil, wrap("read", s.path, err)
	}
	for i := range rows {
		if rows[i].Status == Completed {
			continue
		}
		l, err := s.Listed(ctx, rows[i].ID)
		if err != nil {
			return nil, err
		}
		rows[i].Tokens, rows[i].DurationMS, rows[i].driven, rows[i].waiting, rows[i].cancelling = l.Tokens, l.DurationMS, l.Driven, l.Waiting, l.Cancelling
	}
	return rows, nil
}
