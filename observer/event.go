package observer

// Event is one thing that happened in a run. Everything but Kind is its envelope: the same for every kind, so that a
// reader can route an event without knowing what it carries.
type Event struct {
	// RunID is the run of the agent that the event is about. In a tree every agent has a run of its own.
	RunID int64
	// Step is the step it happened on, 0 before the first one.
	Step int
	// Depth is 0 for a run alone or the root of a tree, 1 for its children, and so on.
	Depth int
	// Kind says what happened. It is one of this package's kinds, as a value and not as a pointer.
	Kind Kind
	// Seq counts the events of one run from 1 without holes: a hole in what a reader got is something it missed.
	Seq int64
	// Cursor grows over the whole store; a reader keeps the last one to go on where it left off.
	Cursor int64
	// At is when it was stored, in milliseconds since the Unix epoch. It is for people: Seq is the order.
	At int64
	// Drive counts from 1 how often the run was taken up, by its start or by a resume.
	Drive int
	// Agent is the position of the agent in its tree: "0" for the root, "0.2" for a child of it.
	Agent string
	// RequestID is the question to a person that the event belongs to, nil for none.
	RequestID *int64
}
