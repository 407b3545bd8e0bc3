package provider

import (
	"errors"
	"fmt"
	"time"
)

// Kind classes a failed call. The class decides whether asking again can help.
type Kind string

// The kinds of failure. The first six are worth another try; the rest never are.
const (
	Transport   Kind = "transport"    // connect, reset, a stream that ended early
	Timeout     Kind = "timeout"      // no first byte, or a stalled stream
	RateLimited Kind = "rate_limited" // 429
	Overloaded  Kind = "overloaded"   // 503, 529, or an error event saying so
	Server      Kind = "server"       // other 5xx
	Malformed   Kind = "malformed"    // an answer that cannot be read, or that says nothing

	Auth          Kind = "auth"           // 401, 403, missing key
	BadRequest    Kind = "request"        // other statuses, a replay miss
	ContextLength Kind = "context_length" // the request does not fit the model's window
	ModelRefused  Kind = "model_refused"  // the model or the endpoint's filter declined
)

// Retryable says whether the same request may succeed later.
func (k Kind) Retryable() bool {
	switch k {
	case Transport, Timeout, RateLimited, Overloaded, Server, Malformed:
		return true
	}
	return false
}

// Valid says whether k is one of the kinds above.
func (k Kind) Valid() bool {
	switch k {
	case Auth, BadRequest, ContextLength, ModelRefused:
		return true
	}
	return k.Retryable()
}

// Error is a failed call. Message comes from outside and is untrusted text.
type Error struct {
	Kind     Kind
	Provider string
	Status   int // HTTP status, 0 when there was none
	Message  string
	// Hint is how long the server asked to wait; nil when it said nothing that can be read.
	Hint *time.Duration
	// Finish is the endpoint's own word for a refusal.
	Finish string
	// Asked is the model that a wrapper asked in place of the request's, "" for the request's own.
	Asked string
	// Model and Usage are what the endpoint reported before it failed, if anything.
	Model string
	Usage *Usage
	// Replayed says that a recording gave this failure: it happened to the recorded run, and the wait that followed it
	// there need not be slept again.
	Replayed bool
	Err      error // the cause, if there is one
}

func (e *Error) Error() string {
	s := string(e.Kind)
	if e.Status != 0 {
		s = fmt.Sprintf("%s (HTTP %d)", s, e.Status)
	}
	if e.Provider != "" {
		s = e.Provider + ": " + s
	}
	if e.Message != "" {
		s += ": " + e.Message
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

// As finds the *Error in err's chain.
func As(err error) (*Error, bool) {
	var e *Error
	ok := errors.As(err, &e)
	return e, ok
}

// ConfigError says which setting of a provider cannot be used. Its text is one line and never quotes the setting's
// value: a base URL or a key pasted into the wrong place may be a secret.
type ConfigError struct {
	Provider string // what the operator calls the endpoint
	Setting  string // "base URL", "key"
	Problem  string // what is wrong with it, as a clause: "names no host"
}

func (e *ConfigError) Error() string {
	s := e.Setting + " " + e.Problem
	if e.Provider != "" {
		s = e.Provider + ": " + s
	}
	return s
}
