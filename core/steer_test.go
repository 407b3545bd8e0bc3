package core_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tillerman/core"
	"tillerman/core/approval"
	"tillerman/core/gate"
	"tillerman/core/provider"
	"tillerman/core/provider/price"
	"tillerman/core/retry"
	"tillerman/db"
	"tillerman/observer"
)

// order stores a control from another process's handle on the store.
func order(t *testing.T, s *db.Store, run int64, kind, body string) {
	t.Helper()
	_, _, err := s.Control(context.Background(), db.Control{RunID: run, Kind: kind, Body: body, By: db.Here("command " + kind)})
	must(t, err)
}

// when is an observer that does something at the first event that fits.
func when(fits func(*observer.Event) bool, do func(run int64)) observer.Observer {
	done := false
	return observer.Func(func(ev *observer.Event) observer.Flow {
		if !done && fits(ev) {
			done = true
			do(ev.RunID)
		}
		return observer.Continue
	})
}

// answered wants exactly one result for every call of the stored history.
func answered(t *testing.T, s *db.Store, run int64) {
	t.Helper()
	calls, err := s.Calls(context.Background(), run)
	must(t, err)
	for _, c := range calls {
		if c.State != db.CallEnded || c.Result == "" {
			t.Errorf("call %d of step %d (%s) has no result: %s", c.Position, c.Step, c.Name, c.State)
		}
	}
	inbox, err := s.Inbox(context.Background())
	must(t, err)
	if len(inbox) != 0 {
		t.Error("a question of a stopped run still waits")
	}
}

func TestKill(t *testing.T) {
	slow := call("exec", `{"argv":["sh","-c","trap '' TERM; sleep 60"]}`)
	cases := []struct {
		name   string
		model  *turns
		at     func(*observer.Event) bool
		change func(*core.Contract)
		who    approval.Approver
		steps  int
		calls  int
	}{
		{name: "a model call in flight", model: &turns{before: func(ctx context.Context, _ int) { <-ctx.Done() }}, at: tagged("model_asked"), calls: 1},
		{name: "a command that ignores TERM", model: answers(calls([2]string{"exec", `{"argv":["sh","-c","trap '' TERM; sleep 60"]}`}, [2]string{"list", `{"path":"."}`})), at: tagged("tool_began"), steps: 1, calls: 1},
		{name: "a question", model: answers(slow), at: tagged("approval_requested"), who: approval.Elsewhere{}, steps: 1, calls: 1},
		{
			name: "a wait", model: answers(fail(provider.Server)), at: tagged("retry"), calls: 1,
			change: func(c *core.Contract) { c.Retry = retry.Policy{Base: time.Hour, Max: time.Hour} },
		},
		{
			name: "a check", model: answers(say("done")), steps: 1, calls: 1,
			at: func(ev *observer.Event) bool {
				g, ok := ev.Kind.(observer.Gate)
				return ok && g.State == observer.GateBegan
			},
			change: func(c *core.Contract) { c.Gates = []gate.Gate{{Argv: []string{"sh", "-c", "trap '' TERM; sleep 60"}}} },
		},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
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
			obs := when(tc.at, func(run int64) { order(t, other, run, "kill", "") })
			res, err := r.engine(tc.model, core.WithApprover(who), core.WithObserver(obs)).Run(context.Background(), c)
			must(t, err)
			if res.Outcome != observer.OutcomeKilled || res.Summary == nil || res.Summary.Steps != tc.steps || tc.model.calls != tc.calls {
				t.Fatalf("%s (%s), %d calls, summary %+v", res.Outcome, res.Message, tc.model.calls, res.Summary)
			}
			controls, err := r.store.Controls(context.Background(), res.RunID)
			must(t, err)
			if len(controls) != 1 || controls[0].LatencyMS == nil || *controls[0].LatencyMS > 3000 {
				t.Errorf("controls %+v", controls)
			}
			answered(t, r.store, res.RunID)
			spans, err := r.store.Spans(context.Background(), res.RunID)
			must(t, err)
			for _, s := range spans {
				if s.DurationMS == nil {
					t.Errorf("%s %q is open in the trace of an ended run", s.Kind, s.Name)
				}
			}
		})
	}
}

