package stream

import (
	"fmt"
	"sync"
	"time"

	"tillerman/core/provider"
)

// How long a stream may be silent when nothing else is set. A model may think for minutes before the first word;
// once it speaks, a minute of silence means that the connection is dead.
const (
	FirstContent = 10 * time.Minute
	NextContent  = 60 * time.Second
)

// Limits are how long to wait for content. A zero or negative limit means the default.
type Limits struct {
	First time.Duration // from the start of the call to the first content, connecting included
	Next  time.Duration // from one piece of content to the next
}

func (l Limits) orDefault() Limits {
	if l.First <= 0 {
		l.First = FirstContent
	}
	if l.Next <= 0 {
		l.Next = NextContent
	}
	return l
}

// Watchdog ends a call whose stream falls silent. What counts as content is the caller's to say: text, thinking and
// tool calls do, comments and pings do not. It is safe for concurrent use.
type Watchdog struct {
	clock  Clock
	limits Limits
	expire func(error)

	mu       sync.Mutex
	timer    Timer
	fed      bool // content came
	deadline time.Time
	stopped  bool
	err      *provider.Error
}

// Watch starts waiting for the first content. When a limit passes it calls expire once, with a *provider.Error of kind
// timeout; context.WithCancelCause gives a function that fits. The caller must call Stop.
func Watch(clock Clock, limits Limits, expire func(error)) *Watchdog {
	w := &Watchdog{clock: clock, limits: limits.orDefault(), expire: expire}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.deadline = clock.Now().Add(w.limits.First)
	w.timer = clock.AfterFunc(w.limits.First, w.fire)
	return w
}

// Content says that content came: the wait for the next begins.
func (w *Watchdog) Content() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		return
	}
	w.fed = true
	w.deadline = w.clock.Now().Add(w.limits.Next)
	w.timer.Reset(w.limits.Next)
}

// Stop ends the watch; expire is not called afterwards.
func (w *Watchdog) Stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	w.timer.Stop()
}

// Err is the timeout, nil when none happened.
func (w *Watchdog) Err() *provider.Error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// fire ends the call. A timer that went off while Content was moving it on finds the new deadline and does nothing.
func (w *Watchdog) fire() {
	w.mu.Lock()
	if w.stopped || w.clock.Now().Before(w.deadline) {
		w.mu.Unlock()
		return
	}
	w.stopped = true
	message := fmt.Sprintf("no content within %s", w.limits.First)
	if w.fed {
		message = fmt.Sprintf("stalled: no further content within %s", w.limits.Next)
	}
	w.err = &provider.Error{Kind: provider.Timeout, Message: message}
	w.mu.Unlock()
	w.expire(w.err)
}
