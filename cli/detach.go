package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"tillerman/db"
)

// detachWait is how long a detached process may take to take the run up.
const detachWait = 15 * time.Second

// detach leaves a run that nobody drives any more to a process of its own: it has no terminal, outlives this one, and its
// questions wait in the inbox. It returns when that process drives the run.
func (d *driving) detach(id int64) error {
	words, err := os.CreateTemp("", "tillerman-detached-")
	if err != nil {
		return d.notLeft(id, err)
	}
	defer words.Close()
	_ = os.Remove(words.Name())
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return d.notLeft(id, err)
	}
	defer null.Close()
	exe, err := os.Executable()
	if err != nil {
		return d.notLeft(id, err)
	}
	args := []string{"--db", d.store.Path()}
	if d.app.configPath != "" {
		args = append(args, "--config", d.app.configPath)
	}
	cmd := exec.Command(exe, append(args, "resume", strconv.FormatInt(id, 10), "--detached")...)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = d.app.Environ, null, null, words
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return d.notLeft(id, err)
	}
	ctx, stop := context.WithTimeoutCause(d.cmd.Context(), detachWait, fmt.Errorf("it did not take the run up within %s", detachWait))
	defer stop()
	exited := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(exited)
		d.store.Wake()
	}()
	if err := d.takenUpBy(ctx, id, cmd.Process.Pid, exited); err != nil {
		if _, seek := words.Seek(0, io.SeekStart); seek == nil {
			if said, read := io.ReadAll(io.LimitReader(words, 4<<10)); read == nil && len(bytes.TrimSpace(said)) > 0 {
				err = fmt.Errorf("%s", bytes.TrimSpace(said))
			}
		}
		return d.notLeft(id, err)
	}
	d.app.printer(d.store).Note("run %d goes on in process %d; its questions wait in tillerman inbox, and tillerman watch %d shows it", id, cmd.Process.Pid, id)
	return nil
}

// takenUpBy waits until process pid drives the run or has driven it.
func (d *driving) takenUpBy(ctx context.Context, id int64, pid int, exited <-chan struct{}) error {
	w, err := d.store.NewWaiter(ctx)
	if err != nil {
		return err
	}
	defer w.Close()
	before, err := d.store.Run(ctx, id)
	if err != nil {
		return err
	}
	for {
		over := false
		select {
		case <-exited:
			over = true
		default:
		}
		owner, _, held, err := d.store.Driver(ctx, id)
		if err != nil {
			return err
		}
		if held && owner.PID == pid {
			return nil
		}
		run, err := d.store.Run(ctx, id)
		if err != nil || run.Drive > before.Drive || run.Status != db.Running {
			return err
		}
		if over {
			return fmt.Errorf("the process that was to drive it ended")
		}
		if err := w.Wait(ctx); err != nil {
			return err
		}
	}
}

// notLeft says that the run stands still and how to go on.
func (d *driving) notLeft(id int64, err error) error {
	return &exitError{code: exitOther, msg: fmt.Sprintf("run %d could not be left to a process of its own: %s; go on with tillerman resume %d", id, d.app.message(err), id)}
}