func TestPauseHoldsAndContinueLiftsIt(t *testing.T) {
	r := newRig(t)
	other := r.elsewhere()
	model := answers(call("exec", `{"argv":["sh","-c","echo x >> log"]}`), say("done"))
	var run int64
	obs := observer.Fanout(
		when(tagged("model_asked"), func(id int64) { run = id; order(t, other, id, "pause", "") }),
		when(tagged("paused"), func(id int64) {
			go func() {
				if _, err := os.Stat(filepath.Join(r.ws, "log")); err == nil {
					t.Error("a command ran although the run was paused")
				}
				order(t, other, id, "continue", "")
			}()
		}),
	)
	res, err := r.engine(model, core.WithObserver(obs)).Run(context.Background(), r.contract())
	must(t, err)
	if res.Outcome != observer.OutcomeSuccess || r.read("log") != "x\n" {
		t.Errorf("%s", res.Outcome)
	}
	controls, err := r.store.Controls(context.Background(), run)
	must(t, err)
	for _, c := range controls {
		if c.ObservedAt == nil {
			t.Errorf("%s was never observed", c.Kind)
		}
	}
	spans, err := r.store.Spans(context.Background(), run)
	must(t, err)
	if !slices.ContainsFunc(spans, func(s db.Span) bool { return s.Kind == "pause" && s.DurationMS != nil }) {
		t.Error("the pause is no closed span")
	}
}

func TestPauseSurvivesTheProcess(t *testing.T) {
	r := newRig(t)
	other := r.elsewhere()
	model := answers(call("list", `{"path":"."}`), say("done"))
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	obs := observer.Fanout(
		when(tagged("step"), func(id int64) { order(t, other, id, "pause", "") }),
		when(tagged("paused"), func(int64) { stop() }),
	)
	res, err := r.engine(model, core.WithObserver(obs)).Run(ctx, r.contract())
	must(t, err)
	if res.Outcome != observer.OutcomePausedByOperator || res.Summary != nil {
		t.Fatalf("%s (%s)", res.Outcome, res.Message)
	}
	res, err = r.engine(model).Resume(context.Background(), res.RunID)
	must(t, err)
	if res.Outcome != observer.OutcomePausedByOperator || model.calls != 1 {
		t.Fatalf("a paused run was driven: %s, %d calls", res.Outcome, model.calls)
	}
	order(t, other, res.RunID, "continue", "")
	res, err = r.engine(model).Resume(context.Background(), res.RunID)
	must(t, err)
	if res.Outcome != observer.OutcomeSuccess || model.calls != 2 {
		t.Errorf("%s after %d calls", res.Outcome, model.calls)
	}
}

func TestCancelWhilePaused(t *testing.T) {
	r := newRig(t)
	other := r.elsewhere()
	model := answers(calls([2]string{"exec", `{"argv":["sh","-c","echo x >> log"]}`}, [2]string{"list", `{"path":"."}`}), say("done"))
	obs := observer.Fanout(
		when(tagged("model_asked"), func(id int64) { order(t, other, id, "pause", "") }),
		when(tagged("paused"), func(id int64) { order(t, other, id, "cancel", "") }),
	)
	res, err := r.engine(model, core.WithObserver(obs)).Run(context.Background(), r.contract())
	must(t, err)
	if res.Outcome != observer.OutcomeCancelled || res.Summary.Steps != 1 || model.calls != 1 {
		t.Fatalf("%s, %d calls", res.Outcome, model.calls)
	}
	if _, err := os.Stat(filepath.Join(r.ws, "log")); err == nil {
		t.Error("the command ran")
	}
	answered(t, r.store, res.RunID)
}

func TestTellIsReadAtTheNextStep(t *testing.T) {
	for name, first := range map[string]func(provider.Request) (provider.Answer, error){
		"in the middle":        call("list", `{"path":"."}`),
		"at the final message": say("done"),
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			other := r.elsewhere()
			model := answers(first, say("done again"))
			obs := when(tagged("model_asked"), func(id int64) { order(t, other, id, "tell", "use tabs") })
			res, err := r.engine(model, core.WithObserver(obs)).Run(context.Background(), r.contract())
			must(t, err)
			if res.Outcome != observer.OutcomeSuccess || model.calls != 2 {
				t.Fatalf("%s after %d calls", res.Outcome, model.calls)
			}
			last := model.asked[1].Messages[len(model.asked[1].Messages)-1]
			if last.Role != provider.RoleUser || last.Text() != "[operator] use tabs" {
				t.Errorf("the second request ends with %q", last.Text())
			}
			controls, err := r.store.Controls(context.Background(), res.RunID)
			must(t, err)
			if controls[0].Point != "request of step 2" {
				t.Errorf("read at %q", controls[0].Point)
			}
		})
	}
}

