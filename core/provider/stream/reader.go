// Package stream reads event streams as the WHATWG HTML standard defines them ("Server-sent events", section
// "Interpreting an event stream"), and watches that they do not fall silent.
package stream

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// MaxEvent is how many bytes one event may have when the caller sets no other limit: 16 MiB.
const MaxEvent = 16 << 20

// Event is one event of a stream. Fields other than event and data are not kept: ids and retry times belong to
// reconnecting, which a model's answer does not allow.
type Event struct {
	Name string // the event field, "" when there was none
	Data []byte // the data lines joined by a newline; valid until the next call of Next
}

// TooLargeError says that one event, or one line, is longer than the limit.
type TooLargeError struct {
	Limit int64 // bytes
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("event longer than %d bytes", e.Limit)
}

// CutError says that the stream ended inside an event, before the blank line that completes it. The standard discards
// such an event; Pending is what was there of it, for a caller who can tell that nothing is missing.
type CutError struct {
	Pending Event
}

func (e *CutError) Error() string { return "stream ended inside an event" }

// Unwrap makes the error an io.ErrUnexpectedEOF.
func (e *CutError) Unwrap() error { return io.ErrUnexpectedEOF }

// Reader cuts bytes into events. However the bytes are split over reads, the events are the same.
// It is for one goroutine.
type Reader struct {
	src io.Reader
	max int64
	err error // what src gave after its last bytes

	buf  []byte
	rest []byte // the part of buf not looked at yet

	line    []byte
	started bool // the first line, which may begin with a byte order mark, is read
	afterCR bool // the last line ended with CR: an LF that follows belongs to it

	name    string
	data    []byte
	hasData bool
	begun   bool // an event or data field came since the last blank line
}

// NewReader reads events from src. An event of more than max bytes is a TooLargeError; max below 1 means MaxEvent.
func NewReader(src io.Reader, max int64) *Reader {
	if max < 1 {
		max = MaxEvent
	}
	return &Reader{src: src, max: max, buf: make([]byte, 16<<10)}
}

// Next returns the next event that has data. At the end of the stream it returns io.EOF, or a *CutError when the stream
// ended inside an event; an event or line over the limit is a *TooLargeError; any other error is the source's own.
// After an error every call returns an error.
func (r *Reader) Next() (Event, error) {
	r.reset()
	for {
		line, err := r.readLine()
		switch {
		case errors.Is(err, io.EOF):
			return Event{}, r.end(line)
		case err != nil:
			return Event{}, err
		case len(line) > 0:
			r.field(line)
		case r.hasData:
			return Event{Name: r.name, Data: r.data}, nil
		default:
			r.reset()
		}
	}
}

func (r *Reader) reset() {
	r.name, r.data, r.hasData, r.begun = "", r.data[:0], false, false
}

// end tells a stream that is over from one that was cut.
func (r *Reader) end(partial []byte) error {
	r.field(partial)
	if len(partial) > 0 && partial[0] != ':' {
		r.begun = true
	}
	if !r.begun {
		return io.EOF
	}
	return &CutError{Pending: Event{Name: r.name, Data: r.data}}
}

// readLine returns the next line without its end, which is LF, CRLF or CR. With an error it returns what was there of
// the line. A CR ends the line at once: waiting for an LF would hold back an event that is complete.
func (r *Reader) readLine() ([]byte, error) {
	r.line = r.line[:0]
	for {
		if len(r.rest) == 0 {
			if err := r.fill(); err != nil {
				return r.trimMark(), err
			}
		}
		if r.afterCR {
			r.afterCR = false
			if r.rest[0] == '\n' {
				r.rest = r.rest[1:]
				continue
			}
		}
		end := bytes.IndexByte(r.rest, '\n')
		piece := r.rest
		if end >= 0 {
			piece = r.rest[:end]
		}
		if cr := bytes.IndexByte(piece, '\r'); cr >= 0 {
			piece, end = piece[:cr], cr
		}
		if int64(len(r.data)+len(r.line)+len(piece)) > r.max {
			r.err = &TooLargeError{Limit: r.max}
			r.rest = nil
			return nil, r.err
		}
		r.line = append(r.line, piece...)
		if end < 0 {
			r.rest = nil
			continue
		}
		r.afterCR = r.rest[end] == '\r'
		r.rest = r.rest[end+1:]
		return r.trimMark(), nil
	}
}

// trimMark takes the byte order mark off the stream's first line.
func (r *Reader) trimMark() []byte {
	if r.started {
		return r.line
	}
	r.started = true
	return bytes.TrimPrefix(r.line, []byte("\xef\xbb\xbf"))
}

// fill reads on until there is something to look at.
func (r *Reader) fill() error {
	for range 100 {
		if r.err != nil {
			return r.err
		}
		n, err := r.src.Read(r.buf)
		r.rest, r.err = r.buf[:n], err
		if n > 0 {
			return nil
		}
	}
	if r.err == nil {
		r.err = io.ErrNoProgress
	}
	return r.err
}

// field takes one line: "name:value" with at most one space after the colon, or a name alone. A line that begins with
// a colon is a comment.
func (r *Reader) field(line []byte) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "data":
		if r.hasData {
			r.data = append(r.data, '\n')
		}
		r.data = append(r.data, value...)
		r.hasData, r.begun = true, true
	case "event":
		r.name, r.begun = string(value), true
	}
}
