package core

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"tillerman/core/provider"
	"tillerman/core/provider/price"
	"tillerman/core/retry"
	"tillerman/db"
	"tillerman/observer"
)

// reply is a step's answer as it is stored.
type reply struct {
	attempt db.Attempt
	message provider.Message
	fell    bool // somebody was asked before the one that answered
}

// cutNote says why nothing of the answer takes effect, "" when it does.
func (r reply) cutNote() string {
	calls := r.message.Calls()
	switch provider.Stop(r.attempt.Stop) {
	case provider.StopEnd, provider.StopCalls:
	case provider.StopLength:
		return fmt.Sprintf("the answer was cut by the output limit (%s); %s", r.attempt.Finish, nothingRan(len(calls)))
	default:
		return fmt.Sprintf("the answer ended for an unknown reason (%q); %s", r.attempt.Finish, nothingRan(len(calls)))
	}
	for _, c := range calls {
		if args := strings.TrimSpace(c.Arguments); args != "" && !json.Valid([]byte(args)) {
			return fmt.Sprintf("the arguments of %s are not valid JSON; %s", c.Name, nothingRan(len(calls)))
		}
	}
	return ""
}

func nothingRan(calls int) string {
	if calls == 0 {
		return "go on in smaller pieces"
	}
	return fmt.Sprintf("none of its %d calls ran; go on in smaller pieces", calls)
}

// answer gets the step's answer: the stored one, or a new one, asked as often as the contract allows.
func (d *driver) answer(ctx context.Context, step int) (reply, *ending, error) {
	failures := 0
	if step == d.partial {
		attempts, err := d.e.store.StepAttempts(ctx, d.lease.RunID, step)
		if err != nil {
			return reply{}, nil, err
		}
		for _, a := range attempts {
			switch {
			case a.State == db.AttemptAnswered:
				return d.storedReply(ctx, a)
			case a.State == db.AttemptFailed && !a.Inner:
				failures++
			}
		}
	}
	for {
		r, failed, end, err := d.attempt(ctx, step)
		if end != nil || err != nil || failed == nil {
			return r, end, err
		}
		failures++
		if end, err := d.failed(ctx, step, failures, r.attempt, failed); end != nil || err != nil {
			return r, end, err
		}
	}
}

func (d *driver) storedReply(ctx context.Context, a db.Attempt) (reply, *ending, error) {
	body, err := d.e.store.Content(ctx, a.Answer)
	if err != nil {
		return reply{}, nil, err
	}
	r := reply{attempt: a}
	d.modelAsked = answered(a)
	return r, nil, json.Unmarshal(body, &r.message)
}

// answered is the model of an answer as the audit trail names it: as it called itself or, from a server that gives no
// name, as it was asked for, which is said.
func answered(a db.Attempt) string {
	if a.AnsweredModel == "" {
		return a.Model + " (as asked for)"
	}
	return a.AnsweredModel
}

// request is what the next call asks.
func (d *driver) request() provider.Request {
	return provider.Request{Model: d.c.Model, MaxOutput: d.c.MaxOutput, System: d.in.System, Messages: d.hist.Messages(), Tools: d.in.Tools}
}

// attempt begins one call, makes it and stores how it ended. failed is set when it failed.
func (d *driver) attempt(ctx context.Context, step int) (r reply, failed *provider.Error, end *ending, err error) {
	d.compactIfFull(step)
	req := d.request()
	estimate := provider.Estimate(d.hist.Bytes() + len(d.in.System) + toolBytes(d.in.Tools))
	first := d.c.askedFirst(d.e.provider.Name())
	hold, over := d.hold(estimate, first, d.c.Model)
	for over != nil {
		if end, err := d.reached(ctx, over); end != nil || err != nil {
			return r, nil, end, err
		}
		if end, err := d.safePoint(ctx, atBoundary); end != nil || err != nil {
			return r, nil, end, err
		}
		hold, over = d.hold(estimate, first, d.c.Model)
	}
	r.attempt = db.Attempt{
		Step: step, Drive: d.lease.Drive, Provider: first, Model: d.c.Model, MaxOutput: d.c.MaxOutput,
		RequestDigest: req.Digest(), Estimate: estimate, Hold: hold,
	}
	if err := d.beginAttempt(&r.attempt); err != nil {
		return r, nil, nil, err
	}
	call := provider.Call{
		Agent: d.lease.Agent, Step: step,
		Delta: d.deltas(step),
	}
	under := &modelCallUnderWay{ctx: ctx, d: d, attempt: r.attempt, began: d.e.now()}
	call.Failed = under.passOn
	ans, err := d.e.provider.Complete(ctx, req, call)
	took := max(0, d.e.now().Sub(under.began).Milliseconds())
	r.attempt, r.fell = under.attempt, under.fell
	if under.end != nil || under.err != nil {
		return r, nil, under.end, under.err
	}
	if ctx.Err() != nil && err != nil {
		return r, nil, nil, errGone
	}
	if err == nil {
		err = checkAnswer(ans)
	}
	if err == nil {
		r, err = d.storeAnswer(r, d.clean(ans), took)
		return r, nil, nil, err
	}
	failed, ok := provider.As(err)
	if !ok {
		failed = &provider.Error{Kind: provider.BadRequest, Provider: d.e.provider.Name(), Message: err.Error(), Err: err}
	}
	r.attempt.TotalMS = ptr(took)
	d.fillFailure(&r.attempt, failed)
	return r, failed, nil, nil
}

