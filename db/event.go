package db

import (
	"context"
	"database/sql"
	"encoding/json"

	"tillerman/observer"
)

func scanEvent(r *sql.Rows) (observer.Event, error) {
	var ev observer.Event
	var cursor int64
	var body string
	if err := r.Scan(&cursor, &body); err != nil {
		return ev, err
	}
	err := json.Unmarshal([]byte(body), &ev)
	ev.Cursor = cursor
	return ev, err
}

// EventsAfter lists a run's events with a seq above after, oldest first, at most limit; limit 0 is all.
func (s *Store) EventsAfter(ctx context.Context, runID, after int64, limit int) ([]observer.Event, error) {
	if limit <= 0 {
		limit = -1
	}
	ev, err := list(s.reader(ctx), scanEvent, `SELECT cursor, body FROM events WHERE run_id = ? AND seq > ? ORDER BY seq LIMIT ?`, runID, after, limit)
	return ev, wrap("read", s.path, err)
}

// EventsSince lists all runs' events with a cursor above since, oldest first, at most limit; limit 0 is all.
func (s *Store) EventsSince(ctx context.Context, since int64, limit int) ([]observer.Event, error) {
	if limit <= 0 {
		limit = -1
	}
	ev, err := list(s.reader(ctx), scanEvent, `SELECT cursor, body FROM events WHERE cursor > ? ORDER BY cursor LIMIT ?`, since, limit)
	return ev, wrap("read", s.path, err)
}

// LastCursor is the store's newest cursor, 0 for none.
func (s *Store) LastCursor(ctx context.Context) (int64, error) {
	var n sql.NullInt64
	err := s.reader(ctx).row(`SELECT max(cursor) FROM events`).Scan(&n)
	return n.Int64, wrap("read", s.path, err)
}
