package core

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"tillerman/core/policy"
	"tillerman/core/tool"
	"tillerman/db"
	"tillerman/db/audit"
)

// RememberedLayer names the rules that people gave for the rest of a run.
const RememberedLayer = audit.Remembered

// remembered is the boundary with the rules that people gave for this run. It is made anew only when they changed. An
// allow never crosses a deny or an ask of another layer: such a rule only speaks where a default did.
func (d *driver) remembered() (*policy.Boundary, error) {
	rules, err := d.e.store.Rules(context.Background(), d.lease.RunID)
	if err != nil {
		return nil, err
	}
	rules = slices.DeleteFunc(rules, func(r db.Rule) bool { return r.RevokedAt != 0 })
	if len(rules) == 0 {
		return d.bound, nil
	}
	same := func(a, b db.Rule) bool { return a.ID == b.ID }
	if d.boundRules != nil && slices.EqualFunc(rules, d.rules, same) {
		return d.boundRules, nil
	}
	layer := policy.Layer{Name: RememberedLayer}
	for _, r := range rules {
		layer.Rules = append(layer.Rules, policy.Rule{Act: policy.Act(r.Act), Effect: policy.Allow, Match: r.Match})
	}
	bound, err := d.bound.With(layer)
	if err != nil {
		return nil, fmt.Errorf("a rule given for run %d: %w", d.lease.RunID, err)
	}
	d.rules, d.boundRules = rules, bound
	return bound, nil
}

// RuleProposal is a rule for the rest of a run, and what it would do.
type RuleProposal struct {
	Act   policy.Act
	Match []string // as in a policy: the words of a command, or patterns
	// Covers says that the rule allows what the request asks. When it does not, Why says what stands against it.
	Covers bool
	Why    string
	// Approved and Denied count earlier decisions of the store, by people, that the rule would have made.
	Approved, Denied int
}

// ruleTrial is how many decisions of the past a rule is tried on.
const ruleTrial = 5000

// ProposeRule makes a rule of what a request asks: exactly that, with every special character escaped, or the match that
// a person wrote instead. It tries the rule on the request and on what was decided in this store before. Nothing is
// stored: that is what a decision with a rule does.
func (e *Engine) ProposeRule(ctx context.Context, req db.Request, match []string) (RuleProposal, error) {
	p := RuleProposal{Act: policy.Act(req.Act), Match: match}
	run, err := e.store.Run(ctx, req.RunID)
	if err != nil {
		return p, err
	}
	c, stored, _, err := decodeRun(run)
	if err != nil {
		return p, err
	}
	if req.Position == nil {
		return p, &ContractError{"rule", "only what a call asks can be allowed by a rule"}
	}
	call, err := callOf(ctx, e.store, req)
	if err != nil {
		return p, err
	}
	action, ok := actionOf(req.Act, call.Name, call.Arguments, req.Target)
	if !ok {
		return p, &ContractError{"rule", fmt.Sprintf("no rule can be made of %s %s", req.Act, req.Target)}
	}
	if len(p.Match) == 0 {
		p.Match = exactly(action)
	}
	alone := &policy.Policy{Defaults: policy.Defaults{Read: policy.Ask, Write: policy.Ask, Exec: policy.Ask, Net: policy.Ask}}
	layer := policy.Layer{Name: RememberedLayer, Rules: []policy.Rule{{Act: p.Act, Effect: policy.Allow, Match: p.Match}}}
	trial, err := policy.New(alone, c.Workspace)
	if err == nil {
		trial, err = trial.With(layer)
	}
	if err != nil {
		return p, &ContractError{"rule", err.Error()}
	}
	bound, _, err := e.boundary(c, stored)
	if err == nil {
		bound, err = bound.With(layer)
	}
	if err != nil {
		return p, &ContractError{"rule", err.Error()}
	}
	if v := bound.Explain(action); v.Effect == policy.Allow {
		p.Covers = true
	} else {
		p.Why = because(v)
	}
	past, err := e.store.DecidedCalls(ctx, req.Act, ruleTrial)
	if err != nil {
		return p, err
	}
	for _, d := range past {
		a, ok := actionOf(d.Act, d.Name, d.Arguments, d.Target)
		if !ok || trial.Explain(a).Effect != policy.Allow {
			continue
		}
		if d.Decision == "approve" {
			p.Approved++
		} else {
			p.Denied++
		}
	}
	return p, nil
}

// because says in words what a verdict rests on.
func because(v policy.Verdict) string {
	s := string(v.Effect)
	switch {
	case v.Rule != "":
		s += fmt.Sprintf(" by rule %q of layer %q", v.Rule, v.Layer)
	case v.Layer != "":
		s += fmt.Sprintf(" by layer %q", v.Layer)
	default:
		s += " by default"
	}
	if v.Part != "" {
		s += ": " + v.Part
	}
	return s
}

// CallArguments are the arguments of the call that a request asks about, as they stand.
func CallArguments(ctx context.Context, store *db.Store, req db.Request) (string, error) {
	if req.Position == nil {
		return "", &ContractError{"change", "only a call can be changed"}
	}
	c, err := callOf(ctx, store, req)
	return c.Arguments, err
}

func callOf(ctx context.Context, store *db.Store, req db.Request) (db.Call, error) {
	calls, err := store.StepCalls(ctx, req.RunID, req.Step)
	if err != nil {
		return db.Call{}, err
	}
	for _, c := range calls {
		if c.Position == *req.Position {
			if c.ChangedArgs != "" {
				c.Arguments = c.ChangedArgs
			}
			return c, nil
		}
	}
	return db.Call{}, fmt.Errorf("the call of request %d is not stored", req.ID)
}

// actionOf is what a stored call wanted to do. It is false for a call whose arguments say too little.
func actionOf(act, name, arguments, target string) (policy.Action, bool) {
	a := policy.Action{Act: policy.Act(act)}
	switch a.Act {
	case policy.Exec:
		var args struct {
			Argv  []string `json:"argv"`
			Cwd   string   `json:"cwd"`
			Stdin string   `json:"stdin"`
		}
		if name != "exec" {
			a.Argv, a.Tool = []string{name}, true
			return a, true
		}
		if json.Unmarshal([]byte(arguments), &args) != nil || len(args.Argv) == 0 {
			return a, false
		}
		a.Argv, a.Dir, a.Input = args.Argv, args.Cwd, args.Stdin
		return a, true
	case policy.Read, policy.Write:
		var args struct {
			Path string `json:"path"`
		}
		if json.Unmarshal([]byte(arguments), &args) != nil || args.Path == "" {
			return a, false
		}
		a.Path = tool.UnquoteName(args.Path)
		return a, true
	case policy.Net:
		a.Host = target
		return a, target != "" && !strings.ContainsAny(target, " /")
	}
	return a, false
}

// exactly is the match that fits an action alone.
func exactly(a policy.Action) []string {
	switch a.Act {
	case policy.Exec:
		return policy.EscapeWords(a.Argv)
	case policy.Net:
		return []string{a.Host}
	}
	return []string{policy.EscapePath(a.Path)}
}