// prices is a table in which m1 costs 1 per million tokens of input and 10 of output.
func prices(t *testing.T) *price.Table {
	t.Helper()
	in, out := int64(1_000_000), int64(10_000_000)
	table, err := price.New(map[string]price.Entry{"m1": {Input: &in, Output: &out}, "m1-answered": {Input: &in, Output: &out}})
	must(t, err)
	return table
}

func budgetOf(t *testing.T, b db.Budget) string {
	t.Helper()
	body, err := json.Marshal(b)
	must(t, err)
	return string(body)
}

func TestBudgetUsedUpIsAQuestionToAPerson(t *testing.T) {
	list := call("list", `{"path":"."}`)
	cases := []struct {
		name  string
		set   func(*core.Contract)
		raise db.Budget
		ends  observer.Outcome
	}{
		{"steps", func(c *core.Contract) { c.MaxSteps = 1 }, db.Budget{MaxSteps: new(5)}, observer.OutcomeStepCapReached},
		{"tokens", func(c *core.Contract) { c.Tokens = 11_000 }, db.Budget{Tokens: new(int64(0))}, observer.OutcomeCostBudgetExceeded},
		{"money", func(c *core.Contract) { c.Money = 3_300 }, db.Budget{MoneyMicros: new(int64(1_000_000))}, observer.OutcomeCostBudgetExceeded},
	}
	big := func(req provider.Request) (provider.Answer, error) {
		a, err := list(req)
		a.Usage = &provider.Usage{Input: 10_000, Output: 1_500}
		if req.MaxOutput == 77 { // the money case
			a.Usage = &provider.Usage{Input: 100, Output: 400}
		}
		return a, err
	}
	for _, tc := range cases {
		if testing.Short() && tc.name != "tokens" {
			continue // each budget goes the same way
		}
		for _, how := range []string{"raised", "denied", "unattended", "left"} {
			t.Run(tc.name+" "+how, func(t *testing.T) {
				r := newRig(t)
				other := r.elsewhere()
				c := quick(r.contract())
				tc.set(&c)
				if tc.name == "money" {
					c.MaxOutput = 77
				}
				model := answers(big, say("done"))
				var who approval.Approver = approval.Elsewhere{}
				if how == "unattended" {
					who = approval.All{}
				}
				ctx, stop := context.WithCancel(context.Background())
				defer stop()
				answer := func(id int64) {
					inbox, err := other.Inbox(context.Background())
					must(t, err)
					if len(inbox) != 1 || inbox[0].Act != db.BudgetAct || inbox[0].Target != tc.name {
						t.Fatalf("inbox %+v", inbox)
					}
					if _, err := other.Decide(context.Background(), inbox[0].ID, db.Decision{Answer: "approve"}, db.Here("test")); err == nil {
						t.Error("a budget was approved without a figure")
					}
					switch how {
					case "raised":
						order(t, other, id, "budget", budgetOf(t, tc.raise))
					case "denied":
						_, err := other.Decide(context.Background(), inbox[0].ID, db.Decision{Answer: "deny"}, db.Here("test"))
						must(t, err)
					case "left":
						stop()
					}
				}
				e := r.engine(model, core.WithApprover(who), core.WithPrices(prices(t)), core.WithObserver(when(tagged("approval_requested"), answer)))
				res, err := e.Run(ctx, c)
				must(t, err)
				want := map[string]observer.Outcome{
					"raised": observer.OutcomeSuccess, "denied": tc.ends, "unattended": tc.ends, "left": observer.OutcomeAwaitingBudget,
				}[how]
				if res.Outcome != want {
					t.Fatalf("%s (%s), want %s", res.Outcome, res.Message, want)
				}
				if how != "left" {
					return
				}
				quiet := r.engine(model, core.WithPrices(prices(t)))
				res, err = quiet.Resume(context.Background(), res.RunID)
				must(t, err)
				if res.Outcome != observer.OutcomeAwaitingBudget || model.calls != 1 {
					t.Fatalf("resumed without a larger budget: %s, %d calls", res.Outcome, model.calls)
				}
				order(t, other, res.RunID, "budget", budgetOf(t, tc.raise))
				res, err = quiet.Resume(context.Background(), res.RunID)
				must(t, err)
				if res.Outcome != observer.OutcomeSuccess || model.calls != 2 {
					t.Fatalf("resumed with a larger budget: %s (%s), %d calls", res.Outcome, res.Message, model.calls)
				}
				answered(t, r.store, res.RunID)
			})
		}
	}
}

