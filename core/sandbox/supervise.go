package sandbox

import (
	"bufio"
	"encoding/gob"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// supervise is what a supervisor does: one job. It is the leader of a session without a terminal, which its command
// stays in. It returns the process's exit code.
func supervise() int {
	// The system ends the command when the thread that started it ends: this one stays.
	runtime.LockOSThread()
	rename(supervisorName)
	closeOnExec()
	control := bufio.NewReader(os.NewFile(controlFD, "control"))
	reports := os.NewFile(reportFD, "report")
	output := os.NewFile(outputFD, "output")

	var j job
	if err := gob.NewDecoder(control).Decode(&j); err != nil {
		return 1 // the engine is gone already
	}
	r, err := runJob(j, control, output)
	var reason *notFoundError
	switch {
	case errors.As(err, &reason):
		r.NotFound = reason.Reason
	case err != nil:
		r.Failure = err.Error()
	}
	// An engine that is gone does not read it.
	_ = gob.NewEncoder(reports).Encode(r)
	return 0
}

func runJob(j job, control *bufio.Reader, output *os.File) (report, error) {
	if j.Protocol != protocol {
		return report{}, errors.New("this program was replaced by another version while it ran: start it again")
	}
	requests := make(chan request)
	go listen(control, requests)

	adopted := adopt()
	// Without a record the command runs all the same: the pipe still ends it. Only a takeover could not name it.
	self, _ := inspect(os.Getpid())
	forget := remember(j, self.identity)
	gone := func() bool { return true }
	defer func() {
		if gone() {
			forget()
		}
	}()

	since := time.Now()
	started, err := begin(j, adopted, os.Stdin, output)
	// They are the command's alone: whoever is at the other end must see when it is done with them.
	os.Stdin.Close()
	output.Close()
	if err != nil {
		return report{}, err
	}
	exceeded := make(chan string, 1)
	if j.Confine != nil {
		var seen func([]process)
		if _, apart := started.family.(tree); apart {
			seen = strayed(j, self)
		}
		over, done := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(done)
			j.Confine.Limits.meter(started.family, seen, exceeded, over)
		}()
		defer func() { close(over); <-done }()
	}
	w := &watch{
		tree: started.family, since: since, look: started.childless == nil, requests: requests, exceeded: exceeded,
		ended: started.ended, childless: started.childless,
	}
	gone = w.gone
	return w.run(), nil
}

// begun is a command that was started.
type begun struct {
	family family
	ended  <-chan syscall.WaitStatus // gets its status once
	// childless is closed when the command and all that descends from it have ended; nil when nobody can tell.
	childless <-chan struct{}
}

// beginPlain starts a job's command as it is. adopted says that whatever descends from it stays a descendant of this
// process.
func beginPlain(j job, adopted bool, input, output *os.File) (*begun, error) {
	if j.Confine != nil {
		j.Confine.Limits.bind()
	}
	pid, err := spawn(j, input, output, supervisedAttributes())
	if err != nil {
		return nil, err
	}
	return beginAs(j, adopted, pid), nil
}

// beginAs watches a command that is a child of this process.
func beginAs(j job, adopted bool, pid int) *begun {
	t := tree{parent: os.Getpid()}
	ended, childless := make(chan syscall.WaitStatus, 1), make(chan struct{})
	go reap(pid, ended, childless)
	if adopted {
		return &begun{family: t, ended: ended, childless: childless}
	}
	t.session, t.mark = os.Getpid(), j.Mark
	return &begun{family: t, ended: ended}
}

// listen passes on what the engine asks for. When the engine is gone, or somebody else wants this process to end, the
// command must end.
func listen(control *bufio.Reader, requests chan<- request) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, unix.SIGTERM, unix.SIGINT, unix.SIGHUP)
	go func() {
		for range signals {
			requests <- gone
		}
	}()
	for {
		asked, err := control.ReadByte()
		if err != nil {
			requests <- gone
			return
		}
		requests <- request(asked)
	}
}

// closeOnExec keeps every descriptor this process inherited away from the command, also those that the engine
// itself inherited and knows nothing of.
func closeOnExec() {
	open, err := os.ReadDir("/dev/fd")
	if err != nil {
		open = nil
	}
	for _, entry := range open {
		if fd, err := strconv.Atoi(entry.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
	for _, fd := range []int{controlFD, reportFD, outputFD} {
		unix.CloseOnExec(fd)
	}
}

// recordDir is where supervisors are recorded below a state directory.
func recordDir(state string) string { return filepath.Join(state, "commands") }

func recordPath(state, mark string) string {
	return filepath.Join(recordDir(state), fmt.Sprintf("%s.json", mark))
}
