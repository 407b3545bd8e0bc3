// Package anchor takes the audit trail's anchors to where its writer cannot change them: a second file, a command that
// sends them to another account or host. It never holds up a commit and never undoes one.
package anchor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"tillerman/db/audit"
)

// Limit is how long one anchor may take on its way, and how long Close waits for the last one.
const Limit = 10 * time.Second

// Sink is where anchors go. At least one of the two is set.
type Sink struct {
	File    string   // each anchor is appended as a line; created with mode 0600
	Command []string // run for each anchor, which it gets as a line on its standard input
	Environ []string // of the command
	Limit   time.Duration
}

// Writer sends anchors, one at a time, in a goroutine of its own. While one is on its way the next ones wait, and of
// those only the newest is sent: it covers the rows of all of them. It is safe for concurrent use.
type Writer struct {
	sink Sink

	mu      sync.Mutex
	pending *audit.Anchor
	busy    chan struct{} // closed when the goroutine is through, nil while there is none
	err     error         // the first failure
	stop    context.CancelFunc
	ctx     context.Context
}

// NewWriter makes a writer. Close it.
func NewWriter(s Sink) *Writer {
	if s.Limit == 0 {
		s.Limit = Limit
	}
	w := &Writer{sink: s}
	w.ctx, w.stop = context.WithCancel(context.Background())
	return w
}

// Put sends an anchor and returns at once.
func (w *Writer) Put(a audit.Anchor) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.pending == nil || w.pending.Count < a.Count {
		w.pending = &a
	}
	if w.busy == nil && w.ctx.Err() == nil {
		w.busy = make(chan struct{})
		go w.work(w.busy)
	}
}

func (w *Writer) work(through chan struct{}) {
	defer close(through)
	for {
		w.mu.Lock()
		a := w.pending
		w.pending = nil
		if a == nil || w.ctx.Err() != nil {
			w.busy = nil
			w.mu.Unlock()
			return
		}
		w.mu.Unlock()
		err := w.send(*a)
		w.mu.Lock()
		if w.err == nil && err != nil {
			w.err = err
		}
		w.mu.Unlock()
	}
}

// Close waits, at most the limit, for what is on its way and returns the first failure of all.
func (w *Writer) Close() error {
	w.mu.Lock()
	busy := w.busy
	w.mu.Unlock()
	if busy != nil {
		late := time.NewTimer(w.sink.Limit)
		defer late.Stop()
		select {
		case <-busy:
		case <-late.C:
			w.mu.Lock()
			w.err = errors.Join(w.err, fmt.Errorf("the last anchor took longer than %s", w.sink.Limit))
			w.mu.Unlock()
		}
	}
	w.stop()
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

func (w *Writer) send(a audit.Anchor) error {
	var errs []error
	if w.sink.File != "" {
		if err := appendLine(w.sink.File, a.Line()); err != nil {
			errs = append(errs, fmt.Errorf("anchor file: %w", err))
		}
	}
	if len(w.sink.Command) > 0 {
		if err := w.command(a.Line()); err != nil {
			errs = append(errs, fmt.Errorf("anchor command %s: %w", w.sink.Command[0], err))
		}
	}
	return errors.Join(errs...)
}

// Check says whether anchors could be taken there now. It writes nothing and runs nothing.
func (s Sink) Check() error {
	if s.File != "" {
		f, _, err := open(s.File, 0)
		switch {
		case err == nil:
			err = f.Close()
		case errors.Is(err, fs.ErrNotExist):
			err = unix.Access(filepath.Dir(s.File), unix.W_OK|unix.X_OK)
			if err != nil {
				err = fmt.Errorf("its folder %s: %w", filepath.Dir(s.File), err)
			}
		}
		if err != nil {
			return fmt.Errorf("anchor file: %w", err)
		}
	}
	if len(s.Command) > 0 {
		if _, err := exec.LookPath(s.Command[0]); err != nil {
			return fmt.Errorf("anchor command: %w", err)
		}
	}
	return nil
}

// open opens a file of anchors to add to it, with further flags.
func open(path string, flags int) (*os.File, os.FileInfo, error) {
	// Without waiting: a pipe in the file's place would hold the program for ever.
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|syscall.O_NONBLOCK|flags, 0o600)
	if errors.Is(err, os.ErrPermission) { // one that may only be added to
		f, err = os.OpenFile(path, os.O_WRONLY|os.O_APPEND|syscall.O_NONBLOCK, 0)
	}
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no regular file", path)
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

// appendLine adds a line to a file and waits until the disk has it. A last line that a crash cut off is ended first.
func appendLine(path string, line []byte) (err error) {
	f, info, err := open(path, os.O_CREATE)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	var last [1]byte
	if n, err := f.ReadAt(last[:], info.Size()-1); err == nil && n == 1 && last[0] != '\n' {
		line = append([]byte{'\n'}, line...)
	}
	if _, err := f.Write(line); err != nil { // one write: lines of two processes do not mix
		return err
	}
	return f.Sync()
}

// command runs the operator's command with the line on its standard input. It gets no terminal, and is ended with its
// whole process group when it takes too long.
func (w *Writer) command(line []byte) error {
	ctx, stop := context.WithTimeout(w.ctx, w.sink.Limit)
	defer stop()
	cmd := exec.CommandContext(ctx, w.sink.Command[0], w.sink.Command[1:]...)
	cmd.Env, cmd.Dir = w.sink.Environ, "/"
	cmd.Stdin = bytes.NewReader(line)
	said := &head{}
	cmd.Stdout, cmd.Stderr = io.Discard, said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay):
		// It has ended well. What it left behind may hold its standard error open, as ssh's ControlPersist does.
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("ended after %s", w.sink.Limit)
	case said.String() != "":
		return fmt.Errorf("%w: %s", err, said)
	}
	return err
}

// headLength is how much of what a command says is kept: more than is shown of it, because secrets are taken out before
// it is cut to that.
const headLength = 16 << 10

// head keeps the beginning of what is written to it.
type head struct{ b []byte }

func (h *head) Write(p []byte) (int, error) {
	h.b = append(h.b, p[:min(len(p), headLength-len(h.b))]...)
	return len(p), nil
}

func (h *head) String() string { return strings.TrimSpace(string(h.b)) }
