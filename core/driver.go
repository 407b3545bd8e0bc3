package core

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"tillerman/core/history"
	"tillerman/core/policy"
	"tillerman/core/sandbox"
	"tillerman/core/tool"
	"tillerman/db"
	"tillerman/observer"
)

// driver is one process's time with one run: it holds the lease and everything that was read for it. It is for one
// goroutine, but for flag.
type driver struct {
	e      *Engine
	c      Contract
	in     inputs
	bound  *policy.Boundary // for what the agent does
	checks *policy.Boundary // for the contract's checks
	tools  *tool.Toolbox
	runner *sandbox.Runner
	lease  db.Lease
	obs    *observer.Guarded
	live   observer.Live

	emitted int64       // seq of the newest event the observer was told of
	flag    atomic.Bool // an observer returned Cancel

	hist      history.History
	sealed    int   // steps
	partial   int   // the step that an earlier drive began and did not seal, 0 for none
	billed    int64 // tokens, every call counted
	spent     int64 // micro-units, every call counted, estimated where it is not known
	drivenMS  int64 // by earlier drives, less what they waited for people
	personMS  int64 // waited for people in this drive
	steps     stallState
	compacted int // the step whose request was compacted, so that it happens once
	cuts      *compaction
	runSpan   int64
	stepSpan  int64
	modelSpan int64 // of the last model call
	callSpan  int64
	waitSpan  int64 // an open question or retry wait
	pauseSpan int64
	late      string // a cancel that came too late, for the summary
	lateID    int64
	cut       []string // temporary folders to remove
	asking    int64    // id of the request that a person is being asked, 0 for none
	// askingBudget says that it is about a budget.
	askingBudget bool
	paused       *db.Control  // the pause in force, nil for none
	heard        []db.Control // operators' words in the next request, until it is stored
	rules        []db.Rule    // that people gave for this run, as they are in boundRules
	boundRules   *policy.Boundary
	modelAsked   string // the model that gave the newest answer
}

// errGone says that this process is going away: the run stays as it is for somebody else to take up.
var errGone = errors.New("the driving process goes away")

// prepare makes everything a drive needs from a contract and policy, and fails before anything is stored.
func (e *Engine) prepare(c Contract, p *policy.Policy) (*driver, error) {
	d := &driver{e: e, c: c}
	var err error
	if d.tools, err = tool.NewToolbox(e.tools...); err != nil {
		return nil, err
	}
	if d.bound, d.checks, err = e.boundary(c, p); err != nil {
		return nil, err
	}
	for i, g := range c.Gates {
		if len(g.Argv) == 0 {
			continue
		}
		if v := d.checks.Explain(policy.Action{Act: policy.Exec, Argv: g.Argv}); v.Effect == policy.Deny {
			return nil, &ContractError{g.Phase(i + 1), fmt.Sprintf("the policy denies the command %q (rule %q in layer %q); change the check or the policy", g.Target(), v.Rule, v.Layer)}
		}
	}
	d.obs = observer.Guard(e.observer, e.report)
	d.live = observer.LiveOf(d.obs)
	return d, nil
}

// boundary is the policy in force: what the operator set, what the contract guards, what is ours. checks is the same for
// the contract's own checks, whose exact commands the operator allowed by writing them; an agent that runs the same
// command is judged like for any other.
func (e *Engine) boundary(c Contract, p *policy.Policy) (agent, checks *policy.Boundary, err error) {
	guarded := policy.Layer{Name: policy.ContractLayer}
	written := policy.Layer{Name: policy.ContractLayer}
	for _, g := range c.Gates {
		if len(g.Argv) == 0 {
			continue
		}
		written.Rules = append(written.Rules, policy.Rule{Act: policy.Exec, Effect: policy.Allow, Match: policy.EscapeWords(g.Argv)})
		for _, f := range g.Files(c.Workspace) {
			guarded.Rules = append(guarded.Rules, policy.Rule{Act: policy.Write, Effect: policy.Ask, Match: []string{policy.EscapePath(f)}})
		}
	}
	if agent, err = policy.New(p, c.Workspace, policy.Private(e.private...)); err != nil {
		return nil, nil, err
	}
	if checks, err = agent.With(written); err != nil {
		return nil, nil, err
	}
	agent, err = agent.With(guarded)
	return agent, checks, err
}

// repeatable says that the contract lets this command run again after a crash.
func (c Contract) repeatable(argv []string) bool {
	return len(argv) > 0 && slices.ContainsFunc(c.Repeatable, func(words []string) bool { return slices.Equal(words, argv) })
}

