package observer

import (
	"fmt"
	"runtime/debug"
	"sync/atomic"
)

// panicLimit is how many panics an observer is forgiven: one may be an event it did not expect, three are a habit.
const panicLimit = 3

// PanicError is a panic of a guarded observer.
type PanicError struct {
	// Value is what it panicked with.
	Value any
	// Stack is the trace of the goroutine that panicked. It is not part of the message.
	Stack []byte
	// Dropped says that this panic was the one too many and that the observer is not called again.
	Dropped bool
}

// Error names the value.
func (e *PanicError) Error() string {
	if e.Dropped {
		return fmt.Sprintf("observer panicked: %v; it panicked %d times and is dropped", e.Value, panicLimit)
	}
	return fmt.Sprintf("observer panicked: %v", e.Value)
}

// Unwrap returns Value when it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// Guarded is an observer whose panics do not reach the engine. It is safe for concurrent use as far as the observer
// inside is.
type Guarded struct {
	observer Observer
	live     Live
	report   func(error)
	panics   atomic.Int64
}

// Guard returns o so wrapped that a panic counts as Continue, is given to report as a *PanicError, and is the last one
// after three: then o is not called again. Panics in Live text count too. Where agents work side by side, calls that
// were under way may still panic and be reported after the third. report may be nil; it is called on the goroutine that
// panicked, concurrently, and must not panic itself.
func Guard(o Observer, report func(error)) *Guarded {
	if report == nil {
		report = func(error) {}
	}
	return &Guarded{observer: o, live: LiveOf(o), report: report}
}

// Event passes e on, unless the observer was dropped.
func (g *Guarded) Event(e *Event) Flow {
	flow := Continue
	g.call(func() { flow = g.observer.Event(e) })
	return flow
}

// Delta passes live text on, unless the observer was dropped or takes none.
func (g *Guarded) Delta(runID int64, step int, agent, kind, text string) {
	g.call(func() { g.live.Delta(runID, step, agent, kind, text) })
}

// Output passes live output on, unless the observer was dropped or takes none.
func (g *Guarded) Output(runID int64, step, position int, agent string, chunk []byte) {
	g.call(func() { g.live.Output(runID, step, position, agent, chunk) })
}

// Dropped says whether the observer panicked so often that it is not called any more.
func (g *Guarded) Dropped() bool { return g.panics.Load() >= panicLimit }

// call runs f and turns a panic into a report.
func (g *Guarded) call(f func()) {
	if g.Dropped() {
		return
	}
	defer func() {
		if v := recover(); v != nil {
			n := g.panics.Add(1)
			g.report(&PanicError{Value: v, Stack: debug.Stack(), Dropped: n == panicLimit})
		}
	}()
	f()
}
