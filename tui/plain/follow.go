// Package plain shows runs as lines of text: for terminals without a console, pipes and logs. All outside text goes
// through package text.
package plain

import (
	"context"
	"time"

	"tillerman/db"
	"tillerman/observer"
)

// page is how many events are read at once.
const page = 500

// lookAgain is how soon a driver's death is noticed, which commits nothing.
const lookAgain = time.Second

// Follow gives each of a run's events after seq to show, in order and once, as they are committed by whatever process.
// It returns when done says so after a page, or when ctx ends.
func Follow(ctx context.Context, store *db.Store, runID, seq int64, show func(observer.Event) error, done func(seq int64) (bool, error)) error {
	waiter, err := store.NewWaiter(ctx)
	if err != nil {
		return err
	}
	defer waiter.Close()
	for {
		events, err := store.EventsAfter(ctx, runID, seq, page)
		if err != nil {
			return err
		}
		for _, ev := range events {
			if err := show(ev); err != nil {
				return err
			}
			seq = ev.Seq
		}
		if len(events) == page {
			continue
		}
		if over, err := done(seq); over || err != nil {
			return err
		}
		wait, stop := context.WithTimeout(ctx, lookAgain)
		err = waiter.Wait(wait)
		over := wait.Err() != nil
		stop()
		if err != nil && (!over || ctx.Err() != nil) {
			return err
		}
	}
}
