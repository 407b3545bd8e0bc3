package core

import (
	"context"
	"strconv"
	"time"

	"tillerman/db"
	"tillerman/observer"
)

// pausePoint holds the run while a pause is in force: no call begins and nothing is asked of the model. It returns when
// the pause is lifted, or with an ending when the run is to stop instead. Waited says that there was a pause.
func (d *driver) pausePoint(ctx context.Context, point string) (waited bool, end *ending, err error) {
	held, err := d.e.store.Hold(context.Background(), d.lease.RunID)
	if err != nil || held == nil {
		return false, nil, err
	}
	began := d.e.now()
	defer func() { d.personMS += max(0, d.e.now().Sub(began).Milliseconds()) }()
	err = d.commit(func(tx *db.Tx) error {
		if err := tx.ObserveControl(held.ID, point); err != nil {
			return err
		}
		var err error
		if d.pauseSpan, err = tx.OpenSpan(d.innermost(), "pause", "paused by "+held.By.User, d.sealed, nil); err != nil {
			return err
		}
		return tx.Event(d.sealed, 0, observer.Paused{By: held.By.User, Reason: held.Reason})
	})
	if err != nil {
		return false, nil, err
	}
	d.paused = held
	if end, err = d.whilePaused(ctx); err == nil {
		d.paused = nil
	}
	return true, end, err
}

// innermost is the span that a pause belongs to.
func (d *driver) innermost() int64 {
	for _, span := range []int64{d.waitSpan, d.stepSpan} {
		if span != 0 {
			return span
		}
	}
	return d.runSpan
}

// whilePaused returns when the pause is lifted, the run is stopped or handed over, or this process goes away.
func (d *driver) whilePaused(ctx context.Context) (*ending, error) {
	waiter, err := d.e.store.NewWaiter(ctx)
	if err != nil {
		return nil, goneOr(ctx, err)
	}
	defer waiter.Close()
	for {
		if end, err := d.stopPoint(atPause); err != nil {
			return nil, err
		} else if end != nil {
			return end, d.commit(func(tx *db.Tx) error { return d.closePause(tx, string(end.outcome)) })
		}
		held, err := d.e.store.Hold(context.Background(), d.lease.RunID)
		if err != nil {
			return nil, err
		}
		if held == nil {
			return nil, d.continued()
		}
		if err := goneOr(ctx, waiter.Wait(ctx)); err != nil {
			return nil, err
		}
	}
}

// continued stores that the pause was lifted.
func (d *driver) continued() error {
	controls, err := d.e.store.PendingControls(context.Background(), d.lease.RunID)
	if err != nil {
		return err
	}
	err = d.commit(func(tx *db.Tx) error {
		by := ""
		for _, c := range controls {
			if c.Kind != "continue" && c.Kind != "pause" {
				continue
			}
			by = c.By.User
			if err := tx.ObserveControl(c.ID, atPause); err != nil {
				return err
			}
		}
		if err := d.closePause(tx, "continued"); err != nil {
			return err
		}
		return tx.Event(d.sealed, 0, observer.Continued{By: by})
	})
	if err != nil {
		return err
	}
	return d.catchUp()
}

func (d *driver) closePause(tx *db.Tx, outcome string) error {
	_, err := tx.CloseSpan(d.pauseSpan, outcome)
	d.pauseSpan = 0
	return err
}

// pausedEnding is how a drive ends whose process goes away while a pause is in force.
func pausedEnding(held db.Control) *ending {
	message := "paused by " + held.By.String() + " at " + time.UnixMilli(held.RequestedAt).UTC().Format(time.RFC3339)
	if held.Reason != "" {
		message += ": " + held.Reason
	}
	return &ending{outcome: observer.OutcomePausedByOperator, message: message + "; lift it with tillerman continue " + strconv.FormatInt(held.RunID, 10)}
}
