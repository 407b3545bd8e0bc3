package tuitest

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// script is for the shell that leads the terminal's session: a POSIX sh with job
// control from its start (-m) and all three standard descriptors on the terminal,
// without which bash has none. It runs the program as a foreground job, says on
// descriptor 3 what became of it, and for each line on descriptor 4 brings it
// back to the foreground. It stays until descriptor 4 is closed: when a session's
// leader ends, Linux resets the terminal's line settings, and nobody could say
// any more how the program left them. It has a trap for INT because dash, after
// a job died of that signal, sends it to itself. Its own messages about jobs go
// nowhere, so that the screen shows the program alone.
const script = `exec 2>/dev/null
trap : INT
sh -c 'echo "pid $$" >&3; exec "$@" 2>&1 3>&- 4<&-' sh "$@"
echo "code $?" >&3
while read -r _ <&4; do
	fg >/dev/null
	echo "code $?" >&3
done`

// state is what is known of the program.
type state int

const (
	starting state = iota
	running
	stopped
	ended
	lost // the shell is gone and cannot tell
)

// leader is the session's leader and what it said.
type leader struct {
	cmd     *exec.Cmd
	control *os.File      // a line here continues the program; closing it ends the shell
	heard   chan struct{} // closed when the shell has nothing more to say

	mu    sync.Mutex
	pid   int
	code  int
	state state
	tell  func() // called without the lock after every change
}

// signals are those that a terminal sends.
var signals = []os.Signal{syscall.SIGINT, syscall.SIGQUIT, syscall.SIGHUP, syscall.SIGTSTP}

// heed makes this process catch those that it was started to ignore, as in the background of a shell: a program would
// ignore them as well, and a shell cannot even trap them then.
var heed = sync.OnceFunc(func() {
	for _, s := range signals {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
})

// lead starts the shell on tty with the program, which cmd describes.
func lead(cmd *exec.Cmd, env []string, tty *os.File, tell func()) (*leader, error) {
	heed()
	statusR, statusW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	controlR, controlW, err := os.Pipe()
	if err != nil {
		_, _ = statusR.Close(), statusW.Close()
		return nil, err
	}
	shell := exec.Command("/bin/sh", append([]string{"-m", "-c", script, "sh", cmd.Path}, cmd.Args[1:]...)...)
	shell.Dir, shell.Env = cmd.Dir, env
	shell.Stdin, shell.Stdout, shell.Stderr = tty, tty, tty
	shell.ExtraFiles = []*os.File{statusW, controlR}
	shell.SysProcAttr = &syscall.SysProcAttr{}
	if cmd.SysProcAttr != nil {
		*shell.SysProcAttr = *cmd.SysProcAttr
	}
	shell.SysProcAttr.Setsid, shell.SysProcAttr.Setctty, shell.SysProcAttr.Ctty = true, true, 0
	err = shell.Start()
	_, _ = statusW.Close(), controlR.Close()
	if err != nil {
		_, _ = statusR.Close(), controlW.Close()
		return nil, err
	}
	l := &leader{cmd: shell, control: controlW, heard: make(chan struct{}), tell: tell}
	go l.listen(statusR)
	return l, nil
}

// listen follows what the shell says until it ends.
func (l *leader) listen(status *os.File) {
	defer close(l.heard)
	defer status.Close()
	for lines := bufio.NewScanner(status); lines.Scan(); l.tell() {
		word, number, _ := strings.Cut(lines.Text(), " ")
		n, err := strconv.Atoi(number)
		if err != nil {
			continue
		}
		l.mu.Lock()
		switch {
		case word == "pid":
			l.pid, l.state = n, running
		case l.pid != 0 && unix.Kill(l.pid, 0) == nil:
			// The shell was told of a change and has not taken the process from
			// the table: it stopped.
			l.state = stopped
		default:
			l.code, l.state = n, ended
		}
		l.mu.Unlock()
	}
	l.mu.Lock()
	if l.state != ended {
		l.state = lost
	}
	l.mu.Unlock()
	l.tell()
}

func (l *leader) now() (state, int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state, l.pid
}

// result is the exit code of a program that has ended.
func (l *leader) result() (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state != ended {
		return 0, errors.New("the shell that ran the program is gone and cannot tell how it ended")
	}
	return l.code, nil
}

// alive gives the program's process id, or false when it has ended or is not
// known yet.
func (l *leader) alive() (int, bool) {
	s, pid := l.now()
	return pid, s == running || s == stopped
}

// resume brings the stopped program back to the foreground.
func (l *leader) resume() error {
	l.mu.Lock()
	if l.state != stopped {
		l.mu.Unlock()
		return errors.New("the program is not suspended")
	}
	l.state = running
	l.mu.Unlock()
	_, err := l.control.WriteString("\n")
	return err
}

// patience is how long the shell may take to end once it is let go.
const patience = 5 * time.Second

// release lets the shell end, and with it the session.
func (l *leader) release() {
	_ = l.control.Close()
	late := time.AfterFunc(patience, func() { _ = l.cmd.Process.Kill() })
	defer late.Stop()
	_ = l.cmd.Wait()
	<-l.heard
}

// kill ends the program, its process group and the shell.
func (l *leader) kill() {
	if pid, ok := l.alive(); ok {
		_ = unix.Kill(-pid, unix.SIGKILL) // with job control the program leads its group
	}
	if s, _ := l.now(); s == starting {
		_ = l.cmd.Process.Kill()
	}
}
