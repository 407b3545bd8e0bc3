package core

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"tillerman/db"
	"tillerman/observer"
)

// safePoint looks at what operators want, at a named place where stopping leaves everything consistent. A cancel has two
// ways in, a stored row and an observer that returns Cancel, and one meaning.
func (d *driver) safePoint(point string) (*ending, error) {
	c, err := d.cancelWanted()
	if c == nil || err != nil {
		return nil, err
	}
	if err := d.catchUp(); err != nil {
		return nil, err
	}
	return &ending{
		outcome: observer.OutcomeCancelled, cancel: c, point: point,
		message: fmt.Sprintf("cancelled by %s (%s), seen at: %s", c.By.User, c.By.Surface, point),
	}, nil
}

// cancelWanted is the cancel that waits to be acted on. One that only an observer asked for is stored here, once.
func (d *driver) cancelWanted() (*db.Control, error) {
	controls, err := d.e.store.PendingControls(context.Background(), d.lease.RunID)
	if err != nil {
		return nil, err
	}
	for i := range controls {
		if controls[i].Kind == "cancel" {
			return &controls[i], nil
		}
	}
	if !d.flag.Load() {
		return nil, nil
	}
	var c db.Control
	err = d.commit(func(tx *db.Tx) error {
		c, err = tx.AddControl(db.Control{Kind: "cancel", By: db.Here("observer")})
		return err
	})
	return &c, err
}

// noteLate marks a cancel that came too late to change how the run ends.
func (d *driver) noteLate(why string) error {
	c, err := d.cancelWanted()
	if c == nil || err != nil {
		return err
	}
	d.late = fmt.Sprintf("cancelled by %s (%s), too late: %s", c.By.User, c.By.Surface, why)
	d.lateID = c.ID
	return d.catchUp()
}

// sleep waits between two tries. A cancel and the end of this process interrupt it.
func (d *driver) sleep(ctx context.Context, wait time.Duration) (*ending, error) {
	waiter, err := d.e.store.NewWaiter(ctx)
	if err != nil {
		return nil, goneOr(ctx, err)
	}
	defer waiter.Close()
	errOver := errors.New("the wait is over")
	over, stop := context.WithTimeoutCause(ctx, wait, errOver)
	defer stop()
	for {
		if end, err := d.safePoint("between retries"); end != nil || err != nil {
			return end, err
		}
		switch err := waiter.Wait(over); {
		case err == nil:
		case ctx.Err() != nil:
			return nil, errGone
		case errors.Is(err, errOver):
			return nil, nil
		default:
			return nil, err
		}
	}
}

// driven is the time the run was driven, waiting for people left out: what a time budget counts.
func (d *driver) driven() time.Duration {
	return time.Duration(d.drivenMS-d.personMS)*time.Millisecond + d.lease.Age(d.e.now())
}

// budgetSet stores that this resume set budgets, as the control it is: asked and acted on in one commit.
func (d *driver) budgetSet(tx *db.Tx, l Limits) error {
	body, err := json.Marshal(l)
	if err != nil {
		return err
	}
	c, err := tx.AddControl(db.Control{Kind: "budget", Body: string(body), By: d.actor()})
	if err != nil {
		return err
	}
	return tx.ObserveControl(c.ID, "resume")
}
