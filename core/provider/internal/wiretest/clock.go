// Package wiretest holds what the tests of model endpoints share: a clock that stands still, scripted answers, and the
// reading of captured exchanges.
package wiretest

import (
	"sync"
	"time"

	"tillerman/core/provider/stream"
)

// Clock is a stream.Clock that moves only when told to. It is safe for concurrent use.
type Clock struct {
	mu     sync.Mutex
	now    time.Time
	timers []*timer
}

type timer struct {
	clock *Clock
	at    time.Time
	live  bool
	f     func()
}

// NewClock starts at some moment.
func NewClock() *Clock {
	return &Clock{now: time.Date(2026, time.October, 21, 7, 0, 0, 0, time.UTC)}
}

// Now is the clock's time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// AfterFunc has Advance call f.
func (c *Clock) AfterFunc(d time.Duration, f func()) stream.Timer {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &timer{clock: c, at: c.now.Add(d), live: true, f: f}
	c.timers = append(c.timers, t)
	return t
}

// Advance moves the clock and calls, before it returns, what has become due.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	c.now = c.now.Add(d)
	var due []*timer
	for _, t := range c.timers {
		if t.live && !t.at.After(c.now) {
			t.live = false
			due = append(due, t)
		}
	}
	c.mu.Unlock()
	for _, t := range due {
		t.f()
	}
}

// Waiting is the number of timers that have not gone off or been stopped.
func (c *Clock) Waiting() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, t := range c.timers {
		if t.live {
			n++
		}
	}
	return n
}

func (t *timer) Stop() bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	was := t.live
	t.live = false
	return was
}

func (t *timer) Reset(d time.Duration) bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	was := t.live
	t.at, t.live = t.clock.now.Add(d), true
	return was
}
