package observer

import (
	"sync"
	"sync/atomic"
)

// Channel is an Observer that hands events to a reader without ever making the engine wait: an event that finds the
// channel full is dropped and counted. What was dropped is in the store, and the reader learns of it from the seq of the
// next event (see Tracker); what was dropped at the very end has no next event and shows only in Dropped.
//
// All methods are safe for concurrent use.
type Channel struct {
	events  chan Event
	dropped atomic.Int64
	cancel  atomic.Bool

	// closing is held shared while an event is sent and alone while the channel is closed. Event only tries for it, so
	// it cannot wait even then.
	closing sync.RWMutex
	closed  bool
}

// NewChannel returns a Channel with room for size events that wait to be read, at least one.
func NewChannel(size int) *Channel {
	return &Channel{events: make(chan Event, max(size, 1))}
}

// Events is where the events come out, in the order in which Event was called. It is closed by Close; what waited then
// can still be read.
func (c *Channel) Events() <-chan Event { return c.events }

// Event sends a copy of e, or drops it when the channel is full or closed. It never blocks and does not allocate. It
// returns Cancel once RequestCancel was called.
func (c *Channel) Event(e *Event) Flow {
	if !c.send(e) {
		c.dropped.Add(1)
	}
	if c.cancel.Load() {
		return Cancel
	}
	return Continue
}

func (c *Channel) send(e *Event) bool {
	if !c.closing.TryRLock() { // fails only while Close is at work
		return false
	}
	defer c.closing.RUnlock()
	if c.closed {
		return false
	}
	select {
	case c.events <- *e:
		return true
	default:
		return false
	}
}

// Dropped counts the events that were not sent. Every event is either sent or counted here.
func (c *Channel) Dropped() int64 { return c.dropped.Load() }

// RequestCancel makes every Event from now on return Cancel. It cannot be taken back.
func (c *Channel) RequestCancel() { c.cancel.Store(true) }

// Close closes Events. The engine may go on calling Event: a reader that leaves closes behind itself, or just stops
// reading. Closing again does nothing.
func (c *Channel) Close() {
	c.closing.Lock()
	defer c.closing.Unlock()
	if !c.closed {
		c.closed = true
		close(c.events)
	}
}
