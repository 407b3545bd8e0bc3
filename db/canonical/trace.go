// Package canonical writes what two identical runs must share, one escaped line a fact. Two runs of the same case have
// byte-equal traces; so have a run and its replay, and a run and one that was killed and taken up again.
package canonical

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"tillerman/db"
)

// Header is the first line. It names what is left out because it belongs to one execution and not to the run.
const Header = "# tillerman canonical trace 1; excludes: times, durations, ids, actors, stop reasons, events, sandbox, approval digests, endpoint checks, drives, audit, lost calls, unsealed work"

// page is how many steps are read at once. Of a long run only the verdicts and the context facts, which are short, are
// held whole.
const page = 200

// Write writes the canonical trace of one run. *db.RemovedError says that the run has none any more.
func Write(ctx context.Context, w io.Writer, store *db.Store, runID int64) error {
	run, err := store.Run(ctx, runID)
	if err != nil {
		return err
	}
	if err := run.Traced(); err != nil {
		return err
	}
	t := &trace{ctx: ctx, store: store, runID: runID, w: bufio.NewWriter(w)}
	if err := t.load(); err != nil {
		return err
	}
	t.line(Header)
	t.fields("run", "goal", run.Goal, "model", run.Model, "policy", run.PolicyDigest)
	for first := 1; first <= run.Sealed; first += page {
		win, err := store.Window(ctx, runID, first, min(first+page-1, run.Sealed))
		if err != nil {
			return err
		}
		for _, st := range win.Steps {
			if err := t.step(st, win); err != nil {
				return err
			}
		}
	}
	if run.Status == db.Completed {
		t.fields("outcome", "outcome", run.Outcome, "said", run.Said)
	}
	if t.err != nil {
		return t.err
	}
	return t.w.Flush()
}

type trace struct {
	ctx   context.Context
	store *db.Store
	runID int64
	w     *bufio.Writer
	err   error // the first of writing

	verdicts map[int][]db.Verdict
	facts    map[int][]db.ContextFact
}

func (t *trace) load() error {
	verdicts, err := t.store.Verdicts(t.ctx, t.runID)
	if err != nil {
		return err
	}
	facts, err := t.store.ContextFacts(t.ctx, t.runID)
	if err != nil {
		return err
	}
	t.verdicts = byStep(verdicts, func(v db.Verdict) int { return v.Step })
	t.facts = byStep(facts, func(f db.ContextFact) int { return f.Step })
	return nil
}

func byStep[T any](rows []T, step func(T) int) map[int][]T {
	m := map[int][]T{}
	for _, r := range rows {
		m[step(r)] = append(m[step(r)], r)
	}
	return m
}

// step writes everything about one sealed step.
func (t *trace) step(st db.Step, win db.Window) error {
	t.fields(fmt.Sprintf("step %d", st.Step), "decision", st.Decision, "said", st.Said, "changed", flag(st.Changed), "broken_off", st.BrokenOff)
	lost := db.Abandoned(win.Attempts)
	for i, a := range win.Attempts {
		if a.Step != st.Step {
			continue
		}
		if err := t.appended(a); err != nil {
			return err
		}
		if !lost[i] { // nor what failed inside a lost call: it was asked again too
			t.attempt(a)
		}
	}
	t.around(st.Step, win.Requests)
	for _, c := range win.Calls {
		if c.Step != st.Step {
			continue
		}
		exit := ""
		if c.ExitCode != nil {
			exit = strconv.Itoa(*c.ExitCode)
		}
		t.fields(fmt.Sprintf("call %d", c.Position), "name", c.Name, "arguments", c.Arguments, "changed_arguments", c.ChangedArgs,
			"result", c.Result, "failed", flag(c.Failed), "changed", flag(c.Changed), "exit", exit)
	}
	for _, g := range win.Gates {
		if g.Step == st.Step && (g.State == "passed" || g.State == "failed") {
			t.fields("gate "+strconv.Itoa(g.Position), "phase", g.Phase, "target", g.Target, "state", g.State, "output", g.Output, "changed_files", g.Tampered)
		}
	}
	return nil
}

// around writes the verdicts, decisions and context facts of a step. What came before the first step is about the
// endpoint that this execution talked to, which a replay has none of.
func (t *trace) around(step int, requests []db.Request) {
	for _, v := range t.verdicts[step] {
		position := ""
		if v.Position != nil {
			position = strconv.Itoa(*v.Position)
		}
		t.fields("verdict", "call", position, "act", v.Act, "target", v.Target, "effect", v.Effect, "rule", text(v.Rule), "layer", text(v.Layer))
	}
	for _, r := range requests {
		if r.Step == step && r.State == "decided" {
			t.fields("decided", "act", r.Act, "target", r.Target, "decision", r.Decision, "reason", r.Reason, "stop", flag(r.Stop), "changed_arguments", r.ChangedArgs)
		}
	}
	for _, f := range t.facts[step] {
		t.fields("context", "kind", f.Kind, "detail", f.Detail)
	}
}

func (t *trace) attempt(a db.Attempt) {
	if a.State == db.AttemptFailed {
		t.fields("attempt", "provider", a.Provider, "failed", a.Kind, "status", strconv.Itoa(a.Status), "inner", flag(a.Inner), "request", a.RequestDigest)
		return
	}
	t.fields("attempt", "provider", a.Served, "model", a.AnsweredModel, "stop", a.Stop, "finish", a.Finish, "tokens", tokens(a), "request", a.RequestDigest)
}

// appended writes the messages that are new in a request. A lost call's messages are written too: the call that was
// made again in its place adds none.
func (t *trace) appended(a db.Attempt) error {
	bodies, err := t.store.Contents(t.ctx, a.Append)
	if err != nil {
		return err
	}
	for _, digest := range a.Append {
		t.fields("message", "keep", strconv.Itoa(a.Keep), "body", string(bodies[digest]))
	}
	return nil
}

func tokens(a db.Attempt) string {
	var parts []string
	for _, kind := range []struct {
		name string
		n    *int64
	}{{"in", a.Input}, {"out", a.Output}, {"cache_read", a.CacheRead}, {"cache_write", a.CacheWrite}, {"reasoning", a.Reasoning}} {
		if kind.n != nil {
			parts = append(parts, fmt.Sprintf("%s:%d", kind.name, *kind.n))
		}
	}
	return strings.Join(parts, ",")
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func flag(b bool) string {
	if b {
		return "yes"
	}
	return ""
}

// fields writes one line: a head and name=value pairs; empty values are left out.
func (t *trace) fields(head string, pairs ...string) {
	var b strings.Builder
	b.WriteString(head)
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			b.WriteString(" | " + pairs[i] + "=" + Escape(pairs[i+1]))
		}
	}
	t.line(b.String())
}

func (t *trace) line(s string) {
	if _, err := t.w.WriteString(s + "\n"); err != nil && t.err == nil {
		t.err = err
	}
}
