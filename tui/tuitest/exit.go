package tuitest

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/term"
)

// Exit is how a program went, and how it left the terminal.
type Exit struct {
	Code     int      // as a shell tells it: 128+n after signal n
	Settings bool     // the line settings (termios) are as before
	Left     []string // what the program switched and did not turn back, of the names above
	Sent     []string // what it turned back, whether it had been switched or not
	Unread   []byte   // input it did not read; a shell would take it for typed
}

// Err says what is wrong with the terminal that the program left; nil when
// nothing is. The exit code may be any.
func (e Exit) Err() error {
	var faults []string
	if !e.Settings {
		faults = append(faults, "the line settings are not as before")
	}
	if len(e.Left) > 0 {
		faults = append(faults, "left on: "+strings.Join(e.Left, ", "))
	}
	if len(e.Unread) > 0 {
		faults = append(faults, fmt.Sprintf("input left for the shell: %q", e.Unread))
	}
	if len(faults) == 0 {
		return nil
	}
	return errors.New("the terminal was not given back: " + strings.Join(faults, "; "))
}

// Exit waits until the program has ended and tells how.
func (t *Term) Exit() Exit {
	t.tb.Helper()
	if t.exit != nil {
		return *t.exit
	}
	t.await("the program ends", 0, t.over)
	t.drain()
	code, err := t.leader.result()
	if err != nil {
		t.tb.Fatalf("%v\n%s", err, t.describe())
	}
	e := Exit{Code: code}
	after, err := lineSettings(t.slave)
	if err != nil {
		t.tb.Fatalf("read the line settings: %v", err)
	}
	e.Settings = sameSettings(t.before, after)
	t.mu.Lock()
	s := switched(t.raw, func(rows int) bool { return slices.Contains(t.heights, rows) })
	t.mu.Unlock()
	e.Left = s.left()
	for thing := range s.sent {
		e.Sent = append(e.Sent, thing)
	}
	slices.Sort(e.Sent)
	if e.Unread, err = t.unread(); err != nil {
		t.tb.Fatalf("read what the program did not: %v", err)
	}
	t.exit = &e
	return e
}

// drain waits until all that the program wrote before it ended was read. The
// kernel carries it over in its own time; what is written now, from the same
// side, comes behind it.
func (t *Term) drain() {
	t.tb.Helper()
	t.mu.Lock()
	if t.end == nil {
		t.end = mark()
		t.mu.Unlock()
		_ = t.slave.SetWriteDeadline(time.Now().Add(t.opts.Timeout))
		if _, err := t.slave.Write(t.end); err != nil {
			t.tb.Fatalf("the terminal takes nothing any more: %v", err)
		}
	} else {
		t.mu.Unlock()
	}
	t.await("the program's last words arrive", 0, func() bool {
		t.mu.Lock()
		defer t.mu.Unlock()
		return t.atEnd
	})
	// And until what the terminal answered is on its way: a write of nothing
	// waits for the one who carries answers.
	_, _ = t.emu.InputPipe().Write(nil)
}

// unread takes the input that the program left. In line mode the kernel holds
// back a line that has no end yet, so the mode goes first. What is sent now comes
// behind all that was sent before.
func (t *Term) unread() ([]byte, error) {
	err := control(t.slave, func(fd int) error {
		_, err := term.MakeRaw(fd)
		return err
	})
	if err != nil {
		return nil, err
	}
	end := mark()
	t.keys.push(end)
	if err := t.slave.SetReadDeadline(time.Now().Add(t.opts.Timeout)); err != nil {
		return nil, err
	}
	var all []byte
	buf := make([]byte, 4096)
	for {
		n, err := t.slave.Read(buf)
		all = append(all, buf[:n]...)
		if left, ok := bytes.CutSuffix(all, end); ok || err != nil {
			return left, err
		}
	}
}

// mark makes bytes that nobody else writes: an APC string, which no terminal
// shows.
func mark() []byte {
	var random [16]byte
	_, _ = rand.Read(random[:])
	return []byte("\x1b_" + hex.EncodeToString(random[:]) + "\x1b\\")
}

// RawOutput gives every byte that the program wrote so far, as the terminal got
// it: with a carriage return before each line feed while the line settings ask
// for one.
func (t *Term) RawOutput() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.raw)
}

// BytesWritten is how many bytes the program wrote so far, as far as they have
// been read; after WaitIdle they all have.
func (t *Term) BytesWritten() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.raw)
}

// Sequences gives the control sequences of these kinds, or of all when none is
// named, that the program wrote so far.
func (t *Term) Sequences(kinds ...Kind) []Sequence {
	all := Scan(t.RawOutput())
	if len(kinds) == 0 {
		return all
	}
	return slices.DeleteFunc(all, func(s Sequence) bool { return !slices.Contains(kinds, s.Kind) })
}
