package core

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strings"

	"tillerman/core/policy"
	"tillerman/db"
	"tillerman/observer"
)

// Run starts a run and drives it until it ends or waits. An error that is not a *RunError means that no run exists.
// When ctx ends, this process goes away: what is in flight is abandoned, the lease is released and the run can be taken
// up again; that is never recorded as the operator's cancel.
func (e *Engine) Run(ctx context.Context, c Contract) (Result, error) {
	if err := c.complete(); err != nil {
		return Result{}, err
	}
	if err := CheckMoney(e.prices, c); err != nil {
		return Result{}, err
	}
	if err := e.hideSecrets(&c); err != nil {
		return Result{}, err
	}
	if c.RetrySeed == 0 {
		var b [8]byte
		_, _ = rand.Read(b[:]) // never fails, by its contract
		c.RetrySeed = int64(binary.BigEndian.Uint64(b[:]) >> 1)
	}
	d, err := e.prepare(c, e.policy)
	if err != nil {
		return Result{}, err
	}
	defer d.close()
	if d.in, err = e.readInputs(c, d.tools, d.bound); err != nil {
		return Result{}, err
	}
	run, err := e.row(c, d.in)
	if err != nil {
		return Result{}, err
	}
	who := d.actor()
	lease, events, err := e.store.Start(ctx, run, who, d.backend(), func(tx *db.Tx) error {
		d.runSpan, err = tx.OpenSpan(0, "run", run.Goal, 0, nil)
		if err != nil {
			return err
		}
		if err := tx.Event(0, 0, observer.Started{Goal: run.Goal, Provider: e.provider.Name()}); err != nil {
			return err
		}
		return tx.Audit(db.AuditRow{Action: "start", Actor: who, Model: run.Model, Digest: run.ContractDigest})
	})
	var taken *db.KeyError
	if errors.As(err, &taken) {
		return e.sameKey(ctx, taken.Existing, run)
	}
	if err != nil {
		return Result{}, err
	}
	d.lease = lease
	return d.drive(ctx, events, false)
}

// row is the run as it is stored.
func (e *Engine) row(c Contract, in inputs) (db.Run, error) {
	body, digest, err := c.encode()
	if err != nil {
		return db.Run{}, err
	}
	pol, err := json.Marshal(e.policy)
	if err != nil {
		return db.Run{}, err
	}
	read, err := json.Marshal(in)
	if err != nil {
		return db.Run{}, err
	}
	return db.Run{
		Agent: "0", Goal: c.Goal, Workspace: c.Workspace, Provider: c.askedFirst(e.provider.Name()), Model: c.Model,
		Contract: body, ContractDigest: digest, Policy: string(pol), PolicyDigest: e.policy.Digest(), Inputs: string(read),
		Key: c.Key, Version: Version,
	}, nil
}

// ConflictError says that a key was used before for something else, and what differs.
type ConflictError struct {
	Key    string
	RunID  int64
	Fields []string
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("key %q belongs to run %d, which differs in %s; use another key", e.Key, e.RunID, strings.Join(e.Fields, ", "))
}

// sameKey answers a start whose key is taken: the same content is the same run, other content is a conflict.
func (e *Engine) sameKey(ctx context.Context, old, asked db.Run) (Result, error) {
	if old.ContractDigest == asked.ContractDigest && old.PolicyDigest == asked.PolicyDigest {
		return e.Report(ctx, old.ID)
	}
	fields := differing(old.Contract, asked.Contract)
	if old.PolicyDigest != asked.PolicyDigest {
		fields = append(fields, "policy")
	}
	return Result{}, &ConflictError{Key: old.Key, RunID: old.ID, Fields: fields}
}

func differing(a, b string) []string {
	var x, y map[string]json.RawMessage
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return []string{"contract"}
	}
	names := map[string]bool{}
	for k := range x {
		names[k] = true
	}
	for k := range y {
		names[k] = true
	}
	var fields []string
	for k := range names {
		if k != "retry_seed" && string(x[k]) != string(y[k]) {
			fields = append(fields, k)
		}
	}
	sort.Strings(fields)
	return fields
}

