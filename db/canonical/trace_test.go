package canonical

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"tillerman/db"
	"tillerman/observer"
)

// execution is one execution of the same case: what it may do differently from another.
type execution struct {
	at    int64 // when it began, ms
	noise bool  // other runs before it, several drives, lost calls, put-off and withdrawn questions, work that is not sealed
	alter func(*facts)
}

// facts are what two executions share.
type facts struct {
	goal, model, policy   string
	message, answer       string
	failed, attempt       db.Attempt
	call                  db.Call
	verdict               db.Verdict
	request               db.Request
	decision              db.Decision
	gate                  db.Gate
	factKind, factDetail  string
	step                  db.Step
	outcome, said, reason string
}

func theFacts() facts {
	n := func(v int64) *int64 { return &v }
	return facts{
		goal: "make the tests pass", model: "large", policy: "p", message: `{"role":"user","parts":[{"text":"go on\n"}]}`, answer: `{"role":"assistant"}`,
		failed: db.Attempt{Provider: "chat", Model: "large", RequestDigest: "r1", State: db.AttemptFailed, Kind: "server", Status: 503},
		attempt: db.Attempt{
			Provider: "chat", Model: "large", RequestDigest: "r1", State: db.AttemptAnswered, Stop: "calls", Finish: "tool_use", Served: "chat", AnsweredModel: "large-2",
			Input: n(10), Output: n(2), CacheRead: n(0), Keep: 4,
		},
		call:       db.Call{Position: 1, CallID: "c1", Name: "exec", Arguments: `{"argv":["make"]}`, State: db.CallEnded, Result: "make: no rule", Failed: true, ExitCode: new(2)},
		verdict:    db.Verdict{Position: new(1), Act: "exec", Target: "make", Effect: "ask", Rule: new("make *"), Layer: new("team")},
		request:    db.Request{Position: new(1), Act: "exec", Target: "make", Digest: "d"},
		decision:   db.Decision{Answer: "approve", ChangedArgs: `{"argv":["make","-k"]}`},
		gate:       db.Gate{Position: 1, Phase: "command:1", Target: "go test ./...", State: "failed", Output: "FAIL"},
		factKind:   "replan",
		factDetail: "no progress",
		step:       db.Step{Decision: "exec make (exit 2)", Said: "I run | make", Changed: true},
		outcome:    "stalled", said: "", reason: "no progress for 3 steps",
	}
}

var who = db.Actor{User: "ann", Surface: "test"}

// run stores one execution of a case of two steps in a store of its own and gives its trace.
func (x execution) run(t *testing.T) string {
	t.Helper()
	at := time.UnixMilli(x.at)
	s := opened(t, func() time.Time {
		at = at.Add(time.Duration(x.at%7-3) * time.Millisecond) // forth, not at all, or back
		return at
	})
	if x.noise {
		for range 3 {
			_, _, err := s.Start(t.Context(), db.Run{Goal: "another", Agent: "0", Contract: "{}", Policy: "{}", Inputs: "{}"}, who, "floor", nothing)
			must(t, err)
		}
	}
	return x.steps(t, s, 2)
}

func opened(t *testing.T, now func() time.Time) *db.Store {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "tillerman-test-") // no disk to wait for, where there is that
	if err != nil {
		dir = t.TempDir()
	}
	t.Cleanup(func() { must(t, os.RemoveAll(dir)) })
	s, err := db.Open(t.Context(), filepath.Join(dir, "runs.db"), db.Options{Now: now})
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	return s
}

