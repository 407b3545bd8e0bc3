package core

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"tillerman/core/approval"
	"tillerman/core/policy"
	"tillerman/core/provider"
	"tillerman/db"
	"tillerman/observer"
)

// ResumeOption changes one resume.
type ResumeOption func(*resumption)

type resumption struct {
	policy   *policy.Policy
	limits   Limits
	request  int64
	decision *db.Decision
	takeOver bool
}

// ReplacePolicy replaces the stored policy from this resume on; the change is audited.
func ReplacePolicy(p *policy.Policy) ResumeOption { return func(r *resumption) { r.policy = p } }

// NewLimits sets budgets anew.
func NewLimits(l Limits) ResumeOption { return func(r *resumption) { r.limits = l } }

// WithDecision answers a request before the run is taken up.
func WithDecision(requestID int64, d db.Decision) ResumeOption {
	return func(r *resumption) { r.request, r.decision = requestID, &d }
}

// TakeOver takes a run whose driver cannot be seen from here. Only a person can know that it is gone.
func TakeOver() ResumeOption { return func(r *resumption) { r.takeOver = true } }

// errEnded says that another process drove the run to its end between the look at it and its lease.
var errEnded = errors.New("the run has ended meanwhile")

// Resume takes up a run where it stands, under its stored policy, with this engine's provider, approver and observer. A
// run that has ended is reported and nothing is driven, unless a larger budget lets it continue. *db.HeldError says that
// another process drives it, *db.RemovedError that its trace was removed.
func (e *Engine) Resume(ctx context.Context, runID int64, opts ...ResumeOption) (Result, error) {
	var r resumption
	for _, o := range opts {
		o(&r)
	}
	run, err := e.store.Run(ctx, runID)
	if err != nil {
		return Result{RunID: runID}, err
	}
	if err := run.Traced(); err != nil {
		return Result{RunID: runID}, err
	}
	c, p, in, err := decodeRun(run)
	if err != nil {
		return Result{RunID: runID}, err
	}
	was := c
	r.limits.set(&c)
	if run.Status == db.Completed && !grown(run, was, c) {
		return e.Report(ctx, runID)
	}
	if err := CheckMoney(e.prices, c); err != nil {
		return Result{RunID: runID}, err
	}
	if held, err := e.waits(ctx, run, r); err != nil || held != nil {
		if held != nil {
			return *held, err
		}
		return Result{RunID: runID}, err
	}
	if r.policy != nil {
		p = r.policy
	}
	d, err := e.prepare(c, p)
	if err != nil {
		return Result{RunID: runID}, err
	}
	defer d.close()
	d.in = in
	if err := d.sameTools(); err != nil {
		return Result{RunID: runID}, err
	}
	if r.decision != nil {
		if _, err := e.store.Decide(ctx, r.request, *r.decision, db.Here(e.surface)); err != nil {
			return Result{RunID: runID}, err
		}
	}
	lease, events, err := e.store.TakeUp(ctx, runID, d.actor(), d.backend(), r.takeOver, func(tx *db.Tx) error {
		if tx.Was() == db.Completed && run.Status != db.Completed {
			return errEnded
		}
		return d.takenUp(tx, run, p, r)
	})
	if errors.Is(err, errEnded) {
		return e.Report(ctx, runID)
	}
	if err != nil {
		return Result{RunID: runID}, err
	}
	d.lease = lease
	return d.drive(ctx, events, true)
}

func decodeRun(run db.Run) (Contract, *policy.Policy, inputs, error) {
	var c Contract
	if err := json.Unmarshal([]byte(run.Contract), &c); err != nil {
		return c, nil, inputs{}, fmt.Errorf("the stored contract of run %d cannot be read: %w", run.ID, err)
	}
	p := new(policy.Policy)
	if err := json.Unmarshal([]byte(run.Policy), p); err != nil {
		return c, nil, inputs{}, fmt.Errorf("the stored policy of run %d cannot be read: %w", run.ID, err)
	}
	in, err := decodeInputs(run.Inputs)
	return c, p, in, err
}

