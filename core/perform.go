package core

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"tillerman/core/policy"
	"tillerman/core/sandbox"
	"tillerman/core/tool"
	"tillerman/core/wording"
	"tillerman/db"
	"tillerman/observer"
)

// errDrift says that what a call would do is no longer what was judged.
var errDrift = errors.New("what the call would do has changed")

// key names a call for ever.
func (d *driver) key(c db.Call) string {
	return fmt.Sprintf("%s/%d/%s/%d/%d", db.Digest([]byte(d.e.store.Path()))[:12], d.lease.RunID, d.lease.Agent, c.Step, c.Position)
}

// begin stores that a call acts next, after comparing once more what it would do with what was judged, inside the same
// transaction. A write's contents, and the journal entry of a call that must not happen twice, become durable here.
func (d *driver) begin(ctx context.Context, c *db.Call, v policy.Verdict) error {
	listing, err := d.listing(ctx, c)
	if err != nil {
		return err
	}
	return d.commit(func(tx *db.Tx) error {
		p, problem := d.understand(ctx, *c)
		if ctx.Err() != nil {
			return errGone
		}
		if problem != "" || p.digest != c.Digest {
			return errDrift
		}
		if err := d.closeWait(tx, "approve"); err != nil {
			return err
		}
		again := ""
		if c.Begun > 0 {
			again = "again"
		}
		c.State, c.Key = db.CallBegun, d.key(*c)
		c.Begun++
		if err := d.journal(tx, c, p, listing); err != nil {
			return err
		}
		if err := d.auditCall(tx, c, p, again); err != nil {
			return err
		}
		var err error
		if d.callSpan, err = tx.OpenSpan(d.stepSpan, "call", c.Name, c.Step, ptr(c.Position)); err != nil {
			return err
		}
		if err := tx.SetCall(*c); err != nil {
			return err
		}
		return tx.Event(c.Step, 0, observer.ToolBegan{Name: c.Name, Target: c.Target, Position: c.Position, Again: c.Begun > 1})
	})
}

// auditCall writes the row of a call that acts outside the engine: writes, commands and connections whatever their tool
// says of itself, and every other call of a tool that is not pure. The row names the request that let the call act.
func (d *driver) auditCall(tx *db.Tx, c *db.Call, p pending, note string) error {
	if p.spec.Safety == tool.Pure && (c.Act == string(policy.Read) || c.Act == "") {
		return nil
	}
	var request int64
	if c.Effect != string(policy.Allow) {
		var err error
		if request, err = tx.ApprovedRequest(c.Step, c.Position); err != nil {
			return err
		}
	}
	return tx.Audit(db.AuditRow{
		Action: c.Act, Actor: d.actor(), Step: c.Step, Position: ptr(c.Position), Act: c.Act, Target: c.Target, Rule: c.Rule, Layer: c.Layer,
		Model: d.modelAsked, Digest: c.Digest, Decision: c.Effect, RequestID: request, Note: note,
	})
}

// journal keeps what a resume needs to know whether the call has happened.
func (d *driver) journal(tx *db.Tx, c *db.Call, p pending, listing []byte) error {
	if w := p.plan.Write; w != nil {
		if err := d.keepWrite(tx, c, w); err != nil {
			return err
		}
	}
	if p.plan.Exec != nil {
		var err error
		if c.Listing, err = tx.Keep(listing); err != nil {
			return err
		}
		for _, kind := range []string{"create", "exec"} {
			if err := d.sandboxFact(tx, c.Step, kind, c.Target); err != nil {
				return err
			}
		}
	}
	if p.spec.Safety == tool.Once && !c.Repeatable {
		return tx.OpenEffect(c.Key, c.Step, c.Position)
	}
	return nil
}

func (d *driver) sandboxFact(tx *db.Tx, step int, kind, detail string) error {
	backend := optional(d.backend())
	if err := tx.AddSandboxFact(db.SandboxFact{Step: step, Kind: kind, Backend: backend, Detail: detail}); err != nil {
		return err
	}
	return tx.Event(step, 0, observer.Sandbox{Kind: kind, Backend: backend})
}

