// Package core is the engine: it runs an agent on a task inside a boundary, commits every step, asks before what the
// policy says to ask about, stops when told and leaves a record. It knows no terminal: whoever embeds it brings the
// provider, the tools, the approver and the observer.
//
// Resume and Run of different runs may be called concurrently on one Engine.
package core

import (
	"time"

	"tillerman/core/approval"
	"tillerman/core/policy"
	"tillerman/core/provider"
	"tillerman/core/provider/price"
	"tillerman/core/redact"
	"tillerman/core/tool"
	"tillerman/db"
	"tillerman/observer"
)

// Version is written into every run, audit row and recording.
const Version = "0.1.0"

// Engine drives runs on one store with one provider.
type Engine struct {
	store    *db.Store
	provider provider.Provider

	policy   *policy.Policy
	approver approval.Approver
	observer observer.Observer
	report   func(error)
	tools    []tool.Tool
	redactor *redact.Redactor
	prices   *price.Table
	surface  string
	state    string
	environ  []string
	now      func() time.Time
	private  []string
	handover <-chan struct{}
	floor    bool
}

// shippedPrices is the price table that came with the program.
func shippedPrices() *price.Table {
	t, err := price.New(nil)
	if err != nil { // only a user's entry can be wrong
		return new(price.Table)
	}
	return t
}

// Option sets something of an Engine.
type Option func(*Engine)

// New makes an engine. Without options it is permissive, approves everything, watches nothing and offers the built-in
// tools: what a program that embeds it starts from, not what the command line uses.
func New(store *db.Store, p provider.Provider, opts ...Option) *Engine {
	e := &Engine{
		store: store, provider: p,
		policy: policy.Permissive(), approver: approval.All{}, observer: observer.Ignore{}, report: func(error) {},
		tools: tool.Builtin(), redactor: redact.New(nil), prices: shippedPrices(), surface: "api", now: time.Now,
	}
	for _, o := range opts {
		o(e)
	}
	return e
}

// WithPolicy sets the policy of runs that start. It never applies to a resume.
func WithPolicy(p *policy.Policy) Option { return func(e *Engine) { e.policy = p } }

// WithApprover sets who is asked in this process.
func WithApprover(a approval.Approver) Option { return func(e *Engine) { e.approver = a } }

// WithObserver sets who is told of every commit. A panicking observer is dropped after three panics.
func WithObserver(o observer.Observer) Option { return func(e *Engine) { e.observer = o } }

// WithReport sets who is told of trouble that is not the run's own: a panicking observer.
func WithReport(f func(error)) Option { return func(e *Engine) { e.report = f } }

// WithTools adds tools to the built-in ones.
func WithTools(tools ...tool.Tool) Option {
	return func(e *Engine) { e.tools = append(append([]tool.Tool(nil), e.tools...), tools...) }
}

// WithRedactor sets the secrets that reach neither model nor store.
func WithRedactor(r *redact.Redactor) Option { return func(e *Engine) { e.redactor = r } }

// WithPrices sets the price table that costs are estimated with.
func WithPrices(t *price.Table) Option { return func(e *Engine) { e.prices = t } }

// WithSurface names through what this engine's user acts, for the audit trail: "command run".
func WithSurface(name string) Option { return func(e *Engine) { e.surface = name } }

// WithState sets the folder for private homes and caches of commands, and the environment commands inherit from, less
// keys. Without it commands get a temporary folder and this process's environment.
func WithState(dir string, environ []string) Option {
	return func(e *Engine) { e.state, e.environ = dir, environ }
}

// WithPrivate names paths that no agent may read or write: the store, configuration, keys.
func WithPrivate(paths ...string) Option {
	return func(e *Engine) { e.private = append(e.private, paths...) }
}

// WithHandover lets go of a run, for another process to take up, once ch is closed: at the next place where nothing is in
// flight. Whoever closes it wakes the store. Run and Resume then return a Result with HandedOver set.
func WithHandover(ch <-chan struct{}) Option { return func(e *Engine) { e.handover = ch } }

// WithFloor leaves commands unconfined beyond the floor: an operator's choice, for commands that cannot work confined.
func WithFloor() Option { return func(e *Engine) { e.floor = true } }

// WithClock replaces the clock.
func WithClock(now func() time.Time) Option { return func(e *Engine) { e.now = now } }

// Result is how a drive of a run ended.
type Result struct {
	RunID   int64
	Outcome observer.Outcome
	// Summary is the row of a run that has ended, nil for one that waits.
	Summary *db.Summary
	// Message is one line for people: why it ended or what it waits for.
	Message string
	// HandedOver says that the run was let go for another process to take up; it has neither ended nor paused.
	HandedOver bool
}

// With is a copy of the engine with more options.
func (e *Engine) With(opts ...Option) *Engine {
	copied := *e
	for _, o := range opts {
		o(&copied)
	}
	return &copied
}
