// Package sandbox runs commands under a supervisor: our own binary, re-executed, which owns the command's whole
// process tree, ends it when it must and dies with the engine. On Linux the command is confined as far as the system
// allows: it sees and writes only what is its own, and reaches neither the network nor other processes. docs/sandbox.md
// says how.
package sandbox

import (
	"time"
)

// Command is one command to run.
type Command struct {
	Argv    []string      // the program and its arguments; a program without a slash is looked up in PATH
	Dir     string        // absolute working directory; "" is the runner's workspace
	Env     []string      // KEY=VALUE, added to the runner's clean environment
	Stdin   string        // what the command reads; "" is an empty input
	Timeout time.Duration // 0 is none
	Keep    int           // bytes of output to keep, head and tail; 0 is the default, 1 MiB
	Output  func([]byte)  // given output as it comes, which it may keep; may be nil; called from one goroutine
}

// Result is how a command ended.
type Result struct {
	Exit     int    // exit code; meaningless when Signal is set; -1 when the command could not be ended
	Signal   string // name of the signal that ended the command, like "SIGKILL"; "" for an exit
	Output   []byte // standard output and error as they came, cut in the middle above Keep, with a line that says so
	Total    int64  // bytes it wrote in all
	TimedOut bool   // the command was stopped because its timeout passed
	Limit    string // the limit that it was stopped for, like "memory limit 2 GiB"; "" for none
	NotFound string // why the program could not be started, "" when it was
	Hint     string // what in the output the sandbox may be the reason for, one line for a reader; "" for nothing
	Left     []Left // processes still running when the command itself had ended
	Elapsed  time.Duration
}

// Left is a process that outlived its command.
type Left struct {
	PID   int    `json:"pid"`
	Name  string `json:"name"`
	Ended bool   `json:"ended"` // false: it could not be ended and may still run
}

// What a command is given after it was asked to end, and what is waited for when it is over.
const (
	// stopGrace is from SIGTERM to SIGKILL for a command that is stopped.
	stopGrace = 2 * time.Second
	// goneGrace is the same when the engine died: nobody is left who could say goodbye.
	goneGrace = time.Second
	// settle is how long processes may take to end by themselves after the command has.
	settle = 150 * time.Millisecond
	// leftGrace is from SIGTERM to SIGKILL for those that do not, leftWait how long they may take to be gone after that:
	// with settle it stays under a second.
	leftGrace = 250 * time.Millisecond
	leftWait  = 550 * time.Millisecond
	// killWait is how long a command that is stopped may take to be gone after SIGKILL, and what it leaves again.
	killWait = 1500 * time.Millisecond
)

// defaultKeep is Command.Keep when it is 0.
const defaultKeep = 1 << 20
