package core

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"tillerman/core/policy"
	"tillerman/core/tool"
	"tillerman/core/wording"
	"tillerman/db"
	"tillerman/observer"
)

// secretsLayer is named as the source of a refusal of a call that carries a secret.
const secretsLayer = "secrets"

// act does the step's calls one after another. A call is judged when its turn comes. An ending breaks the step off: the
// calls that are left get a result that says so, except when the step is parked at a question.
func (d *driver) act(ctx context.Context, step int, r reply) (*ending, error) {
	calls, err := d.e.store.StepCalls(ctx, d.lease.RunID, step)
	if err != nil {
		return nil, err
	}
	if d.stepSpan == 0 { // taken up where another drive left it
		if err := d.commit(func(tx *db.Tx) error {
			d.stepSpan, err = tx.OpenSpan(d.runSpan, "step", fmt.Sprintf("step %d", step), step, nil)
			return err
		}); err != nil {
			return nil, err
		}
	}
	for i := range calls {
		if calls[i].State == db.CallEnded {
			continue
		}
		end, err := d.call(ctx, &calls[i], r)
		if err != nil {
			return nil, err
		}
		if end == nil {
			continue
		}
		if end.pauses() {
			return end, nil
		}
		return end, d.breakOff(calls[i+1:], end)
	}
	return nil, nil
}

// breakOff gives every call that is left a result: a history never has an unanswered call.
func (d *driver) breakOff(calls []db.Call, end *ending) error {
	for i := range calls {
		text := wording.Tag(wording.NotRun, "the step was broken off: "+string(end.outcome))
		if err := d.endCall(&calls[i], finished{text: text, failed: true, decision: calls[i].Name + " not run"}); err != nil {
			return err
		}
	}
	return nil
}

// pending is a call that was understood: its tool and what it would do.
type pending struct {
	tool   tool.Tool
	spec   tool.Spec
	plan   tool.Plan
	digest string
	covers string
	since  string // why it is asked about anew; "" when it is not
}

// understand reads a call. problem is what to tell the model when it makes no sense.
func (d *driver) understand(ctx context.Context, c db.Call) (p pending, problem string) {
	t, ok := d.tools.Get(c.Name)
	if !ok {
		return p, fmt.Sprintf("there is no tool %q", c.Name)
	}
	p.tool, p.spec = t, t.Spec()
	args := c.Arguments
	if c.ChangedArgs != "" {
		args = c.ChangedArgs
	}
	if strings.TrimSpace(args) == "" {
		args = "{}" // how some endpoints say that there are none
	}
	var err error
	if p.plan, err = t.Plan(ctx, d.env(c.Step, c.Position, ""), json.RawMessage(args)); err != nil {
		return p, err.Error()
	}
	p.digest, p.covers = d.digest(p.plan)
	return p, ""
}

// call takes one call from wherever it stands to its end.
func (d *driver) call(ctx context.Context, c *db.Call, r reply) (*ending, error) {
	if c.State == db.CallBegun {
		return d.takeUp(ctx, c)
	}
	since := ""
	for {
		p, problem := d.understand(ctx, *c)
		p.since = since
		if ctx.Err() != nil {
			return nil, errGone
		}
		if problem != "" {
			return nil, d.endCall(c, finished{text: problem, failed: true, decision: c.Name + " failed", announce: c.State == db.CallGiven})
		}
		verdict, err := d.judge(*c, p)
		if err != nil {
			return nil, err
		}
		approved, end, err := d.permit(ctx, c, p, verdict, r)
		if end != nil || err != nil || c.State == db.CallEnded {
			return end, err
		}
		if approved.ChangedArgs != "" && approved.ChangedArgs != c.ChangedArgs {
			// What the operator made of the call is a new call: it is judged, and asked about, anew.
			c.ChangedArgs, c.State = approved.ChangedArgs, db.CallJudged
			continue
		}
		waited, end, err := d.pausePoint(ctx, atCall)
		if end != nil {
			err = d.endCall(c, finished{text: wording.Tag(stopTag(end), "the run was "+string(end.outcome)+" before this call began"), failed: true, decision: c.Name + " " + string(end.outcome)})
		}
		if end != nil || err != nil {
			return end, err
		}
		if waited && verdict.Effect == policy.Allow {
			if verdict, err = d.judge(*c, p); err != nil {
				return nil, err
			}
			if verdict.Effect != policy.Allow {
				continue // the rule that allowed it was revoked meanwhile, or the workspace has changed
			}
		}
		err = d.begin(ctx, c, verdict)
		if errors.Is(err, errDrift) {
			c.State, since = db.CallJudged, changedSinceApproved // it is judged, and asked about, anew
			continue
		}
		if err != nil {
			return nil, err
		}
		return nil, d.perform(ctx, c, p)
	}
}

