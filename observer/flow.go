package observer

import "fmt"

// Flow is an observer's answer to an event: whether the run goes on.
type Flow uint8

// The zero Flow lets the run go on. Cancel asks it to stop at the next safe point, not at once: the call that acts is
// never cut in the middle. The run then ends as cancelled. One Cancel is enough, a later Continue does not take it back.
const (
	Continue Flow = iota
	Cancel
)

// IsCancel says whether the run is asked to stop.
func (f Flow) IsCancel() bool { return f == Cancel }

// String is the text form, or Flow(n) for what is no Flow.
func (f Flow) String() string {
	switch f {
	case Continue:
		return "continue"
	case Cancel:
		return "cancel"
	}
	return fmt.Sprintf("Flow(%d)", uint8(f))
}

// MarshalText writes "continue" or "cancel".
func (f Flow) MarshalText() ([]byte, error) {
	if f != Continue && f != Cancel {
		return nil, fmt.Errorf("observer: %s is neither continue nor cancel", f)
	}
	return []byte(f.String()), nil
}

// UnmarshalText reads "continue" or "cancel" and rejects anything else, leaving f as it was.
func (f *Flow) UnmarshalText(text []byte) error {
	switch string(text) {
	case "continue":
		*f = Continue
	case "cancel":
		*f = Cancel
	default:
		return fmt.Errorf("observer: %.40q is neither continue nor cancel", text)
	}
	return nil
}