// beginAttempt stores the call before it is made: every message that is new in it, and the hold on the budget.
func (d *driver) beginAttempt(a *db.Attempt) error {
	tools, err := json.Marshal(d.in.Tools)
	if err != nil {
		return err
	}
	keep, appended := d.hist.Next()
	err = d.commit(func(tx *db.Tx) error {
		a.Keep, a.Append = keep, nil
		for _, m := range appended {
			digest, err := tx.Keep(m.Canonical())
			if err != nil {
				return err
			}
			a.Append = append(a.Append, digest)
		}
		if a.System, err = tx.Keep([]byte(d.in.System)); err != nil {
			return err
		}
		if a.Tools, err = tx.Keep(tools); err != nil {
			return err
		}
		if a.Attempt, err = tx.AddAttempt(*a); err != nil {
			return err
		}
		if err := d.cuts.store(tx, a.Step); err != nil {
			return err
		}
		if err := d.storeHeard(tx, a.Step); err != nil {
			return err
		}
		if err := d.closeWait(tx, "asked again"); err != nil {
			return err
		}
		if d.stepSpan == 0 {
			if d.stepSpan, err = tx.OpenSpan(d.runSpan, "step", fmt.Sprintf("step %d", a.Step), a.Step, nil); err != nil {
				return err
			}
		}
		if d.modelSpan, err = tx.OpenSpan(d.stepSpan, "model", a.Model, a.Step, nil); err != nil {
			return err
		}
		return tx.Event(a.Step, 0, observer.ModelAsked{Provider: a.Provider, Model: a.Model, Attempt: a.Attempt})
	})
	if err == nil {
		d.hist.Asked()
		d.cuts, d.heard = nil, nil
	}
	return err
}

// checkAnswer refuses an answer that says nothing: it would read like a finished run.
func checkAnswer(a provider.Answer) error {
	if strings.TrimSpace(a.Text()) == "" && len(a.Calls()) == 0 && (a.Stop == provider.StopEnd || a.Stop == provider.StopCalls) {
		return &provider.Error{Kind: provider.Malformed, Provider: a.Served, Message: "the answer holds neither text nor a call", Model: a.Model, Usage: a.Usage}
	}
	return nil
}

// storeAnswer commits the whole answer as given, with its calls.
func (d *driver) storeAnswer(r reply, ans provider.Answer, took int64) (reply, error) {
	r.message = provider.Message{Role: provider.RoleAssistant, Parts: ans.Parts}
	a := &r.attempt
	a.State, a.Stop, a.Finish, a.Served, a.AnsweredModel = db.AttemptAnswered, string(ans.Stop), ans.Finish, ans.Served, ans.Model
	a.FirstMS, a.TotalMS = ptr(ans.FirstMillis), ptr(took)
	if ans.FirstMillis == 0 {
		a.FirstMS = nil
	}
	d.fillUsage(a, ans.Usage)
	a.Hold = 0
	if ans.Usage == nil {
		a.Hold = provider.Estimate(len(r.message.Canonical()))
	}
	var calls []db.Call
	if r.cutNote() == "" {
		for i, c := range r.message.Calls() {
			calls = append(calls, db.Call{Step: a.Step, Position: i + 1, CallID: c.ID, Name: c.Name, Arguments: c.Arguments})
		}
	}
	err := d.commit(func(tx *db.Tx) error {
		var err error
		if a.Answer, err = tx.Keep(r.message.Canonical()); err != nil {
			return err
		}
		if err := tx.EndAttempt(*a); err != nil {
			return err
		}
		if err := tx.AddCalls(calls); err != nil {
			return err
		}
		if _, err := tx.CloseSpan(d.modelSpan, "answered"); err != nil {
			return err
		}
		if err := tx.Event(a.Step, 0, modelCall(*a)); err != nil || !r.fell {
			return err
		}
		return fellBack(tx, *a)
	})
	d.settle(*a)
	d.modelAsked = answered(*a)
	return r, err
}

