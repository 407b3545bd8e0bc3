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
	adopted := adopt()
	t := tree{parent: os.Getpid()}
	if !adopted {
		t.session, t.mark = os.Getpid(), j.Mark
	}
	w := &watch{tree: t, look: !adopted}
	requests := make(chan request)
	go listen(control, requests)
	w.requests = requests

	// Without a record the command runs all the same: the pipe still ends it. Only a takeover could not name it.
	self, _ := inspect(os.Getpid())
	forget := remember(j, self.identity)

	pid, err := spawn(j, os.Stdin, output, supervisedAttributes())
	// They are the command's alone: whoever is at the other end must see when it is done with them.
	os.Stdin.Close()
	output.Close()
	if err != nil {
		forget()
		return report{}, err
	}
	ended, childless := make(chan syscall.WaitStatus, 1), make(chan struct{})
	go reap(pid, ended, childless)
	w.ended = ended
	if adopted {
		w.childless = childless
	}
	r := w.run()
	if w.gone() {
		forget()
	}
	return r, nil
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
