package sandbox

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// family is the processes of one command.
type family interface {
	members() []process // those that run
	terminate()         // asks them to end
	kill()              // ends them
}

// watch follows one command from its start until nothing of it runs. A supervisor does it in its own process, the
// engine itself when there are no supervisors.
type watch struct {
	tree     family
	requests <-chan request
	exceeded <-chan string             // gets the limit that the command went over, once; it is killed
	ended    <-chan syscall.WaitStatus // gets the command's status once
	// childless is closed when the command and all that descends from it have ended. look is set when nobody can tell,
	// and the process table must.
	childless <-chan struct{}
	look      bool

	since  time.Time // when the command was started; zero is when run is called
	asked  request
	over   bool // the command has ended
	empty  bool // nothing of it runs
	report report
	left   map[identity]process
}

// spawn starts the job's program with the files as standard input, output and error.
func spawn(j job, input, output *os.File, attributes *syscall.SysProcAttr) (int, error) {
	pid, err := syscall.ForkExec(j.Path, j.Argv, &syscall.ProcAttr{
		Dir:   j.Dir,
		Env:   j.Env,
		Files: []uintptr{input.Fd(), output.Fd(), output.Fd()},
		Sys:   attributes,
	})
	if err != nil {
		return 0, startFailure(j.Path, err)
	}
	return pid, nil
}

// poll is how often the process table is looked at while something must end.
const poll = 25 * time.Millisecond

// run waits for the command, ends it when asked, and ends what it leaves running.
func (w *watch) run() report {
	start := w.since
	if start.IsZero() {
		start = time.Now()
	}
	w.left = make(map[identity]process)
	isOver := func() bool { return w.over }
	w.wait(-1, isOver, nil)
	var deadline time.Time
	if !w.over && w.asked < kill {
		grace := stopGrace
		if w.asked == gone {
			grace = goneGrace
		}
		deadline = time.Now().Add(grace)
		w.report.Stopped = true
		w.tree.terminate()
		w.wait(grace, isOver, nil)
	}
	if !w.over {
		deadline = time.Now()
		w.report.Stopped = true
		w.wait(killWait, isOver, w.tree.kill)
	}
	w.report.Elapsed = time.Since(start)
	w.clear(deadline)
	w.report.Ended = w.over
	return w.report
}

// clear ends what still runs. When the command was asked to end, so were they, until deadline.
func (w *watch) clear(deadline time.Time) {
	if w.over && w.wait(settle, w.gone, nil) {
		return
	}
	w.note()
	grace, limit := time.Until(deadline), killWait
	if deadline.IsZero() {
		grace, limit = leftGrace, leftWait
		w.tree.terminate()
	}
	if grace <= 0 || w.asked == kill || !w.wait(grace, w.gone, w.note) {
		w.wait(limit, w.gone, func() { w.note(); w.tree.kill() })
	}
	alive := make(map[identity]bool)
	if !w.gone() {
		for _, p := range w.tree.members() {
			alive[p.identity] = true
		}
	}
	for id, p := range w.left {
		w.report.Left = append(w.report.Left, Left{PID: id.PID, Name: p.name, Ended: !alive[id]})
	}
	sortLeft(w.report.Left)
}

// note remembers what runs now.
func (w *watch) note() {
	for _, p := range w.tree.members() {
		w.left[p.identity] = p
	}
}

// gone reports whether nothing of the command runs.
func (w *watch) gone() bool {
	if !w.empty && w.look {
		w.empty = w.over && len(w.tree.members()) == 0
	}
	return w.empty
}

// wait returns true when the condition holds, false after d (negative: never) or when something stronger is asked for
// than before. Meanwhile it does act, at once and then often.
func (w *watch) wait(d time.Duration, condition func() bool, act func()) bool {
	var timeout <-chan time.Time
	if d >= 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		timeout = timer.C
	}
	var tick <-chan time.Time
	if act != nil || d >= 0 && w.look {
		ticker := time.NewTicker(poll)
		defer ticker.Stop()
		tick = ticker.C
	}
	for {
		if condition() {
			return true
		}
		if act != nil {
			act()
		}
		select {
		case status := <-w.ended:
			w.over = true
			w.report.Status = uint32(status)
			w.ended = nil
		case <-w.childless:
			w.empty = true
			w.childless = nil
		case asked := <-w.requests:
			if asked > w.asked {
				w.asked = asked
				return condition()
			}
		case limit := <-w.exceeded:
			w.report.Limit = limit
			w.asked = kill
			return condition()
		case <-tick:
		case <-timeout:
			return condition()
		}
	}
}

// reap waits for children until there are none, sends the status of the command when it is its turn, and then closes
// childless. With all of this process's children ours, waiting for any of them is right.
func reap(command int, ended chan<- syscall.WaitStatus, childless chan<- struct{}) {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case err == unix.EINTR:
		case err != nil:
			close(childless)
			return
		case pid == command:
			ended <- status
		}
	}
}

// reapOne waits for the command alone.
func reapOne(command int, ended chan<- syscall.WaitStatus) {
	for {
		var status syscall.WaitStatus
		if _, err := syscall.Wait4(command, &status, 0, nil); err != unix.EINTR {
			ended <- status
			return
		}
	}
}
