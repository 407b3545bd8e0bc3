package core

import (
	"encoding/json"

	"tillerman/db"
	"tillerman/observer"
)

// finish ends the drive: for an outcome the run is over, for a pause word it waits. Run row, summary, last event and
// audit row are one commit, which also releases the lease.
func (d *driver) finish(end *ending) (Result, error) {
	row, ok := end.outcome.Row()
	if !ok {
		row = observer.OutcomeRow{Status: observer.StatusCompleted}
	}
	reason := end.message
	if end.reason != "" {
		reason = end.reason + ": " + end.message
	}
	e := db.Ending{
		Outcome: string(end.outcome), Status: db.Status(row.Status), Success: row.Success, StopReason: reason, Said: end.said,
		GateChanged: len(end.changed) > 0, Late: d.late,
	}
	if len(d.c.Gates) > 0 {
		e.Verified = ptr(end.checked)
	}
	unread, err := d.tellsWaiting()
	if err != nil {
		return Result{RunID: d.lease.RunID}, &RunError{RunID: d.lease.RunID, Err: err}
	}
	var sum db.Summary
	err = d.commit(func(tx *db.Tx) error {
		if err := tx.LoseAttempts(); err != nil {
			return err
		}
		if err := d.closeSpans(tx, string(end.outcome)); err != nil {
			return err
		}
		if err := d.settleCancel(tx, end); err != nil {
			return err
		}
		for _, c := range unread {
			if row.Status != observer.StatusCompleted {
				break
			}
			if err := tx.ObserveControl(c.ID, db.TooLate); err != nil {
				return err
			}
		}
		var err error
		if sum, err = tx.Finish(e); err != nil {
			return err
		}
		if err := tx.Event(d.sealed, 0, observer.Finished{Outcome: end.outcome, Steps: sum.Steps, Tokens: sum.Tokens}); err != nil {
			return err
		}
		action := "end"
		if row.Status == observer.StatusPaused {
			action = "wait"
		}
		return tx.Audit(db.AuditRow{Action: action, Actor: d.actor(), Step: d.sealed, Decision: string(end.outcome), Reason: reason, Note: d.late})
	})
	res := Result{RunID: d.lease.RunID, Outcome: end.outcome, Message: end.message}
	if err != nil {
		return res, &RunError{RunID: d.lease.RunID, Err: err}
	}
	if row.Status == observer.StatusCompleted {
		res.Summary = &sum
	}
	return res, nil
}

// settleCancel stores when the run stopped for the cancel that ended it, or that one came too late.
func (d *driver) settleCancel(tx *db.Tx, end *ending) error {
	if end.cancel != nil {
		if err := tx.ObserveControl(end.cancel.ID, end.point); err != nil {
			return err
		}
		return tx.StopControl(end.cancel.ID)
	}
	if d.lateID != 0 {
		return tx.ObserveControl(d.lateID, db.TooLate)
	}
	return nil
}

// closeSpans ends what is open, innermost first.
func (d *driver) closeSpans(tx *db.Tx, outcome string) error {
	for _, span := range []*int64{&d.pauseSpan, &d.callSpan, &d.waitSpan, &d.modelSpan, &d.stepSpan, &d.runSpan} {
		if _, err := tx.CloseSpan(*span, outcome); err != nil {
			return err
		}
		*span = 0
	}
	return nil
}

// tampered lists the files that decide a gate's verdict and are not what they were at the start.
func (d *driver) tampered(files []string) []string {
	var changed []string
	for _, f := range files {
		if was, known := d.in.GateFiles[f]; known && fileDigest(d.c.Workspace, f) != was {
			changed = append(changed, f)
		}
	}
	return changed
}

func encodeList(list []string) string {
	if len(list) == 0 {
		return ""
	}
	b, err := json.Marshal(list)
	if err != nil {
		return ""
	}
	return string(b)
}