// Report says how a run stands without driving it.
func (e *Engine) Report(ctx context.Context, runID int64) (Result, error) {
	run, err := e.store.Run(ctx, runID)
	if err != nil {
		return Result{RunID: runID}, err
	}
	res := Result{RunID: runID, Outcome: observer.Outcome(run.Outcome), Message: run.StopReason}
	sum, err := e.store.Summary(ctx, runID)
	switch {
	case err == nil:
		res.Summary = &sum
	case !errors.Is(err, db.ErrNotFound):
		return res, err
	}
	return res, nil
}

// RunError is a failure of the machinery, not of the run: the store cannot be written, the lease was lost. The run can
// be resumed.
type RunError struct {
	RunID int64
	Err   error
}

func (e *RunError) Error() string { return fmt.Sprintf("run %d: %v", e.RunID, e.Err) }

func (e *RunError) Unwrap() error { return e.Err }

// drive runs the loop under the lease and ends the drive one way or another.
func (d *driver) drive(ctx context.Context, events []observer.Event, resumed bool) (Result, error) {
	if len(events) > 0 {
		d.emitted = events[0].Seq - 1
	}
	ctx, kill := context.WithCancelCause(ctx)
	defer kill(nil)
	end, err := d.watched(ctx, kill, events, resumed)
	if ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.Cause(ctx))) {
		err = errGone // it broke off whatever was read or waited for
	}
	if errors.Is(err, errGone) && wasKilled(ctx) {
		end, err = d.killed()
	}
	switch {
	case err == nil:
		return d.finish(end)
	case errors.Is(goneOr(ctx, err), errGone):
		return d.leave()
	case errors.Is(err, errHandover):
		return d.handOver()
	}
	// Best effort: a lease that cannot be released now is taken over once this process is gone.
	_ = d.e.store.LetGo(context.Background(), d.lease, "error")
	return Result{RunID: d.lease.RunID}, &RunError{RunID: d.lease.RunID, Err: err}
}

// watched steers while a kill is watched for.
func (d *driver) watched(ctx context.Context, kill context.CancelCauseFunc, events []observer.Event, resumed bool) (*ending, error) {
	stop, err := d.watchKill(ctx, kill)
	if err != nil {
		return nil, goneOr(ctx, err)
	}
	defer stop()
	return d.steer(ctx, events, resumed)
}

// steer does what comes before the loop, then the loop.
func (d *driver) steer(ctx context.Context, events []observer.Event, resumed bool) (*ending, error) {
	if err := d.emit(events); err != nil {
		return nil, err
	}
	answered := false // a step was under way: it is finished first, as it would have been
	if resumed {
		var err error
		if answered, err = d.recover(ctx); err != nil {
			return nil, err
		}
	} else {
		d.steps.policy = d.c.Stall
		d.hist.Add(d.opening())
	}
	if !answered {
		if end, err := d.safePoint(ctx, atStart); end != nil || err != nil {
			return end, err
		}
	}
	if err := d.open(); err != nil {
		return nil, err
	}
	if resumed {
		if err := d.waitGone(ctx); err != nil {
			return nil, err
		}
	}
	if end, err := d.checkEndpoints(ctx); end != nil || err != nil {
		return end, err
	}
	return d.loop(ctx)
}

// leave lets go of the run because this process goes away. A run that waits for an answer is paused, so that it shows
// up as waiting and not as interrupted.
func (d *driver) leave() (Result, error) {
	switch {
	case d.paused != nil:
		return d.finish(pausedEnding(*d.paused))
	case d.asking != 0 && d.askingBudget:
		return d.finish(&ending{outcome: observer.OutcomeAwaitingBudget, message: fmt.Sprintf("request %d waits for a larger budget", d.asking)})
	case d.asking != 0:
		return d.finish(&ending{outcome: observer.OutcomeAwaitingApproval, message: fmt.Sprintf("request %d waits for an answer", d.asking)})
	}
	return d.letGo("interrupted")
}

// handOver lets go of the run for another process to take up. A run that is paused stays so: nobody has to drive it.
func (d *driver) handOver() (Result, error) {
	if d.paused != nil {
		return d.finish(pausedEnding(*d.paused))
	}
	res, err := d.letGo("handed over")
	res.HandedOver = err == nil
	return res, err
}

