package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"tillerman/core/policy"
	"tillerman/tui/text"
)

func (a *app) policyCheck() *cobra.Command {
	return &cobra.Command{
		Use: "check FILE", Short: "Read a policy file strictly and say what is in it",
		Long: `Read a policy file strictly and say what is in it: defaults, layers, rules, and for each pattern an action it is
about with what the whole policy says to it.

Every mistake is one line, file:line:column first. Exit code 2 when there is one, else 0.`,
		Args: exactly("FILE"),
		RunE: func(_ *cobra.Command, args []string) error {
			p, err := a.strictPolicy(args[0])
			if err != nil {
				return err
			}
			b, err := policy.New(p, ".")
			if err != nil {
				return &usageError{err.Error()}
			}
			if a.json {
				return a.printJSON(checked(p, b))
			}
			return a.printChecked(args[0], p, b)
		},
	}
}

func (a *app) policyLint() *cobra.Command {
	return &cobra.Command{
		Use: "lint FILE|NAME", Short: "Warn of rules that a spelling gets around",
		Long: `Warn of rules that protect or grant something else than they seem to: a spelling that gets around a deny or an
ask, an allow that is too wide or rides on an interpreter, a rule that never decides or matches nothing.

Each example was tried: what it gives is what policy explain says. Exit code 0 without a warning, 1 with one, 2 when the
policy cannot be read.`,
		Args: exactly("FILE"),
		RunE: func(_ *cobra.Command, args []string) error {
			p, err := a.strictPolicy(args[0])
			if err != nil {
				return err
			}
			b, err := policy.New(p, ".")
			if err != nil {
				return &usageError{err.Error()}
			}
			warnings := b.Lint()
			if err := a.printWarnings(args[0], warnings); err != nil {
				return err
			}
			if len(warnings) > 0 {
				return &exitError{code: exitOther}
			}
			return nil
		},
	}
}

// strictPolicy is loadPolicy that prints every mistake of a file on a line of its own.
func (a *app) strictPolicy(name string) (*policy.Policy, error) {
	if p, ok := policy.Starter(name); ok {
		return p, nil
	}
	p, err := policy.Load(name)
	switch {
	case err == nil:
		return p, nil
	case errors.Is(err, os.ErrNotExist):
		return nil, &usageError{fmt.Sprintf("there is no file %q; name a policy file or one of %s", name, strings.Join(policy.Starters(), ", "))}
	}
	var where *policy.FileError
	if !errors.As(err, &where) {
		return nil, &usageError{err.Error()}
	}
	for _, line := range strings.Split(err.Error(), "\n") {
		if _, err := fmt.Fprintln(a.Err, text.Line(line)); err != nil {
			return nil, err
		}
	}
	return nil, &exitError{code: exitUsage}
}

// checkedRule is a rule as policy check prints it.
type checkedRule struct {
	Line     int             `json:"line,omitempty"`
	Act      policy.Act      `json:"act"`
	Effect   policy.Effect   `json:"effect"`
	Match    []string        `json:"match"`
	Repeat   string          `json:"repeat,omitempty"`
	Examples []explainedText `json:"examples"`
}

// explainedText is an action with its verdict.
type explainedText struct {
	Action string        `json:"action"`
	Effect policy.Effect `json:"effect"`
	Rule   string        `json:"rule,omitempty"`
	Layer  string        `json:"layer,omitempty"`
	Part   string        `json:"part,omitempty"`
}

func checkRule(r policy.Rule, b *policy.Boundary) checkedRule {
	out := checkedRule{Line: r.Line(), Act: r.Act, Effect: r.Effect, Match: r.Match, Repeat: r.Repeat, Examples: []explainedText{}}
	for _, action := range r.Examples() {
		v := b.Explain(action)
		out.Examples = append(out.Examples, explainedText{Action: action.Text(), Effect: v.Effect, Rule: v.Rule, Layer: v.Layer, Part: v.Part})
	}
	return out
}

func checked(p *policy.Policy, b *policy.Boundary) map[string]any {
	type layer struct {
		Name  string        `json:"name"`
		Rules []checkedRule `json:"rules"`
	}
	layers := []layer{}
	for _, l := range p.Layers {
		rules := []checkedRule{}
		for _, r := range l.Rules {
			rules = append(rules, checkRule(r, b))
		}
		layers = append(layers, layer{l.Name, rules})
	}
	return map[string]any{"defaults": b.Policy().Defaults, "layers": layers}
}

func (a *app) printChecked(name string, p *policy.Policy, b *policy.Boundary) error {
	out := a.printer(nil)
	d := b.Policy().Defaults
	out.Note("%s is a policy", name)
	out.Note("defaults: read %s, write %s, exec %s, net %s", d.Read, d.Write, d.Exec, d.Net)
	out.Note("layer %q: secrets, .git and tillerman's own files, which every policy denies", policy.BuiltinLayer)
	for _, l := range p.Layers {
		out.Note("layer %q", l.Name)
		for _, r := range l.Rules {
			c := checkRule(r, b)
			where := ""
			if c.Line > 0 {
				where = fmt.Sprintf("line %d: ", c.Line)
			}
			repeat := ""
			if c.Repeat != "" {
				repeat = " (may run again after a crash)"
			}
			out.Note("  %s%s %s %s%s", where, c.Effect, c.Act, r.Text(), repeat)
			for _, e := range c.Examples {
				why := ""
				if e.Rule != "" && (e.Layer != l.Name || e.Effect != c.Effect) {
					why = fmt.Sprintf(" by rule %q in layer %q", e.Rule, e.Layer)
				} else if e.Effect != c.Effect && e.Part != "" {
					why = " because of " + e.Part
				}
				out.Note("    for example %s: %s%s", e.Action, e.Effect, why)
			}
		}
	}
	return out.Err()
}

func (a *app) printWarnings(name string, warnings []policy.Warning) error {
	if a.json {
		type warning struct {
			Line    int           `json:"line,omitempty"`
			Layer   string        `json:"layer"`
			Rule    string        `json:"rule"`
			Text    string        `json:"text"`
			Example string        `json:"example,omitempty"`
			Gives   policy.Effect `json:"gives,omitempty"`
			Instead string        `json:"instead,omitempty"`
		}
		list := []warning{}
		for _, w := range warnings {
			list = append(list, warning{w.Line, w.Layer, w.Rule, w.Text, w.Example, w.Gives, w.Instead})
		}
		return a.printJSON(map[string]any{"warnings": list})
	}
	out := a.printer(nil)
	for _, w := range warnings {
		if w.Line > 0 {
			out.Note("%s:%d: %s", name, w.Line, w.Reason())
			continue
		}
		out.Note("%s: %s", name, w.Reason())
	}
	if len(warnings) == 0 {
		out.Note("%s: no warnings", name)
	}
	return out.Err()
}
