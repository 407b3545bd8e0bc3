package core_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tillerman/core"
	"tillerman/core/approval"
	"tillerman/core/gate"
	"tillerman/core/policy"
	"tillerman/core/provider"
	"tillerman/core/retry"
	"tillerman/db"
	"tillerman/observer"
)

// quick makes waits between tries short.
func quick(c core.Contract) core.Contract {
	c.Retry = retry.Policy{Base: time.Millisecond, Max: 2 * time.Millisecond}
	return c
}

func TestOutcomes(t *testing.T) {
	list := call("list", `{"path":"."}`)
	costly := func(req provider.Request) (provider.Answer, error) {
		a, err := list(req)
		a.Usage = &provider.Usage{Input: 10_001}
		return a, err
	}
	cases := []struct {
		name    string
		model   *turns
		change  func(*core.Contract)
		want    observer.Outcome
		steps   int
		success bool
	}{
		{name: "success without a check", model: answers(say("done")), want: observer.OutcomeSuccess, steps: 1, success: true},
		{
			name: "success with a check", model: answers(call("write_file", `{"path":"a","content":"hi"}`), say("done")), steps: 2, success: true,
			change: func(c *core.Contract) { c.Gates = []gate.Gate{{File: "a", Text: "hi"}} }, want: observer.OutcomeSuccess,
		},
		{
			name: "step cap", model: answers(list, call("find", `{"glob":"*"}`), call("grep", `{"pattern":"x"}`)), want: observer.OutcomeStepCapReached, steps: 2,
			change: func(c *core.Contract) { c.MaxSteps = 2 },
		},
		{
			name: "check at the step cap", model: answers(call("write_file", `{"path":"a","content":"hi"}`)), want: observer.OutcomeSuccess, steps: 1, success: true,
			change: func(c *core.Contract) { c.MaxSteps, c.Gates = 1, []gate.Gate{{File: "a", Text: "hi"}} },
		},
		{
			name: "stalled", model: answers(list, list, list, list, list, list, list), want: observer.OutcomeStalled, steps: 6,
		},
		{
			name: "tokens used up", model: answers(costly, call("find", `{"glob":"*"}`), say("done")), want: observer.OutcomeCostBudgetExceeded, steps: 1,
			change: func(c *core.Contract) { c.Tokens = 10_000; c.MaxOutput = 10 },
		},
		{name: "wrong key", model: answers(fail(provider.Auth)), want: observer.OutcomeEscalatedTerminal},
		{name: "down for good", model: answers(fail(provider.Server)), want: observer.OutcomeEscalatedRetryable},
		{name: "refused by the model", model: answers(fail(provider.ModelRefused)), want: observer.OutcomeRefused},
		{
			name: "silent", model: answers(func(provider.Request) (provider.Answer, error) { return provider.Answer{Stop: provider.StopEnd}, nil }),
			want: observer.OutcomeEscalatedRetryable,
		},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t)
			c := quick(r.contract())
			if tc.change != nil {
				tc.change(&c)
			}
			seen := &collect{}
			res, err := r.engine(tc.model, core.WithPolicy(trusting(t)), core.WithObserver(seen)).Run(context.Background(), c)
			must(t, err)
			if res.Outcome != tc.want {
				t.Fatalf("outcome %s, want %s: %s", res.Outcome, tc.want, res.Message)
			}
			s := res.Summary
			if s == nil || s.Steps != tc.steps || s.Success != tc.success || s.Outcome != string(tc.want) {
				t.Fatalf("summary %+v, want %d steps, success %t", s, tc.steps, tc.success)
			}
			if last := seen.events[len(seen.events)-1]; last.Kind.Tag() != "finished" {
				t.Errorf("the last event is %s", last.Kind.Tag())
			}
			run, err := r.store.Run(context.Background(), res.RunID)
			must(t, err)
			if run.Status != db.Completed || run.Outcome != string(tc.want) {
				t.Errorf("run row %s %s", run.Status, run.Outcome)
			}
			// A resume of an ended run reports it and drives nothing.
			before := tc.model.calls
			again, err := r.engine(tc.model).Resume(context.Background(), res.RunID)
			must(t, err)
			if again.Outcome != tc.want || tc.model.calls != before {
				t.Errorf("resumed: %s, %d more calls", again.Outcome, tc.model.calls-before)
			}
			after, err := r.store.Run(context.Background(), res.RunID)
			must(t, err)
			if after.Seq != run.Seq || after.Drive != run.Drive {
				t.Error("a resume that drives nothing added events or a drive")
			}
		})
	}
}

func trusting(t *testing.T) *policy.Policy {
	t.Helper()
	p, ok := policy.Starter("trusting")
	if !ok {
		t.Fatal("no policy trusting")
	}
	return p
}