func TestBudgetLoweredWhileRunning(t *testing.T) {
	r := newRig(t)
	other := r.elsewhere()
	list := call("list", `{"path":"."}`)
	model := answers(list, list, list, say("done"))
	obs := when(tagged("step"), func(id int64) { order(t, other, id, "budget", budgetOf(t, db.Budget{MaxSteps: new(2)})) })
	res, err := r.engine(model, core.WithObserver(obs)).Run(context.Background(), r.contract())
	must(t, err)
	if res.Outcome != observer.OutcomeStepCapReached || res.Summary.Steps != 2 {
		t.Errorf("%s after %d steps", res.Outcome, res.Summary.Steps)
	}
}

func TestMoneyNeedsAPrice(t *testing.T) {
	r := newRig(t)
	c := r.contract()
	c.Money = 20_000
	_, err := r.engine(answers(say("done"))).Run(context.Background(), c)
	if err == nil || !strings.Contains(err.Error(), `"m1"`) {
		t.Errorf("%v", err)
	}
	if _, err := r.store.LastRun(context.Background()); err == nil {
		t.Error("the run exists")
	}
}

// Cancel and kill of a run that nobody drives end it where it stands.
func TestStopOfARunThatNobodyDrives(t *testing.T) {
	for _, kind := range []string{"cancel", "kill"} {
		t.Run(kind, func(t *testing.T) {
			r := newRig(t)
			model := answers(calls([2]string{"write_file", `{"path":"a","content":"hi"}`}, [2]string{"list", `{"path":"."}`}), say("done"))
			e := r.engine(model, core.WithApprover(approval.Later{}))
			res, err := e.Run(context.Background(), r.contract())
			must(t, err)
			order(t, r.store, res.RunID, kind, "")
			res, err = r.engine(nil).Stop(context.Background(), res.RunID, false)
			must(t, err)
			want := map[string]observer.Outcome{"cancel": observer.OutcomeCancelled, "kill": observer.OutcomeKilled}[kind]
			if res.Outcome != want || res.Summary == nil || res.Summary.Steps != 1 || res.Summary.CancelMS == nil {
				t.Fatalf("%s (%s), %+v", res.Outcome, res.Message, res.Summary)
			}
			answered(t, r.store, res.RunID)
			events, err := r.store.EventsAfter(context.Background(), res.RunID, 0, 0)
			must(t, err)
			if events[len(events)-1].Kind.Tag() != "finished" {
				t.Error("the last event is not finished")
			}
			again, err := r.engine(nil).Stop(context.Background(), res.RunID, false)
			must(t, err)
			if again.Outcome != want {
				t.Errorf("stopped again: %s", again.Outcome)
			}
		})
	}
}

func TestHandover(t *testing.T) {
	r := newRig(t)
	model := answers(call("list", `{"path":"."}`), call("write_file", `{"path":"a","content":"hi"}`), say("done"))
	leave := make(chan struct{})
	var once bool
	obs := when(tagged("approval_requested"), func(int64) {
		once = true
		go func() { close(leave); r.store.Wake() }()
	})
	res, err := r.engine(model, core.WithApprover(approval.Elsewhere{}), core.WithHandover(leave), core.WithObserver(obs)).Run(context.Background(), r.contract())
	must(t, err)
	if !res.HandedOver || !once {
		t.Fatalf("%+v", res)
	}
	run, err := r.store.Run(context.Background(), res.RunID)
	must(t, err)
	if _, _, held, _ := r.store.Driver(context.Background(), res.RunID); held || run.Status != db.Running {
		t.Errorf("held %v, %s", held, run.Status)
	}
	res, err = r.engine(model).Resume(context.Background(), res.RunID)
	must(t, err)
	if res.Outcome != observer.OutcomeSuccess || model.calls != 3 || r.read("a") != "hi" {
		t.Errorf("%s after %d calls", res.Outcome, model.calls)
	}
}

