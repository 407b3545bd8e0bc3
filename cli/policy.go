package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"tillerman/core"
	"tillerman/core/gate"
	"tillerman/core/policy"
)

// defaultPolicy is what the command line uses when nothing else is said. It is never permissive.
const defaultPolicy = "standard"

// loadPolicy finds a policy by the name of a starter policy or as a file.
func (a *app) loadPolicy(name string) (*policy.Policy, error) {
	if name == "" {
		name = a.conf.Policy
	}
	if name == "" {
		name = defaultPolicy
	}
	if p, ok := policy.Starter(name); ok {
		return p, nil
	}
	p, err := policy.Load(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, &usageError{fmt.Sprintf("there is no policy %q: no file of that name, and the starter policies are standard, strict, trusting", name)}
	}
	if err != nil {
		return nil, &usageError{err.Error()}
	}
	return p, nil
}

func (a *app) policy() *cobra.Command {
	cmd := &cobra.Command{
		Use: "policy", Short: "Ask what the policy says",
		RunE: func(cmd *cobra.Command, _ []string) error {
			_ = cmd.Help()
			return &exitError{code: exitUsage}
		},
	}
	var name, workspace string
	explain := &cobra.Command{
		Use: "explain [--policy P] [-w DIR] ACT TARGET...", Short: "Say what the policy does with an action, and which rule decides",
		Long: `Say what the policy does with an action, and which rule decides.

ACT is read, write, exec or net. TARGET is a path, a host, or the words of a command.
Flags come before ACT: what follows it belongs to the action.
It is the same function that decides in a run.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return &usageError{"policy explain wants ACT TARGET; see tillerman policy explain --help"}
			}
			for _, word := range args[1:] {
				if name, _, _ := strings.Cut(word, "="); strings.HasPrefix(word, "-") && (cmd.Flags().Lookup(strings.TrimLeft(name, "-")) != nil || word == "-w") && cmd.ArgsLenAtDash() < 0 {
					return &usageError{fmt.Sprintf("%s comes before ACT; for a command that has %s itself write -- before ACT", name, name)}
				}
			}
			act, err := action(args[0], args[1:])
			if err != nil {
				return err
			}
			return a.explain(name, workspace, act)
		},
	}
	explain.Flags().StringVar(&name, "policy", "", "standard, strict, trusting, or a policy file")
	explain.Flags().StringVarP(&workspace, "workspace", "w", ".", "the workspace")
	explain.Flags().SetInterspersed(false)
	cmd.AddCommand(explain, a.policyCheck(), a.policyLint())
	return cmd
}

// action reads ACT TARGET. A single word for exec that holds spaces is read like --verify.
func action(act string, target []string) (policy.Action, error) {
	switch policy.Act(act) {
	case policy.Read, policy.Write:
		if len(target) == 1 {
			return policy.Action{Act: policy.Act(act), Path: target[0]}, nil
		}
		return policy.Action{}, &usageError{fmt.Sprintf("%s wants one path", act)}
	case policy.Net:
		if len(target) == 1 {
			return policy.Action{Act: policy.Net, Host: target[0]}, nil
		}
		return policy.Action{}, &usageError{"net wants one host"}
	case policy.Exec:
		if len(target) == 1 && strings.ContainsAny(target[0], " \t\n") {
			g, err := gate.Command(target[0])
			if err != nil {
				return policy.Action{}, &usageError{err.Error()}
			}
			target = g.Argv
		}
		return policy.Action{Act: policy.Exec, Argv: target}, nil
	}
	return policy.Action{}, &usageError{fmt.Sprintf("there is no act %q; use read, write, exec or net", act)}
}

func (a *app) explain(name, workspace string, act policy.Action) error {
	p, err := a.loadPolicy(name)
	if err != nil {
		return err
	}
	c := core.Contract{Workspace: workspace}
	if p, err = a.narrow(&c, p); err != nil {
		return err
	}
	b, err := policy.New(p, workspace)
	if err != nil {
		return &usageError{err.Error()}
	}
	v := b.Explain(act)
	for _, text := range []*string{&v.Rule, &v.Part} {
		*text, _ = a.redactor.String(*text)
	}
	if a.json {
		return a.printJSON(map[string]any{"effect": v.Effect, "rule": nullable(v.Rule), "layer": nullable(v.Layer), "part": nullable(v.Part)})
	}
	out := a.printer(nil)
	why := "by default: no rule matches"
	switch {
	case v.Rule != "":
		why = fmt.Sprintf("rule %q in layer %q", v.Rule, v.Layer)
	case v.Layer != "":
		why = fmt.Sprintf("layer %q", v.Layer)
	}
	if v.Part != "" {
		why += "; " + v.Part
	}
	out.Note("%s (%s)", v.Effect, why)
	return out.Err()
}

func nullable(s string) any {
	if s == "" {
		return nil
	}
	return s
}
