package core

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"tillerman/core/sandbox"
	"tillerman/core/tool"
	"tillerman/core/wording"
	"tillerman/db"
	"tillerman/db/audit"
	"tillerman/observer"
)

// endsOnly notes a drive that did nothing but end its run.
const endsOnly = "only to end it"

// Stop ends a run that nobody drives, for a cancel or kill that is stored already: its open calls get results that say
// so, its unsealed step is sealed and the run is finished, without a model and without running anything. *db.HeldError
// says that a process drives the run: it will see the wish itself. takeOver ends also a run whose driver cannot be seen
// from here, on the word of a person who knows that it is gone. A run that has ended is reported.
func (e *Engine) Stop(ctx context.Context, runID int64, takeOver bool) (Result, error) {
	run, err := e.store.Run(ctx, runID)
	if err != nil {
		return Result{RunID: runID}, err
	}
	if run.Status == db.Completed {
		return e.Report(ctx, runID)
	}
	c, _, in, err := decodeRun(run)
	if err != nil {
		return Result{RunID: runID}, err
	}
	d := &driver{e: e, c: c, in: in, sealed: run.Sealed, obs: observer.Guard(e.observer, e.report)}
	d.live = observer.LiveOf(d.obs)
	lease, events, err := e.store.TakeUp(ctx, runID, d.actor(), sandbox.Backend(), takeOver, func(tx *db.Tx) error {
		if tx.Was() == db.Completed {
			return errEnded
		}
		if err := errors.Join(tx.LoseAttempts(), tx.InterruptGates()); err != nil {
			return err
		}
		var err error
		if d.runSpan, err = tx.OpenSpan(0, "run", run.Goal, run.Sealed, nil); err != nil {
			return err
		}
		if err := tx.Event(run.Sealed, 0, observer.Started{Goal: run.Goal, Provider: run.Provider}); err != nil {
			return err
		}
		return tx.Audit(db.AuditRow{Action: audit.Resume, Actor: d.actor(), Step: run.Sealed, Model: run.Model, Note: endsOnly})
	})
	if errors.Is(err, errEnded) {
		return e.Report(ctx, runID)
	}
	if err != nil {
		return Result{RunID: runID}, err
	}
	d.lease = lease
	end, err := d.stopNow(events)
	if err != nil {
		_ = e.store.LetGo(context.Background(), lease, "error")
		return Result{RunID: runID}, &RunError{RunID: runID, Err: err}
	}
	return d.finish(end)
}

func (d *driver) stopNow(events []observer.Event) (*ending, error) {
	if len(events) > 0 {
		d.emitted = events[0].Seq - 1
	}
	if err := d.emit(events); err != nil {
		return nil, err
	}
	c, err := d.stopWanted()
	if err != nil {
		return nil, err
	}
	if c == nil {
		return nil, errors.New("nobody asked for the run to stop")
	}
	end, err := d.stopFor(c, "nobody drove it")
	if err != nil {
		return nil, err
	}
	left, err := d.leftovers(c.Kind)
	if err != nil {
		return nil, err
	}
	end.message += stillRunning(left)
	return end, d.breakStep(end)
}

// leftovers are the commands of an earlier driver that still run. Their supervisors have a moment to end them; a kill
// ends them itself.
func (d *driver) leftovers(kind string) ([]sandbox.Left, error) {
	dir := d.stateDir()
	if dir == "" {
		return nil, nil
	}
	if kind == "kill" {
		return sandbox.EndSurvivors(context.Background(), dir)
	}
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	left, err := sandbox.WaitGone(ctx, dir)
	if len(left) > 0 {
		err = nil // they are named
	}
	return left, err
}

// killed is what follows when a kill broke off what was in flight.
func (d *driver) killed() (*ending, error) {
	c, err := d.stopWanted()
	if err != nil {
		return nil, err
	}
	if c == nil {
		return nil, errors.New("the kill that ended the step is not stored")
	}
	end, err := d.stopFor(c, atOnce)
	if err != nil {
		return nil, err
	}
	d.asking, d.paused = 0, nil
	run, err := d.e.store.Run(context.Background(), d.lease.RunID)
	if err != nil {
		return nil, err
	}
	d.sealed = run.Sealed
	if err := d.breakStep(end); err != nil {
		return nil, err
	}
	left, err := d.survivors()
	end.message += stillRunning(left)
	return end, err
}

// survivors are the processes of this run that could not be ended.
func (d *driver) survivors() ([]sandbox.Left, error) {
	calls, err := d.e.store.StepCalls(context.Background(), d.lease.RunID, d.sealed)
	if err != nil {
		return nil, err
	}
	var all []sandbox.Left
	for _, c := range calls {
		if c.LeftRunning == "" {
			continue
		}
		var left []sandbox.Left
		if err := json.Unmarshal([]byte(c.LeftRunning), &left); err != nil {
			return nil, err
		}
		for _, l := range left {
			if !l.Ended {
				all = append(all, l)
			}
		}
	}
	return all, nil
}

