// Package replay answers from a recording. It has no endpoint, needs no key and opens no socket.
package replay

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"tillerman/core/provider"
	"tillerman/core/provider/record"
)

// Replay is a provider that gives a recording's outcomes again. It is safe for concurrent use.
//
// A request finds its outcomes by its whole content, never by its number: first those that the asking agent got in the
// recording, then those that any agent got. Several outcomes of equal requests come in recorded order. A failure is used
// up by being given, so that the attempt after it gets what came next. An answer is given again as long as its agent
// asks nothing else in between, then the next; the last outcome is given for ever. Failures come back as they were, marked
// Replayed; those that happened inside a wrapper are reported through the call.
type Replay struct {
	own      map[slot][]outcome
	any      map[key][]outcome
	recorded []recorded

	mu     sync.Mutex
	agents map[string]*agent
	served string
}

// slot is where an agent's own outcomes are found.
type slot struct {
	agent string
	key   key
}

// outcome is how one call ended: inner failures, then exactly one of failure and answer.
type outcome struct {
	inner   []record.Attempt
	failure *record.Attempt
	answer  *provider.Answer
}

// after is who was asked after inner failure i of a request for this model.
func (o outcome) after(i int, model string) provider.Asked {
	next := provider.Asked{Model: model}
	asked := ""
	switch {
	case i+1 < len(o.inner):
		next.Provider, asked = o.inner[i+1].Provider, o.inner[i+1].Asked
	case o.failure != nil:
		next.Provider, asked = o.failure.Provider, o.failure.Asked
	default:
		next.Provider, asked = o.answer.Served, o.answer.Asked
	}
	if asked != "" {
		next.Model = asked
	}
	return next
}

// recorded is one exchange as a miss looks at it.
type recorded struct {
	agent string
	step  int
	req   provider.Request
}

// agent is where one agent stands in the recording.
type agent struct {
	thread thread
	asked  key
	places map[key]place
}

// place is the outcome last given to equal requests.
type place struct {
	index    int
	answered bool // it was an answer
}

// Load reads a recording from a file and makes a Replay of it. version is the running program's.
func Load(path, version string) (*Replay, error) {
	f, err := record.Load(path, version)
	if err != nil {
		return nil, err
	}
	return New(f)
}

// New makes a Replay of a recording, which must not be changed afterwards. Its error says what does not fit together.
func New(f *record.File) (*Replay, error) {
	requests, err := f.Expand()
	if err != nil {
		return nil, fmt.Errorf("replay: %w", err)
	}
	r := &Replay{
		own: map[slot][]outcome{}, any: map[key][]outcome{},
		agents: map[string]*agent{}, recorded: make([]recorded, len(requests)),
	}
	threads := map[string]*thread{}
	pending := map[slot][]record.Attempt{}
	for i := range f.Exchanges {
		ex := &f.Exchanges[i]
		r.recorded[i] = recorded{agent: ex.Agent, step: ex.Step, req: requests[i]}
		t := threads[ex.Agent]
		if t == nil {
			t = &thread{}
			threads[ex.Agent] = t
		}
		s := slot{ex.Agent, t.key(requests[i])}
		found, rest := outcomes(ex, pending[s])
		pending[s] = rest
		r.own[s] = append(r.own[s], found...)
		r.any[s.key] = append(r.any[s.key], found...)
	}
	return r, nil
}

// outcomes splits an exchange into how its calls ended. Inner failures without an end belong to a call that was given
// up; they are left over for the next call with the same request.
func outcomes(ex *record.Exchange, inner []record.Attempt) (found []outcome, rest []record.Attempt) {
	for _, a := range ex.Attempts {
		if a.Inner {
			inner = append(inner, a)
			continue
		}
		found = append(found, outcome{inner: inner, failure: &a})
		inner = nil
	}
	if ex.Answer != nil {
		found = append(found, outcome{inner: inner, answer: ex.Answer})
		inner = nil
	}
	return found, inner
}

// Complete gives the recorded outcome of this request, or a *provider.Error of kind BadRequest that shows how the
// nearest recorded request differs.
func (r *Replay) Complete(ctx context.Context, req provider.Request, call provider.Call) (provider.Answer, error) {
	if ctx.Err() != nil {
		return provider.Answer{}, fmt.Errorf("replay: %w", context.Cause(ctx))
	}
	o, ok := r.next(call.Agent, req)
	if !ok {
		return provider.Answer{}, r.miss(req, call)
	}
	if call.Failed != nil {
		for i, a := range o.inner {
			if err := call.Failed(a.Err(), o.after(i, req.Model)); err != nil {
				return provider.Answer{}, err
			}
		}
	}
	if o.failure != nil {
		return provider.Answer{}, o.failure.Err()
	}
	answer := *o.answer
	answer.Parts = slices.Clone(answer.Parts)
	if call.Delta != nil {
		for _, p := range answer.Parts {
			if p.Text != "" {
				call.Delta(p.Kind, p.Text)
			}
		}
	}
	return answer, nil
}

// next finds the outcome of a request and moves the agent's place to it.
func (r *Replay) next(asker string, req provider.Request) (outcome, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.agent(asker)
	k := a.thread.key(req)
	r.served = ""
	list := r.list(asker, k)
	if len(list) == 0 {
		a.asked = k
		return outcome{}, false
	}
	i := 0
	if p, been := a.places[k]; been {
		i = p.index
		if !p.answered || a.asked != k {
			i = min(i+1, len(list)-1)
		}
	}
	a.places[k], a.asked = place{index: i, answered: list[i].answer != nil}, k
	if list[i].answer != nil {
		r.served = list[i].answer.Served
	}
	return list[i], true
}

// Advance tells of an outcome that an agent got before this Replay was made, from its stored history: a resumed run
// calls it for every stored attempt that failed, inner ones not counted, and for every stored answer, in order. The next
// Complete then goes on from there. A request that is not in the recording is only remembered as asked.
func (r *Replay) Advance(asker string, req provider.Request, failed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.agent(asker)
	k := a.thread.key(req)
	list := r.list(asker, k)
	p, been := a.places[k]
	if len(list) > 0 && !(been && p.answered && a.asked == k) {
		next := 0
		if been {
			next = p.index + 1
		}
		// A stored answer also stands for recorded failures before it that the history does not have, and a stored
		// failure that the recording does not have uses nothing up.
		if !failed {
			for next < len(list)-1 && list[next].answer == nil {
				next++
			}
		}
		if next < len(list) && failed == (list[next].answer == nil) {
			a.places[k] = place{index: next, answered: !failed}
		}
	}
	a.asked = k
}

func (r *Replay) agent(name string) *agent {
	a := r.agents[name]
	if a == nil {
		a = &agent{places: map[key]place{}}
		r.agents[name] = a
	}
	return a
}

func (r *Replay) list(asker string, k key) []outcome {
	if own := r.own[slot{asker, k}]; len(own) > 0 {
		return own
	}
	return r.any[k]
}

// Name is "replay".
func (r *Replay) Name() string { return "replay" }

// Endpoints is empty: there is nothing to dial.
func (r *Replay) Endpoints() []string { return nil }

// LastServed is who gave the most recent answer when it was recorded, "" before the first and after a failure.
func (r *Replay) LastServed() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.served
}

// AcceptsImages is false.
func (r *Replay) AcceptsImages() bool { return false }
