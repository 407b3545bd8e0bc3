// Package provider says what a model endpoint is to the engine: a request made of plain data, an answer or a typed
// error, and what the endpoint reports about itself. Packages below it speak to real endpoints, or record, replay and
// script answers; none of them knows the engine.
package provider

import "context"

// Provider answers requests. Implementations are safe for concurrent use: children of one tree share one value.
type Provider interface {
	// Complete asks for one answer and returns it whole, or an *Error. It never returns half an answer: a stream that
	// ends early, stalls or carries an error event is an *Error. It does not retry. When ctx ends it returns an error
	// that wraps context.Cause(ctx).
	Complete(ctx context.Context, req Request, call Call) (Answer, error)
	// Name is what the operator calls this endpoint: "anthropic", "openai", "replay".
	Name() string
	// Endpoints lists every host:port that Complete may dial, wrapped providers included; empty means no socket.
	Endpoints() []string
	// LastServed names the leaf provider that gave the most recent answer, "" before the first or after a failure.
	LastServed() string
	// AcceptsImages says whether image parts may be sent. No image parts exist yet, so every provider may say false.
	AcceptsImages() bool
}

// Call travels beside a request and is no part of it: it never changes what is asked or how an answer is looked up in
// a recording, except that a replay looks first under Agent.
type Call struct {
	// Agent is the position path in the tree: "0" for the root, "0.2.1" for a child's child.
	Agent string
	// Step is the step this call is for, counted from 1.
	Step int
	// Failed, when set, is told of each inner failure before a wrapper asks the next provider, and whom it asks next.
	// When it returns an error nobody is asked any more, and Complete returns that error.
	Failed func(failed *Error, next Asked) error
	// Delta, when set, is given live text as it arrives. It is lossy decoration: the answer is what counts.
	Delta func(kind PartKind, text string)
}

// Asked is one provider and the model that is asked of it.
type Asked struct {
	Provider string // what the operator calls it
	Model    string
}

// Request is the whole of what a model is asked. Two equal requests are the same question.
type Request struct {
	Model     string     `json:"model"`
	MaxOutput int        `json:"max_output"` // tokens
	System    string     `json:"system"`
	Messages  []Message  `json:"messages"`
	Tools     []ToolSpec `json:"tools"`
}

// Answer is one finished answer, as given.
type Answer struct {
	Parts []Part `json:"parts"` // text, thinking and calls in the order they came
	// Stop is our reading of why the model stopped; Finish is the endpoint's own word for it.
	Stop   Stop   `json:"stop"`
	Finish string `json:"finish"`
	// Model is the model that answered, as the endpoint named it; it may differ from the one asked.
	Model string `json:"model"`
	// Served names the leaf provider that answered.
	Served string `json:"served"`
	// Asked is the model that a wrapper asked in place of the request's, "" for the request's own.
	Asked string `json:"asked,omitempty"`
	// Usage is nil when the endpoint reported none.
	Usage *Usage `json:"usage"`
	// FirstMillis is the time to the first content byte and TotalMillis the time to the last, both measured here on
	// the monotonic clock. They are no part of a recording.
	FirstMillis int64 `json:"-"`
	TotalMillis int64 `json:"-"`
}

// Stop is why a model stopped.
type Stop string

// The reasons a model stops. Only StopEnd and StopCalls let anything of the answer take effect.
const (
	StopEnd     Stop = "end"     // it is done: stop, end_turn, stop_sequence
	StopCalls   Stop = "calls"   // it asked for tools: tool_calls, tool_use
	StopLength  Stop = "length"  // cut by a token limit
	StopUnknown Stop = "unknown" // a word we do not know; shown as given, never taken for success
)

// Usage is what one call consumed, in tokens. Input excludes what was read from or written to a cache, whatever the
// endpoint's own convention; Output includes reasoning. A nil field was not reported.
type Usage struct {
	Input      int64  `json:"input"`
	Output     int64  `json:"output"`
	CacheRead  *int64 `json:"cache_read"`
	CacheWrite *int64 `json:"cache_write"`
	Reasoning  *int64 `json:"reasoning"`
}

// Total is every token of the call: input, cache reads and writes, and output.
func (u *Usage) Total() int64 {
	if u == nil {
		return 0
	}
	total := u.Input + u.Output
	for _, part := range []*int64{u.CacheRead, u.CacheWrite} {
		if part != nil {
			total += *part
		}
	}
	return total
}

// Text joins the answer's text parts.
func (a Answer) Text() string { return Message{Parts: a.Parts}.Text() }

// Calls lists the answer's tool calls in order.
func (a Answer) Calls() []Part { return Message{Parts: a.Parts}.Calls() }