// stillRunning names processes that outlived a stop, "" when none did.
func stillRunning(left []sandbox.Left) string {
	if len(left) == 0 {
		return ""
	}
	var names []string
	for _, l := range left {
		names = append(names, fmt.Sprintf("%d (%s)", l.PID, l.Name))
	}
	return "; still running: " + strings.Join(names, ", ")
}

// breakStep ends the step under way where it stands: every open call gets a result, a question about one is withdrawn,
// and the step is sealed. A step without an answer was none.
func (d *driver) breakStep(end *ending) error {
	ctx := context.Background()
	step := d.sealed + 1
	attempts, err := d.e.store.StepAttempts(ctx, d.lease.RunID, step)
	if err != nil {
		return err
	}
	for _, a := range attempts {
		if a.State != db.AttemptAnswered {
			continue
		}
		r, _, err := d.storedReply(ctx, a)
		if err != nil {
			return err
		}
		calls, err := d.e.store.StepCalls(ctx, d.lease.RunID, step)
		if err != nil {
			return err
		}
		for i := range calls {
			if err := d.breakCall(ctx, &calls[i], end); err != nil {
				return err
			}
		}
		return d.seal(ctx, step, r, end)
	}
	return d.withdrawOpen(ctx)
}

// breakCall gives a call that has not ended its result.
func (d *driver) breakCall(ctx context.Context, c *db.Call, end *ending) error {
	word := string(end.outcome)
	f := finished{text: wording.Tag(stopTag(end), "the run was "+word+" before this call began"), failed: true, decision: c.Name + " " + word, wait: word}
	switch {
	case c.State == db.CallEnded:
		return nil
	case c.State == db.CallBegun:
		return d.breakBegun(ctx, c, f)
	}
	open, err := d.openRequest(ctx, *c)
	if err != nil {
		return err
	}
	return d.commit(func(tx *db.Tx) error {
		if open != nil {
			if err := tx.Supersede(open.ID); err != nil {
				return err
			}
		}
		return d.writeEnd(tx, c, f)
	})
}

// breakBegun ends a call that had begun when its process died. Whether it took effect is known of a write, and of what a
// person has looked at.
func (d *driver) breakBegun(ctx context.Context, c *db.Call, f finished) error {
	files, err := d.e.store.Files(ctx, d.lease.RunID)
	if err != nil {
		return err
	}
	for _, file := range files {
		if file.Step != c.Step || file.Position != c.Position || file.Source != "write" {
			continue
		}
		if now, err := tool.State(d.c.Workspace, file.Path); err == nil && now.Exists && now.Digest == *file.After {
			return d.wrote(c, file.Path, file.Before == nil || *file.Before != *file.After, file.Before == nil)
		}
		return d.endCall(c, f)
	}
	found, err := d.found(ctx, c)
	if err != nil {
		return err
	}
	if found != nil {
		f = asFound(c, found)
	} else {
		f.text = wording.Tag(wording.OutcomeUnknown, "the call had begun when its process died, and the run was stopped before anybody looked")
		f.decision = c.Name + ": outcome unknown"
	}
	if c.Listing != "" {
		_ = d.seeChanges(ctx, c, &f) // a workspace that is gone has nothing to tell
	}
	return d.endCall(c, f)
}

// withdrawOpen takes back questions that are not about a call.
func (d *driver) withdrawOpen(ctx context.Context) error {
	reqs, err := d.e.store.Requests(ctx, d.lease.RunID)
	if err != nil {
		return err
	}
	return d.commit(func(tx *db.Tx) error {
		for _, r := range reqs {
			if r.State == "open" {
				if err := tx.Supersede(r.ID); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// stopTag opens the result of a call that a stop kept from running.
func stopTag(end *ending) string {
	if end.outcome == observer.OutcomeKilled {
		return wording.Killed
	}
	return wording.Cancelled
}

// patience is how long a takeover waits for the commands of the driver before: their supervisors end them within about
// a second of its death.
const patience = 5 * time.Second

// waitGone waits until no command of an earlier driver runs: two must never work at once.
func (d *driver) waitGone(ctx context.Context) error {
	dir := d.stateDir()
	if dir == "" {
		return nil
	}
	waiting, stop := context.WithTimeout(ctx, patience)
	defer stop()
	left, err := sandbox.WaitGone(waiting, dir)
	switch {
	case ctx.Err() != nil:
		return errGone
	case len(left) > 0:
		return fmt.Errorf("commands of the driver before did not end by themselves%s; end them, then resume, or end the run with kill", stillRunning(left))
	}
	return err
}

// stateDir is where this run's commands have their home and temporary files, "" when that is not kept.
func (d *driver) stateDir() string {
	if d.e.state == "" {
		return ""
	}
	return filepath.Join(d.e.state, "runs", fmt.Sprintf("%d-%s", d.lease.RunID, db.Digest([]byte(d.e.store.Path()))[:8]))
}
