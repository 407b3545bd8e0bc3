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

// Budget is what a budget control sets: absolute ceilings, up or down. A nil field stays as it is, zero is no ceiling,
// but for steps, which always have one.
type Budget struct {
	MaxSteps    *int   `json:"max_steps,omitempty"`
	TimeMS      *int64 `json:"time_ms,omitempty"` // driven time
	Tokens      *int64 `json:"tokens,omitempty"`
	MoneyMicros *int64 `json:"money_micros,omitempty"`
}

// Encode is the budget as a control's body.
func (b Budget) Encode() string { return encode(b) }

// ParseBudget reads a budget control's body.
func ParseBudget(body string) (Budget, error) {
	var b Budget
	if err := json.Unmarshal([]byte(body), &b); err != nil {
		return b, fmt.Errorf("a stored budget cannot be read: %w", err)
	}
	return b, nil
}

// TooLate is the point of a cancel or kill that did not change how its run ended.
const TooLate = "too late"

// unstopped is the SQL for a cancel or kill that the run has still to stop for, seen or not: a process that saw it may
// have died before it stopped.
const unstopped = `kind IN ('cancel', 'kill') AND stopped_at IS NULL AND coalesce(point, '') <> '` + TooLate + `'`

// Control stores a control with its audit row and event, and says whether it is new: a second cancel of a run that has
// one pending is the same wish, and so is a second pause. To continue a run that is not paused does nothing. A run that
// has ended gives *EndedError.
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
		same, err := tx.sameWish(c)
		if err != nil {
			return err
		}
		if same != nil {
			stored = *same
			return nil
		}
		fresh = true
		stored, err = tx.AddControl(c)
		return err
	})
	return stored, fresh, err
}

// sameWish is the stored control that says what c says, nil when c says something new.
func (tx *Tx) sameWish(c Control) (*Control, error) {
	switch c.Kind {
	case "cancel", "kill":
		old, err := list(tx, scanControl, selectControl+` WHERE run_id = ? AND kind = ? AND `+unstopped+` ORDER BY id LIMIT 1`, c.RunID, c.Kind)
		if err != nil || len(old) == 0 {
			return nil, err
		}
		return &old[0], nil
	case "pause", "continue":
		held, err := hold(tx, c.RunID)
		if err != nil || (held != nil) != (c.Kind == "pause") {
			return nil, err
		}
		if held == nil {
			held = &Control{RunID: c.RunID, Kind: "continue"} // nothing to lift
		}
		return held, nil
	}
	return nil, nil
}

// hold is the pause that no continue has lifted yet, in force or only asked for; nil for none.
func hold(q querier, runID int64) (*Control, error) {
	newest, err := list(q, scanControl, selectControl+` WHERE run_id = ? AND kind IN ('pause', 'continue') ORDER BY id DESC LIMIT 1`, runID)
	if err != nil || len(newest) == 0 || newest[0].Kind != "pause" {
		return nil, err
	}
	return &newest[0], nil
}

// Hold is the pause that no continue has lifted yet: in force when it was observed, else only asked for. It is nil for
// none.
func (s *Store) Hold(ctx context.Context, runID int64) (*Control, error) {
	c, err := hold(s.reader(ctx), runID)
	return c, wrap("read", s.path, err)
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
	row := AuditRow{Action: c.Kind, Actor: c.By, Step: step, Reason: c.Reason, Digest: bodyDigest(c.Body)}
	if c.Kind == "budget" {
		row.Note = c.Body // the ceilings; what was said to an agent stays out of the trail
	}
	return c, tx.Audit(row)
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

// Stop is a cancel or kill with how long it took. Nil: it has not come to that.
type Stop struct {
	ID         int64
	Kind       string // cancel, kill
	Point      string // the safe point that saw it, TooLate for none that mattered
	ObservedMS *int64 // from asked to seen
	StoppedMS  *int64 // from asked to stopped
}

// Stops lists the cancels and kills of all runs in the order they were asked, after the given id, at most limit. Orders
// are few beside what runs consist of; a page is found by their key.
func (s *Store) Stops(ctx context.Context, after int64, limit int) ([]Stop, error) {
	st, err := list(s.reader(ctx), func(r *sql.Rows) (Stop, error) {
		var st Stop
		err := r.Scan(&st.ID, &st.Kind, &st.Point, &st.ObservedMS, &st.StoppedMS)
		return st, err
	}, `SELECT id, kind, coalesce(point,''), max(0, observed_at - requested_at), CASE WHEN stopped_at IS NOT NULL THEN latency_ms END
 FROM controls WHERE id > ? AND kind IN ('cancel', 'kill') ORDER BY id LIMIT ?`, after, limit)
	return st, wrap("read", s.path, err)
}