// A run whose process died in a once-only call is ended on the spot as well: nobody says that the call has happened, but
// for a person who has looked.
func TestStopOfARunThatDiedInACall(t *testing.T) {
	for _, tc := range []struct{ kind, found, says string }{
		{"cancel", "", "before anybody looked"},
		{"kill", "", "before anybody looked"},
		{"cancel", "done", "it was done: the log says so"},
		{"kill", "fail", "it was not done: the log says so"},
		{"cancel", "retry", "it was not done: the log says so"},
	} {
		t.Run(tc.kind+tc.found, func(t *testing.T) {
			dir, store, run := diedInACall(t)
			e := core.New(store, nil, core.WithState(filepath.Join(dir, "state"), os.Environ()))
			if tc.found != "" {
				_, err := store.Resolve(context.Background(), run.ID, db.Resolution{Answer: tc.found, Reason: "the log says so"}, db.Here("test"))
				must(t, err)
				_, err = store.Resolve(context.Background(), run.ID, db.Resolution{Answer: "done", Reason: "too late"}, db.Here("test"))
				var late *db.ResolvedError
				if !errors.As(err, &late) || !strings.Contains(err.Error(), "step 1 was already resolved: "+tc.found+" by "+db.Here("test").String()) {
					t.Errorf("resolved twice: %v", err)
				}
			}
			order(t, store, run.ID, tc.kind, "")
			res, err := e.Stop(context.Background(), run.ID, false)
			must(t, err)
			if res.Summary == nil {
				t.Fatalf("%s (%s)", res.Outcome, res.Message)
			}
			answered(t, store, run.ID)
			calls, err := store.Calls(context.Background(), run.ID)
			must(t, err)
			if got := calls[0].Result; !strings.HasPrefix(got, "[outcome unknown]") || !strings.Contains(got, tc.says) {
				t.Errorf("the call says %q", got)
			}
		})
	}
}

// diedInACall is a run whose process was killed while a once-only call had begun and not ended.
func diedInACall(t *testing.T) (dir string, store *db.Store, run db.Run) {
	t.Helper()
	if testing.Short() {
		t.Skip("kills processes")
	}
	for n := 4; n < 20; n++ {
		dir := matrixDir(t)
		if exec.Command(os.Args[0], crashArg, "once", dir, strconv.Itoa(n)).Run() == nil {
			break
		}
		store := openStore(t, filepath.Join(dir, "runs.db"), db.Options{})
		run, err := store.LastRun(context.Background())
		must(t, err)
		calls, err := store.Calls(context.Background(), run.ID)
		must(t, err)
		if len(calls) == 1 && calls[0].State == db.CallBegun {
			return dir, store, run
		}
	}
	t.Fatal("no kill came between the beginning and the end of the call")
	return "", nil, db.Run{}
}

// A file of any size among a command's words is looked at in no time.
func TestLargeFileAmongTheWords(t *testing.T) {
	r := newRig(t)
	big := filepath.Join(r.ws, "big")
	must(t, os.WriteFile(big, nil, 0o644))
	must(t, os.Truncate(big, 1<<40))
	model := answers(call("exec", `{"argv":["ls","big"]}`), say("done"))
	began := time.Now()
	res, err := r.engine(model, core.WithApprover(approval.Later{})).Run(context.Background(), r.contract())
	must(t, err)
	if took := time.Since(began); res.Outcome != observer.OutcomeAwaitingApproval || took > 20*time.Second {
		t.Errorf("%s after %s", res.Outcome, took)
	}
}

// A ceiling shorter than what the store counts in is the shortest one, not none.
func TestShortestTimeIsACeiling(t *testing.T) {
	for d, want := range map[time.Duration]int64{0: 0, 1: 1, 999_999: 1, time.Millisecond: 1, 1_999_999: 1, 2 * time.Second: 2000} {
		if got := (core.Limits{Time: &d}).Budget().TimeMS; got == nil || *got != want {
			t.Errorf("%s is %v ms, want %d", d, got, want)
		}
	}
}
