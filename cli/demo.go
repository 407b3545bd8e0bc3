package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"tillerman/core"
	"tillerman/core/gate"
	"tillerman/core/policy"
	"tillerman/db"
	"tillerman/observer"
	"tillerman/recordings"
)

func (a *app) demo() *cobra.Command {
	var fast, plain bool
	var approve string
	cmd := &cobra.Command{
		Use: "demo", Short: "Watch an agent repair a small project: a scripted model, everything else real",
		RunE: func(cmd *cobra.Command, _ []string) error {
			attended := a.Terminal && !a.json
			if !attended && approve == "" {
				approve = "all"
				if !a.json {
					fmt.Fprintln(a.Out, "no terminal: the demo answers its own questions with approve, inside its scratch folder")
				}
			}
			return a.act(cmd.Context(), func(store *db.Store) error {
				d := &driving{app: a, cmd: cmd, store: store, approve: approve, plain: plain}
				if _, err := d.approver(a.printer(store)); err != nil {
					return err
				}
				return d.demo(fast || !attended)
			})
		},
	}
	cmd.Flags().BoolVar(&fast, "fast", false, "no pauses")
	cmd.Flags().BoolVar(&plain, "plain", false, "print lines")
	cmd.Flags().StringVar(&approve, "approve", "", "who answers: ask, all, none, defer (default: ask on a terminal, else all)")
	return cmd
}

// DemoContract is the demo's task in a workspace.
func DemoContract(workspace string) (core.Contract, error) {
	c := core.Defaults()
	demo, err := recordings.Demo()
	if err != nil {
		return c, err
	}
	c.Goal, c.Constraints, c.Workspace = demo.Goal, demo.Constraints, workspace
	c.Provider, c.Model = core.Source{Kind: "script", Ref: "demo"}, "scripted-demo"
	c.Gates = []gate.Gate{{Argv: demo.Check}}
	c.Repeatable = demo.Repeatable
	return c, nil
}

// scratchFolder makes a new folder for one demo, numbered, so that people can tell them apart.
func scratchFolder() (string, error) {
	for n := 1; ; n++ {
		dir := filepath.Join(os.TempDir(), fmt.Sprintf("tillerman-demo-%d", n))
		err := os.Mkdir(dir, 0o700)
		if err == nil {
			return dir, nil
		}
		if !errors.Is(err, os.ErrExist) {
			return "", &usageError{fmt.Sprintf("no scratch folder can be made in %s; set TMPDIR to a folder that can be written", os.TempDir())}
		}
	}
}

func (d *driving) demo(fast bool) error {
	scratch, err := scratchFolder()
	if err != nil {
		return err
	}
	workspace := filepath.Join(scratch, "workspace")
	if err := os.Mkdir(workspace, 0o755); err != nil {
		return err
	}
	if err := recordings.CopyWorkspace(workspace); err != nil {
		return err
	}
	c, err := DemoContract(workspace)
	if err != nil {
		return err
	}
	p, err := d.app.provider(c.Provider, fast)
	if err != nil {
		return err
	}
	std, _ := policy.Starter("standard")
	if !d.app.json && !d.attended() {
		fmt.Fprintf(d.app.Out, "the model is scripted; engine, tools, policy, approvals, checks and store are the real ones\nscratch folder: %s\n\n", workspace)
	}
	e, printer, err := d.engine(p, std)
	if err != nil {
		return err
	}
	return d.drive(printer, 0, func(ctx context.Context, obs observer.Observer) (core.Result, error) {
		return e.With(core.WithObserver(obs)).Run(ctx, c)
	})
}
