package core_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tillerman/core"
	"tillerman/core/approval"
	"tillerman/core/policy"
	"tillerman/core/provider"
	"tillerman/db"
	"tillerman/observer"
)

// decideFirst answers the first question of a run from another handle on the store, when it is asked.
func decideFirst(t *testing.T, other *db.Store, d func(db.Request) db.Decision) observer.Observer {
	return when(tagged("approval_requested"), func(int64) {
		inbox, err := other.Inbox(context.Background())
		must(t, err)
		_, err = other.Decide(context.Background(), inbox[0].ID, d(inbox[0]), db.Here("test"))
		must(t, err)
	})
}

// One yes with a rule: siblings that fit go on by the rule, the others still ask; a star in the approved command stands
// for itself.
func TestRuleForTheRestOfARun(t *testing.T) {
	r := newRig(t)
	r.write("a.html", "on click=\n")
	model := answers(
		calls([2]string{"exec", `{"argv":["grep","-n","on.*=","a.html"]}`}, [2]string{"exec", `{"argv":["grep","-n","on.*=","a.html"]}`}, [2]string{"exec", `{"argv":["touch","PWN"]}`}),
		call("exec", `{"argv":["grep","-n","on.x=","a.html"]}`),
		say("done"),
	)
	other := r.elsewhere()
	var e *core.Engine
	obs := decideFirst(t, other, func(req db.Request) db.Decision {
		p, err := e.ProposeRule(context.Background(), req, nil)
		must(t, err)
		if !p.Covers || strings.Join(p.Match, " ") != `grep -n on.\*= a.html` {
			t.Errorf("proposed %+v", p)
		}
		return db.Decision{Answer: "approve", Digest: req.Digest, Rule: p.Match}
	})
	e = r.engine(model, core.WithObserver(obs), core.WithApprover(approval.Later{}))
	// The first question is decided before the approver is asked; every other is put off.
	res, err := e.Run(context.Background(), r.contract())
	must(t, err)
	if res.Outcome != observer.OutcomeAwaitingApproval {
		t.Fatalf("%s (%s)", res.Outcome, res.Message)
	}
	stored, err := r.store.StepCalls(context.Background(), res.RunID, 1)
	must(t, err)
	if stored[1].State != db.CallEnded || stored[1].Layer == nil || *stored[1].Layer != core.RememberedLayer {
		t.Errorf("the sibling: %+v", stored[1])
	}
	if stored[2].State != db.CallAsked {
		t.Errorf("touch: %s", stored[2].State)
	}
	inbox, err := other.Inbox(context.Background())
	must(t, err)
	_, err = other.Decide(context.Background(), inbox[0].ID, db.Decision{Answer: "deny"}, db.Here("test"))
	must(t, err)
	res, err = e.Resume(context.Background(), res.RunID)
	must(t, err)
	if res.Outcome != observer.OutcomeAwaitingApproval {
		t.Fatalf("the star stood for anything: %s", res.Outcome)
	}
	if _, err := os.Stat(filepath.Join(r.ws, "PWN")); err == nil {
		t.Error("touch ran")
	}
	rules, err := other.Rules(context.Background(), res.RunID)
	must(t, err)
	if len(rules) != 1 {
		t.Fatalf("rules %+v", rules)
	}
	links, err := other.AuditLog(context.Background(), res.RunID, 0, 0)
	must(t, err)
	n := 0
	for _, l := range links {
		if strings.Contains(string(l.Body), "for the rest of this run") {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d audit rows of one rule", n)
	}
	_, err = other.RevokeRule(context.Background(), res.RunID, rules[0].ID, db.Here("test"))
	must(t, err)
	if _, err := other.RevokeRule(context.Background(), res.RunID, rules[0].ID, db.Here("test")); err == nil {
		t.Error("a rule was revoked twice")
	}
}

// A call that a rule allows and a pause holds is judged again when the pause is lifted: the rule may be revoked by then.
func TestRevokedWhilePaused(t *testing.T) {
	r := newRig(t)
	model := answers(
		calls([2]string{"exec", `{"argv":["touch","one"]}`}, [2]string{"exec", `{"argv":["touch","two"]}`}),
		say("done"),
	)
	other := r.elsewhere()
	first := decideFirst(t, other, func(req db.Request) db.Decision {
		return db.Decision{Answer: "approve", Digest: req.Digest, Rule: []string{"touch", "*"}}
	})
	obs := observer.Fanout(first,
		when(tagged("tool_began"), func(run int64) { order(t, other, run, "pause", "") }),
		when(tagged("paused"), func(run int64) {
			rules, err := other.Rules(context.Background(), run)
			must(t, err)
			_, err = other.RevokeRule(context.Background(), run, rules[0].ID, db.Here("test"))
			must(t, err)
			order(t, other, run, "continue", "")
		}),
	)
	res, err := r.engine(model, core.WithObserver(obs), core.WithApprover(approval.Later{})).Run(context.Background(), r.contract())
	must(t, err)
	if res.Outcome != observer.OutcomeAwaitingApproval {
		t.Fatalf("%s (%s)", res.Outcome, res.Message)
	}
	if _, err := os.Stat(filepath.Join(r.ws, "one")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(r.ws, "two")); err == nil {
		t.Error("a call began by a rule that was revoked")
	}
}

// A rule is tried on what was decided before, and never crosses an ask or a deny that somebody wrote.
func TestRuleIsTriedFirst(t *testing.T) {
	r := newRig(t)
	ask := func(argv string) func(provider.Request) (provider.Answer, error) {
		return call("exec", `{"argv":`+argv+`}`)
	}
	run := func(who approval.Approver, argv ...string) {
		var list []func(provider.Request) (provider.Answer, error)
		for _, a := range argv {
			list = append(list, ask(a))
		}
		_, err := r.engine(answers(append(list, say("done"))...), core.WithApprover(who)).Run(context.Background(), r.contract())
		must(t, err)
	}
	run(approval.All{}, `["echo","a"]`, `["echo","b"]`, `["true"]`)
	run(approval.None{}, `["echo","c"]`)
	p := trusting(t)
	p.Layers = append(p.Layers, policy.Layer{Name: "team", Rules: []policy.Rule{{Act: policy.Exec, Effect: policy.Ask, Match: []string{"ls", "*"}}}})
	e := r.engine(answers(calls([2]string{"exec", `{"argv":["echo","z"]}`}, [2]string{"exec", `{"argv":["ls","-l"]}`}), say("done")), core.WithPolicy(p), core.WithApprover(approval.Later{}))
	res, err := e.Run(context.Background(), r.contract())
	must(t, err)
	inbox, err := r.store.Inbox(context.Background())
	must(t, err)
	got, err := e.ProposeRule(context.Background(), inbox[0], []string{"echo *"})
	must(t, err)
	if !got.Covers || got.Approved != 2 || got.Denied != 1 {
		t.Errorf("echo *: %+v", got)
	}
	if _, err := e.ProposeRule(context.Background(), inbox[0], []string{"echo", "[a"}); err == nil {
		t.Error("a broken pattern was proposed")
	}
	_, err = r.store.Decide(context.Background(), inbox[0].ID, db.Decision{Answer: "approve"}, db.Here("test"))
	must(t, err)
	_, err = e.Resume(context.Background(), res.RunID)
	must(t, err)
	inbox, err = r.store.Inbox(context.Background())
	must(t, err)
	got, err = e.ProposeRule(context.Background(), inbox[0], nil)
	must(t, err)
	if got.Covers || !strings.Contains(got.Why, "team") {
		t.Errorf("a rule against somebody's ask: %+v", got)
	}
}

// A rule holds a command's words: it covers no other input, and so none can be made of a command that has some.
func TestARuleDoesNotCoverInput(t *testing.T) {
	r := newRig(t)
	e := r.engine(answers(call("exec", `{"argv":["tee","notes.txt"],"stdin":"hello"}`), say("done")), core.WithApprover(approval.Later{}))
	_, err := e.Run(context.Background(), r.contract())
	must(t, err)
	inbox, err := r.store.Inbox(context.Background())
	must(t, err)
	got, err := e.ProposeRule(context.Background(), inbox[0], nil)
	must(t, err)
	if got.Covers || !strings.Contains(got.Why, "its input") {
		t.Errorf("%+v", got)
	}
}

// What the operator makes of a call is a call of its own: the policy judges it, and what it denies is not done.
func TestApproveWithChange(t *testing.T) {
	cases := []struct {
		name, change string
		wants        string // file that is there in the end
		again        bool   // it is asked about anew
	}{
		{"to something that asks", `{"path":"b.txt","content":"B"}`, "b.txt", true},
		{"to something that is denied", `{"path":".env","content":"B"}`, "", false},
		{"to nonsense", `{"path":7}`, "", false},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t)
			other := r.elsewhere()
			questions := 0
			obs := observer.Func(func(ev *observer.Event) observer.Flow {
				if ev.Kind.Tag() != "approval_requested" {
					return observer.Continue
				}
				questions++
				inbox, err := other.Inbox(context.Background())
				must(t, err)
				d := db.Decision{Answer: "approve", Digest: inbox[0].Digest}
				if questions == 1 {
					d.ChangedArgs = tc.change
				}
				_, err = other.Decide(context.Background(), inbox[0].ID, d, db.Here("test"))
				must(t, err)
				return observer.Continue
			})
			model := answers(call("write_file", `{"path":"a.txt","content":"A"}`), say("done"))
			res, err := r.engine(model, core.WithApprover(approval.Elsewhere{}), core.WithObserver(obs)).Run(context.Background(), r.contract())
			must(t, err)
			if res.Outcome != observer.OutcomeSuccess || (questions == 2) != tc.again {
				t.Errorf("%s after %d questions", res.Outcome, questions)
			}
			for _, name := range []string{"a.txt", "b.txt", ".env"} {
				_, err := os.Stat(filepath.Join(r.ws, name))
				if (err == nil) != (name == tc.wants) {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
}

func TestAskOperator(t *testing.T) {
	question := call("ask_operator", `{"question":"Which colour?","choices":["red","green"]}`)
	for name, tc := range map[string]struct {
		who      approval.Approver
		decision db.Decision
		result   string
		failed   bool
	}{
		"a choice":          {who: approval.Elsewhere{}, decision: db.Decision{Answer: "approve", Reason: "2"}, result: "[operator] green"},
		"words":             {who: approval.Elsewhere{}, decision: db.Decision{Answer: "approve", Reason: "blue"}, result: "[operator] blue"},
		"declined":          {who: approval.Elsewhere{}, decision: db.Decision{Answer: "deny", Reason: "your choice"}, result: "[denied by the operator] your choice", failed: true},
		"nobody is there":   {who: approval.All{}, result: "[denied by the operator] nobody is there to answer; decide by yourself", failed: true},
		"nobody, and none":  {who: approval.None{Reason: "unattended"}, result: "[denied by the operator] unattended", failed: true},
		"without an answer": {who: approval.Elsewhere{}, decision: db.Decision{Answer: "approve"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			other := r.elsewhere()
			model := answers(question, say("done"))
			obs := when(tagged("approval_requested"), func(id int64) {
				inbox, err := other.Inbox(context.Background())
				must(t, err)
				if len(inbox) != 1 || inbox[0].Act != db.QuestionAct || inbox[0].Payload != "Which colour?\n1. red\n2. green" {
					t.Errorf("inbox %+v", inbox)
				}
				if tc.decision.Answer == "" {
					return
				}
				_, err = other.Decide(context.Background(), inbox[0].ID, tc.decision, db.Here("test"))
				if tc.result == "" {
					if err == nil {
						t.Error("a question was approved without an answer")
					}
					order(t, other, id, "cancel", "")
					return
				}
				must(t, err)
			})
			res, err := r.engine(model, core.WithApprover(tc.who), core.WithObserver(obs)).Run(context.Background(), r.contract())
			must(t, err)
			calls, err := r.store.Calls(context.Background(), res.RunID)
			must(t, err)
			if tc.result != "" && (calls[0].Result != tc.result || calls[0].Failed != tc.failed || calls[0].Begun != 0) {
				t.Errorf("%+v", calls[0])
			}
		})
	}
}

// What was decided before is there for the next question about the same thing.
func TestDecidedBefore(t *testing.T) {
	r := newRig(t)
	for _, who := range []approval.Approver{approval.All{}, approval.None{Reason: "not now"}, approval.Later{}} {
		_, err := r.engine(answers(call("exec", `{"argv":["true"]}`), say("done")), core.WithApprover(who)).Run(context.Background(), r.contract())
		must(t, err)
	}
	inbox, err := r.store.Inbox(context.Background())
	must(t, err)
	b, err := r.store.Before(context.Background(), inbox[0])
	must(t, err)
	if b.Approved != 1 || b.Denied != 1 || b.Last == nil || b.Last.Decision != "deny" {
		t.Errorf("%+v", b)
	}
}