// judge is the verdict on a call that was understood.
func (d *driver) judge(c db.Call, p pending) (policy.Verdict, error) {
	// Arguments are redacted before they are stored: a secret shows as its mark, and so does one in a text that the model has
	// from a redacted result. Acting with it would put the mark where the secret is.
	if args := c.Arguments + c.ChangedArgs; d.e.redactor.Holds(args) || d.e.redactor.Stood(args) {
		return policy.Verdict{Effect: policy.Deny, Layer: secretsLayer, Part: "an argument holds a secret, or the mark of one that was taken out"}, nil
	}
	if p.plan.Question != nil {
		return policy.Verdict{Effect: policy.Ask, Part: "the agent asks"}, nil
	}
	if w := p.plan.Write; w != nil && d.c.File != "" && w.Path != d.c.File {
		return policy.Verdict{Effect: policy.Deny, Layer: policy.ContractLayer, Part: "only " + d.c.File + " may be written"}, nil
	}
	bound, err := d.remembered()
	if err != nil {
		return policy.Verdict{}, err
	}
	v := bound.Explain(p.plan.Action)
	v.Part = d.redacted(v.Part) // where a link leads is not the call's own text
	v.Repeat = v.Repeat || d.c.repeatable(p.plan.Action.Argv)
	return v, nil
}

// permit stores the verdict and, where it asks, waits for the decision. After it the call is either ended (refused,
// denied) or may begin.
func (d *driver) permit(ctx context.Context, c *db.Call, p pending, v policy.Verdict, r reply) (db.Request, *ending, error) {
	var open *db.Request
	if c.State == db.CallAsked {
		req, err := d.openRequest(ctx, *c)
		if err != nil {
			return db.Request{}, nil, err
		}
		open = req
	}
	if v.Effect == policy.Deny {
		return db.Request{}, nil, d.refuse(c, p, v, open)
	}
	if v.Effect == policy.Allow && open == nil {
		return db.Request{}, nil, d.allow(c, p, v)
	}
	q := question{
		call: c, act: p.act(), target: p.plan.Target, payload: p.plan.Payload, digest: p.digest, covers: p.covers,
		verdict: v, said: r.message.Text(), spec: p.spec, open: open, asks: p.plan.Question, since: p.since,
	}
	got, end, err := d.ask(ctx, q)
	if end != nil || err != nil {
		return got, end, err
	}
	if got.Decision == "deny" {
		reason := got.Reason
		if reason == "" {
			reason = "no reason given"
		}
		err := d.endCall(c, finished{text: wording.Tag(wording.Denied, reason), failed: true, decision: p.act() + " denied", wait: "deny"})
		if err == nil && got.Stop {
			end = &ending{outcome: observer.OutcomeDenied, message: "the operator denied " + p.plan.Target + " and ended the run"}
		}
		return got, end, err
	}
	if p.plan.Question != nil {
		return got, nil, d.endCall(c, finished{text: wording.Tag(wording.Operator, p.plan.Question.Answer(got.Reason)), decision: "asked the operator", wait: "answered"})
	}
	return got, nil, nil
}

