package tuitest

import (
	"fmt"
	"os"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"
	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// Term is a terminal in which a program runs.
type Term struct {
	tb      testing.TB
	opts    Options
	home    *Home
	path    string   // of the program
	env     []string // of the program
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
		tb: tb, opts: o, home: o.Home, path: cmd.Path, env: cmd.Env,
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
	t.await("the program starts", 0, func() bool { s, _ := t.leader.now(); return s != starting })
	return t
}

// open makes the pseudo-terminal. Master and the look at the other side are
// descriptors of their own that do not block, so that deadlines work on them;
// the one the program gets is left as programs expect it.
func (t *Term) open(cols, rows int) (*os.File, error) {
	ptmx, tty, err := pty.Open()
	if err != nil {
		return nil, err
	}
	defer ptmx.Close()
	fail := func(err error) (*os.File, error) {
		_ = tty.Close()
		if t.master != nil {
			_ = t.master.Close()
		}
		return nil, err
	}
	master, err := unix.FcntlInt(ptmx.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return fail(err)
	}
	if err := unix.SetNonblock(master, true); err != nil {
		_ = unix.Close(master)
		return fail(err)
	}
	t.master = os.NewFile(uintptr(master), ptmx.Name())
	if err := setSize(t.master, cols, rows); err != nil {
		return fail(fmt.Errorf("set the size: %w", err))
	}
	slave, err := unix.Open(tty.Name(), unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return fail(err)
	}
	t.slave = os.NewFile(uintptr(slave), tty.Name())
	if t.before, err = lineSettings(t.slave); err != nil {
		_ = t.slave.Close()
		return fail(err)
	}
	return tty, nil
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

func setSize(f *os.File, cols, rows int) error {
	return control(f, func(fd int) error {
		return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Col: uint16(cols), Row: uint16(rows)})
	})
}

// lineSettings are the terminal's line settings (termios).
func lineSettings(f *os.File) (state *term.State, err error) {
	err = control(f, func(fd int) error {
		state, err = term.GetState(fd)
		return err
	})
	return state, err
}

func sameSettings(a, b *term.State) bool { return reflect.DeepEqual(a, b) }

// readable reports whether a read would give something now.
func readable(f *os.File) bool {
	ready := false
	_ = control(f, func(fd int) error {
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, 0)
		ready = err == nil && n > 0 && fds[0].Revents&unix.POLLIN != 0
		return nil
	})
	return ready
}

// control calls do with the file's descriptor, which stays as it is.
func control(f *os.File, do func(fd int) error) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	if err := conn.Control(func(fd uintptr) { inner = do(int(fd)) }); err != nil {
		return err
	}
	return inner
}
