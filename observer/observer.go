package observer

// Observer watches a run.
//
// Event is called once for each event, after the fact it tells of was stored. The events of one agent come in order and
// one at a time; agents of a tree work side by side, so their events come concurrently and an Observer has to be safe
// for that. The call is on the engine's path: the agent waits until it returns, so hand the event on and work elsewhere.
//
// The event is shared by every observer. Do not change it; copy it to keep it.
//
// There is no error to return, because a run does not fail for being watched: an observer keeps its failures to itself
// and tells of them in its own way. It must not panic; Guard makes that harmless.
type Observer interface {
	Event(*Event) Flow
}

// Ignore watches nothing and never cancels.
type Ignore struct{}

// Event returns Continue.
func (Ignore) Event(*Event) Flow { return Continue }

// Func is a function as an Observer.
type Func func(*Event) Flow

// Event calls f.
func (f Func) Event(e *Event) Flow { return f(e) }
