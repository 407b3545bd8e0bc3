package feed

import (
	"sync"

	"tillerman/observer"
)

// liveLimit is how much of the newest text is kept: a screen shows its end.
const liveLimit = 8 << 10

// Live holds the text that a model or a command is giving right now: lossy, never stored, dropped when the result comes.
// It is an observer.Live, and safe for concurrent use.
type Live struct {
	mu      sync.Mutex
	step    int
	kind    string // text, thinking, call, output
	text    []byte
	changed chan struct{}
}

// NewLive returns an empty Live.
func NewLive() *Live { return &Live{changed: make(chan struct{}, 1)} }

// Delta takes a piece of a model's answer.
func (l *Live) Delta(_ int64, step int, _ string, kind, text string) { l.add(step, kind, []byte(text)) }

// Output takes a piece of what a command prints.
func (l *Live) Output(_ int64, step, _ int, _ string, chunk []byte) { l.add(step, "output", chunk) }

func (l *Live) add(step int, kind string, piece []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if step != l.step || kind != l.kind {
		l.step, l.kind, l.text = step, kind, nil
	}
	if len(piece) > liveLimit {
		piece = piece[len(piece)-liveLimit:]
	}
	l.text = append(l.text, piece...)
	if over := len(l.text) - 2*liveLimit; over > 0 {
		l.text = append(l.text[:0:0], l.text[len(l.text)-liveLimit:]...)
	}
	select {
	case l.changed <- struct{}{}:
	default:
	}
}

// settle drops text whose result an event brings.
func (l *Live) settle(ev observer.Event) {
	switch ev.Kind.(type) {
	case observer.ModelCall, observer.ToolResult, observer.Gate, observer.Step, observer.Finished:
		l.mu.Lock()
		l.step, l.kind, l.text = 0, "", nil
		l.mu.Unlock()
	}
}

// Tail is the newest text and what it is; kind is "" when there is none.
func (l *Live) Tail() (step int, kind, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	tail := l.text
	if len(tail) > liveLimit {
		tail = tail[len(tail)-liveLimit:]
	}
	return l.step, l.kind, string(tail)
}

// Changed is signalled when there is new text.
func (l *Live) Changed() <-chan struct{} { return l.changed }
