package tuitest

import (
	"fmt"
	"os"
	"reflect"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

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