// Contract reads what a run was asked, so that whoever resumes it can make its provider.
func (e *Engine) Contract(ctx context.Context, runID int64) (Contract, error) {
	return StoredContract(ctx, e.store, runID)
}

// StoredContract reads what a run was asked.
func StoredContract(ctx context.Context, store *db.Store, runID int64) (Contract, error) {
	run, err := store.Run(ctx, runID)
	if err != nil {
		return Contract{}, err
	}
	c, _, _, err := decodeRun(run)
	return c, err
}

// sameTools fails when the run was started with a tool that this engine does not have.
func (d *driver) sameTools() error {
	var missing []string
	for _, t := range d.in.Tools {
		if _, ok := d.tools.Get(t.Name); !ok {
			missing = append(missing, t.Name)
		}
	}
	if len(missing) > 0 {
		return &ContractError{"tools", "the run was started with tools that are not here: " + strings.Join(missing, ", ")}
	}
	return nil
}

// waits answers a resume of a run that a resume does not help: one that is paused by its operator, that lacks a larger
// budget, or that has a call nobody may repeat before a person said what became of it. Nothing is driven.
func (e *Engine) waits(ctx context.Context, run db.Run, r resumption) (*Result, error) {
	controls, err := e.store.PendingControls(ctx, run.ID)
	if err != nil {
		return nil, err
	}
	if first(controls, "cancel") != nil || first(controls, "kill") != nil {
		return nil, nil // it is to end
	}
	held, err := e.store.Hold(ctx, run.ID)
	if err != nil {
		return nil, err
	}
	if held != nil {
		end := pausedEnding(*held)
		return &Result{RunID: run.ID, Outcome: end.outcome, Message: end.message}, nil
	}
	if run.Status != db.Paused {
		return nil, nil
	}
	switch observer.Outcome(run.Outcome) {
	case observer.OutcomeAwaitingBudget:
		return e.waitsForBudget(ctx, run, r, controls)
	case observer.OutcomeNeedsOperator:
		return e.waitsForResolution(ctx, run)
	}
	return nil, nil
}

func (e *Engine) waitsForBudget(ctx context.Context, run db.Run, r resumption, controls []db.Control) (*Result, error) {
	if !r.limits.none() || first(controls, "budget") != nil || approval.Attended(e.approver) {
		return nil, nil
	}
	reqs, err := e.store.Requests(ctx, run.ID)
	if err != nil {
		return nil, err
	}
	for _, q := range reqs {
		if q.Act == db.BudgetAct && q.State == "open" {
			return &Result{RunID: run.ID, Outcome: observer.OutcomeAwaitingBudget, Message: run.StopReason}, nil
		}
	}
	return nil, nil // somebody ended it
}

func (e *Engine) waitsForResolution(ctx context.Context, run db.Run) (*Result, error) {
	effects, err := e.store.Effects(ctx, run.ID)
	if err != nil {
		return nil, err
	}
	for _, f := range effects {
		if f.State == "open" {
			return &Result{RunID: run.ID, Outcome: observer.OutcomeNeedsOperator, Message: run.StopReason}, nil
		}
	}
	return nil, nil
}

// takenUp is what the first commit of a resumed drive holds.
func (d *driver) takenUp(tx *db.Tx, run db.Run, p *policy.Policy, r resumption) error {
	note := ""
	if err := errors.Join(tx.LoseAttempts(), tx.InterruptGates()); err != nil {
		return err
	}
	if r.policy != nil {
		body, err := json.Marshal(p)
		if err != nil {
			return err
		}
		if err := tx.SetPolicy(string(body), p.Digest()); err != nil {
			return err
		}
		if err := tx.Audit(db.AuditRow{Action: "policy", Actor: d.actor(), Step: run.Sealed, Digest: p.Digest(), Reason: "replaced by the resume", Note: "before it " + run.PolicyDigest}); err != nil {
			return err
		}
	}
	if !r.limits.none() {
		body, _, err := d.c.encode()
		if err != nil {
			return err
		}
		if err := tx.SupersedeBudget(); err != nil {
			return err
		}
		if err := tx.SetContract(body); err != nil {
			return err
		}
		if err := d.budgetSet(tx, r.limits); err != nil {
			return err
		}
	}
	if r.takeOver {
		note = "taken over on the operator's word that the driver before is gone"
	}
	var err error
	if d.runSpan, err = tx.OpenSpan(0, "run", run.Goal, run.Sealed, nil); err != nil {
		return err
	}
	if err := tx.Event(run.Sealed, 0, observer.Started{Goal: run.Goal, Provider: d.e.provider.Name()}); err != nil {
		return err
	}
	return tx.Audit(db.AuditRow{Action: "resume", Actor: d.actor(), Step: run.Sealed, Model: run.Model, Note: note})
}