// keepWrite stores a write's contents before and after, or only their digests when they hold a secret.
func (d *driver) keepWrite(tx *db.Tx, c *db.Call, w *tool.Write) error {
	f := db.File{Step: c.Step, Position: c.Position, Path: d.redacted(w.Path), Source: "write", Change: "modified", Mode: ptr(w.Mode), After: ptr(db.Digest(w.After))}
	if w.Exists {
		f.Before = ptr(db.Digest(w.Before))
	} else {
		f.Change = "added"
	}
	f.Kept = !d.e.redactor.Holds(string(w.Before)) && !d.e.redactor.Holds(string(w.After))
	if f.Kept {
		if _, err := tx.Keep(w.After); err != nil {
			return err
		}
		if w.Exists {
			if _, err := tx.Keep(w.Before); err != nil {
				return err
			}
		}
	}
	return tx.AddFile(f)
}

// listing is the workspace as it is before a command, nil for other calls. A listing that is stored already, by a drive
// that died, stays: what changed since then counts.
func (d *driver) listing(ctx context.Context, c *db.Call) ([]byte, error) {
	if c.Act != string(policy.Exec) {
		return nil, nil
	}
	if c.Listing != "" {
		return d.e.store.Content(ctx, c.Listing)
	}
	l, err := d.snapshot(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil, errGone
		}
		return nil, err
	}
	return json.Marshal(l)
}

// snapshot lists the workspace, secrets in names taken out: two snapshots are compared by the names that are stored.
func (d *driver) snapshot(ctx context.Context) (*tool.Listing, error) {
	l, err := tool.Snapshot(ctx, d.c.Workspace)
	if err == nil {
		l.Rename(d.redacted)
	}
	return l, err
}

// perform lets the call act and stores its end.
func (d *driver) perform(ctx context.Context, c *db.Call, p pending) error {
	if p.plan.Write != nil {
		return d.write(c, *p.plan.Write)
	}
	res, err := p.tool.Run(ctx, d.env(c.Step, c.Position, c.Key), p.plan)
	gone := err != nil && ctx.Err() != nil
	if err != nil && !gone {
		res = tool.Result{Text: err.Error(), Failed: true}
	}
	f := finished{text: res.Text, failed: res.Failed, changed: res.Changed, exit: res.Exit, left: res.Left, decision: done(c, res)}
	if gone {
		tag, word := wording.Interrupted, "interrupted"
		if wasKilled(ctx) {
			tag, word = wording.Killed, "killed"
		}
		f.text, f.failed, f.decision = tag, true, c.Name+" "+word
		if res.Text != "" {
			f.text = wording.Tag(tag, "it printed:\n"+res.Text)
		}
	}
	if p.plan.Exec != nil {
		// The end of the process's context must not lose what the command changed.
		if err := d.seeChanges(context.WithoutCancel(ctx), c, &f); err != nil {
			return err
		}
		f.capHit = !gone && strings.Contains(res.Text, "[timed out")
	}
	if err := d.endCall(c, f); err != nil {
		return err
	}
	if gone {
		return errGone
	}
	return nil
}

// done is a call's end in a short phrase.
func done(c *db.Call, res tool.Result) string {
	verb := c.Name
	if c.Target != "" {
		verb += " " + clip(c.Target, 80)
	}
	switch {
	case res.Exit != nil && *res.Exit != 0:
		return fmt.Sprintf("%s (exit %d)", verb, *res.Exit)
	case res.Failed:
		return verb + " failed"
	}
	return verb
}

func clip(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n-1]) + "…"
}

// write puts a file's new content in place. The pre-image that was judged must still be there.
func (d *driver) write(c *db.Call, w tool.Write) error {
	changed, err := tool.Apply(d.c.Workspace, w)
	switch {
	case errors.Is(err, tool.ErrChanged):
		return d.endCall(c, finished{text: wording.Tag(wording.FileChanged, w.Path+" is no longer what the change was made for; read it again"), failed: true, decision: c.Name + " " + w.Path + " failed: file changed"})
	case err != nil:
		return d.endCall(c, finished{text: err.Error(), failed: true, decision: c.Name + " " + w.Path + " failed"})
	}
	return d.wrote(c, w.Path, changed, !w.Exists)
}

