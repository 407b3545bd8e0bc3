package db

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"tillerman/observer"
)

// Tx is one commit of one run: facts, spans, audit rows and events that become durable together or not at all. It is
// valid only inside the function it is given to.
type Tx struct {
	*conn
	store  *Store
	lease  Lease
	was    Status
	at     int64 // wall clock, ms
	since  int64 // since the drive began, ms
	seq    int64
	events []observer.Event

	policy, version string // of the run, for audit rows
}

// Commit runs fn in one transaction under the lease and returns the events it added, now durable. ErrLeaseLost means
// that nothing was written because another process drives the run.
func (s *Store) Commit(ctx context.Context, lease Lease, fn func(*Tx) error) ([]observer.Event, error) {
	var events []observer.Event
	err := s.write(ctx, func(c *conn) (err error) {
		events, err = s.inRun(c, lease, fn)
		return err
	})
	return events, err
}

// outside runs fn in one transaction about a run that this process need not drive: a decision, a control.
func (s *Store) outside(ctx context.Context, runID int64, fn func(*Tx) error) ([]observer.Event, error) {
	var events []observer.Event
	err := s.write(ctx, func(c *conn) error {
		lease := Lease{RunID: runID, begun: s.now()}
		if err := c.row(`SELECT drive, agent, depth FROM runs WHERE id = ?`, runID).Scan(&lease.Drive, &lease.Agent, &lease.Depth); err != nil {
			return noRows(err, "run %d", runID)
		}
		var err error
		events, err = s.inRun(c, lease, fn)
		return err
	})
	return events, err
}

// inRun runs fn for a run and writes what follows from it: the newest seq and the drive's age. Under a lease, that is
// with a fence, the run must still be held with it.
func (s *Store) inRun(c *conn, lease Lease, fn func(*Tx) error) ([]observer.Event, error) {
	now := s.now()
	tx := &Tx{conn: c, store: s, lease: lease, at: now.UnixMilli(), since: lease.elapsed(now)}
	var fence sql.NullInt64
	err := c.row(`SELECT r.seq, r.policy_digest, r.version, l.fence FROM runs r LEFT JOIN leases l ON l.run_id = r.id WHERE r.id = ?`, lease.RunID).
		Scan(&tx.seq, &tx.policy, &tx.version, &fence)
	if err != nil {
		return nil, noRows(err, "run %d", lease.RunID)
	}
	if lease.Fence != 0 && fence.Int64 != lease.Fence {
		return nil, ErrLeaseLost
	}
	before := tx.seq
	if err := fn(tx); err != nil {
		return nil, err
	}
	if tx.seq != before {
		if _, err := c.exec(`UPDATE runs SET seq = ? WHERE id = ?`, tx.seq, lease.RunID); err != nil {
			return nil, err
		}
	}
	if lease.Fence != 0 {
		if _, err := c.exec(`UPDATE drives SET elapsed_ms = max(elapsed_ms, ?) WHERE run_id = ? AND drive = ?`, tx.since, lease.RunID, lease.Drive); err != nil {
			return nil, err
		}
	}
	return tx.events, nil
}

// write runs fn in one transaction, wakes whoever waits, and gives failures of the store their cure. What fn refuses
// comes back as it is.
func (s *Store) write(ctx context.Context, fn func(*conn) error) error {
	if s.writer == nil {
		return wrap("write", s.path, fmt.Errorf("%w: it was opened for reading", ErrReadOnly))
	}
	var refused error
	var of *conn
	err := s.writer.do(ctx, func(c *conn) error {
		of = c
		refused = fn(c)
		return refused
	})
	switch {
	case err == nil:
		s.notify.wake()
		if of.anchor && s.opts.Anchor != nil {
			s.opts.Anchor(of.tail.Signed(s.opts.AuditKey))
		}
		return nil
	case err == refused && !ofStore(err):
		return err
	}
	return wrap("write", s.path, err)
}

// RunID is the run this commit is about.
func (tx *Tx) RunID() int64 { return tx.lease.RunID }

// Was is how the run stood before the drive that this commit begins: another process may have ended it since the caller
// looked. It is "" for a new run and in every commit but a drive's first.
func (tx *Tx) Was() Status { return tx.was }

// At is the commit's wall-clock time in milliseconds since the epoch.
func (tx *Tx) At() int64 { return tx.at }

// Event adds a notice about what this commit stores. request is the id of the question it is about, 0 for none.
func (tx *Tx) Event(step int, request int64, kind observer.Kind) error {
	tx.seq++
	ev := observer.Event{
		RunID: tx.lease.RunID, Step: step, Depth: tx.lease.Depth, Kind: kind,
		Seq: tx.seq, At: tx.at, Drive: tx.lease.Drive, Agent: tx.lease.Agent,
	}
	if request != 0 {
		ev.RequestID = &request
	}
	body, err := ev.MarshalJSON() // json.Marshal would escape it a second time, for HTML
	if err != nil {
		return err
	}
	res, err := tx.exec(`INSERT INTO events (run_id, seq, tag, body) VALUES (?,?,?,?)`, ev.RunID, ev.Seq, kind.Tag(), string(body))
	if err != nil {
		return err
	}
	if ev.Cursor, err = res.LastInsertId(); err != nil {
		return err
	}
	tx.events = append(tx.events, ev)
	return nil
}

// Keep stores content under its digest, once.
func (tx *Tx) Keep(body []byte) (string, error) {
	digest := Digest(body)
	_, err := tx.exec(`INSERT OR IGNORE INTO contents (digest, body) VALUES (?, ?)`, digest, body)
	return digest, err
}

// encode is JSON for columns that hold small structures. Its inputs are our own plain types.
func encode(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return "null"
	}
	return string(b)
}

// null stores "" as NULL.
func null(s string) any {
	if s == "" {
		return nil
	}
	return s
}
