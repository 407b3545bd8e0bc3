package observer

import (
	"fmt"
	"io"
	"sync"
)

// LineWriter is an Observer that writes JSON lines. It is safe for concurrent use.
type LineWriter struct {
	mu  sync.Mutex
	w   io.Writer
	err error
}

// Lines returns an Observer that writes each event to w as one line of JSON in one call of Write. The engine waits for
// that call. The first failure ends the writing, so that a line cut short is never followed by another; the run goes on
// and Err tells.
func Lines(w io.Writer) *LineWriter { return &LineWriter{w: w} }

// Event writes e and returns Continue.
func (l *LineWriter) Event(e *Event) Flow {
	line, err := e.MarshalJSON()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return Continue
	}
	if err != nil {
		l.err = err
		return Continue
	}
	line = append(line, '\n')
	n, err := l.w.Write(line)
	if err == nil && n < len(line) {
		err = io.ErrShortWrite
	}
	if err != nil {
		l.err = fmt.Errorf("observer: write event: %w", err)
	}
	return Continue
}

// Err returns the failure that ended the writing, nil while there was none.
func (l *LineWriter) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}