// letGo releases the lease of a run that has neither ended nor paused.
func (d *driver) letGo(word string) (Result, error) {
	err := d.commit(func(tx *db.Tx) error {
		if err := tx.LoseAttempts(); err != nil {
			return err
		}
		return d.closeSpans(tx, word)
	})
	err = errors.Join(err, d.e.store.LetGo(context.Background(), d.lease, word))
	if err != nil {
		return Result{RunID: d.lease.RunID}, &RunError{RunID: d.lease.RunID, Err: err}
	}
	return Result{RunID: d.lease.RunID, Message: word}, nil
}

// checkEndpoints judges every host the provider may dial, once a drive, before the first step.
func (d *driver) checkEndpoints(ctx context.Context) (*ending, error) {
	hosts := d.e.provider.Endpoints()
	if len(hosts) == 0 {
		return nil, nil
	}
	layer := policy.Layer{Name: policy.ProviderLayer}
	for _, h := range hosts {
		layer.Rules = append(layer.Rules, policy.Rule{Act: policy.Net, Effect: policy.Allow, Match: []string{h}})
	}
	bound, err := d.bound.With(layer)
	if err != nil {
		return nil, err
	}
	for _, h := range hosts {
		end, err := d.checkEndpoint(ctx, h, bound.Explain(policy.Action{Act: policy.Net, Host: h}))
		if end != nil || err != nil {
			return end, err
		}
	}
	return nil, nil
}

func (d *driver) checkEndpoint(ctx context.Context, host string, v policy.Verdict) (*ending, error) {
	rule, layer := optional(v.Rule), optional(v.Layer)
	err := d.commit(func(tx *db.Tx) error {
		if err := tx.AddVerdict(db.Verdict{Act: string(policy.Net), Target: host, Effect: string(v.Effect), Rule: rule, Layer: layer, Part: v.Part}); err != nil {
			return err
		}
		if err := tx.Event(0, 0, observer.Endpoint{Host: host, Effect: string(v.Effect), Rule: rule, Layer: layer}); err != nil {
			return err
		}
		if v.Effect == policy.Deny {
			if err := tx.Event(0, 0, observer.Refused{Act: string(policy.Net), Target: host, Rule: rule, Layer: layer}); err != nil {
				return err
			}
		}
		return tx.Audit(db.AuditRow{Action: "endpoint", Actor: d.actor(), Act: string(policy.Net), Target: host, Rule: rule, Layer: layer, Decision: string(v.Effect)})
	})
	if err != nil {
		return nil, err
	}
	denied := &ending{outcome: observer.OutcomeRefused, reason: "host_denied", message: "the policy denies the provider's host " + host}
	switch v.Effect {
	case policy.Allow:
		return nil, nil
	case policy.Deny:
		return denied, nil
	}
	q := question{act: string(policy.Net), target: host, payload: "connect to " + host, digest: db.Digest([]byte("net " + host)), verdict: v}
	if q.open, err = d.hostRequest(ctx, q); err != nil {
		return nil, err
	}
	got, end, err := d.ask(ctx, q)
	if end != nil || err != nil {
		return end, err
	}
	if err := d.commit(func(tx *db.Tx) error { return d.closeWait(tx, got.Decision) }); err != nil {
		return nil, err
	}
	if got.Decision == "deny" {
		denied.message = "the operator denied the provider's host " + host
		return denied, nil
	}
	return nil, nil
}

// hostRequest is the question about a host that an earlier drive of this run asked and that still stands: open, or
// approved, perhaps after that drive had ended.
func (d *driver) hostRequest(ctx context.Context, q question) (*db.Request, error) {
	reqs, err := d.e.store.Requests(ctx, d.lease.RunID)
	if err != nil {
		return nil, goneOr(ctx, err)
	}
	for i := len(reqs) - 1; i >= 0; i-- {
		if r := reqs[i]; r.Position == nil && r.Act == q.act && r.Digest == q.digest && r.State != "superseded" {
			return &r, nil
		}
	}
	return nil, nil
}
