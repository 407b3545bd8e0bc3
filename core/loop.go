package core

import (
	"context"

	"tillerman/core/gate"
	"tillerman/core/provider"
	"tillerman/core/wording"
	"tillerman/db"
	"tillerman/observer"
)

// ending is how a drive ends.
type ending struct {
	outcome observer.Outcome
	reason  string // stop reason, machine-readable; "" is the outcome itself
	budget  string // that is used up, "" for another ending
	message string // for people
	said    string // the final message
	checked bool   // gates ran and passed
	changed []string
	// cancel is the control that ended the run, observed at point.
	cancel *db.Control
	point  string
}

// loop drives the run step by step. What a step has to do after it was sealed comes first, because a crash may have
// come between the two.
func (d *driver) loop(ctx context.Context) (*ending, error) {
	for {
		step := d.sealed + 1
		if step != d.partial {
			if d.sealed > 0 {
				if end, err := d.after(ctx, d.sealed); end != nil || err != nil {
					return end, err
				}
			}
			if end, err := d.boundary(ctx, step); end != nil || err != nil {
				return end, err
			}
			if err := d.hear(step); err != nil {
				return nil, err
			}
		}
		reply, end, err := d.answer(ctx, step)
		if end != nil || err != nil {
			return end, err
		}
		end, err = d.act(ctx, step, reply)
		if err != nil {
			return nil, err
		}
		if end != nil && end.pauses() {
			return end, nil // parked: the step stays unsealed
		}
		if err := d.seal(ctx, step, reply, end); err != nil {
			return nil, err
		}
		if end != nil {
			return end, nil
		}
	}
}

// pauses says that the run waits instead of ending.
func (e *ending) pauses() bool {
	row, _ := e.outcome.Row()
	return row.Status == observer.StatusPaused
}

// boundary is the safe point between two steps: controls first, then what is left of the budgets.
func (d *driver) boundary(ctx context.Context, step int) (*ending, error) {
	for {
		if end, err := d.safePoint(ctx, atBoundary); end != nil || err != nil {
			return end, err
		}
		over := d.usedUp(step)
		if over == nil {
			return nil, nil
		}
		if end, err := d.reached(ctx, over); end != nil || err != nil {
			return end, err
		}
	}
}

// seal commits a step whose calls have all ended. broken is the ending that breaks it off, nil for a whole step.
func (d *driver) seal(ctx context.Context, step int, r reply, broken *ending) error {
	calls, err := d.e.store.StepCalls(ctx, d.lease.RunID, step)
	if err != nil {
		return err
	}
	st := db.Step{Step: step, Said: r.message.Text(), Tokens: r.attempt.Tokens(), Measured: r.attempt.Measured()}
	st.Decision, st.ToolCall, st.Changed = describe(r, calls)
	if broken != nil {
		st.BrokenOff = string(broken.outcome)
	}
	err = d.commit(func(tx *db.Tx) error {
		if err := tx.Seal(st); err != nil {
			return err
		}
		if note := r.cutNote(); note != "" {
			if err := tx.AddContextFact(step, "cut_off", note); err != nil {
				return err
			}
		}
		if _, err := tx.CloseSpan(d.stepSpan, st.Decision); err != nil {
			return err
		}
		return tx.Event(step, 0, observer.Step{Decision: st.Decision, ToolCall: st.ToolCall, Tokens: st.Tokens, Measured: st.Measured, Changed: st.Changed})
	})
	if err != nil {
		return err
	}
	d.stepSpan = 0
	d.remember(r, calls)
	d.sealed = step
	d.steps.add(st)
	return nil
}

// describe is what a step came to, for people and for the wire.
func describe(r reply, calls []db.Call) (decision, toolCall string, changed bool) {
	for i, c := range calls {
		if i > 0 {
			decision += "; "
			toolCall += " | "
		}
		decision += c.Decision
		toolCall += c.Name + ":" + c.Arguments
		changed = changed || c.Changed
	}
	if len(calls) == 0 {
		decision = "final message"
		if note := r.cutNote(); note != "" {
			decision = note
		}
	}
	return decision, toolCall, changed
}

// remember adds a sealed step to what the next request holds.
func (d *driver) remember(r reply, calls []db.Call) {
	for _, m := range turns(r, calls) {
		d.hist.Add(m)
	}
}

// turns is a sealed step as messages: the answer and, for its calls, one message of results. An answer that was cut off
// goes back as its text and a note; its calls never ran, and half a call must not stand in a history.
func turns(r reply, calls []db.Call) []provider.Message {
	if note := r.cutNote(); note != "" {
		var out []provider.Message
		if text := r.message.Text(); text != "" {
			out = append(out, provider.Say(provider.RoleAssistant, text))
		}
		return append(out, provider.Say(provider.RoleUser, wording.Tag(wording.NotRun, note)))
	}
	out := []provider.Message{r.message}
	if len(calls) == 0 {
		return out
	}
	results := provider.Message{Role: provider.RoleTool}
	for _, c := range calls {
		results.Parts = append(results.Parts, provider.Part{Kind: provider.PartResult, ID: c.CallID, Name: c.Name, Text: c.Result, Failed: c.Failed})
	}
	return append(out, results)
}

// after is what follows a sealed step: stall, the end of a run without gates, budgets, gates. Everything it finds is
// stored, so that doing it again after a crash finds the same.
func (d *driver) after(ctx context.Context, step int) (*ending, error) {
	last := d.steps.last()
	if end, err := d.checkStall(step); end != nil || err != nil {
		return end, err
	}
	if last.final && len(d.c.Gates) == 0 {
		if on, err := d.spokenTo(step); on || err != nil {
			return nil, err
		}
		return &ending{outcome: observer.OutcomeSuccess, said: last.said, message: "done; no check was set"}, d.noteLate("the final answer was already given")
	}
	for over := d.overspent(); over != nil; over = d.overspent() {
		if end, err := d.reached(ctx, over); end != nil || err != nil {
			return end, err
		}
	}
	if len(d.c.Gates) == 0 {
		return nil, nil
	}
	stored, err := d.storedGates(ctx, step)
	if err != nil {
		return nil, err
	}
	if len(stored) > 0 || last.final || step >= d.c.MaxSteps || d.c.VerifyWhen == "changed" && last.changed {
		return d.checkGates(ctx, step, last.said, stored)
	}
	return nil, nil
}

// spokenTo says that an operator's words wait which the run must not end without reading.
func (d *driver) spokenTo(step int) (bool, error) {
	if step >= d.c.MaxSteps {
		return false, nil
	}
	waiting, err := d.tellsWaiting()
	return len(waiting) > 0, err
}

// gateNote is what a failed check tells the model.
func gateNote(g gate.Gate, output string) provider.Message {
	text := g.Target()
	if output != "" {
		text += "\n" + output
	}
	return provider.Say(provider.RoleUser, wording.Tag(wording.CheckFailed, text))
}
