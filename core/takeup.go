package core

import (
	"context"
	"errors"
	"fmt"

	"tillerman/core/policy"
	"tillerman/core/tool"
	"tillerman/core/wording"
	"tillerman/db"
	"tillerman/observer"
)

// takeUp finds out what became of a call that had begun when its process died.
func (d *driver) takeUp(ctx context.Context, c *db.Call) (*ending, error) {
	files, err := d.e.store.Files(ctx, d.lease.RunID)
	if err != nil {
		return nil, goneOr(ctx, err)
	}
	for _, f := range files {
		if f.Step == c.Step && f.Position == c.Position && f.Source == "write" {
			return nil, d.takeUpWrite(ctx, c, f)
		}
	}
	if c.Safety == string(tool.Once) && !c.Repeatable {
		return d.takeUpOnce(ctx, c)
	}
	return nil, d.again(ctx, c)
}

// takeUpWrite: a file with the intended content was written, one with the pre-image was not, another is somebody else's.
func (d *driver) takeUpWrite(ctx context.Context, c *db.Call, f db.File) error {
	now, err := tool.State(d.c.Workspace, f.Path)
	if err != nil && !errors.Is(err, tool.ErrChanged) {
		return err
	}
	if err == nil && now.Exists && now.Digest == *f.After {
		return d.wrote(c, f.Path, f.Before == nil || *f.Before != *f.After, f.Before == nil)
	}
	if err == nil && now.Exists == (f.Before != nil) && (!now.Exists || now.Digest == *f.Before) {
		return d.again(ctx, c)
	}
	return d.endCall(c, finished{text: wording.Tag(wording.FileChanged, f.Path+" was changed by somebody else; read it again"), failed: true, decision: c.Name + " " + f.Path + " failed: file changed"})
}

// again begins a call that may run twice once more, under the same key.
func (d *driver) again(ctx context.Context, c *db.Call) error {
	p, problem := d.understand(ctx, *c)
	if problem != "" {
		return d.endCall(c, finished{text: problem, failed: true, decision: c.Name + " failed"})
	}
	c.Digest = p.digest
	if err := d.begin(ctx, c, policy.Verdict{}); err != nil {
		return err
	}
	return d.perform(ctx, c, p)
}

// takeUpOnce: nobody can know whether the call has happened, so a person says.
func (d *driver) takeUpOnce(ctx context.Context, c *db.Call) (*ending, error) {
	found, err := d.found(ctx, c)
	switch {
	case err != nil:
		return nil, err
	case found == nil:
		return &ending{
			outcome: observer.OutcomeNeedsOperator,
			message: fmt.Sprintf("%s %s had begun when its process died and must not be repeated unseen; look, then resolve it", c.Name, c.Target),
		}, nil
	case found.Resolution == "retry":
		return nil, d.again(ctx, c)
	}
	return nil, d.endCall(c, asFound(c, found))
}

// found is what a person found out about a call that had begun when its process died, nil when nobody has looked.
func (d *driver) found(ctx context.Context, c *db.Call) (*db.Effect, error) {
	effects, err := d.e.store.Effects(ctx, d.lease.RunID)
	if err != nil {
		return nil, goneOr(ctx, err)
	}
	for _, f := range effects {
		if f.Key == c.Key && f.State == "resolved" { // an answer holds for one interruption; the retry that it asked for may have died too
			return &f, nil
		}
	}
	return nil, nil
}

// asFound is the result of a call of which a person found whether it had happened.
func asFound(c *db.Call, found *db.Effect) finished {
	if found.Resolution == "done" {
		return finished{text: wording.Tag(wording.OutcomeUnknown, "the operator found that it was done: "+found.Reason), changed: true, decision: c.Name + " done, says the operator"}
	}
	return finished{text: wording.Tag(wording.OutcomeUnknown, "the operator found that it was not done: "+found.Reason), failed: true, decision: c.Name + " failed, says the operator"}
}