// act is what a call does, as people are told.
func (p pending) act() string {
	if p.plan.Question != nil {
		return db.QuestionAct
	}
	return string(p.plan.Action.Act)
}

// describeCall fills what is known of a call once it was understood and judged.
func describeCall(c *db.Call, p pending, v policy.Verdict) {
	c.Safety, c.Reach, c.Act, c.Target = string(p.spec.Safety), string(p.spec.Reach), p.act(), p.plan.Target
	c.Effect, c.Rule, c.Layer, c.Digest, c.Repeatable = string(v.Effect), optional(v.Rule), optional(v.Layer), p.digest, v.Repeat
}

// verdictRow is the verdict as a fact.
func verdictRow(c *db.Call, p pending, v policy.Verdict) db.Verdict {
	return db.Verdict{
		Step: c.Step, Position: ptr(c.Position), Act: p.act(), Target: p.plan.Target,
		Effect: string(v.Effect), Rule: optional(v.Rule), Layer: optional(v.Layer), Part: v.Part,
	}
}

// announce tells of a call before it acts; once.
func announce(tx *db.Tx, c *db.Call, target string) error {
	if c.State != db.CallGiven {
		return nil
	}
	return tx.Event(c.Step, 0, observer.ToolCall{Name: c.Name, Target: target})
}

// allow stores that a call may act. A call that an earlier drive judged the same way adds nothing.
func (d *driver) allow(c *db.Call, p pending, v policy.Verdict) error {
	if c.State == db.CallJudged && c.Digest == p.digest && c.Effect == string(v.Effect) {
		return nil
	}
	return d.commit(func(tx *db.Tx) error {
		if err := announce(tx, c, p.plan.Target); err != nil {
			return err
		}
		describeCall(c, p, v)
		c.State = db.CallJudged
		if err := tx.AddVerdict(verdictRow(c, p, v)); err != nil {
			return err
		}
		return tx.SetCall(*c)
	})
}

// refuse stores a deny with the result that tells the model. Nobody is asked.
func (d *driver) refuse(c *db.Call, p pending, v policy.Verdict, open *db.Request) error {
	text := fmt.Sprintf("%s %s is not allowed", p.plan.Action.Act, p.plan.Target)
	switch {
	case v.Rule != "":
		text += fmt.Sprintf(" (rule %q, layer %q)", v.Rule, v.Layer)
	case v.Layer != "":
		text += fmt.Sprintf(" (layer %q)", v.Layer)
	default:
		text += fmt.Sprintf(" (no rule allows it, and the default for %s is deny)", p.plan.Action.Act)
	}
	if v.Part != "" {
		text += ": " + v.Part
	}
	text += "; it will be refused again"
	text, _ = d.e.redactor.String(text)
	f := finished{text: wording.Tag(wording.Refused, text), failed: true, decision: string(p.plan.Action.Act) + " refused", wait: "superseded"}
	return d.commit(func(tx *db.Tx) error {
		if open != nil {
			if err := tx.Supersede(open.ID); err != nil {
				return err
			}
		}
		if err := announce(tx, c, p.plan.Target); err != nil {
			return err
		}
		describeCall(c, p, v)
		row := verdictRow(c, p, v)
		if err := tx.AddVerdict(row); err != nil {
			return err
		}
		if err := tx.Event(c.Step, 0, observer.Refused{Act: row.Act, Target: row.Target, Rule: row.Rule, Layer: row.Layer}); err != nil {
			return err
		}
		if err := tx.Audit(db.AuditRow{
			Action: "denial", Actor: db.Here("policy"), Step: c.Step, Position: row.Position, Act: row.Act, Target: row.Target,
			Rule: row.Rule, Layer: row.Layer, Model: d.modelAsked, Digest: p.digest, Decision: "deny", Reason: v.Part,
		}); err != nil {
			return err
		}
		return d.writeEnd(tx, c, f)
	})
}
