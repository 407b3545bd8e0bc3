// Package tool holds what an agent can be given to act with: the Tool interface, the toolbox that validates and names
// tools, and the built-in tools, one file each.
package tool

import (
	"context"
	"encoding/json"
	"time"

	"tillerman/core/policy"
	"tillerman/core/sandbox"
)

// Safety says whether a call may run twice.
type Safety string

// A tool declares exactly one safety; an undeclared one is refused at registration.
const (
	Pure       Safety = "pure"       // no effect outside
	Idempotent Safety = "idempotent" // twice is the same as once
	Once       Safety = "once"       // twice may be worse than once: after a crash a person decides
)

// Reach says how a running call can be stopped.
type Reach string

// How far a stop reaches.
const (
	ReachNone        Reach = "none"          // it runs to its end
	ReachCooperative Reach = "cooperative"   // it watches its context
	ReachProcess     Reach = "process group" // the supervisor ends its processes
)

// Spec is what a tool declares about itself.
type Spec struct {
	Name        string
	Description string
	Schema      json.RawMessage // JSON schema of the arguments, an object
	Safety      Safety
	Reach       Reach
}

// Tool is something an agent can call.
type Tool interface {
	Spec() Spec
	// Plan reads the arguments and says what the call would do, without doing it. Its error is told to the model.
	Plan(ctx context.Context, env Env, args json.RawMessage) (Plan, error)
	// Run does what the plan says. A tool that fails returns a Result with Failed set; an error means that the call was
	// interrupted (it wraps context.Cause) or that the tool itself is broken.
	// A plan with a Write is not run by the tool: the engine applies the write.
	Run(ctx context.Context, env Env, plan Plan) (Result, error)
}

// Env is what a call may use. Everything in it belongs to one call of one run.
type Env struct {
	// Root is the workspace, an absolute path with links resolved.
	Root string
	// May judges an action without asking anybody: search uses it to leave out what is denied.
	May func(policy.Action) policy.Verdict
	// Runner runs commands under the supervisor.
	Runner *sandbox.Runner
	// Key names this call for ever: the same key must not have a second effect. "" while planning.
	Key string
	// Output, when set, is given a command's output as it comes. It is live decoration.
	Output func([]byte)
	// Head, when set, takes the beginning of a secret off the end of a text that was cut there.
	Head func(string) string
}

// head is a text that goes on where it came from, fit to be shown.
func (e Env) head(text []byte) []byte {
	if e.Head == nil {
		return text
	}
	return text[:len(e.Head(string(text)))]
}

// Plan is what a call would do.
type Plan struct {
	Action policy.Action
	// Target is what the call points at, for lists and events: a path, a pattern, a command line, a host.
	Target string
	// Payload is all of what would happen, for the person who decides: a command's words, a file's new content or diff.
	Payload string
	// Write is set for calls that write one file.
	Write *Write
	// Exec is set for calls that run a command.
	Exec *Exec
	// Question is set for calls that only ask the operator something: the answer is the result, and nothing is run.
	Question *Question
	// Args are the validated arguments, for Run.
	Args json.RawMessage
}

// Write is one file's change, complete: what was there when it was planned and what will be.
type Write struct {
	Path   string // workspace-relative, slash-separated, lexically clean
	Exists bool   // whether a regular file was there
	Mode   uint32 // its permission bits, or those a new file gets
	Names  uint64 // how many names (hard links) it has; 0 for a new file. A write changes what stands at Path alone
	Before []byte
	After  []byte
}

// Exec is one command.
type Exec struct {
	Argv    []string
	Dir     string // workspace-relative
	Stdin   string
	Timeout time.Duration
}

// Result is what a call gave.
type Result struct {
	// Text is everything the call has to say, valid UTF-8. The engine bounds what the model sees of it and stores all.
	Text   string
	Failed bool
	// Changed says that a write put other bytes in place. For commands the engine compares workspace listings.
	Changed bool
	// Exit is a command's exit code, nil for other tools and for a command that was ended by a signal.
	Exit *int
	// Left lists processes that a command left running and that were ended, or could not be.
	Left []sandbox.Left
}
