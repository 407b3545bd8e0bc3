package core

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tillerman/db"
	"tillerman/observer"
)

// Where an operator's wish is looked at: a place where stopping leaves everything consistent. Several wishes that meet
// at one place are taken in this order: kill, cancel, pause, budget, decision, tell.
const (
	atStart    = "start"
	atBoundary = "step boundary"
	atQuestion = "waiting for a person"
	atRetry    = "between retries"
	atProvider = "between providers"
	atPause    = "while paused"
	atGate     = "before a check"
	atCall     = "before a call" // for a pause only: a step that has begun is finished before a cancel
	atOnce     = "in flight"     // a kill waits for nothing
)

// errHandover says that the run was asked to be left to another process and stands where that is possible.
var errHandover = errors.New("the run is left to another process")

// safePoint does what operators want, at a named place. An ending means that the run stops. It returns only when no
// pause is in force.
func (d *driver) safePoint(ctx context.Context, point string) (*ending, error) {
	if end, err := d.stopPoint(point); end != nil || err != nil {
		return end, err
	}
	if _, end, err := d.pausePoint(ctx, point); end != nil || err != nil {
		return end, err
	}
	return nil, d.applyBudgets(point)
}

// stopPoint is the part of a safe point that ends the drive: a handover, a kill, a cancel.
func (d *driver) stopPoint(point string) (*ending, error) {
	if d.handingOver() {
		return nil, errHandover
	}
	c, err := d.stopWanted()
	if c == nil || err != nil {
		return nil, err
	}
	return d.stopFor(c, point)
}

// stopFor is the ending that a cancel or kill asks for.
func (d *driver) stopFor(c *db.Control, point string) (*ending, error) {
	if err := d.catchUp(); err != nil {
		return nil, err
	}
	return stopped(c, point), nil
}

func stopped(c *db.Control, point string) *ending {
	end := &ending{outcome: observer.OutcomeCancelled, cancel: c, point: point}
	word := "cancelled"
	if c.Kind == "kill" {
		end.outcome, word = observer.OutcomeKilled, "killed"
	}
	end.message = fmt.Sprintf("%s by %s (%s), seen at: %s", word, c.By.User, c.By.Surface, point)
	return end
}

// stopWanted is the kill, else the cancel, that waits to be acted on. A cancel that only an observer asked for is stored
// here, once.
func (d *driver) stopWanted() (*db.Control, error) {
	controls, err := d.e.store.PendingControls(context.Background(), d.lease.RunID)
	if err != nil {
		return nil, err
	}
	if c := first(controls, "kill"); c != nil {
		return c, nil
	}
	if c := first(controls, "cancel"); c != nil || !d.flag.Load() {
		return c, nil
	}
	var c db.Control
	err = d.commit(func(tx *db.Tx) error {
		c, err = tx.AddControl(db.Control{Kind: "cancel", By: db.Here("observer")})
		return err
	})
	return &c, err
}

// first is the oldest control of a kind, nil for none.
func first(controls []db.Control, kind string) *db.Control {
	for i := range controls {
		if controls[i].Kind == kind {
			return &controls[i]
		}
	}
	return nil
}

// noteLate marks a cancel that came too late to change how the run ends.
func (d *driver) noteLate(why string) error {
	c, err := d.stopWanted()
	if c == nil || err != nil {
		return err
	}
	d.late = fmt.Sprintf("%s by %s (%s), too late: %s", pastOf(c.Kind), c.By.User, c.By.Surface, why)
	d.lateID = c.ID
	return d.catchUp()
}

func pastOf(kind string) string {
	if kind == "kill" {
		return "killed"
	}
	return "cancelled"
}

// handingOver says that whoever started this drive wants to leave the run to another process.
func (d *driver) handingOver() bool {
	select {
	case <-d.e.handover:
		return true
	default:
		return false
	}
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
		if end, err := d.safePoint(ctx, atRetry); end != nil || err != nil {
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

// driven is the time the run was driven, waiting for people and pauses left out: what a time budget counts.
func (d *driver) driven() time.Duration {
	return time.Duration(d.drivenMS-d.personMS)*time.Millisecond + d.lease.Age(d.e.now())
}

// errKilled is why what is in flight ends when a person kills the run. A command gets the time to put away what it holds, as
// for any other cause: whoever waits for its lock would find it held.
var errKilled = errors.New("killed")

// killEvery is how often a kill is looked for where commits cannot be noticed.
const killEvery = time.Second

// watchKill ends what is in flight when a kill is stored: the model call and the commands of the run. The returned
// function ends the watching.
func (d *driver) watchKill(ctx context.Context, kill context.CancelCauseFunc) (stop func(), err error) {
	waiter, err := d.e.store.NewWaiter(ctx)
	if err != nil {
		return nil, err
	}
	watching, stopWatching := context.WithCancel(ctx)
	look := func() (more bool) {
		controls, err := d.e.store.PendingControls(watching, d.lease.RunID)
		if err == nil && first(controls, "kill") != nil {
			kill(errKilled)
			return false
		}
		return true // what cannot be read now, on a full or locked disk, can be read later
	}
	more := look() // before anything begins
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer waiter.Close()
		for more && watching.Err() == nil {
			if err := waiter.Wait(watching); err != nil {
				select {
				case <-watching.Done():
				case <-time.After(killEvery):
				}
			}
			more = look()
		}
	}()
	return func() { stopWatching(); <-done }, nil
}

// wasKilled says that ctx ended because of a kill, not because this process goes away.
func wasKilled(ctx context.Context) bool { return errors.Is(context.Cause(ctx), errKilled) }
