package tuitest

import (
	"os"
	"sync"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"
	"golang.org/x/term"
)

// Term is a terminal in which a program runs.
type Term struct {
	tb      testing.TB
	opts    Options
	home    *Home
	path    string   // of the program
	master  *os.File // what a terminal holds; never blocks a thread
	slave   *os.File // the program's side, to look at; never blocks a thread
	before  *term.State
	leader  *leader
	keys    *sender
	next    time.Time // no key before this moment
	escaped bool      // the last key was escape

	replies chan struct{} // closed when the emulator says nothing more
	reading chan struct{} // closed when nothing more is read

	mu        sync.Mutex
	park      *sync.Cond // wakes the reader, and who waits for it to park
	emu       *vt.Emulator
	title     string
	drawing   bool      // inside a synchronised frame
	bracketed bool      // pastes are to come in brackets
	broken    error     // the emulator failed
	raw       []byte    // every byte the program wrote
	pending   []byte    // read, and not yet shown to the emulator
	last      time.Time // when the last byte came, or the program last got something to do
	heights   []int     // that the screen has had, in rows
	end       []byte    // what the reader takes for the end, once it is asked to
	atEnd     bool
	stall     bool
	parked    bool
	closing   bool
	changed   chan struct{} // closed and replaced when anything above changed

	exit   *Exit
	closed bool
}

// Start starts a program in a terminal. Both are gone when the test ends.
func Start(tb testing.TB, o Options) *Term {
	tb.Helper()
	if o.Home == nil {
		o.Home = NewHome(tb)
	}
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	cmd := o.command(tb)
	t := &Term{
		tb: tb, opts: o, home: o.Home, path: cmd.Path,
		replies: make(chan struct{}), reading: make(chan struct{}), changed: make(chan struct{}), last: time.Now(),
	}
	t.park = sync.NewCond(&t.mu)
	cols, err := reported(o.Cols, defaultCols)
	if err != nil {
		tb.Fatal(err)
	}
	rows, err := reported(o.Rows, defaultRows)
	if err != nil {
		tb.Fatal(err)
	}
	tty, err := t.open(cols, rows)
	if err != nil {
		tb.Fatalf("open a pseudo-terminal: %v", err)
	}
	t.emu = t.emulator(drawn(cols, defaultCols), drawn(rows, defaultRows))
	t.heights = []int{t.emu.Height()}
	t.leader, err = lead(cmd, cmd.Env, tty, t.tell)
	_ = tty.Close()
	if err != nil {
		_, _ = t.master.Close(), t.slave.Close()
		tb.Fatalf("start %s: %v", cmd.Path, err)
	}
	t.keys = newSender(t.master)
	go t.answer()
	go t.read()
	tb.Cleanup(t.Close)
	t.await("the program starts", max(o.Timeout, defaultTimeout), func() bool { s, _ := t.leader.now(); return s != starting })
	return t
}

// Close ends the program if it still runs, and the terminal. It is called when
// the test ends, and may be called before.
func (t *Term) Close() {
	if t.closed {
		return
	}
	t.closed = true
	t.mu.Lock()
	t.closing = true
	_ = t.master.SetDeadline(time.Unix(1, 0)) // ends reads and writes that wait
	t.park.Broadcast()
	t.mu.Unlock()
	<-t.reading
	t.keys.close()
	t.leader.kill()
	t.leader.release()
	if pipe, ok := t.emu.InputPipe().(interface{ Close() error }); ok {
		_ = pipe.Close() // and not the emulator, whose Close races with its Read
	}
	<-t.replies
	_, _ = t.master.Close(), t.slave.Close()
}

// Home is the home in which the program runs.
func (t *Term) Home() *Home { return t.home }

// PID is the program's process id.
func (t *Term) PID() int {
	_, pid := t.leader.now()
	return pid
}

// tell wakes whoever waits for a change.
func (t *Term) tell() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tellLocked()
}

// stir says that the program was given something to do.
func (t *Term) stir() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = time.Now()
}

func (t *Term) tellLocked() {
	close(t.changed)
	t.changed = make(chan struct{})
}