func TestRetryThenAnswer(t *testing.T) {
	r := newRig(t)
	tries := 0
	model := answers(func(req provider.Request) (provider.Answer, error) {
		if tries++; tries < 3 {
			return fail(provider.Overloaded)(req)
		}
		return say("done")(req)
	})
	seen := &collect{}
	res, err := r.engine(model, core.WithObserver(seen)).Run(context.Background(), quick(r.contract()))
	must(t, err)
	if res.Outcome != observer.OutcomeSuccess || res.Summary.Retries != 2 {
		t.Fatalf("%s with %d retries", res.Outcome, res.Summary.Retries)
	}
	if n := count(seen.tags(), "retry"); n != 2 {
		t.Errorf("%d retry events", n)
	}
	if model.asked[0].Digest() != model.asked[2].Digest() {
		t.Error("a retry asked something else")
	}
}

func count(list []string, s string) int {
	n := 0
	for _, x := range list {
		if x == s {
			n++
		}
	}
	return n
}

func TestWatchedAndUnwatchedRunsAreEqual(t *testing.T) {
	run := func(obs observer.Observer) (string, int, observer.Outcome) {
		r := newRig(t)
		r.write("a.txt", "one\n")
		model := answers(call("read_file", `{"path":"a.txt"}`), call("edit", `{"path":"a.txt","old":"one","new":"two"}`), call("exec", `{"argv":["sh","-c","exit 3"]}`), say("done"))
		res, err := r.engine(model, core.WithObserver(obs)).Run(context.Background(), r.contract())
		must(t, err)
		return r.trace(res.RunID), model.calls, res.Outcome
	}
	watched, n, o := run(&collect{})
	unwatched, m, p := run(observer.Ignore{})
	if watched != unwatched || n != m || o != p {
		t.Errorf("differ: %d and %d calls, %s and %s\n%s", n, m, o, p, firstDifference(watched, unwatched))
	}
	stuck, k, q := run(observer.NewChannel(1)) // nobody reads
	if stuck != unwatched || k != m || q != p {
		t.Error("a stuck channel changed the run")
	}
}

func TestPanickingObserverIsDropped(t *testing.T) {
	r := newRig(t)
	var reports int
	boom := observer.Func(func(*observer.Event) observer.Flow { panic("boom") })
	res, err := r.engine(answers(say("done")), core.WithObserver(boom), core.WithReport(func(error) { reports++ })).Run(context.Background(), r.contract())
	must(t, err)
	if res.Outcome != observer.OutcomeSuccess || reports != 3 {
		t.Errorf("%s, %d reports", res.Outcome, reports)
	}
}

func TestAnswersThatTakeNoEffect(t *testing.T) {
	cut := func(stop provider.Stop, finish, args string) func(provider.Request) (provider.Answer, error) {
		return func(req provider.Request) (provider.Answer, error) {
			a, _ := call("write_file", args)(req)
			a.Stop, a.Finish = stop, finish
			a.Parts = append([]provider.Part{{Kind: provider.PartText, Text: "writing"}}, a.Parts...)
			return a, nil
		}
	}
	for name, first := range map[string]func(provider.Request) (provider.Answer, error){
		"cut by length":  cut(provider.StopLength, "length", `{"path":"a.md","content":"# 1"}`),
		"unknown reason": cut(provider.StopUnknown, "xyz", `{"path":"a.md","content":"# 1"}`),
		"arguments cut":  cut(provider.StopCalls, "tool_calls", `{"path":"a.md","content":"# 1`),
		"two calls second cut": func(req provider.Request) (provider.Answer, error) {
			a, err := calls([2]string{"write_file", `{"path":"a.md","content":"x"}`}, [2]string{"write_file", `{"path":"b.md`})(req)
			a.Parts = append([]provider.Part{{Kind: provider.PartText, Text: "writing"}}, a.Parts...)
			return a, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			model := answers(first, say("done"))
			res, err := r.engine(model, core.WithPolicy(trusting(t))).Run(context.Background(), r.contract())
			must(t, err)
			if _, err := os.Stat(filepath.Join(r.ws, "a.md")); err == nil {
				t.Error("a call of a cut answer ran")
			}
			if res.Outcome != observer.OutcomeSuccess || res.Summary.Steps != 2 {
				t.Fatalf("%s after %d steps", res.Outcome, res.Summary.Steps)
			}
			next := model.asked[1]
			last := next.Messages[len(next.Messages)-1].Text()
			if !strings.Contains(last, "[not run]") {
				t.Errorf("the model is told %q", last)
			}
			for _, m := range next.Messages {
				if len(m.Calls()) > 0 {
					t.Error("a broken call stands in the history")
				}
			}
		})
	}
}

