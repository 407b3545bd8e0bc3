package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"tillerman/observer"
)

// Lease is the right to drive one run. Every commit of a driver proves that it still holds it. A Lease is a value; it
// may be used by several goroutines of the process that took it.
type Lease struct {
	RunID int64
	Fence int64 // rises with every takeover: a commit with an older one is refused
	Drive int
	Agent string
	Depth int
	begun time.Time
}

// HeldError says who drives the run that somebody else wanted to drive.
type HeldError struct {
	RunID int64
	Owner Owner
	Life  Life
}

func (e *HeldError) Error() string {
	if e.Life == Unknown {
		return fmt.Sprintf("run %d: its driver was process %d on %s, which cannot be seen from here; if you know that it is gone, say so with --take-over", e.RunID, e.Owner.PID, e.Owner.Host)
	}
	return fmt.Sprintf("run %d is driven by process %d on %s", e.RunID, e.Owner.PID, e.Owner.Host)
}

// Start inserts a run with its first lease and drive, and whatever fn adds, in one transaction. When the run's key is
// taken it inserts nothing and returns a *KeyError.
func (s *Store) Start(ctx context.Context, run Run, who Actor, sandbox string, fn func(*Tx) error) (Lease, []observer.Event, error) {
	var lease Lease
	var events []observer.Event
	err := s.write(ctx, func(c *conn) error {
		if run.Key != "" {
			old, err := scanRun(c.row(selectRun+" WHERE key = ?", run.Key))
			if err == nil {
				return &KeyError{Existing: old}
			} else if !errors.Is(err, sql.ErrNoRows) {
				return err
			}
		}
		id, err := insertRun(c, run, s.now())
		if err != nil {
			return err
		}
		lease = Lease{RunID: id, Agent: run.Agent, Depth: run.Depth}
		events, err = s.drive(c, &lease, who, sandbox, fn)
		return err
	})
	if err != nil {
		return Lease{}, nil, err
	}
	return lease, events, nil
}

// TakeUp takes the lease of an existing run, opens a new drive, sets the run running and does whatever fn adds, in one
// transaction. It fails with *HeldError while another driver lives, or may live and force is not set. A run that has
// ended is taken up too, and its summary goes: fn sees by Tx.Was that it had, and fails where it must not go on. One whose
// trace was removed is not: *RemovedError.
func (s *Store) TakeUp(ctx context.Context, runID int64, who Actor, sandbox string, force bool, fn func(*Tx) error) (Lease, []observer.Event, error) {
	var lease Lease
	var events []observer.Event
	err := s.write(ctx, func(c *conn) error {
		run, err := scanRun(c.row(selectRun+" WHERE id = ?", runID))
		if err != nil {
			return noRows(err, "run %d", runID)
		}
		if err := traced(c, run); err != nil {
			return err
		}
		if holder, held, err := leaseOwner(c, runID); err != nil {
			return err
		} else if held {
			life := LifeOf(holder, s.self)
			if life == Alive || life == Unknown && !force {
				return &HeldError{RunID: runID, Owner: holder, Life: life}
			}
		}
		lease = Lease{RunID: runID, Agent: run.Agent, Depth: run.Depth}
		events, err = s.drive(c, &lease, who, sandbox, func(tx *Tx) error {
			tx.was = run.Status
			return fn(tx)
		})
		return err
	})
	if err != nil {
		return Lease{}, nil, err
	}
	return lease, events, nil
}

// traced fails when the trace of a run, or of the tree that it belongs to, was removed or is going.
func traced(c *conn, run Run) error {
	if run.RootID != run.ID && run.TraceRemovedAt == 0 {
		if err := c.row(`SELECT coalesce(trace_removed_at, 0) FROM runs WHERE id = ?`, run.RootID).Scan(&run.TraceRemovedAt); err != nil {
			return err
		}
	}
	return run.Traced()
}

// drive writes a lease and a drive row for the run and runs fn under them.
func (s *Store) drive(c *conn, lease *Lease, who Actor, sandbox string, fn func(*Tx) error) ([]observer.Event, error) {
	lease.begun = s.now()
	err := c.row(`UPDATE runs SET fence = fence + 1, drive = drive + 1, status = 'running', outcome = NULL, stop_reason = NULL, said = NULL,
 finished_at = NULL WHERE id = ? RETURNING fence, drive`, lease.RunID).Scan(&lease.Fence, &lease.Drive)
	if err != nil {
		return nil, err
	}
	if _, err := c.exec(`DELETE FROM summaries WHERE run_id = ?`, lease.RunID); err != nil { // of an ending that is none any more
		return nil, err
	}
	o := s.self
	if _, err := c.exec(`INSERT OR REPLACE INTO leases (run_id, fence, host, boot_id, pid_ns, pid, pid_start, taken_at) VALUES (?,?,?,?,?,?,?,?)`,
		lease.RunID, lease.Fence, o.Host, o.BootID, o.PIDSpace, o.PID, o.Started, lease.begun.UnixMilli()); err != nil {
		return nil, err
	}
	if _, err := c.exec(`INSERT INTO drives (run_id, drive, started_at, actor, sandbox) VALUES (?,?,?,?,?)`,
		lease.RunID, lease.Drive, lease.begun.UnixMilli(), encode(who), sandbox); err != nil {
		return nil, err
	}
	return s.inRun(c, *lease, fn)
}

// leaseOwner is who holds the run's lease.
func leaseOwner(c interface {
	row(string, ...any) *sql.Row
}, runID int64,
) (Owner, bool, error) {
	var o Owner
	err := c.row(`SELECT host, boot_id, pid_ns, pid, pid_start FROM leases WHERE run_id = ?`, runID).
		Scan(&o.Host, &o.BootID, &o.PIDSpace, &o.PID, &o.Started)
	if errors.Is(err, sql.ErrNoRows) {
		return o, false, nil
	}
	return o, err == nil, err
}

// Driver says who drives the run: held is false when nobody does.
func (s *Store) Driver(ctx context.Context, runID int64) (owner Owner, life Life, held bool, err error) {
	owner, held, err = leaseOwner(s.reader(ctx), runID)
	if held {
		life = LifeOf(owner, s.self)
	}
	return owner, life, held, wrap("read", s.path, err)
}

// LetGo releases the lease without ending the run: its status stays as it is and anybody may take it up. A lease that
// is no longer held is no error.
func (s *Store) LetGo(ctx context.Context, lease Lease, word string) error {
	return s.write(ctx, func(c *conn) error {
		res, err := c.exec(`DELETE FROM leases WHERE run_id = ? AND fence = ?`, lease.RunID, lease.Fence)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); n == 0 || err != nil {
			return err
		}
		_, err = c.exec(`UPDATE drives SET ended = ?, elapsed_ms = max(elapsed_ms, ?) WHERE run_id = ? AND drive = ? AND ended IS NULL`,
			word, lease.elapsed(s.now()), lease.RunID, lease.Drive)
		return err
	})
}

// elapsed is the drive's age in milliseconds, never negative.
func (l Lease) elapsed(now time.Time) int64 {
	return max(0, now.Sub(l.begun).Milliseconds())
}

// Age is how long this drive has lasted.
func (l Lease) Age(now time.Time) time.Duration { return max(0, now.Sub(l.begun)) }
