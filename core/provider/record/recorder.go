package record

import (
	"context"
	"errors"
	"sync"

	"tillerman/core/provider"
)

// Recorder forwards to another provider and keeps what was asked and what came of it. What it reports of itself is what
// the inner provider reports: nobody chose a recorder as a provider. It is safe for concurrent use.
//
// An outcome is an answer or a *provider.Error. A call that is given up because its context ended has none, and is kept
// only as far as inner failures tell of it.
type Recorder struct {
	inner provider.Provider

	mu    sync.Mutex
	build *Builder
}

// Options are what a Recorder can do besides recording.
type Options struct {
	// Redact, unless nil, is applied to every text before it is stored. Applied twice it must change nothing more.
	Redact func(string) string
}

// New wraps inner. version is the running program's.
func New(inner provider.Provider, version string, opts Options) *Recorder {
	return &Recorder{inner: inner, build: NewBuilder(version, opts.Redact)}
}

// Complete asks the inner provider and keeps the outcome.
func (r *Recorder) Complete(ctx context.Context, req provider.Request, call provider.Call) (provider.Answer, error) {
	forwarded := call
	forwarded.Failed = func(e *provider.Error, next provider.Asked) error {
		r.failed(req, call, e, true)
		if call.Failed == nil {
			return nil
		}
		return call.Failed(e, next)
	}
	answer, err := r.inner.Complete(ctx, req, forwarded)
	if err == nil {
		r.answered(req, call, answer)
		return answer, nil
	}
	if failure, ok := provider.As(err); ok && !givenUp(ctx, err) {
		r.failed(req, call, failure, false)
	}
	return answer, err
}

// givenUp says whether a call failed only because its caller went away.
func givenUp(ctx context.Context, err error) bool {
	return ctx.Err() != nil && (errors.Is(err, context.Cause(ctx)) || errors.Is(err, ctx.Err()))
}

func (r *Recorder) failed(req provider.Request, call provider.Call, e *provider.Error, inner bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	ex := r.build.open(call.Agent, call.Step, req)
	ex.Attempts = append(ex.Attempts, r.build.Failed(e, inner))
}

func (r *Recorder) answered(req provider.Request, call provider.Call, a provider.Answer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.build.open(call.Agent, call.Step, req).Answer = r.build.Answer(a)
}

// Delay notes how long the run waits, in milliseconds, after the latest failure of this agent's step. Without such a
// failure it does nothing.
func (r *Recorder) Delay(agent string, step int, ms int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.build.threads[agent]
	if t == nil || t.latest.Step != step {
		return
	}
	if n := len(t.latest.Attempts); n > 0 && !t.latest.Attempts[n-1].Inner {
		t.latest.Attempts[n-1].DelayMS = ms
	}
}

// File is a snapshot of what has been recorded so far. It holds exchanges only; whoever has the rest of the run's facts
// may put them in.
func (r *Recorder) File() *File {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.build.File()
}

// Save writes a snapshot to a file, as File.Save does. It may be called at any time and repeatedly.
func (r *Recorder) Save(path string) error { return r.File().Save(path) }

// Name is the inner provider's.
func (r *Recorder) Name() string { return r.inner.Name() }

// Endpoints are the inner provider's.
func (r *Recorder) Endpoints() []string { return r.inner.Endpoints() }

// LastServed is the inner provider's.
func (r *Recorder) LastServed() string { return r.inner.LastServed() }

// AcceptsImages is the inner provider's.
func (r *Recorder) AcceptsImages() bool { return r.inner.AcceptsImages() }