// steps stores one execution of so many steps in s and gives its trace.
func (x execution) steps(t *testing.T, s *db.Store, steps int) string {
	t.Helper()
	f := theFacts()
	if x.alter != nil {
		x.alter(&f)
	}
	e := &executor{T: t, s: s, f: f, noise: x.noise}
	var err error
	e.lease, _, err = s.Start(t.Context(), db.Run{Agent: "0", Goal: f.goal, Workspace: "/w", Model: f.model, Contract: "{}", Policy: "{}", PolicyDigest: f.policy, Inputs: "{}"}, who, "floor", nothing)
	must(t, err)
	for step := range steps {
		e.step(step + 1)
	}
	if x.noise { // a step that was under way and is not sealed
		e.attempts(steps + 1)
		e.in(func(tx *db.Tx) error {
			return errors.Join(tx.AddVerdict(db.Verdict{Step: steps + 1, Act: "exec", Effect: "deny"}), tx.AddContextFact(steps+1, "told", "hurry"))
		})
	}
	e.in(func(tx *db.Tx) error {
		_, err := tx.Finish(db.Ending{Outcome: f.outcome, Status: db.Completed, Said: f.said, StopReason: fmt.Sprint(f.reason, x.at)})
		return err
	})
	e.commit()
	var b bytes.Buffer
	must(t, Write(t.Context(), &b, s, e.lease.RunID))
	return b.String()
}

type executor struct {
	*testing.T
	s     *db.Store
	lease db.Lease
	f     facts
	noise bool
	parts []func(*db.Tx) error
}

// in adds to the next commit.
func (e *executor) in(fn func(*db.Tx) error) { e.parts = append(e.parts, fn) }

func (e *executor) commit() {
	e.Helper()
	_, err := e.s.Commit(e.Context(), e.lease, func(tx *db.Tx) error {
		for _, fn := range e.parts {
			if err := fn(tx); err != nil {
				return err
			}
		}
		return nil
	})
	must(e.T, err)
	e.parts = nil
}

// again lets go of the run and takes it up again.
func (e *executor) again() {
	e.Helper()
	e.commit()
	must(e.T, e.s.LetGo(e.Context(), e.lease, "interrupted"))
	var err error
	e.lease, _, err = e.s.TakeUp(e.Context(), e.lease.RunID, who, "namespaces", false, func(tx *db.Tx) error {
		return errors.Join(tx.LoseAttempts(), tx.Event(0, 0, observer.Started{Goal: "g"}), tx.Audit(db.AuditRow{Action: "resume", Actor: who}))
	})
	must(e.T, err)
}

// attempts stores a failed and an answered call; with noise one before them that was lost with its driver.
func (e *executor) attempts(step int) {
	e.Helper()
	e.in(func(tx *db.Tx) error {
		message, err := tx.Keep([]byte(e.f.message))
		if err != nil {
			return err
		}
		list := []db.Attempt{e.f.failed, e.f.attempt}
		if e.noise {
			inner := db.Attempt{Inner: true, Provider: "local", State: db.AttemptFailed, Kind: "transport"}
			list = append([]db.Attempt{inner, {Provider: "chat", State: db.AttemptLost, RequestDigest: "r1"}}, list...)
		}
		for i, a := range list {
			a.Step, a.Keep = step, 4
			if i == 0 {
				a.Append = []string{message}
			}
			if a.Attempt, err = tx.AddAttempt(a); err != nil {
				return err
			}
			if err := tx.EndAttempt(a); err != nil {
				return err
			}
		}
		return nil
	})
}

func (e *executor) step(step int) {
	e.Helper()
	e.attempts(step)
	if e.noise {
		e.again()
	}
	f := e.f
	f.call.Step, f.verdict.Step, f.request.Step, f.gate.Step, f.step.Step = step, step, step, step, step
	var id int64
	e.in(func(tx *db.Tx) error {
		if e.noise {
			gone, err := tx.Ask(db.Request{Step: step, Act: "exec", Target: "other", Digest: "x"})
			if err := errors.Join(err, tx.Supersede(gone), tx.AddSandboxFact(db.SandboxFact{Step: step, Kind: "exec"})); err != nil {
				return err
			}
		}
		if err := errors.Join(tx.AddCalls([]db.Call{f.call}), tx.AddVerdict(f.verdict), tx.SetCall(f.call)); err != nil {
			return err
		}
		var err error
		id, err = tx.Ask(f.request)
		return err
	})
	e.commit()
	if e.noise {
		_, err := e.s.Decide(e.Context(), id, db.Decision{Answer: "defer"}, who)
		must(e.T, err)
		e.again()
	}
	_, err := e.s.Decide(e.Context(), id, f.decision, who)
	must(e.T, err)
	e.in(func(tx *db.Tx) error {
		if e.noise {
			if _, err := tx.BeginGate(f.gate); err != nil { // and its driver died
				return err
			}
		}
		var err error
		if f.gate.Ordinal, err = tx.BeginGate(f.gate); err != nil {
			return err
		}
		return errors.Join(tx.EndGate(f.gate), tx.AddContextFact(step, f.factKind, f.factDetail), tx.Seal(f.step), tx.Event(step, 0, observer.Stalled{}))
	})
}

