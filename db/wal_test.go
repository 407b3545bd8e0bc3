package db

import (
	"context"
	"os"
	"sync"
	"testing"

	"tillerman/observer"
)

// The log starts over while somebody looks on: a screen that is left open does not fill the disk.
func TestLogDoesNotGrowForEver(t *testing.T) {
	const events, batch, bound = 20_000, 50, 70 << 20
	s := opened(t, Options{})
	lease := begun(t, s)
	ctx, stop := context.WithCancel(t.Context())
	waiter, err := s.NewWaiter(ctx)
	must(t, err)
	var looking sync.WaitGroup
	pages := 0
	looking.Go(func() {
		defer waiter.Close()
		var cursor int64
		for waiter.Wait(ctx) == nil {
			if _, err := s.Runs(ctx, Filter{}); err != nil && ctx.Err() == nil {
				t.Error(err)
			}
			page, err := s.EventsSince(ctx, cursor, 500)
			if err != nil && ctx.Err() == nil {
				t.Error(err)
			}
			if len(page) > 0 {
				cursor = page[len(page)-1].Cursor
			}
			pages++
		}
	})
	largest := int64(0)
	for range events / batch {
		commit(t, s, lease, func(tx *Tx) error {
			for i := range batch {
				if err := tx.Event(i, 0, observer.Told{By: "ann", Text: "a line of a thousand bytes or so would be more than most events hold"}); err != nil {
					return err
				}
			}
			return nil
		})
		info, err := os.Stat(s.path + "-wal")
		must(t, err)
		largest = max(largest, info.Size())
	}
	stop()
	looking.Wait()
	if largest > bound {
		t.Errorf("the log grew to %d bytes, bound %d", largest, bound)
	}
	if pages == 0 {
		t.Error("nobody looked")
	}
	t.Logf("largest log %d bytes, %d pages read", largest, pages)
	if busy, _ := checkpoint(t, s); busy != 0 {
		t.Error("the log cannot be emptied")
	}
	if info, err := os.Stat(s.path + "-wal"); err != nil || info.Size() != 0 {
		t.Errorf("an emptied log has %d bytes: %v", info.Size(), err)
	}
}

// A log that a reader kept from starting over is cut once it can: the bound holds over time.
func TestLargeLogIsCut(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 130 MB")
	}
	s := opened(t, Options{})
	lease := begun(t, s)
	rows, err := s.read.QueryContext(t.Context(), "SELECT 1 FROM runs UNION ALL SELECT 2") // what no read of the package does
	must(t, err)
	if !rows.Next() {
		t.Fatal(rows.Err())
	}
	size := func() int64 {
		info, err := os.Stat(s.path + "-wal")
		must(t, err)
		return info.Size()
	}
	for size() < 72<<20 {
		must(t, tell(s, lease, t, 3<<20))
	}
	must(t, rows.Close())
	for range 20 { // the log starts over with the first commit after it was moved to the store as a whole
		must(t, tell(s, lease, t, 3<<20))
	}
	if got := size(); got > 70<<20 {
		t.Errorf("the log has %d bytes still", got)
	}
}

func TestCloseEmptiesTheLog(t *testing.T) {
	s, err := Open(t.Context(), t.TempDir()+"/runs.db", Options{})
	must(t, err)
	begun(t, s)
	must(t, s.Close())
	for _, suffix := range []string{"-wal", "-shm"} {
		if _, err := os.Stat(s.path + suffix); !os.IsNotExist(err) {
			t.Errorf("%s is left behind: %v", suffix, err)
		}
	}
}
