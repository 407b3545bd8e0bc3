package db

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"tillerman/observer"
)

// Whoever writes about a run, its events are numbered without a hole, and the store's cursor orders them all.
func TestEventsAreDense(t *testing.T) {
	s := opened(t, Options{})
	runs := []Lease{begun(t, s), begun(t, s)}
	var ids []int64
	commit(t, s, runs[0], func(tx *Tx) error {
		for range 20 {
			id, err := tx.Ask(Request{Act: "exec", Target: "make", Digest: "d"})
			if err != nil {
				return err
			}
			ids = append(ids, id)
		}
		return nil
	})
	var others []*process
	for _, lease := range runs {
		p := child(t, "control", s.path, fmt.Sprint(lease.RunID), "40")
		p.want("ready")
		others = append(others, p)
	}
	for _, p := range others {
		p.say("go")
	}
	var wg sync.WaitGroup
	for _, lease := range runs {
		for range 2 {
			wg.Go(func() {
				for i := range 20 {
					events, err := s.Commit(t.Context(), lease, func(tx *Tx) error {
						for range i%3 + 1 {
							if err := tx.Event(i, 0, observer.Stalled{}); err != nil {
								return err
							}
						}
						return nil
					})
					if err != nil || len(events) != i%3+1 {
						t.Errorf("%d events: %v", len(events), err)
					}
				}
			})
		}
	}
	wg.Go(func() {
		for _, id := range ids {
			if _, err := s.Decide(t.Context(), id, Decision{Answer: "approve"}, tester); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Go(func() {
		for i := range 20 {
			if _, _, err := s.Control(t.Context(), Control{RunID: runs[i%2].RunID, Kind: "cancel", By: tester}); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Wait()
	for _, p := range others {
		p.want("done")
	}

	all, err := s.EventsSince(t.Context(), 0, 0)
	must(t, err)
	newest := map[int64]int64{}
	for i, ev := range all {
		if i > 0 && ev.Cursor <= all[i-1].Cursor {
			t.Fatalf("cursor %d after %d", ev.Cursor, all[i-1].Cursor)
		}
		if newest[ev.RunID]++; ev.Seq != newest[ev.RunID] {
			t.Fatalf("run %d: seq %d, want %d", ev.RunID, ev.Seq, newest[ev.RunID])
		}
	}
	each := int64(2*(7+7*2+6*3) + 40 + 1) // of goroutines, of the other process, a cancel
	for i, lease := range runs {
		want := each
		if i == 0 {
			want += 20 // decisions
		}
		run, err := s.Run(t.Context(), lease.RunID)
		must(t, err)
		if newest[lease.RunID] != want || run.Seq != want {
			t.Errorf("run %d: %d events, newest %d, want %d", lease.RunID, newest[lease.RunID], run.Seq, want)
		}
	}
}

func TestEventsAreReadExactly(t *testing.T) {
	s := opened(t, Options{})
	a, b := begun(t, s), begun(t, s)
	for i := range 10 {
		for _, lease := range []Lease{a, b} {
			commit(t, s, lease, func(tx *Tx) error {
				return tx.Event(i, int64(i), observer.Told{By: "ann", Text: fmt.Sprintf("<%d> \x1b[31m\u009b \u2028", i)})
			})
		}
	}
	all, err := s.EventsSince(t.Context(), 0, 0)
	must(t, err)
	if last, err := s.LastCursor(t.Context()); err != nil || len(all) != 20 || last != all[19].Cursor {
		t.Fatalf("%d events, last cursor %d: %v", len(all), last, err)
	}
	ev := all[3]
	if ev.RunID != b.RunID || ev.Step != 1 || ev.Seq != 2 || ev.Drive != 1 || ev.Agent != "0" || *ev.RequestID != 1 || ev.Kind.(observer.Told).Text != "<1> \x1b[31m\u009b \u2028" {
		t.Errorf("an event read back: %+v", ev)
	}
	var paged []observer.Event
	for cursor := int64(0); ; {
		page, err := s.EventsSince(t.Context(), cursor, 3)
		must(t, err)
		if len(page) == 0 || len(paged) > len(all) {
			break
		}
		paged = append(paged, page...)
		cursor = page[len(page)-1].Cursor
	}
	if fmt.Sprint(cursors(paged)) != fmt.Sprint(cursors(all)) {
		t.Errorf("pages hold %v, want %v", cursors(paged), cursors(all))
	}
	for _, c := range []struct {
		after int64
		limit int
		want  string
	}{{0, 0, "[1 2 3 4 5 6 7 8 9 10]"}, {0, 2, "[1 2]"}, {7, 0, "[8 9 10]"}, {7, 1, "[8]"}, {10, 0, "[]"}, {99, 5, "[]"}, {-1, 1, "[1]"}} {
		got, err := s.EventsAfter(t.Context(), a.RunID, c.after, c.limit)
		must(t, err)
		seqs := make([]int64, len(got))
		for i, ev := range got {
			seqs[i] = ev.Seq
		}
		if fmt.Sprint(seqs) != c.want {
			t.Errorf("EventsAfter(%d, %d) = %v, want %s", c.after, c.limit, seqs, c.want)
		}
	}
}

func cursors(events []observer.Event) []int64 {
	var all []int64
	for _, ev := range events {
		all = append(all, ev.Cursor)
	}
	return all
}

// A watcher in another process sees every event once and in order.
func TestWatcherInAnotherProcess(t *testing.T) {
	s := opened(t, Options{})
	watcher := child(t, "watch", s.path)
	watcher.want("ready")
	lease := begun(t, s)
	seq := 0
	for range 3 {
		heard := seq
		for i := range 20 {
			commit(t, s, lease, func(tx *Tx) error {
				for range i % 4 {
					seq++
					if err := tx.Event(i, 0, observer.Stalled{}); err != nil {
						return err
					}
				}
				return nil
			})
		}
		for heard < seq {
			heard++
			watcher.want(fmt.Sprint(lease.RunID, " ", heard))
		}
	}
	_ = watcher.in.Close()
	if watcher.out.Scan() {
		t.Errorf("the watcher also says %q", watcher.out.Text())
	}
}

func TestWaiterNoticesEveryCommitOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.db")
	s, other := reopened(t, path, Options{}), reopened(t, path, Options{})
	lease := begun(t, s)
	w, err := s.NewWaiter(t.Context())
	must(t, err)
	defer w.Close()
	noticed := func(when string, want bool) {
		t.Helper()
		ctx, stop := timeout(t, 2*pollMax, want)
		defer stop()
		if err := w.Wait(ctx); (err == nil) != want {
			t.Errorf("%s: %v", when, err)
		}
	}
	noticed("before any commit", false)
	commit(t, s, lease, nothing)
	commit(t, s, lease, nothing)
	noticed("after commits of this store", true)
	noticed("after they were noticed", false)
	commit(t, other, lease, nothing)
	noticed("after a commit of another", true)
	noticed("after it was noticed", false)
	s.Wake()
	noticed("after a wake", true)
	if _, err := s.Commit(t.Context(), lease, func(*Tx) error { return errClosed }); err == nil {
		t.Error("committed")
	}
	noticed("after a commit that failed", false)
}

// Waiters are held for long: they must not take the connections that reads need.
func TestManyWaitersDoNotStopReads(t *testing.T) {
	s := opened(t, Options{})
	lease := begun(t, s)
	ctx, stop := timeout(t, 0, true)
	defer stop()
	for range 3 * readers {
		w, err := s.NewWaiter(ctx)
		must(t, err)
		defer w.Close()
	}
	if _, err := s.Run(ctx, lease.RunID); err != nil {
		t.Error(err)
	}
}

func TestClosedStoreEndsWaits(t *testing.T) {
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "runs.db"), Options{})
	must(t, err)
	w, err := s.NewWaiter(t.Context())
	must(t, err)
	ended := make(chan error, 1)
	go func() { ended <- w.Wait(t.Context()) }()
	must(t, s.Close())
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("Wait: %v", err)
	}
	if err := w.Wait(t.Context()); err == nil {
		t.Error("Wait after the store was closed")
	}
	must(t, w.Close())
}
