package stream

import "time"

// Clock tells the time and calls back. It is what a watchdog needs of package time, so that tests need not wait.
type Clock interface {
	Now() time.Time
	// AfterFunc calls f once, in a goroutine of its own, when d has passed.
	AfterFunc(d time.Duration, f func()) Timer
}

// Timer is a pending call; *time.Timer is one.
type Timer interface {
	Stop() bool
	Reset(d time.Duration) bool
}

// RealClock is the system's clock. Its times carry the monotonic reading.
type RealClock struct{}

// Now is time.Now.
func (RealClock) Now() time.Time { return time.Now() }

// AfterFunc is time.AfterFunc.
func (RealClock) AfterFunc(d time.Duration, f func()) Timer { return time.AfterFunc(d, f) }
