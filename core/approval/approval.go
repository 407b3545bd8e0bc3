// Package approval is how a person, or something that stands in for one, is asked. The request is a row in the store
// before anybody is asked and the decision is one too, so that any terminal can answer; an Approver is only one of the
// ways in.
package approval

import "context"

// Request is one question. Its text comes from the engine's record of what would happen; Said is the model's own words
// and is not to be mistaken for it.
type Request struct {
	ID      int64
	RunID   int64
	Step    int
	Goal    string
	Act     string
	Target  string
	Payload string // all of what would happen
	Digest  string // of what would happen: a decision is bound to it
	Covers  string // what the digest cannot cover
	Said    string
	Rule    string // that made it ask, "" when the default did
	Layer   string
	Part    string
	Sandbox string
	Model   string // that asked
}

// Answer is what was decided.
type Answer string

// The three answers.
const (
	Approve Answer = "approve"
	Deny    Answer = "deny"
	Defer   Answer = "defer" // not now: the run pauses and the question stays in the inbox
)

// Decision is an answer with what belongs to it.
type Decision struct {
	Answer Answer
	Reason string // of a deny: the model reads it
	Stop   bool   // deny and end the run
	// ChangedArgs, for an approve, are the call's arguments as changed, JSON; they are judged again.
	ChangedArgs string
	// Rule, for an approve, also allows what it matches for the rest of the run: the words of a command, or patterns.
	Rule []string
}

// Approver answers requests inside the process that drives the run. Decide may take as long as it likes; it returns
// ctx's cause when the question was answered elsewhere or the run stops. It is called for one question of an agent at a
// time, and concurrently for several agents.
type Approver interface {
	Decide(ctx context.Context, req Request) (Decision, error)
	// Surface says through what the decision comes, for the record: "approve all", "terminal".
	Surface() string
}

// All approves everything that asks.
type All struct{}

// Decide approves.
func (All) Decide(context.Context, Request) (Decision, error) { return Decision{Answer: Approve}, nil }

// Surface is "approve all".
func (All) Surface() string { return "approve all" }

// None denies everything that asks, with Reason.
type None struct{ Reason string }

// Decide denies.
func (n None) Decide(context.Context, Request) (Decision, error) {
	return Decision{Answer: Deny, Reason: n.Reason}, nil
}

// Surface is "approve none".
func (None) Surface() string { return "approve none" }

// Later puts everything off: the run pauses.
type Later struct{}

// Decide defers.
func (Later) Decide(context.Context, Request) (Decision, error) { return Decision{Answer: Defer}, nil }

// Surface is "unattended".
func (Later) Surface() string { return "unattended" }

// Elsewhere answers nothing itself: another terminal, or the console's keys, write the decision to the store.
type Elsewhere struct{}

// Decide waits for the end of ctx.
func (Elsewhere) Decide(ctx context.Context, _ Request) (Decision, error) {
	<-ctx.Done()
	return Decision{}, context.Cause(ctx)
}

// Surface is "elsewhere".
func (Elsewhere) Surface() string { return "elsewhere" }

// Attended is true: somebody sees the question.
func (Elsewhere) Attended() bool { return true }

// Attended says that a person is at hand: then a budget that is used up is a question, not the end of the run. An
// approver that does not say so has none.
func Attended(a Approver) bool {
	at, ok := a.(interface{ Attended() bool })
	return ok && at.Attended()
}
