package db

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"tillerman/observer"
)

// Control is an operator's wish for a run, stored before anything is signalled.
type Control struct {
	ID          int64
	RunID       int64
	Kind        string // cancel, kill, pause, continue, tell, budget
	Body        string
	Reason      string
	By          Actor
	RequestedAt int64
	ObservedAt  *int64
	Point       string // the safe point that saw it
	StoppedAt   *int64
	LatencyMS   *int64
}

// EndedError says that a run has ended and takes no more orders.
type EndedError struct {
	RunID   int64
	Outcome string
}

func (e *EndedError) Error() string {
	return fmt.Sprintf("run %d has already ended: %s", e.RunID, e.Outcome)
}

// TooLate is the point of a cancel or kill that did not change how its run ended.
const TooLate = "too late"

// unstopped is the SQL for a cancel or kill that the run has still to stop for, seen or not: a process that saw it may
// have died before it stopped.
const unstopped = `kind IN ('cancel', 'kill') AND stopped_at IS NULL AND coalesce(point, '') <> '` + TooLate + `'`

// Control stores a control with its audit row and event, and says whether it is new: a second cancel of a run that has
// one pending is the same wish. A run that has ended gives *EndedError.
func (s *Store) Control(ctx context.Context, c Control) (stored Control, fresh bool, err error) {
	_, err = s.outside(ctx, c.RunID, func(tx *Tx) error {
		var status Status
		var outcome string
		if err := tx.row(`SELECT status, coalesce(outcome,'') FROM runs WHERE id = ?`, c.RunID).Scan(&status, &outcome); err != nil {
			return err
		}
		if status == Completed {
			return &EndedError{RunID: c.RunID, Outcome: outcome}
		}
		if c.Kind == "cancel" || c.Kind == "kill" {
			old, err := list(tx, scanControl, selectControl+` WHERE run_id = ? AND kind = ? AND `+unstopped+` ORDER BY id LIMIT 1`, c.RunID, c.Kind)
			if err != nil {
				return err
			}
			if len(old) == 1 {
				stored = old[0]
				return nil
			}
		}
		fresh = true
		stored, err = tx.AddControl(c)
		return err
	})
	return stored, fresh, err
}

// AddControl stores a control with its audit row and event.
func (tx *Tx) AddControl(c Control) (Control, error) {
	c.RunID, c.RequestedAt = tx.lease.RunID, tx.at
	c.Reason, c.Body = tx.store.opts.Clean(c.Reason), tx.store.opts.Clean(c.Body)
	err := tx.row(`INSERT INTO controls (run_id, kind, body, reason, requested_by, requested_at) VALUES (?,?,?,?,?,?) RETURNING id`,
		c.RunID, c.Kind, c.Body, c.Reason, encode(c.By), tx.at).Scan(&c.ID)
	if err != nil {
		return c, err
	}
	step, err := tx.currentStep()
	if err != nil {
		return c, err
	}
	if c.Kind == "cancel" || c.Kind == "kill" {
		if err := tx.Event(step, 0, observer.CancelRequested{Kind: c.Kind, By: c.By.User, Through: c.By.Surface}); err != nil {
			return c, err
		}
	}
	return c, tx.Audit(AuditRow{Action: c.Kind, Actor: c.By, Step: step, Reason: c.Reason, Digest: bodyDigest(c.Body)})
}

func bodyDigest(body string) string {
	if body == "" {
		return ""
	}
	return Digest([]byte(body))
}

// currentStep is the step a run is in: one beyond the sealed ones while an unsealed one exists.
func (tx *Tx) currentStep() (int, error) {
	var step int
	err := tx.row(`SELECT max(sealed, coalesce((SELECT max(step) FROM attempts WHERE run_id = id), 0)) FROM runs WHERE id = ?`, tx.lease.RunID).Scan(&step)
	return step, err
}

// ObserveControl marks a control as seen, in the commit that acts on it.
func (tx *Tx) ObserveControl(id int64, point string) error {
	_, err := tx.exec(`UPDATE controls SET observed_at = ?, point = ? WHERE id = ? AND observed_at IS NULL`, tx.at, point, id)
	return err
}

// StopControl stores when a run stopped for a cancel or kill.
func (tx *Tx) StopControl(id int64) error {
	_, err := tx.exec(`UPDATE controls SET stopped_at = ?1, latency_ms = max(0, ?1 - requested_at) WHERE id = ?2`, tx.at, id)
	return err
}

const selectControl = `SELECT id, run_id, kind, body, reason, requested_by, requested_at, observed_at, coalesce(point,''), stopped_at, latency_ms FROM controls`

func scanControl(r *sql.Rows) (Control, error) {
	var c Control
	var by string
	if err := r.Scan(&c.ID, &c.RunID, &c.Kind, &c.Body, &c.Reason, &by, &c.RequestedAt, &c.ObservedAt, &c.Point, &c.StoppedAt, &c.LatencyMS); err != nil {
		return c, err
	}
	return c, json.Unmarshal([]byte(by), &c.By)
}

// Controls lists a run's controls in the order they were asked.
func (s *Store) Controls(ctx context.Context, runID int64) ([]Control, error) {
	c, err := list(s.reader(ctx), scanControl, selectControl+` WHERE run_id = ? ORDER BY id`, runID)
	return c, wrap("read", s.path, err)
}

// PendingControls lists those of a run that are still to be acted on: nothing has seen them yet, or what saw a cancel or
// kill died before it stopped.
func (s *Store) PendingControls(ctx context.Context, runID int64) ([]Control, error) {
	c, err := list(s.reader(ctx), scanControl, selectControl+` WHERE run_id = ? AND (observed_at IS NULL OR `+unstopped+`) ORDER BY id`, runID)
	return c, wrap("read", s.path, err)
}
