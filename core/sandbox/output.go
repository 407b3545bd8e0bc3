package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
	"unicode/utf8"
)

// capture keeps the head and the tail of what is written to it.
type capture struct {
	head, tail int  // how much of each to keep
	note       bool // there is room for the line that stands for the middle
	first      []byte
	last       []byte // a ring once it is full
	at         int    // where the ring begins
	total      int64
}

// noteRoom is kept free for the line that stands for the middle.
const noteRoom = 64

func newCapture(keep int) *capture {
	if keep <= 0 {
		keep = defaultKeep
	}
	note := keep >= 2*noteRoom
	if note {
		keep -= noteRoom
	}
	return &capture{head: keep - keep/2, tail: keep / 2, note: note}
}

func (c *capture) write(p []byte) {
	c.total += int64(len(p))
	if room := c.head - len(c.first); room > 0 {
		n := min(room, len(p))
		c.first = append(c.first, p[:n]...)
		p = p[n:]
	}
	if over := len(p) - c.tail; over > 0 {
		p = p[over:]
	}
	if room := c.tail - len(c.last); room > 0 {
		n := min(room, len(p))
		c.last = append(c.last, p[:n]...)
		p = p[n:]
	}
	for len(p) > 0 {
		n := copy(c.last[c.at:], p)
		p = p[n:]
		c.at = (c.at + n) % len(c.last)
	}
}

// bytes returns what was kept. Where the middle is missing a line says so, unless so little is kept that there is no
// room, and no character is cut in two.
func (c *capture) bytes() []byte {
	first := c.first
	last := append(append([]byte(nil), c.last[c.at:]...), c.last[:c.at]...)
	if c.total == int64(len(first)+len(last)) {
		return append(append([]byte(nil), first...), last...)
	}
	first, last = trimEnd(wholeLines(first)), trimStart(fromALine(last))
	note := ""
	if c.note {
		note = fmt.Sprintf("\n[... %d bytes left out ...]\n", c.total-int64(len(first)+len(last)))
	}
	return append(append(append([]byte(nil), first...), note...), last...)
}

// wholeLines takes off half a line at the end, where that costs no more than half of a part: it tells little, and half of
// a secret that stood in it would not be known for what it is.
func wholeLines(b []byte) []byte {
	if end := bytes.LastIndexByte(b, '\n') + 1; end >= len(b)-len(b)/2 && end > 0 {
		return b[:end]
	}
	return b
}

// fromALine takes off half a line at the beginning, likewise.
func fromALine(b []byte) []byte {
	if begin := bytes.IndexByte(b, '\n') + 1; begin > 0 && begin <= len(b)/2 {
		return b[begin:]
	}
	return b
}

// trimEnd takes off a character whose end is missing.
func trimEnd(b []byte) []byte {
	for i := len(b) - 1; i >= max(0, len(b)-utf8.UTFMax); i-- {
		if utf8.RuneStart(b[i]) {
			if !utf8.FullRune(b[i:]) {
				return b[:i]
			}
			break
		}
	}
	return b
}

// trimStart takes off a character whose beginning is missing.
func trimStart(b []byte) []byte {
	for i := range min(utf8.UTFMax, len(b)) {
		if utf8.RuneStart(b[i]) {
			return b[i:]
		}
	}
	if len(b) < utf8.UTFMax {
		return nil
	}
	return b // no text at all
}

// What is still read after the command's processes are gone: silence for a moment ends it, and so does more than any
// pipe holds, because a process that could not be ended may go on writing.
const (
	drainSilence = 50 * time.Millisecond
	drainMost    = 1 << 20
)

// collect reads the pipe until all writers are gone, or until it is told by way of a read deadline that the command
// is over: then what is in the pipe already is still read.
func collect(pipe *os.File, into *capture, show func([]byte)) {
	buffer := make([]byte, 32<<10)
	drained, over := 0, false
	for drained < drainMost {
		if over {
			_ = pipe.SetReadDeadline(time.Now().Add(drainSilence))
		}
		n, err := pipe.Read(buffer)
		if n > 0 {
			into.write(buffer[:n])
			if show != nil {
				show(append([]byte(nil), buffer[:n]...))
			}
		}
		switch {
		case over:
			drained += n
			if err != nil {
				return
			}
		case errors.Is(err, os.ErrDeadlineExceeded):
			over = true
		case err != nil && !errors.Is(err, io.ErrNoProgress):
			return
		}
	}
}
