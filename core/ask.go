package core

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"tillerman/core/approval"
	"tillerman/core/policy"
	"tillerman/core/tool"
	"tillerman/core/wording"
	"tillerman/db"
	"tillerman/observer"
)

// Why a call that was asked about before is asked about again; it stands beside what made the policy ask.
const (
	changedSinceApproved = "changed since it was approved"
	changedSinceAsked    = "changed since it was asked"
)

// question is what a person is asked.
type question struct {
	call    *db.Call // nil: not about a call
	act     string
	target  string
	payload string
	digest  string
	covers  string
	said    string
	verdict policy.Verdict
	spec    tool.Spec
	open    *db.Request // the stored question, when an earlier drive asked it
	step    int         // when it is not about a call
	asks    *tool.Question
	since   string // why it is asked anew
}

// openRequest is the newest question about a call that was asked.
func (d *driver) openRequest(ctx context.Context, c db.Call) (*db.Request, error) {
	reqs, err := d.e.store.Requests(ctx, d.lease.RunID)
	if err != nil {
		return nil, err
	}
	for i := len(reqs) - 1; i >= 0; i-- {
		r := reqs[i]
		if r.Step == c.Step && r.Position != nil && *r.Position == c.Position && r.State != "superseded" {
			return &r, nil
		}
	}
	return nil, nil
}

// ask stores the question, lets whoever is first decide it, and returns it decided. The question's span stays open; the
// commit that acts on the decision closes it. An ending means that the run stops or pauses instead.
func (d *driver) ask(ctx context.Context, q question) (db.Request, *ending, error) {
	req, err := d.storeQuestion(q)
	if err != nil {
		return req, nil, err
	}
	d.asking, d.askingBudget = req.ID, q.act == db.BudgetAct
	waited := d.e.now()
	got, end, err := d.await(ctx, req)
	d.personMS += max(0, d.e.now().Sub(waited).Milliseconds())
	if errors.Is(err, errGone) {
		return got, nil, err // leave needs to know that it was asking
	}
	d.asking = 0
	if err != nil {
		return got, nil, err
	}
	if end != nil && end.cancel != nil {
		err = d.withdraw(got, q, end)
	}
	return got, end, err
}

// storeQuestion makes sure that the question is a row before anybody is asked. One that an earlier drive asked keeps its
// id, unless it would ask about something else now.
func (d *driver) storeQuestion(q question) (db.Request, error) {
	if q.open != nil && (q.open.State == "decided" || q.open.Digest == q.digest) {
		return *q.open, d.commit(func(tx *db.Tx) error { return d.openQuestionSpan(tx, q) })
	}
	if q.open != nil {
		q.since = changedSinceAsked
	}
	if q.since != "" {
		q.verdict.Part = strings.TrimPrefix(q.verdict.Part+"; "+q.since, "; ")
	}
	req := db.Request{
		Act: q.act, Target: q.target, Payload: q.payload, Digest: q.digest, Covers: q.covers, Said: q.said, Rule: optional(q.verdict.Rule), Layer: optional(q.verdict.Layer),
		Part: q.verdict.Part, Sandbox: d.backend(), Model: d.modelAsked, State: "open", RunID: d.lease.RunID, Goal: d.c.Goal,
	}
	req.Step = q.step
	if q.call != nil {
		req.Step, req.Position = q.call.Step, ptr(q.call.Position)
	}
	req.Payload, _ = d.e.redactor.String(req.Payload)
	err := d.commit(func(tx *db.Tx) error {
		if q.open != nil {
			if err := tx.Supersede(q.open.ID); err != nil {
				return err
			}
		}
		if c := q.call; c != nil {
			p := pending{spec: q.spec, digest: q.digest, plan: tool.Plan{Action: policy.Action{Act: policy.Act(q.act)}, Target: q.target, Question: q.asks}}
			if err := announce(tx, c, q.target); err != nil {
				return err
			}
			describeCall(c, p, q.verdict)
			c.State = db.CallAsked
			if err := tx.AddVerdict(verdictRow(c, p, q.verdict)); err != nil {
				return err
			}
			if err := tx.SetCall(*c); err != nil {
				return err
			}
		}
		var err error
		if req.ID, err = tx.Ask(req); err != nil {
			return err
		}
		if err := d.openQuestionSpan(tx, q); err != nil {
			return err
		}
		if err := tx.Event(req.Step, req.ID, observer.ApprovalRequested{Act: q.act, Target: q.target}); err != nil {
			return err
		}
		return tx.Audit(db.AuditRow{
			Action: "request", Actor: d.actor(), Step: req.Step, Position: req.Position, Act: req.Act, Target: req.Target, Rule: req.Rule, Layer: req.Layer,
			Model: req.Model, Digest: req.Digest, RequestID: req.ID,
		})
	})
	return req, err
}

