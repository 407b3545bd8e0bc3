package core_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tillerman/core"
	"tillerman/core/approval"
	"tillerman/core/gate"
	"tillerman/core/provider"
	"tillerman/core/retry"
	"tillerman/db"
	"tillerman/observer"
)

// elsewhere is the same store as another process has it open.
func (r *rig) elsewhere() *db.Store {
	return openStore(r.t, filepath.Join(r.dir, "runs.db"), db.Options{})
}

// cancelWhen cancels the run, from another handle on the store, at the first event that fits.
func cancelWhen(t *testing.T, other *db.Store, fits func(*observer.Event) bool) observer.Observer {
	done := false
	return observer.Func(func(ev *observer.Event) observer.Flow {
		if !done && fits(ev) {
			done = true
			_, _, err := other.Control(context.Background(), db.Control{RunID: ev.RunID, Kind: "cancel", By: db.Here("command cancel"), Reason: "enough"})
			if err != nil {
				t.Error(err)
			}
		}
		return observer.Continue
	})
}

func tagged(tag string) func(*observer.Event) bool {
	return func(ev *observer.Event) bool { return ev.Kind.Tag() == tag }
}

func TestCancel(t *testing.T) {
	slow := call("exec", `{"argv":["sh","-c","sleep 0.3"]}`)
	cases := []struct {
		name   string
		model  *turns
		at     func(*observer.Event) bool
		change func(*core.Contract)
		who    approval.Approver
		want   observer.Outcome
		steps  int
		calls  int // model calls
	}{
		{name: "from started", model: answers(say("done")), at: tagged("started"), want: observer.OutcomeCancelled},
		{name: "during a slow step", model: answers(slow, say("done")), at: tagged("tool_began"), want: observer.OutcomeCancelled, steps: 1, calls: 1},
		{name: "while the model is asked", model: answers(call("list", `{"path":"."}`), say("done")), at: tagged("model_asked"), want: observer.OutcomeCancelled, steps: 1, calls: 1},
		{name: "while waiting for a person", model: answers(slow, say("done")), at: tagged("approval_requested"), who: approval.Elsewhere{}, want: observer.OutcomeCancelled, steps: 1, calls: 1},
		{
			name: "between retries", model: answers(fail(provider.Server)), at: tagged("retry"), want: observer.OutcomeCancelled, calls: 1,
			change: func(c *core.Contract) { c.Retry = retry.Policy{Base: time.Hour, Max: time.Hour} },
		},
		{name: "during a final answer without checks", model: answers(say("done")), at: tagged("step"), want: observer.OutcomeSuccess, steps: 1, calls: 1},
		{
			name: "before a check", model: answers(say("done")), at: tagged("step"), want: observer.OutcomeCancelled, steps: 1, calls: 1,
			change: func(c *core.Contract) { c.Gates = []gate.Gate{{Argv: []string{"true"}}} },
		},
		{
			name: "while the last check passes", model: answers(say("done")), want: observer.OutcomeSuccess, steps: 1, calls: 1,
			at: func(ev *observer.Event) bool {
				g, ok := ev.Kind.(observer.Gate)
				return ok && g.State == observer.GateBegan
			},
			change: func(c *core.Contract) { c.Gates = []gate.Gate{{Argv: []string{"true"}}} },
		},
		{name: "while a model call is in flight", model: answers(slow, say("done")), at: tagged("model_asked"), want: observer.OutcomeCancelled, steps: 1, calls: 1},
		{name: "while it is asked for the last answer", model: answers(say("done")), at: tagged("model_asked"), want: observer.OutcomeSuccess, steps: 1, calls: 1},
		{
			name: "while the first of two checks fails", model: answers(say("done")), want: observer.OutcomeCancelled, steps: 1, calls: 1,
			at: func(ev *observer.Event) bool {
				g, ok := ev.Kind.(observer.Gate)
				return ok && g.State == observer.GateBegan
			},
			change: func(c *core.Contract) {
				c.Gates = []gate.Gate{{Argv: []string{"false"}}, {Argv: []string{"sh", "-c", "touch ran"}}}
			},
		},
		{
			name: "during the step that hits the cap", model: answers(slow), at: tagged("tool_began"), want: observer.OutcomeCancelled, steps: 1, calls: 1,
			change: func(c *core.Contract) { c.MaxSteps = 1 },
		},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			files, children := held(t)
			r := newRig(t)
			c := quick(r.contract())
			if tc.change != nil {
				tc.change(&c)
			}
			who := tc.who
			if who == nil {
				who = approval.All{}
			}
			other := r.elsewhere()
			res, err := r.engine(tc.model, core.WithApprover(who), core.WithObserver(cancelWhen(t, other, tc.at))).Run(context.Background(), c)
			must(t, err)
			if _, err := os.Stat(filepath.Join(r.ws, "ran")); err == nil {
				t.Error("a check ran after the cancel")
			}
			if res.Outcome != tc.want || res.Summary == nil || res.Summary.Steps != tc.steps {
				t.Fatalf("%s (%s), summary %+v", res.Outcome, res.Message, res.Summary)
			}
			if tc.model.calls != tc.calls {
				t.Errorf("%d model calls, want %d", tc.model.calls, tc.calls)
			}
			checkCancelled(t, r, res, tc.want)
			must(t, other.Close())
			must(t, r.store.Close())
			if f, n := held(t); f > files || n > children {
				t.Errorf("%d files and %d processes before, %d and %d after", files, children, f, n)
			}
		})
	}
}

