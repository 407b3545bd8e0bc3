package tuitest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"time"
	"unicode/utf8"
)

const (
	// composing is how long the last cluster of what was read may be kept from
	// the emulator: a mark that belongs to it may be in the next read, and the
	// emulator ends the cluster with each write.
	composing = 10 * time.Millisecond
	// longest is the most that is kept back for that reason, in bytes.
	longest = 4096
)

// read shows the emulator what the program writes, until the terminal closes.
func (t *Term) read() {
	defer close(t.reading)
	defer func() {
		t.mu.Lock()
		t.parked = true // whoever stalls a terminal that is over need not wait
		t.park.Broadcast()
		t.mu.Unlock()
	}()
	buf := make([]byte, 32<<10)
	for t.ready() {
		n, err := t.master.Read(buf)
		switch {
		case n > 0:
			t.take(buf[:n])
		case errors.Is(err, os.ErrDeadlineExceeded):
			t.take(nil)
		case err != nil:
			return // nobody holds the other side any more
		}
	}
}

// ready waits while the terminal is stalled and sets the deadline of the next
// read. It reports false when there shall be none.
func (t *Term) ready() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.stall && !t.closing {
		t.parked = true
		t.park.Broadcast()
		t.park.Wait()
	}
	t.parked = false
	if t.closing {
		return false
	}
	var deadline time.Time
	if len(t.pending) > 0 {
		deadline = time.Now().Add(composing)
	}
	return t.master.SetReadDeadline(deadline) == nil
}

// take takes over what was read. Nothing read means that nothing more came for
// a while, and what was kept back is whole.
func (t *Term) take(chunk []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(chunk) > 0 {
		t.last = time.Now()
		t.raw = append(t.raw, chunk...)
		t.pending = append(t.pending, chunk...)
	}
	keep := 0
	if len(chunk) > 0 {
		keep = unfinished(t.pending)
	}
	if t.end != nil && !t.atEnd {
		if at := bytes.Index(t.raw, t.end); at >= 0 {
			// What follows, if anything does, is of a process that outlived the
			// program.
			t.atEnd = true
			t.raw = append(t.raw[:at], t.raw[at+len(t.end):]...)
			t.pending = bytes.Replace(t.pending, t.end, nil, 1)
			keep = 0
		} else {
			keep = max(keep, partial(t.pending, t.end))
		}
	}
	t.show(t.pending[:len(t.pending)-keep])
	t.pending = append(t.pending[:0], t.pending[len(t.pending)-keep:]...)
	t.tellLocked()
}

// show gives bytes to the emulator. One that fails on them stays as it is, and
// the next look at the screen says so.
func (t *Term) show(data []byte) {
	if len(data) == 0 || t.broken != nil {
		return
	}
	defer func() {
		if r := recover(); r != nil {
			t.broken = fmt.Errorf("the terminal emulator panicked: %v, on %q", r, data)
		}
	}()
	_, _ = t.emu.Write(data)
}

// unfinished is the length of the end of data that the next bytes may belong
// to: characters beyond ASCII and the character before them.
func unfinished(data []byte) int {
	i := len(data)
	for i > 0 && data[i-1] >= utf8.RuneSelf {
		i--
	}
	if i > 0 && data[i-1] >= ' ' && data[i-1] < 0x7f {
		i--
	}
	if len(data)-i > longest {
		return 0
	}
	return len(data) - i
}

// partial is the length of the longest end of data that may begin mark.
func partial(data, mark []byte) int {
	for n := min(len(data), len(mark)-1); n > 0; n-- {
		if bytes.HasSuffix(data, mark[:n]) {
			return n
		}
	}
	return 0
}

// answer carries what the terminal itself says to the program.
func (t *Term) answer() {
	defer close(t.replies)
	buf := make([]byte, 4096)
	for {
		n, err := t.emu.Read(buf)
		if n > 0 && t.opts.Answer {
			t.keys.push(buf[:n])
		}
		if err != nil {
			return
		}
	}
}