// open makes the runner, which needs folders, once the run exists.
func (d *driver) open() error {
	state, own := d.e.state, d.stateDir()
	if state == "" {
		dir, err := os.MkdirTemp("", "tillerman-")
		if err != nil {
			return err
		}
		d.cut = append(d.cut, dir)
		state, own = dir, filepath.Join(dir, "run")
	}
	environ := d.e.environ
	if environ == nil {
		environ = os.Environ()
	}
	home := sandbox.HomeIn(own)
	d.bound, d.checks = d.bound.CommandHome(home), d.checks.CommandHome(home)
	if d.backend() == sandbox.Floor {
		d.bound, d.checks = d.bound.Unconfined(), d.checks.Unconfined()
	}
	var err error
	d.runner, err = sandbox.NewRunner(sandbox.Options{
		Env: environ, Workspace: d.c.Workspace,
		State:  own,
		Caches: filepath.Join(state, "caches", db.Digest([]byte(d.c.Workspace))[:16]),
		// The store is private whether or not whoever made the engine said so.
		Private: append([]string{d.e.store.Path(), d.e.store.Path() + "-wal", d.e.store.Path() + "-shm"}, d.e.private...),
		Hidden:  d.hidden(), Network: d.bound.OpensNetwork(),
		Floor: d.e.floor,
	})
	return err
}

// hidden lists what commands must not read: what the policy denies the agent to read. A path's verdict is kept as long as
// the same boundary is in force.
func (d *driver) hidden() func(context.Context) ([]string, error) {
	if d.bound.Policy().Bare && len(d.bound.Policy().Layers) == 0 {
		return nil
	}
	var mu sync.Mutex
	var known map[string]bool
	var judge *policy.Boundary
	return func(ctx context.Context) ([]string, error) {
		mu.Lock()
		defer mu.Unlock()
		if judge != d.bound {
			judge, known = d.bound, make(map[string]bool)
		}
		return tool.Denied(ctx, d.c.Workspace, func(path string) bool {
			may, judged := known[path]
			if !judged {
				may = judge.Explain(policy.Action{Act: policy.Read, Path: path}).Effect != policy.Deny
				known[path] = may
			}
			return may
		})
	}
}

// backend names what confines this drive's commands.
func (d *driver) backend() string {
	switch {
	case d.e.floor:
		return sandbox.Floor
	case d.bound == nil: // a drive that only ends the run
		return sandbox.Backend()
	}
	return sandbox.BackendFor(d.bound.OpensNetwork())
}

func (d *driver) close() {
	for _, dir := range d.cut {
		_ = os.RemoveAll(dir)
	}
}

// commit makes facts durable and then tells the observer. State is written under a context of its own: the end of the
// caller's context never loses what was done.
func (d *driver) commit(fn func(*db.Tx) error) error {
	events, err := d.e.store.Commit(context.Background(), d.lease, fn)
	if err != nil {
		return err
	}
	return d.emit(events)
}

// emit tells the observer of events in the order of their seq. Decisions and controls of other processes add events
// between ours; they are read from the store, so that the observer misses none and sees each once.
func (d *driver) emit(events []observer.Event) error {
	if len(events) == 0 {
		return nil
	}
	if d.emitted != 0 && events[0].Seq != d.emitted+1 {
		var err error
		if events, err = d.e.store.EventsAfter(context.Background(), d.lease.RunID, d.emitted, 0); err != nil {
			return err
		}
	}
	for i := range events {
		if events[i].Seq <= d.emitted {
			continue
		}
		d.emitted = events[i].Seq
		if d.obs.Event(&events[i]).IsCancel() {
			d.flag.Store(true)
		}
	}
	return nil
}

// catchUp tells the observer of events that other processes added.
func (d *driver) catchUp() error {
	events, err := d.e.store.EventsAfter(context.Background(), d.lease.RunID, d.emitted, 0)
	if err != nil {
		return err
	}
	return d.emit(events)
}

// env is what one call may use.
func (d *driver) env(step, position int, key string) tool.Env {
	return tool.Env{
		Root: d.c.Workspace, May: d.bound.Explain, Runner: d.runner, Key: key,
		Output: d.output(step, position), Head: d.e.redactor.Head,
	}
}

// actor is who acts when the engine does, on behalf of whoever started it.
func (d *driver) actor() db.Actor { return db.Here(d.e.surface) }

func ptr[T any](v T) *T { return &v }

// optional is nil for "".
func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