func (d *driver) openQuestionSpan(tx *db.Tx, q question) error {
	parent, step, position := d.runSpan, q.step, (*int)(nil)
	if q.call != nil {
		parent, step, position = d.stepSpan, q.call.Step, ptr(q.call.Position)
	}
	var err error
	d.waitSpan, err = tx.OpenSpan(parent, "question", q.target, step, position)
	return err
}

// closeWait ends the open question or retry span.
func (d *driver) closeWait(tx *db.Tx, outcome string) error {
	_, err := tx.CloseSpan(d.waitSpan, outcome)
	d.waitSpan = 0
	return err
}

// await returns when the stored question is decided, by the approver of this process or by anybody else, or when the
// run is cancelled, or when it is deferred.
func (d *driver) await(ctx context.Context, req db.Request) (db.Request, *ending, error) {
	if req.State == "decided" {
		return req, nil, nil
	}
	waiter, err := d.e.store.NewWaiter(ctx)
	if err != nil {
		return req, nil, goneOr(ctx, err)
	}
	defer waiter.Close()
	asked, stop := context.WithCancel(ctx)
	defer stop()
	answers := d.approve(asked, req)
	for {
		if end, err := d.safePoint(ctx, atQuestion); end != nil || err != nil {
			return req, end, err
		}
		got, err := d.e.store.Request(context.WithoutCancel(ctx), req.ID)
		if err != nil {
			return req, nil, err
		}
		if got.State != "open" { // decided, or withdrawn because a budget was raised
			return got, nil, d.catchUp()
		}
		if got.Decision == "defer" && got.DecidedAt >= req.AskedAt && got.DecidedAt != req.DecidedAt {
			return got, &ending{outcome: observer.OutcomeAwaitingApproval, message: fmt.Sprintf("request %d was put off: %s", got.ID, got.Target)}, d.catchUp()
		}
		select {
		case err := <-answers:
			if err != nil {
				return req, nil, err
			}
			answers = nil
			continue
		default:
		}
		if err := d.waitFor(ctx, waiter, &answers); err != nil {
			return req, nil, err
		}
	}
}

// waitFor returns when the store changed or the approver is through.
func (d *driver) waitFor(ctx context.Context, w *db.Waiter, answers *<-chan error) error {
	waiting, stop := context.WithCancel(ctx)
	defer stop()
	changed := make(chan error, 1)
	go func() { changed <- w.Wait(waiting) }()
	var err error
	select {
	case err = <-changed:
	case err = <-*answers:
		*answers = nil
		stop()
		<-changed // the waiter is for one goroutine
	}
	return goneOr(ctx, err)
}

func goneOr(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return errGone
	}
	return err
}

// approve asks the approver of this process and writes its decision the way every other surface does. The channel gets
// nil once that is done; a decision that came too late is no error.
func (d *driver) approve(ctx context.Context, req db.Request) <-chan error {
	done := make(chan error, 1)
	go func() {
		done <- func() error {
			dec, err := d.e.approver.Decide(ctx, approval.Request{
				ID: req.ID, RunID: req.RunID, Step: req.Step, Goal: req.Goal, Act: req.Act, Target: req.Target, Payload: req.Payload, Digest: req.Digest, Covers: req.Covers,
				Said: req.Said, Rule: deref(req.Rule), Layer: deref(req.Layer), Part: req.Part, Sandbox: req.Sandbox, Model: req.Model,
			})
			if ctx.Err() != nil {
				return nil
			}
			if err != nil {
				return fmt.Errorf("approver: %w", err)
			}
			if req.Act == db.QuestionAct && dec.Answer == approval.Approve && dec.Reason == "" {
				dec = approval.Decision{Answer: approval.Deny, Reason: "nobody is there to answer; decide by yourself"}
			}
			_, err = d.e.store.Decide(context.WithoutCancel(ctx), req.ID, db.Decision{
				Answer: string(dec.Answer), Digest: req.Digest, Reason: dec.Reason, Stop: dec.Stop, ChangedArgs: dec.ChangedArgs, Rule: dec.Rule,
			}, db.Here(d.e.approver.Surface()))
			var late *db.DecidedError
			var raise *db.RaiseError
			if errors.As(err, &late) || errors.As(err, &raise) {
				return nil // it stays open for whoever says how much
			}
			return err
		}()
	}()
	return done
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// withdraw takes a question back because the run was stopped while it waited; the call gets a result saying so.
func (d *driver) withdraw(req db.Request, q question, end *ending) error {
	return d.commit(func(tx *db.Tx) error {
		if err := tx.Supersede(req.ID); err != nil {
			return err
		}
		if err := tx.ObserveControl(end.cancel.ID, end.point); err != nil {
			return err
		}
		word := string(end.outcome)
		if q.call == nil {
			return d.closeWait(tx, word)
		}
		return d.writeEnd(tx, q.call, finished{text: wording.Tag(stopTag(end), "the run was "+word+" while this call waited for an answer"), failed: true, decision: q.call.Name + " " + word, wait: word})
	})
}
