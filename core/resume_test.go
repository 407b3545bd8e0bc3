package core_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"tillerman/core"
	"tillerman/core/approval"
	"tillerman/core/policy"
	"tillerman/core/tool"
	"tillerman/db"
	"tillerman/observer"
)

func TestLargerBudgetContinues(t *testing.T) {
	r := newRig(t)
	c := r.contract()
	c.MaxSteps = 1
	model := answers(call("list", `{"path":"."}`), say("done"))
	res, err := r.engine(model).Run(context.Background(), c)
	must(t, err)
	if res.Outcome != observer.OutcomeStepCapReached {
		t.Fatal(res.Outcome)
	}
	res, err = r.engine(model).Resume(context.Background(), res.RunID, core.NewLimits(core.Limits{MaxSteps: new(5)}))
	must(t, err)
	if res.Outcome != observer.OutcomeSuccess || res.Summary.Steps != 2 {
		t.Errorf("%s after %d steps", res.Outcome, res.Summary.Steps)
	}
}

func TestDeferPausesAndADecisionLaterGoesOn(t *testing.T) {
	r := newRig(t)
	model := answers(call("write_file", `{"path":"a","content":"hi"}`), say("done"))
	res, err := r.engine(model, core.WithApprover(approval.Later{})).Run(context.Background(), r.contract())
	must(t, err)
	if res.Outcome != observer.OutcomeAwaitingApproval || res.Summary != nil {
		t.Fatalf("%s, summary %v", res.Outcome, res.Summary)
	}
	run, err := r.store.Run(context.Background(), res.RunID)
	must(t, err)
	if run.Status != db.Paused || run.Sealed != 0 {
		t.Errorf("%s with %d sealed steps", run.Status, run.Sealed)
	}
	inbox, err := r.store.Inbox(context.Background())
	must(t, err)
	if len(inbox) != 1 || inbox[0].Payload == "" {
		t.Fatalf("inbox %+v", inbox)
	}
	_, err = r.store.Decide(context.Background(), inbox[0].ID, db.Decision{Answer: "approve", Digest: inbox[0].Digest}, db.Here("test"))
	must(t, err)
	res, err = r.engine(model, core.WithApprover(approval.None{Reason: "must not be asked"})).Resume(context.Background(), res.RunID)
	must(t, err)
	if res.Outcome != observer.OutcomeSuccess || r.read("a") != "hi" || model.calls != 2 {
		t.Errorf("%s, %d calls", res.Outcome, model.calls)
	}
}

// slowStart is a tool that does something whenever an engine makes its list of tools.
type slowStart struct {
	tool.Tool
	first func()
}

func (s *slowStart) Spec() tool.Spec {
	if f := s.first; f != nil {
		s.first = nil
		f()
	}
	spec := s.Tool.Spec()
	spec.Name = "slow_start"
	return spec
}

// A resume that comes second, after another process ended the run meanwhile, reports that end and drives nothing.
func TestResumeThatLosesTheRace(t *testing.T) {
	r := newRig(t)
	model := answers(call("write_file", `{"path":"a","content":"hi"}`), say("done"))
	late := &slowStart{Tool: tool.Builtin()[0]}
	res, err := r.engine(model, core.WithTools(late), core.WithApprover(approval.Later{})).Run(context.Background(), r.contract())
	must(t, err)
	inbox, err := r.store.Inbox(context.Background())
	must(t, err)
	_, err = r.store.Decide(context.Background(), inbox[0].ID, db.Decision{Answer: "approve", Digest: inbox[0].Digest}, db.Here("test"))
	must(t, err)
	var won core.Result
	late.first = func() {
		won, err = r.engine(model, core.WithTools(late)).Resume(context.Background(), res.RunID)
		must(t, err)
	}
	lost, err := r.engine(model, core.WithTools(late)).Resume(context.Background(), res.RunID)
	must(t, err)
	if won.Outcome != observer.OutcomeSuccess || lost.Outcome != won.Outcome || model.calls != 2 {
		t.Errorf("won %s, lost %s (%s), %d calls", won.Outcome, lost.Outcome, lost.Message, model.calls)
	}
	events, err := r.store.EventsAfter(context.Background(), res.RunID, 0, 500)
	must(t, err)
	if last := events[len(events)-1]; last.Kind.Tag() != "finished" {
		t.Errorf("the last event is %s", last.Kind.Tag())
	}
	drives, err := r.store.Drives(context.Background(), res.RunID)
	must(t, err)
	if len(drives) != 2 {
		t.Errorf("%d drives", len(drives))
	}
}

func TestStoredPolicyHoldsOnResume(t *testing.T) {
	r := newRig(t)
	model := answers(call("write_file", `{"path":"a","content":"hi"}`), say("done"))
	res, err := r.engine(model, core.WithApprover(approval.Later{})).Run(context.Background(), r.contract())
	must(t, err)
	strict := trusting(t)
	strict.Defaults.Write = policy.Deny
	strict.Layers = nil
	res, err = r.engine(model, core.WithPolicy(policy.Permissive())).Resume(context.Background(), res.RunID, core.ReplacePolicy(strict))
	must(t, err)
	if _, err := os.Stat(filepath.Join(r.ws, "a")); err == nil {
		t.Error("a deny that came while the run waited was crossed")
	}
	if res.Outcome != observer.OutcomeSuccess || res.Summary.Refusals != 1 {
		t.Errorf("%s, %d refusals", res.Outcome, res.Summary.Refusals)
	}
}

// A question about the provider's host that is put off stays one question: answered later, it is not asked again.
func TestHostApprovedLaterGoesOn(t *testing.T) {
	r := newRig(t)
	p, err := policy.Parse([]byte("[[layer]]\nname = \"l\"\n[[layer.rule]]\nact = \"net\"\neffect = \"ask\"\nmatch = [\"asks.example\"]\n"), "test.toml")
	must(t, err)
	e := r.engine(hosts{answers(say("done")), []string{"asks.example"}}, core.WithPolicy(p), core.WithApprover(approval.Later{}))
	ctx := context.Background()
	res, err := e.Run(ctx, r.contract())
	must(t, err)
	res, err = e.Resume(ctx, res.RunID) // still unanswered
	must(t, err)
	inbox, err := r.store.Inbox(ctx)
	must(t, err)
	if len(inbox) != 1 || res.Outcome != observer.OutcomeAwaitingApproval {
		t.Fatalf("%s, %d questions wait", res.Outcome, len(inbox))
	}
	_, err = r.store.Decide(ctx, inbox[0].ID, db.Decision{Answer: "approve", Digest: inbox[0].Digest}, db.Here("test"))
	must(t, err)
	res, err = e.Resume(ctx, res.RunID)
	must(t, err)
	reqs, err := r.store.Requests(ctx, res.RunID)
	must(t, err)
	if res.Outcome != observer.OutcomeSuccess || len(reqs) != 1 {
		t.Errorf("%s: %s, %d questions", res.Outcome, res.Message, len(reqs))
	}
}
