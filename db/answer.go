package db

import (
	"context"
)

// Refusals lists what the policy denied in a run, oldest first, at most limit.
func (s *Store) Refusals(ctx context.Context, runID int64, limit int) ([]Verdict, error) {
	v, err := list(s.reader(ctx), scanVerdict, selectVerdict+` AND effect = 'deny' ORDER BY ordinal LIMIT ?`, runID, limit)
	return v, wrap("read", s.path, err)
}

// SlowestSpan is the longest stretch of one kind of work in a run, nil when there is none: why it was slow.
func (s *Store) SlowestSpan(ctx context.Context, runID int64) (*Span, error) {
	sp, err := list(s.reader(ctx), scanSpan, selectSpan+` AND kind NOT IN ('run', 'step') AND duration_ms IS NOT NULL ORDER BY duration_ms DESC LIMIT 1`, runID)
	if err != nil || len(sp) == 0 {
		return nil, wrap("read", s.path, err)
	}
	return &sp[0], nil
}
