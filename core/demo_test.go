package core_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"tillerman/core"
	"tillerman/core/approval"
	"tillerman/observer"
)

func TestDemoTwiceIsTheSameRun(t *testing.T) {
	var traces []string
	for range 2 {
		r := newRig(t)
		c, model := r.demo()
		res, err := r.engine(model).Run(context.Background(), c)
		must(t, err)
		if res.Outcome != observer.OutcomeSuccess || res.Summary == nil || !res.Summary.Success {
			t.Fatalf("outcome %s: %s", res.Outcome, res.Message)
		}
		if n := res.Summary.Steps; n < 10 || n > 15 {
			t.Errorf("%d steps, want 10 to 15", n)
		}
		if res.Summary.Refusals == 0 {
			t.Error("the demo shows no refusal")
		}
		traces = append(traces, r.trace(res.RunID))
	}
	if traces[0] != traces[1] {
		t.Errorf("two demos differ:\n%s", firstDifference(traces[0], traces[1]))
	}
	if strings.Contains(traces[0], t.TempDir()[:8]) {
		t.Error("the trace holds an absolute path")
	}
}

func firstDifference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return x[i] + "\n--\n" + y[i]
		}
	}
	return "one is a prefix of the other"
}

// denies answers the questions of a run in order: the n-th is denied, the others approved.
type denies struct {
	n, asked int
	reason   string
}

func (d *denies) Surface() string { return "test" }

func (d *denies) Decide(context.Context, approval.Request) (approval.Decision, error) {
	d.asked++
	if d.asked == d.n || d.n == 0 {
		return approval.Decision{Answer: approval.Deny, Reason: d.reason}, nil
	}
	return approval.Decision{Answer: approval.Approve}, nil
}

func TestDemoEndsSensiblyWhateverIsDenied(t *testing.T) {
	for n := 0; n <= 6; n++ { // 0 denies everything
		if testing.Short() && n > 1 {
			break
		}
		r := newRig(t)
		c, model := r.demo()
		who := &denies{n: n, reason: "not that way"}
		res, err := r.engine(model, core.WithApprover(who)).Run(context.Background(), c)
		must(t, err)
		if res.Summary == nil {
			t.Errorf("denying question %d: the run has no end: %s", n, res.Outcome)
			continue
		}
		sensible := []observer.Outcome{observer.OutcomeSuccess, observer.OutcomeStalled}
		if !slices.Contains(sensible, res.Outcome) {
			t.Errorf("denying question %d ends %s: %s", n, res.Outcome, res.Message)
		}
		if n == 0 && res.Outcome == observer.OutcomeSuccess {
			t.Error("everything was denied and the run calls itself a success")
		}
	}
}

func TestDenyThatStopsEndsTheRun(t *testing.T) {
	r := newRig(t)
	c, model := r.demo()
	res, err := r.engine(model, core.WithApprover(stops{})).Run(context.Background(), c)
	must(t, err)
	if res.Outcome != observer.OutcomeDenied {
		t.Errorf("outcome %s", res.Outcome)
	}
	calls, err := r.store.Calls(context.Background(), res.RunID)
	must(t, err)
	for _, c := range calls {
		if c.State != "ended" || c.Result == "" {
			t.Errorf("call %d of step %d has no result", c.Position, c.Step)
		}
	}
}

type stops struct{}

func (stops) Surface() string { return "test" }
func (stops) Decide(context.Context, approval.Request) (approval.Decision, error) {
	return approval.Decision{Answer: approval.Deny, Reason: "enough", Stop: true}, nil
}
