package core

import (
	"context"
	"encoding/json"
	"fmt"
	"sort"
	"strings"

	"tillerman/core/gate"
	"tillerman/core/policy"
	"tillerman/core/tool"
	"tillerman/db"
	"tillerman/observer"
)

// checkGates runs every gate after a sealed step. All pass: success. Otherwise what the failed ones printed is the next
// thing the model reads. A result that is stored already is not asked for again.
func (d *driver) checkGates(ctx context.Context, step int, said string, stored map[int]db.Gate) (*ending, error) {
	passed := true
	var changed []string
	for i, g := range d.c.Gates {
		row, done := stored[i+1]
		if !done {
			if end, err := d.safePoint(ctx, atGate); end != nil || err != nil {
				if end != nil {
					end.message += fmt.Sprintf("; checks not run: %d of %d", len(d.c.Gates)-i, len(d.c.Gates))
				}
				return end, err
			}
			var err error
			if row, err = d.runGate(ctx, step, i+1, g); err != nil {
				return nil, err
			}
		}
		if row.Tampered != "" {
			var files []string
			if err := json.Unmarshal([]byte(row.Tampered), &files); err != nil {
				return nil, fmt.Errorf("stored check %d cannot be read: %w", row.Ordinal, err)
			}
			changed = append(changed, files...)
		}
		if row.State != "passed" {
			passed = false
			d.hist.Add(gateNote(g, row.Output))
		}
	}
	if !passed {
		return nil, nil
	}
	if on, err := d.spokenTo(step); on || err != nil {
		return nil, err
	}
	end := &ending{outcome: observer.OutcomeSuccess, said: said, checked: true, changed: unique(changed), message: "done; every check passed"}
	if len(end.changed) > 0 {
		end.message = "gate changed since the start: " + strings.Join(end.changed, ", ") + "; " + end.message
	}
	return end, d.noteLate("the last check was already running")
}

// storedGates are the results of a step's gates that are known, by place.
func (d *driver) storedGates(ctx context.Context, step int) (map[int]db.Gate, error) {
	rows, err := d.e.store.Gates(ctx, d.lease.RunID)
	if err != nil {
		return nil, err
	}
	known := map[int]db.Gate{}
	for _, g := range rows {
		if g.Step == step && (g.State == "passed" || g.State == "failed") {
			known[g.Position] = g
		}
	}
	return known, nil
}

// runGate runs one gate: its beginning and its result are commits of their own.
func (d *driver) runGate(ctx context.Context, step, place int, g gate.Gate) (db.Gate, error) {
	row := db.Gate{Step: step, Position: place, Phase: g.Phase(place), Target: g.Target()}
	row.Tampered = encodeList(d.tampered(g.Files(d.c.Workspace)))
	command := len(g.Argv) > 0
	var listing []byte
	if command {
		before, err := d.snapshot(ctx)
		if err != nil {
			return row, goneOr(ctx, err)
		}
		if listing, err = json.Marshal(before); err != nil {
			return row, err
		}
	}
	var span int64
	err := d.commit(func(tx *db.Tx) error {
		if err := d.auditGate(tx, row, g); err != nil {
			return err
		}
		if command {
			if err := d.beginCommandGate(tx, &row, listing); err != nil {
				return err
			}
		}
		var err error
		if row.Ordinal, err = tx.BeginGate(row); err != nil {
			return err
		}
		if span, err = tx.OpenSpan(d.runSpan, "gate", row.Target, step, nil); err != nil {
			return err
		}
		return tx.Event(step, 0, observer.Gate{Phase: row.Phase, Target: row.Target, State: observer.GateBegan})
	})
	if err != nil {
		return row, err
	}
	res, err := g.Run(ctx, d.c.Workspace, d.runner, d.output(step, 0))
	if err != nil && ctx.Err() == nil {
		res, err = gate.Result{Output: "could not be run: " + err.Error()}, nil
	}
	row.State = "failed"
	switch {
	case err != nil:
		row.State = "interrupted"
	case res.Passed:
		row.State = "passed"
	}
	if err2 := d.commit(func(tx *db.Tx) error { return d.endGate(tx, &row, res, span, command) }); err2 != nil {
		return row, err2
	}
	return row, goneOr(ctx, err)
}

// auditGate writes a check's row. The operator who wrote the check allowed it, a command that would ask included.
func (d *driver) auditGate(tx *db.Tx, row db.Gate, g gate.Gate) error {
	r := db.AuditRow{Action: "gate", Actor: d.actor(), Step: row.Step, Act: string(policy.Read), Target: row.Target, Digest: db.Digest([]byte(row.Target)), Decision: string(policy.Allow)}
	if len(g.Argv) > 0 {
		v := d.checks.Explain(policy.Action{Act: policy.Exec, Argv: g.Argv})
		r.Act, r.Rule, r.Layer, r.Digest = string(policy.Exec), optional(v.Rule), optional(v.Layer), db.Digest([]byte(strings.Join(g.Argv, "\x00")))
		if v.Effect == policy.Ask {
			r.Note = "answered by the operator who wrote the check"
		}
	}
	return tx.Audit(r)
}

// beginCommandGate stores what goes with running a command: the workspace before it, the sandbox.
func (d *driver) beginCommandGate(tx *db.Tx, row *db.Gate, listing []byte) error {
	var err error
	if row.Listing, err = tx.Keep(listing); err != nil {
		return err
	}
	for _, kind := range []string{"create", "exec"} {
		if err := d.sandboxFact(tx, row.Step, kind, row.Target); err != nil {
			return err
		}
	}
	return nil
}

func (d *driver) endGate(tx *db.Tx, row *db.Gate, res gate.Result, span int64, command bool) error {
	text, _ := d.e.redactor.String(res.Output)
	bounded, cut := tool.Bound(text, d.resultLimit())
	if cut {
		var err error
		if row.Whole, err = tx.Keep([]byte(text)); err != nil {
			return err
		}
	}
	row.Output = bounded
	var err error
	if row.DurationMS, err = tx.CloseSpan(span, row.State); err != nil {
		return err
	}
	if err := tx.EndGate(*row); err != nil {
		return err
	}
	if res.TimedOut {
		if err := d.sandboxFact(tx, row.Step, "cap_hit", "time"); err != nil {
			return err
		}
	}
	if row.State == "failed" {
		if err := d.sandboxFact(tx, row.Step, "gate_phase_failed", row.Phase); err != nil {
			return err
		}
	}
	if command {
		if err := d.sandboxFact(tx, row.Step, "destroy", row.Target); err != nil {
			return err
		}
	}
	return tx.Event(row.Step, 0, observer.Gate{Phase: row.Phase, Target: row.Target, State: row.State, Millis: row.DurationMS})
}

func unique(list []string) []string {
	seen := map[string]bool{}
	var out []string
	for _, s := range list {
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	sort.Strings(out)
	return out
}