// wrote ends a write that is in place.
func (d *driver) wrote(c *db.Call, path string, changed, added bool) error {
	f := finished{text: "wrote " + path, changed: changed, decision: "wrote " + path, fileDone: "modified"}
	switch {
	case !changed:
		f.text, f.decision, f.fileDone = path+" already had this content; nothing changed", "unchanged "+path, "none"
	case added:
		f.fileDone = "added"
	}
	return d.endCall(c, f)
}

// seeChanges compares the workspace with the listing from before a command.
func (d *driver) seeChanges(ctx context.Context, c *db.Call, f *finished) error {
	body, err := d.e.store.Content(ctx, c.Listing)
	if err != nil {
		return err
	}
	var before tool.Listing
	if err := json.Unmarshal(body, &before); err != nil {
		return fmt.Errorf("the stored workspace listing cannot be read: %w", err)
	}
	after, err := d.snapshot(ctx)
	if err != nil {
		return err
	}
	var files []tool.FileChange
	f.changed, files = before.Changed(after)
	for _, ch := range files {
		f.files = append(f.files, db.File{Step: c.Step, Position: c.Position, Path: ch.Path, Source: "command", Change: string(ch.Kind), Done: true})
	}
	return nil
}

// finished is how a call ended.
type finished struct {
	text     string
	failed   bool
	changed  bool
	exit     *int
	left     []sandbox.Left
	decision string
	files    []db.File
	fileDone string // how a write changed its file, "" when none was made
	capHit   bool
	wait     string // outcome of the question that stood before it
	announce bool   // the call was never judged: tell of it now
}

// endCall commits a call's result.
func (d *driver) endCall(c *db.Call, f finished) error {
	return d.commit(func(tx *db.Tx) error {
		if f.announce {
			if err := announce(tx, c, c.Name); err != nil {
				return err
			}
		}
		return d.writeEnd(tx, c, f)
	})
}

// resultLimit bounds what the model sees of one result, in bytes: an eighth of the context budget, at most 50,000.
func (d *driver) resultLimit() int {
	return max(2000, min(50_000, d.c.ContextTokens*4/8))
}

func (d *driver) writeEnd(tx *db.Tx, c *db.Call, f finished) error {
	text, _ := d.e.redactor.String(strings.ToValidUTF8(f.text, "\ufffd"))
	if c.ChangedArgs != "" && !f.failed {
		text = wording.Tag(wording.ChangedByOperator, text)
	}
	bounded, cut := tool.Bound(text, d.resultLimit())
	if cut {
		var err error
		if c.Whole, err = tx.Keep([]byte(text)); err != nil {
			return err
		}
	}
	began := c.State == db.CallBegun
	c.State, c.Result, c.Failed, c.Changed, c.ExitCode = db.CallEnded, bounded, f.failed, f.changed, f.exit
	c.Decision, _ = d.e.redactor.String(f.decision)
	if len(f.left) > 0 {
		b, err := json.Marshal(f.left)
		if err != nil {
			return err
		}
		c.LeftRunning = d.redacted(string(b))
	}
	if f.fileDone != "" {
		if err := tx.FileDone(c.Step, c.Position, f.fileDone); err != nil {
			return err
		}
	}
	for _, file := range f.files {
		if err := tx.AddFile(file); err != nil {
			return err
		}
	}
	if began {
		if err := d.writeEndOfBegun(tx, c, f); err != nil {
			return err
		}
	}
	if err := d.closeWait(tx, f.wait); err != nil {
		return err
	}
	if err := tx.SetCall(*c); err != nil {
		return err
	}
	var took int64
	if c.DurationMS != nil {
		took = *c.DurationMS
	}
	return tx.Event(c.Step, 0, observer.ToolResult{Name: c.Name, Target: c.Target, Position: c.Position, OK: !c.Failed, Changed: c.Changed, Millis: took})
}

func (d *driver) writeEndOfBegun(tx *db.Tx, c *db.Call, f finished) error {
	if c.Listing != "" {
		if f.capHit {
			if err := d.sandboxFact(tx, c.Step, "cap_hit", "time"); err != nil {
				return err
			}
		}
		if err := d.sandboxFact(tx, c.Step, "destroy", c.Target); err != nil {
			return err
		}
	}
	if err := tx.EndEffect(c.Key, c.Result); err != nil {
		return err
	}
	took, err := tx.CloseSpan(d.callSpan, c.Decision)
	c.DurationMS = took
	d.callSpan = 0
	return err
}
