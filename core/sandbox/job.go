package sandbox

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// protocol changes with job and report, so that a binary replaced under a running engine is noticed.
const protocol = 2

// job is what the engine asks a supervisor to run, in gob because arguments need not be UTF-8. One byte for each request
// follows it.
type job struct {
	Protocol int
	Path     string // the program, resolved
	Argv     []string
	Dir      string
	Env      []string
	Mark     string // value of markVariable in Env
	State    string
	Engine   identity
	Confine  *confinement // nil for no limits, either
}

// markVariable is set in every command's environment, to recognise the command's processes by when whoever started
// them is gone.
const markVariable = "TILLERMAN_COMMAND"

// request is what the engine asks for while a command runs, in order of force.
type request byte

const (
	none request = '0' + iota
	stop         // SIGTERM, then SIGKILL
	gone         // the same in less time; what the end of the control pipe means
	kill         // SIGKILL
)

// report is how a job went.
type report struct {
	Failure  string // why the supervisor itself failed
	NotFound string // why the program could not be started
	Ended    bool   // the command itself has ended
	Status   uint32 // its wait status
	Stopped  bool   // it was asked to end while it ran
	Limit    string // the limit that it was stopped for, "" when it was for none
	Left     []Left
	Elapsed  time.Duration
}

// apply fills a result.
func (r report) apply(to *Result) {
	to.NotFound = r.NotFound
	to.Left = r.Left
	to.Limit = r.Limit
	to.Elapsed = r.Elapsed
	status := syscall.WaitStatus(r.Status)
	switch {
	case r.NotFound != "":
	case !r.Ended:
		to.Exit = -1
	case status.Signaled():
		to.Signal = unix.SignalName(status.Signal())
		if to.Signal == "" {
			to.Signal = status.Signal().String() // a real-time signal has a number only
		}
	default:
		to.Exit = status.ExitStatus()
	}
}