func TestWriteDriftVoidsTheApproval(t *testing.T) {
	r := newRig(t)
	r.write("a.txt", "one\n")
	who := &drifting{t: t, path: filepath.Join(r.ws, "a.txt")}
	model := answers(call("edit", `{"path":"a.txt","old":"one","new":"two"}`), say("done"))
	_, err := r.engine(model, core.WithApprover(who)).Run(context.Background(), r.contract())
	must(t, err)
	if who.asked != 2 {
		t.Errorf("asked %d times, want again after the file changed", who.asked)
	}
	if got := r.read("a.txt"); got != "two\nmine\n" {
		t.Errorf("file is %q", got)
	}
}

// drifting changes the file while the first question is open, then approves.
type drifting struct {
	t     *testing.T
	path  string
	asked int
}

func (d *drifting) Surface() string { return "test" }

func (d *drifting) Decide(_ context.Context, r approval.Request) (approval.Decision, error) {
	const why = "changed since it was approved"
	if d.asked++; d.asked == 1 {
		must(d.t, os.WriteFile(d.path, []byte("one\nmine\n"), 0o644))
		if r.Part != "" {
			d.t.Errorf("the first question says %q", r.Part)
		}
	} else if r.Part != why {
		d.t.Errorf("the second question says %q, want %q", r.Part, why)
	} else if !strings.Contains(r.Payload, "mine") {
		d.t.Error("the second question shows the old file")
	}
	return approval.Decision{Answer: approval.Approve}, nil
}

func TestIdenticalCallsAreSeparateQuestions(t *testing.T) {
	r := newRig(t)
	model := answers(calls([2]string{"exec", `{"argv":["sh","-c","echo x >> log"]}`}, [2]string{"exec", `{"argv":["sh","-c","echo x >> log"]}`}), say("done"))
	who := &denies{n: 2, reason: "once is enough"}
	_, err := r.engine(model, core.WithApprover(who)).Run(context.Background(), r.contract())
	must(t, err)
	if who.asked != 2 || r.read("log") != "x\n" {
		t.Errorf("asked %d times, log %q", who.asked, r.read("log"))
	}
}

func TestEventsEqualTheFactsTheyName(t *testing.T) {
	r := newRig(t)
	c, model := r.demo()
	seen := &collect{}
	res, err := r.engine(model, core.WithObserver(seen)).Run(context.Background(), c)
	must(t, err)
	ctx := context.Background()
	stored, err := r.store.EventsAfter(ctx, res.RunID, 0, 0)
	must(t, err)
	if len(stored) != len(seen.events) {
		t.Fatalf("%d events seen, %d stored", len(seen.events), len(stored))
	}
	steps, err := r.store.Steps(ctx, res.RunID, 0, 0)
	must(t, err)
	verdicts, err := r.store.Verdicts(ctx, res.RunID)
	must(t, err)
	callRows, err := r.store.Calls(ctx, res.RunID)
	must(t, err)
	denied := slices.DeleteFunc(slices.Clone(verdicts), func(v db.Verdict) bool { return v.Effect != "deny" })
	var gotSteps, gotRefusals, gotCalls int
	for i, ev := range seen.events {
		a, err := ev.MarshalJSON()
		must(t, err)
		b, err := stored[i].MarshalJSON()
		must(t, err)
		if string(a) != string(b) {
			t.Fatalf("event %d differs from the stored one:\n%s\n%s", i, a, b)
		}
		switch k := ev.Kind.(type) {
		case observer.Step:
			st := steps[gotSteps]
			gotSteps++
			if k.Decision != st.Decision || k.ToolCall != st.ToolCall || k.Tokens != st.Tokens || k.Changed != st.Changed || ev.Step != st.Step {
				t.Errorf("step event %+v, row %+v", k, st)
			}
		case observer.Refused:
			v := denied[gotRefusals]
			gotRefusals++
			if k.Act != v.Act || k.Target != v.Target || *k.Rule != *v.Rule || *k.Layer != *v.Layer {
				t.Errorf("refused event %+v, row %+v", k, v)
			}
		case observer.ToolResult:
			row := callRows[gotCalls]
			gotCalls++
			if k.Name != row.Name || k.Target != row.Target || k.OK == row.Failed || k.Changed != row.Changed || k.Position != row.Position {
				t.Errorf("result event %+v, row %+v", k, row)
			}
		case observer.ApprovalRequested:
			req, err := r.store.Request(ctx, *ev.RequestID)
			must(t, err)
			if k.Act != req.Act || k.Target != req.Target || ev.Step != req.Step {
				t.Errorf("request event %+v, row %+v", k, req)
			}
		case observer.Finished:
			s := res.Summary
			if string(k.Outcome) != s.Outcome || k.Steps != s.Steps || k.Tokens != s.Tokens {
				t.Errorf("finished event %+v, summary %+v", k, s)
			}
		}
	}
	if gotSteps != len(steps) || gotRefusals != len(denied) || gotCalls != len(callRows) {
		t.Errorf("%d of %d steps, %d of %d refusals, %d of %d calls were told", gotSteps, len(steps), gotRefusals, len(denied), gotCalls, len(callRows))
	}
}