func (d *driver) fillUsage(a *db.Attempt, u *provider.Usage) {
	if u == nil {
		return
	}
	a.Input, a.Output, a.CacheRead, a.CacheWrite, a.Reasoning = ptr(u.Input), ptr(u.Output), u.CacheRead, u.CacheWrite, u.Reasoning
	model := a.AnsweredModel
	if model == "" {
		model = a.Model
	}
	served := a.Served
	if served == "" {
		served = a.Provider
	}
	p, ok := d.e.prices.Price(d.c.priceKind(served), model)
	if !ok { // servers answer under names of their own: what was asked for is the better guess than nothing
		p, ok = d.e.prices.Price(d.c.priceKind(a.Provider), a.Model)
	}
	if ok {
		a.CostMicros = ptr(price.Cost(*u, p))
	}
}

func (d *driver) fillFailure(a *db.Attempt, f *provider.Error) {
	msg, _ := d.e.redactor.String(f.Message)
	a.State, a.Kind, a.Status, a.Message, a.Replayed, a.Hold = db.AttemptFailed, string(f.Kind), f.Status, msg, f.Replayed, 0
	a.Finish, a.AnsweredModel = d.redacted(f.Finish), d.redacted(f.Model)
	if f.Provider != "" {
		a.Provider = f.Provider
	}
	if f.Hint != nil {
		a.HintMS = ptr(f.Hint.Milliseconds())
	}
	d.fillUsage(a, f.Usage)
	d.settle(*a)
}

// failed stores a failed call and decides what follows: a wait and another try, or the end.
func (d *driver) failed(ctx context.Context, step, failures int, a db.Attempt, f *provider.Error) (*ending, error) {
	end := &ending{outcome: observer.OutcomeEscalatedTerminal, message: f.Error()}
	end.message, _ = d.e.redactor.String(end.message)
	var wait time.Duration
	again := false
	switch {
	case f.Kind == provider.ModelRefused:
		end.outcome, end.reason, end.message = observer.OutcomeRefused, string(provider.ModelRefused), fmt.Sprintf("the model refused (%s)", d.redacted(f.Finish))
	case f.Kind == provider.ContextLength && d.compacted != step:
		again = true
	case f.Kind.Retryable():
		end.outcome = observer.OutcomeEscalatedRetryable
		if failures > d.c.MaxRetries {
			break
		}
		left := retry.Unlimited
		if d.c.Time > 0 {
			left = d.c.Time - d.driven()
		}
		var err error
		wait, err = d.c.Retry.Plan(f, retry.Attempt{Seed: d.c.RetrySeed, Step: step, N: failures}, left)
		if err != nil {
			end.message += "; " + err.Error()
			break
		}
		again = true
		a.DelayMS = ptr(wait.Milliseconds())
	}
	err := d.commit(func(tx *db.Tx) error {
		if err := tx.EndAttempt(a); err != nil {
			return err
		}
		if _, err := tx.CloseSpan(d.modelSpan, "failed: "+a.Kind); err != nil {
			return err
		}
		if err := tx.Event(step, 0, modelCall(a)); err != nil {
			return err
		}
		if a.DelayMS == nil {
			return nil
		}
		kind := a.Kind
		if a.Status != 0 {
			kind = fmt.Sprintf("%s (HTTP %d)", kind, a.Status)
		}
		if err := tx.Event(step, 0, observer.Retry{Kind: kind, Attempt: failures, DelayMillis: *a.DelayMS}); err != nil {
			return err
		}
		var err error
		d.waitSpan, err = tx.OpenSpan(d.stepSpan, "retry", kind, step, nil)
		return err
	})
	if err != nil {
		return nil, err
	}
	if !again {
		return end, nil
	}
	if f.Kind == provider.ContextLength {
		d.compact(step, d.hist.Bytes()*6/10)
		return nil, nil
	}
	if f.Replayed {
		return d.safePoint(ctx, atRetry)
	}
	return d.sleep(ctx, wait)
}

// modelCall is the event of an attempt that has ended.
func modelCall(a db.Attempt) observer.ModelCall {
	ev := observer.ModelCall{
		Provider: a.Provider, AskedModel: a.Model, AnsweredModel: optional(a.AnsweredModel), Finish: optional(a.Finish),
		Input: a.Input, Output: a.Output, CacheRead: a.CacheRead, CacheWrite: a.CacheWrite, Reasoning: a.Reasoning,
		Measured: a.Measured(), CostMicros: a.CostMicros, FirstMillis: a.FirstMS, Failure: optional(a.Kind), Attempt: a.Attempt,
	}
	if a.Served != "" {
		ev.Provider = a.Served
	}
	if a.TotalMS != nil {
		ev.LatencyMillis = *a.TotalMS
	}
	return ev
}

func toolBytes(tools []provider.ToolSpec) int {
	n := 0
	for _, t := range tools {
		n += len(t.Name) + len(t.Description) + len(t.Schema)
	}
	return n
}
