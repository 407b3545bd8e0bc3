package db

import (
	"context"
	"database/sql"
	"errors"
)

// Span is one stretch of a run with its parent: run → step → model, call, question, retry, gate or pause.
type Span struct {
	Span       int64
	Parent     *int64
	Kind       string
	Name       string
	Step       int
	Position   *int
	Drive      int
	StartedAt  int64
	StartMS    int64  // since the drive began
	DurationMS *int64 // nil: open, or cut off by a crash
	Outcome    string
}

// OpenSpan begins a span and returns its number, dense per run.
func (tx *Tx) OpenSpan(parent int64, kind, name string, step int, position *int) (int64, error) {
	var n int64
	err := tx.row(`INSERT INTO spans (run_id, span, parent, kind, name, step, position, drive, started_at, start_ms)
 VALUES (?1, (SELECT coalesce(max(span),0)+1 FROM spans WHERE run_id = ?1), ?,?,?,?,?,?,?,?) RETURNING span`,
		tx.lease.RunID, nullID(parent), kind, name, step, position, tx.lease.Drive, tx.at, tx.since).Scan(&n)
	return n, err
}

// CloseSpan ends a span of this drive and returns its duration, which is what the drive's clock says. It is nil for no
// span (0) and for one that has ended.
func (tx *Tx) CloseSpan(span int64, outcome string) (*int64, error) {
	if span == 0 {
		return nil, nil
	}
	var took int64
	err := tx.row(`UPDATE spans SET duration_ms = max(0, ? - start_ms), outcome = ? WHERE run_id = ? AND span = ? AND duration_ms IS NULL RETURNING duration_ms`,
		tx.since, outcome, tx.lease.RunID, span).Scan(&took)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return &took, err
}

// Spans lists a run's spans in the order they began.
func (s *Store) Spans(ctx context.Context, runID int64) ([]Span, error) {
	sp, err := spans(s.reader(ctx), runID)
	return sp, wrap("read", s.path, err)
}

// SpansAfter lists a run's spans after the given one in the order they began, at most limit.
func (s *Store) SpansAfter(ctx context.Context, runID, after int64, limit int) ([]Span, error) {
	sp, err := list(s.reader(ctx), scanSpan, selectSpan+` AND span > ? ORDER BY span LIMIT ?`, runID, after, limit)
	return sp, wrap("read", s.path, err)
}

const selectSpan = `SELECT span, parent, kind, name, step, position, drive, started_at, start_ms, duration_ms, outcome FROM spans WHERE run_id = ?`

func scanSpan(r *sql.Rows) (Span, error) {
	var s Span
	err := r.Scan(&s.Span, &s.Parent, &s.Kind, &s.Name, &s.Step, &s.Position, &s.Drive, &s.StartedAt, &s.StartMS, &s.DurationMS, &s.Outcome)
	return s, err
}

func spans(q querier, runID int64) ([]Span, error) {
	return list(q, scanSpan, selectSpan+` ORDER BY span`, runID)
}