// held counts the open files and the child processes of this process.
func held(t *testing.T) (files, children int) {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0, 0 // no such table on this system
	}
	tasks, err := os.ReadDir("/proc/self/task")
	must(t, err)
	for _, task := range tasks {
		if list, err := os.ReadFile("/proc/self/task/" + task.Name() + "/children"); err == nil {
			children += len(strings.Fields(string(list)))
		}
	}
	return len(fds), children
}

func checkCancelled(t *testing.T, r *rig, res core.Result, want observer.Outcome) {
	t.Helper()
	ctx := context.Background()
	run, err := r.store.Run(ctx, res.RunID)
	must(t, err)
	if run.Status != db.Completed {
		t.Errorf("status %s", run.Status)
	}
	controls, err := r.store.Controls(ctx, res.RunID)
	must(t, err)
	if len(controls) != 1 || controls[0].ObservedAt == nil || controls[0].Point == "" {
		t.Fatalf("controls %+v", controls)
	}
	if want == observer.OutcomeCancelled && (controls[0].LatencyMS == nil || res.Summary.CancelMS == nil || res.Summary.CancelledBy == "") {
		t.Errorf("no latency stored: %+v, summary %+v", controls[0], res.Summary)
	}
	if want != observer.OutcomeCancelled && res.Summary.Late == "" {
		t.Error("the summary does not say that a cancel came too late")
	}
	calls, err := r.store.Calls(ctx, res.RunID)
	must(t, err)
	for _, c := range calls {
		if c.State != db.CallEnded || c.Result == "" {
			t.Errorf("call %s has no result", c.Name)
		}
	}
	inbox, err := r.store.Inbox(ctx)
	must(t, err)
	if len(inbox) != 0 {
		t.Error("a question of a cancelled run still waits")
	}
}

func TestObserverCancels(t *testing.T) {
	r := newRig(t)
	model := answers(call("list", `{"path":"."}`), say("done"))
	obs := observer.Func(func(ev *observer.Event) observer.Flow {
		if ev.Kind.Tag() == "step" {
			return observer.Cancel
		}
		return observer.Continue
	})
	res, err := r.engine(model, core.WithObserver(obs)).Run(context.Background(), r.contract())
	must(t, err)
	if res.Outcome != observer.OutcomeCancelled || res.Summary.Steps != 1 || model.calls != 1 {
		t.Errorf("%s after %d steps and %d calls", res.Outcome, res.Summary.Steps, model.calls)
	}
}

func TestEndOfTheProcessIsNoCancel(t *testing.T) {
	r := newRig(t)
	ctx, stop := context.WithCancel(context.Background())
	model := answers(call("exec", `{"argv":["sleep","30"]}`), say("done"))
	obs := observer.Func(func(ev *observer.Event) observer.Flow {
		if ev.Kind.Tag() == "tool_began" {
			stop()
		}
		return observer.Continue
	})
	res, err := r.engine(model, core.WithObserver(obs)).Run(ctx, r.contract())
	must(t, err)
	run, err := r.store.Run(context.Background(), res.RunID)
	must(t, err)
	if run.Status != db.Running || run.Outcome != "" {
		t.Fatalf("%s %q", run.Status, run.Outcome)
	}
	calls, err := r.store.Calls(context.Background(), res.RunID)
	must(t, err)
	if len(calls) != 1 || calls[0].State != db.CallEnded || calls[0].Result == "" {
		t.Errorf("the interrupted call: %+v", calls)
	}
	res, err = r.engine(model).Resume(context.Background(), res.RunID)
	must(t, err)
	if res.Outcome != observer.OutcomeSuccess || model.calls != 2 {
		t.Errorf("%s after %d calls", res.Outcome, model.calls)
	}
}