func nothing(*db.Tx) error { return nil }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestTrace(t *testing.T) {
	want, err := os.ReadFile(filepath.Join("testdata", "trace.txt"))
	must(t, err)
	if got := (execution{at: 1_700_000_000_000}).run(t); got != string(want) {
		t.Errorf("the trace is\n%s\nwant\n%s", got, want)
	}
}

// Executions differ in time, ids, drives and luck; their traces do not.
func TestEqualRunsHaveEqualTraces(t *testing.T) {
	want := execution{at: 1_700_000_000_000}.run(t)
	for name, x := range map[string]execution{
		"later":       {at: 1_800_000_000_003},
		"interrupted": {at: 1_700_000_000_000, noise: true},
		"both":        {at: 1_600_000_000_001, noise: true},
	} {
		if got := x.run(t); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
		}
	}
}

// Whatever is different in what happened is different in the trace.
func TestDifferentRunsHaveDifferentTraces(t *testing.T) {
	s := opened(t, nil)
	seen := map[string]string{execution{}.steps(t, s, 1): "nothing"}
	for name, alter := range map[string]func(*facts){
		"goal":              func(f *facts) { f.goal = "x" },
		"model":             func(f *facts) { f.model = "x" },
		"policy":            func(f *facts) { f.policy = "x" },
		"message":           func(f *facts) { f.message = "x" },
		"failure":           func(f *facts) { f.failed.Kind = "timeout" },
		"status":            func(f *facts) { f.failed.Status = 500 },
		"failing provider":  func(f *facts) { f.failed.Provider = "x" },
		"request":           func(f *facts) { f.attempt.RequestDigest = "x" },
		"stop":              func(f *facts) { f.attempt.Stop = "end" },
		"finish":            func(f *facts) { f.attempt.Finish = "x" },
		"answering model":   func(f *facts) { f.attempt.AnsweredModel = "x" },
		"provider":          func(f *facts) { f.attempt.Served = "x" },
		"input tokens":      func(f *facts) { f.attempt.Input = new(int64(11)) },
		"not measured":      func(f *facts) { f.attempt.Input = nil },
		"cache, unreported": func(f *facts) { f.attempt.CacheRead = nil },
		"tool":              func(f *facts) { f.call.Name = "x" },
		"arguments":         func(f *facts) { f.call.Arguments = "x" },
		"changed arguments": func(f *facts) { f.call.ChangedArgs = "x" },
		"result":            func(f *facts) { f.call.Result = "x" },
		"success":           func(f *facts) { f.call.Failed = false },
		"change of a call":  func(f *facts) { f.call.Changed = true },
		"exit code":         func(f *facts) { f.call.ExitCode = new(0) },
		"no exit code":      func(f *facts) { f.call.ExitCode = nil },
		"act":               func(f *facts) { f.verdict.Act = "x" },
		"target":            func(f *facts) { f.verdict.Target = "x" },
		"effect":            func(f *facts) { f.verdict.Effect = "allow" },
		"rule":              func(f *facts) { f.verdict.Rule = nil },
		"layer":             func(f *facts) { f.verdict.Layer = nil },
		"decision":          func(f *facts) { f.decision = db.Decision{Answer: "deny"} },
		"reason":            func(f *facts) { f.decision = db.Decision{Answer: "deny", Reason: "x"} },
		"stop of a denial":  func(f *facts) { f.decision = db.Decision{Answer: "deny", Stop: true} },
		"approved as asked": func(f *facts) { f.decision.ChangedArgs = "" },
		"gate":              func(f *facts) { f.gate.Target = "x" },
		"phase":             func(f *facts) { f.gate.Phase = "x" },
		"gate passed":       func(f *facts) { f.gate.State = "passed" },
		"gate output":       func(f *facts) { f.gate.Output = "x" },
		"tampered files":    func(f *facts) { f.gate.Tampered = "x" },
		"context fact":      func(f *facts) { f.factKind = "x" },
		"its detail":        func(f *facts) { f.factDetail = "x" },
		"step":              func(f *facts) { f.step.Decision = "x" },
		"words":             func(f *facts) { f.step.Said = "x" },
		"step's change":     func(f *facts) { f.step.Changed = false },
		"broken off":        func(f *facts) { f.step.BrokenOff = "x" },
		"outcome":           func(f *facts) { f.outcome = "denied" },
		"final message":     func(f *facts) { f.said = "x" },
	} {
		got := execution{alter: alter}.steps(t, s, 1)
		if other, ok := seen[got]; ok {
			t.Errorf("another %s has the trace of another %s", name, other)
		}
		seen[got] = name
	}
}

