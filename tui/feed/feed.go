package feed

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"tillerman/db"
	"tillerman/observer"
)

// Frame is the least time between two snapshots: thirty a second are smooth, and however many events arrive, no more is
// read or drawn.
const Frame = 33 * time.Millisecond

// Feed keeps the newest snapshot of one run. Its own goroutine reads the store; the screen takes what is newest when it
// is ready, so neither waits for the other. All methods are safe for concurrent use.
type Feed struct {
	store *db.Store
	runID int64

	first, size atomic.Int64 // the window that is wanted
	wake        chan struct{}
	ready       chan struct{}
	newest      atomic.Pointer[update]
	closed      chan struct{}
	once        sync.Once
	done        chan struct{}
	live        *Live
}

// update is a snapshot or why there is none.
type update struct {
	snapshot *Snapshot
	err      error
}

// Open starts a feed for a run. events, when not nil, are the notices of an engine in this process; the feed
// drains them and reads the facts. live is its text as it comes; nil is none. start runs the feed's goroutine: the caller's guarded starter.
func Open(store *db.Store, runID int64, size int, events <-chan observer.Event, live *Live, start func(func())) *Feed {
	if live == nil {
		live = NewLive()
	}
	f := &Feed{
		store: store, runID: runID, wake: make(chan struct{}, 1), ready: make(chan struct{}, 1), closed: make(chan struct{}), done: make(chan struct{}), live: live,
	}
	f.size.Store(int64(max(1, size)))
	ctx, stop := context.WithCancel(context.Background())
	if events != nil {
		start(func() { f.drain(ctx, events) })
	}
	changes := make(chan error, 1)
	standing, waited := make(chan struct{}), make(chan struct{})
	start(func() {
		defer close(waited)
		f.watch(ctx, standing, changes)
	})
	start(func() {
		defer close(f.done)
		<-standing // a commit between the first reading and the watch would be seen with the next one only
		f.run(ctx, changes)
		<-waited
	})
	start(func() {
		<-f.closed
		stop()
	})
	return f
}

// Live is the text that comes into being right now.
func (f *Feed) Live() *Live { return f.live }

// Window asks for the rows from step first on, at most size; first 0 follows the newest.
func (f *Feed) Window(first, size int) {
	a := f.first.Swap(int64(max(0, first)))
	b := f.size.Swap(int64(max(1, size)))
	if a != int64(first) || b != int64(size) {
		f.poke()
	}
}

// Next waits for a snapshot that Next has not returned yet and returns the newest. It returns nil, nil once the feed is
// closed.
func (f *Feed) Next() (*Snapshot, error) {
	for {
		select {
		case <-f.ready:
		case <-f.closed:
			return nil, nil
		}
		if u := f.newest.Swap(nil); u != nil { // nil when the call before took what this signal was for
			return u.snapshot, u.err
		}
	}
}

// Close ends the feed and waits for its goroutine.
func (f *Feed) Close() {
	f.once.Do(func() { close(f.closed) })
	<-f.done
}

func (f *Feed) poke() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// drain takes every event off the channel, so that the engine's sends always find room. Each follows its commit, and the
// commit itself wakes the reader: an event that was dropped loses nothing, and one that came does no work twice.
func (f *Feed) drain(ctx context.Context, events <-chan observer.Event) {
	for {
		select {
		case <-ctx.Done():
			return
		case ev, ok := <-events:
			if !ok {
				return
			}
			f.live.settle(ev)
		}
	}
}

// watch notices commits, of this process and of others. It closes standing when none can be missed any more.
func (f *Feed) watch(ctx context.Context, standing chan<- struct{}, changes chan<- error) {
	waiter, err := f.store.NewWaiter(ctx)
	close(standing)
	for err == nil {
		if err = waiter.Wait(ctx); ctx.Err() != nil {
			break
		}
		select {
		case changes <- err:
		case <-ctx.Done():
		}
	}
	if waiter != nil {
		_ = waiter.Close()
	} else if ctx.Err() == nil {
		changes <- err
	}
}

// run reads a snapshot whenever something changed, at most one a frame.
func (f *Feed) run(ctx context.Context, changes <-chan error) {
	l := &loader{store: f.store, runID: f.runID, self: db.Here("console")}
	process := db.Self()
	frame := time.NewTimer(0)
	defer frame.Stop()
	for {
		select { // the next frame may begin
		case <-ctx.Done():
			return
		case <-frame.C:
		}
		snap, err := l.load(ctx, int(f.first.Load()), int(f.size.Load()))
		if ctx.Err() != nil {
			return
		}
		f.publish(update{snap, err})
		frame.Reset(Frame)
		var driver *db.Owner // another process, whose death commits nothing
		if snap != nil && snap.Driven && !snap.Unseen && snap.Driver != process {
			driver = &snap.Driver
		}
		if over, err := f.quiet(ctx, changes, driver, process); over {
			return
		} else if err != nil {
			f.publish(update{err: err})
			return
		}
	}
}

// lifeEvery is how often the process that drives a run is looked for.
const lifeEvery = time.Second

// quiet returns when something has happened: a commit, a wish, text as it comes, the death of the driver. over says that
// ctx has ended.
func (f *Feed) quiet(ctx context.Context, changes <-chan error, driver *db.Owner, self db.Owner) (over bool, err error) {
	var look <-chan time.Time
	if driver != nil {
		ticker := time.NewTicker(lifeEvery)
		defer ticker.Stop()
		look = ticker.C
	}
	for {
		select {
		case <-ctx.Done():
			return true, nil
		case <-f.wake:
			return false, nil
		case <-f.live.Changed():
			return false, nil
		case err := <-changes:
			return false, err
		case <-look:
			if db.LifeOf(*driver, self) == db.Dead {
				return false, nil
			}
		}
	}
}

func (f *Feed) publish(u update) {
	f.newest.Store(&u)
	select {
	case f.ready <- struct{}{}:
	default:
	}
}
