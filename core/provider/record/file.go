// Package record is the file format of a recording, and a provider that writes one while it forwards to another.
//
// A recording holds every question that was put to a model and what came back: failures as well as answers, so that a
// replay takes the same path. It is a text file that people read, compare and keep under version control.
package record

import (
	"encoding/json"
	"time"

	"tillerman/core/provider"
)

// Format is the number of the file format that this package reads and writes.
const Format = 1

// File is a recording. Its JSON has every field, in this order, whether or not there is something in it.
type File struct {
	Format int
	// Tillerman is the version of the program that wrote the recording. Only programs of the same series read it.
	Tillerman string
	// Inputs is what the run started from: contract, policy, notes, skills, instructions. It is nil in a recording that
	// was made by a Recorder alone, which holds exchanges and nothing else.
	Inputs json.RawMessage
	// Tools holds every list of tools that a request offered, under the digest that requests name it by.
	Tools map[string][]provider.ToolSpec
	// Exchanges are in the order in which their first outcome arrived.
	Exchanges []Exchange
	// The rest of what happened, each entry with the agent, step and position it belongs to. This package only keeps
	// them; whoever writes them knows their fields.
	Calls, Gates, Checks, Decisions, Controls []json.RawMessage
}

// Exchange is one request of one agent, and what came of it.
type Exchange struct {
	Agent    string    `json:"agent"` // position path in the tree; "" when the caller named none
	Step     int       `json:"step"`  // counted from 1; 0 when the caller gave none
	Request  Delta     `json:"request"`
	Attempts []Attempt `json:"attempts"` // those that failed, in order
	// Answer is what came in the end; nil when nothing did before the run ended or its process died.
	Answer *provider.Answer `json:"answer"`
}

// Delta is a request told by what is new in it since the same agent's previous exchange.
type Delta struct {
	Model     string `json:"model"`
	MaxOutput int    `json:"max_output"`
	// System is nil when the system text is the previous one. An agent's first exchange has it.
	System *string `json:"system"`
	// Keep is how many messages stand from the previous request; Append follows them.
	Keep   int                `json:"keep"`
	Append []provider.Message `json:"append"`
	// Tools is a key of File.Tools.
	Tools string `json:"tools"`
}

// Attempt is one failed try. Its message comes from outside and is untrusted text.
type Attempt struct {
	Provider string        `json:"provider"`
	Kind     provider.Kind `json:"kind"`
	Status   int           `json:"status"` // HTTP status, 0 when there was none
	// RetryAfter is how long the server asked to wait, in milliseconds; nil when it said nothing.
	RetryAfter *int64 `json:"retry_after"`
	// DelayMS is how long the run then waited before the next attempt, in milliseconds; 0 also when that is not known.
	DelayMS int64  `json:"delay_ms"`
	Message string `json:"message"`
	// Inner says that a wrapper asked another provider next, without the engine's doing.
	Inner bool `json:"inner"`
	// Asked is the model that the wrapper asked in place of the request's.
	Asked string `json:"asked,omitempty"`
	// Finish, Model and Usage are what the endpoint said of a failure that still cost something.
	Finish string          `json:"finish,omitempty"`
	Model  string          `json:"model,omitempty"`
	Usage  *provider.Usage `json:"usage,omitempty"`
}

// Failed is the attempt that a failure makes. A hint of less than a millisecond counts as one.
func Failed(e *provider.Error, inner bool) Attempt {
	a := Attempt{
		Provider: e.Provider, Kind: e.Kind, Status: e.Status, Message: e.Message, Inner: inner,
		Asked: e.Asked, Finish: e.Finish, Model: e.Model, Usage: cloneUsage(e.Usage),
	}
	if e.Hint != nil {
		ms := int64((*e.Hint + time.Millisecond - 1) / time.Millisecond)
		a.RetryAfter = &ms
	}
	return a
}

// Err is the failure again, marked as replayed.
func (a Attempt) Err() *provider.Error {
	e := &provider.Error{
		Kind: a.Kind, Provider: a.Provider, Status: a.Status, Message: a.Message,
		Asked: a.Asked, Finish: a.Finish, Model: a.Model, Usage: cloneUsage(a.Usage), Replayed: true,
	}
	if a.RetryAfter != nil {
		hint := time.Duration(*a.RetryAfter) * time.Millisecond
		e.Hint = &hint
	}
	return e
}

func cloneUsage(u *provider.Usage) *provider.Usage {
	if u == nil {
		return nil
	}
	c := *u
	c.CacheRead, c.CacheWrite, c.Reasoning = cloneCount(u.CacheRead), cloneCount(u.CacheWrite), cloneCount(u.Reasoning)
	return &c
}

func cloneCount(n *int64) *int64 {
	if n == nil {
		return nil
	}
	c := *n
	return &c
}