// rewinder is a provider whose answers depend on what was asked before: a replay.
type rewinder interface {
	Advance(agent string, req provider.Request, failed bool)
}

// recover builds from the store what the driver that went away knew: the request it last asked, what is sealed, what was
// spent. answered says that the step under way has its answer.
func (d *driver) recover(ctx context.Context) (answered bool, err error) {
	store, id := d.e.store, d.lease.RunID
	attempts, err := store.Attempts(ctx, id)
	if err != nil {
		return false, goneOr(ctx, err)
	}
	steps, err := store.Steps(ctx, id, 0, 0)
	if err != nil {
		return false, goneOr(ctx, err)
	}
	figures, err := store.Figures(ctx, id)
	if err != nil {
		return false, goneOr(ctx, err)
	}
	d.billed = figures.TokensBilled
	for _, a := range attempts {
		d.spent = add(d.spent, d.cost(a))
	}
	d.drivenMS = figures.DurationMS - figures.Time.Away - figures.Time.Person
	d.steps.policy = d.c.Stall
	for _, st := range steps {
		d.steps.add(st)
	}
	d.sealed = len(steps)
	if err := d.restore(ctx, attempts); err != nil {
		return false, goneOr(ctx, err)
	}
	if len(attempts) == 0 {
		d.hist.Add(d.opening())
		return false, nil
	}
	newest := attempts[len(attempts)-1]
	if newest.Step > d.sealed {
		d.partial = newest.Step
		return newest.State == db.AttemptAnswered, nil
	}
	return false, d.rememberSealed(ctx, attempts)
}

// restore replays the stored requests into the history.
func (d *driver) restore(ctx context.Context, attempts []db.Attempt) error {
	var digests []string
	for _, a := range attempts {
		digests = append(digests, a.Append...)
	}
	bodies, err := d.e.store.Contents(ctx, digests)
	if err != nil {
		return err
	}
	rewind, _ := d.e.provider.(rewinder)
	for _, a := range attempts {
		var appended []provider.Message
		for _, digest := range a.Append {
			var m provider.Message
			if err := json.Unmarshal(bodies[digest], &m); err != nil {
				return fmt.Errorf("a stored message of run %d cannot be read: %w", d.lease.RunID, err)
			}
			appended = append(appended, m)
		}
		if err := d.hist.Restore(a.Keep, appended); err != nil {
			return err
		}
		if rewind != nil && !a.Inner && a.State != db.AttemptLost && a.State != db.AttemptOpen {
			rewind.Advance(d.lease.Agent, d.request(), a.State == db.AttemptFailed)
		}
	}
	return nil
}

// rememberSealed adds the newest sealed step to what the next request holds.
func (d *driver) rememberSealed(ctx context.Context, attempts []db.Attempt) error {
	calls, err := d.e.store.StepCalls(ctx, d.lease.RunID, d.sealed)
	if err != nil {
		return goneOr(ctx, err)
	}
	for i := len(attempts) - 1; i >= 0; i-- {
		if a := attempts[i]; a.Step == d.sealed && a.State == db.AttemptAnswered {
			r, _, err := d.storedReply(ctx, a)
			if err != nil {
				return goneOr(ctx, err)
			}
			d.remember(r, calls)
			return nil
		}
	}
	return fmt.Errorf("run %d: the answer of step %d is missing", d.lease.RunID, d.sealed)
}

// opening is the task as the first message.
func (d *driver) opening() provider.Message { return provider.Say(provider.RoleUser, opening(d.c)) }