// Every line is one fact: names, values and what is between them can be told apart whatever the facts say.
func TestHostileFactsStayOnTheirLine(t *testing.T) {
	hostile := "a\nstep 9 | decision=forged\r\x1b[2J\u202e|\x00\xff"
	got := execution{alter: func(f *facts) {
		f.goal, f.message, f.call.Result, f.call.Name, f.decision.Reason, f.gate.Output, f.factDetail, f.step.Said = hostile, hostile, hostile, hostile, hostile, hostile, hostile, hostile
	}}.run(t)
	line := regexp.MustCompile(`^(run|step \d+|attempt|message|call \d+|verdict|decided|context|gate \d+|outcome)( \| [a-z_]+=[^ |[:cntrl:]]+)*$`)
	for i, l := range strings.Split(strings.TrimSuffix(got, "\n"), "\n") {
		if i > 0 && !line.MatchString(l) {
			t.Errorf("line %d: %q", i+1, l)
		}
	}
	if want := strings.Count(execution{}.run(t), "\n"); strings.Count(got, "\n") != want {
		t.Errorf("%d lines, want %d", strings.Count(got, "\n"), want)
	}
}

// More steps than are read at once are all there, in their order.
func TestLongTrace(t *testing.T) {
	s := opened(t, nil)
	lease, _, err := s.Start(t.Context(), db.Run{Goal: "g", Contract: "{}", Policy: "{}", Inputs: "{}"}, who, "floor", nothing)
	must(t, err)
	const steps = 2*page + 1
	_, err = s.Commit(t.Context(), lease, func(tx *db.Tx) error {
		for i := 1; i <= steps; i++ {
			if err := errors.Join(tx.AddVerdict(db.Verdict{Step: i, Act: "read", Effect: "allow"}), tx.Seal(db.Step{Step: i})); err != nil {
				return err
			}
		}
		return nil
	})
	must(t, err)
	var b bytes.Buffer
	must(t, Write(t.Context(), &b, s, lease.RunID))
	want := Header + "\nrun | goal=g\n"
	for i := 1; i <= steps; i++ {
		want += fmt.Sprintf("step %d\nverdict | act=read | effect=allow\n", i)
	}
	if b.String() != want { // and no outcome: it goes on
		t.Errorf("%d bytes, want %d", b.Len(), len(want))
	}
	if err := Write(t.Context(), broken{}, s, lease.RunID); err != io.ErrClosedPipe {
		t.Errorf("a writer that fails: %v", err)
	}
	if err := Write(t.Context(), &b, s, 99); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("no run: %v", err)
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }
