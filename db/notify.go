package db

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"
)

// notifier wakes waiters of this process as soon as this store commits.
type notifier struct {
	mu     sync.Mutex
	waiter chan struct{}
	closed bool
}

// next is a channel that is closed by the next commit.
func (n *notifier) next() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.waiter == nil {
		n.waiter = make(chan struct{})
		if n.closed {
			close(n.waiter)
		}
	}
	return n.waiter
}

func (n *notifier) wake() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.waiter != nil && !n.closed {
		close(n.waiter)
		n.waiter = nil
	}
}

func (n *notifier) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.waiter != nil && !n.closed {
		close(n.waiter)
	}
	n.closed = true
}

func (n *notifier) isClosed() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.closed
}

// errClosed is what a wait for commits ends with when the store is closed.
var errClosed = errors.New("the store is closed")

// The bounds of the poll that notices other processes' commits: quick after something happened, slower when quiet.
const (
	pollMin = 50 * time.Millisecond
	pollMax = 250 * time.Millisecond
)

// Waiter notices commits, this process's at once and other processes' by a bounded poll of SQLite's data_version.
// It is for one goroutine.
type Waiter struct {
	store   *Store
	conn    *sql.Conn
	version int64
	next    <-chan struct{}
	pause   time.Duration
}

// NewWaiter starts noticing: a commit after this call is never missed. Close it.
func (s *Store) NewWaiter(ctx context.Context) (*Waiter, error) {
	conn, err := s.watch.Conn(ctx)
	if err != nil {
		return nil, wrap("read", s.path, err)
	}
	w := &Waiter{store: s, conn: conn, next: s.notify.next(), pause: pollMin}
	if _, err := w.changed(ctx); err != nil {
		_ = conn.Close()
		return nil, wrap("read", s.path, err)
	}
	return w, nil
}

// Wait returns nil when something was committed since the last return, and now and then when nothing was; the cause of
// ctx's end; or an error once the store is closed.
func (w *Waiter) Wait(ctx context.Context) error {
	for {
		told := false
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-w.next:
			told = true
			w.next = w.store.notify.next()
		case <-time.After(w.pause):
		}
		if w.store.notify.isClosed() {
			return errClosed
		}
		changed, err := w.changed(ctx) // when told too, so that a commit is not noticed a second time by the poll
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return wrap("read", w.store.path, err)
		}
		if told || changed {
			w.pause = pollMin
			return nil
		}
		w.pause = min(w.pause*2, pollMax)
	}
}

// changed says whether anything was committed since it was last asked: data_version is another one whenever another
// connection has committed (sqlite.org/pragma.html).
func (w *Waiter) changed(ctx context.Context) (bool, error) {
	before := w.version
	err := w.conn.QueryRowContext(ctx, "PRAGMA data_version").Scan(&w.version)
	return w.version != before, err
}

// Close ends the noticing.
func (w *Waiter) Close() error { return w.conn.Close() }

// Wake makes waiters of this process look again, as a commit would.
func (s *Store) Wake() { s.notify.wake() }
