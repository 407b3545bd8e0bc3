package feed_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"tillerman/db"
	"tillerman/tui/benchstore"
	"tillerman/tui/feed"
)

// TestNoCommitIsLostWhileAFeedOpens opens feeds whose goroutines begin late, one after the other, while the run goes on:
// the last step is shown though nothing is committed after it.
func TestNoCommitIsLostWhileAFeedOpens(t *testing.T) {
	for late := range int32(3) {
		store := benchstore.Open(t)
		lease := benchstore.Fill(t, store, 5, false)
		var started atomic.Int32
		var held []chan struct{}
		f := feed.Open(store, lease.RunID, 10, nil, nil, func(f func()) {
			hold := make(chan struct{})
			held = append(held, hold)
			if started.Add(1)-1 != late {
				close(hold)
			}
			go func() { <-hold; f() }()
		})
		time.Sleep(50 * time.Millisecond) // whoever is not held has begun, as far as it goes
		if _, err := store.Commit(context.Background(), lease, func(tx *db.Tx) error { return benchstore.Step(tx, 6) }); err != nil {
			t.Fatal(err)
		}
		close(held[late])
		time.AfterFunc(20*time.Second, f.Close)
		newest(t, f, func(s *feed.Snapshot) bool { return s.Total == 6 })
		f.Close()
	}
}

// TestASignalOfNothingNewDoesNotEndAFeed takes snapshots while they are made quickly: Next gives nothing only when the feed
// is closed.
func TestASignalOfNothingNewDoesNotEndAFeed(t *testing.T) {
	store := benchstore.Open(t)
	lease := benchstore.Fill(t, store, 5, false)
	f := opened(t, store, lease.RunID)
	for n := 6; n < 60; n++ {
		if _, err := store.Commit(context.Background(), lease, func(tx *db.Tx) error { return benchstore.Step(tx, n) }); err != nil {
			t.Fatal(err)
		}
		f.Window(n%2, 10)
		newest(t, f, func(s *feed.Snapshot) bool { return s.Total == n })
	}
}
