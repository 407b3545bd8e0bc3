package sandbox

import (
	"os"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// ran records that Main was called: only then does a copy of this binary know how to be a supervisor. It describes the
// process, like its arguments do, and is set once.
var ran atomic.Bool

// supervisorName is the whole command line of a supervisor.
const supervisorName = "tillerman-supervisor"

// Descriptors a supervisor is started with.
const (
	controlFD = 3 + iota // the job, then requests; its end means that the engine is gone
	reportFD             // how it went
	outputFD             // the command's standard output and error
)

// Main must be the first thing in main, and in TestMain of test binaries that run commands. In a process that was
// started to supervise a command, or to confine one, it does that and exits; in any other it returns at once. Without it
// commands run directly under the engine: see Runner.
//
// A supervisor is recognised by its command line together with the pipes it inherits; neither an environment variable
// nor an argument makes one. The same holds for what confines. Neither leaves by os.Exit: a program under the race
// detector sleeps there for a second, which every command of a test would wait for.
func Main() {
	if len(os.Args) == 1 {
		switch {
		case os.Args[0] == supervisorName && isPipe(controlFD) && isPipe(reportFD) && isPipe(outputFD):
			unix.Exit(supervise())
		case os.Args[0] == stageName && isPipe(stageFD) && isPipe(statusFD):
			unix.Exit(stage())
		}
	}
	ran.Store(true)
}

func isPipe(fd int) bool {
	var st unix.Stat_t
	return unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFIFO
}
