package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"tillerman/cli/config"
	"tillerman/core"
	"tillerman/core/gate"
	"tillerman/core/policy"
	"tillerman/core/provider"
	"tillerman/db"
	"tillerman/observer"
	"tillerman/tui/text"
)

// runFlags are the flags of run.
type runFlags struct {
	workspace, file  string
	verify, contains []string
	verifyWhen       string
	constraints      []string
	source           core.Source
	model, policy    string
	fallback         []string
	maxRetries       int
	limits           limitFlags
	key              string
	record, replay   string
	plain            bool
	approve          string
}

func (a *app) run() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use: "run GOAL", Short: "Run an agent on a task",
		Args: exactly("GOAL"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.startRun(cmd, f, args[0]) },
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.workspace, "workspace", "w", ".", "folder the agent works in")
	fl.StringVar(&f.file, "file", "", "the only file that may be written")
	fl.StringArrayVar(&f.verify, "verify", nil, "command that must succeed for the task to be done (repeatable)")
	fl.StringArrayVar(&f.contains, "contains", nil, "FILE:TEXT that must hold for the task to be done (repeatable)")
	fl.StringVar(&f.verifyWhen, "verify-when", "done", "when checks run: done, or changed (after each step that changed a file)")
	fl.StringArrayVar(&f.constraints, "constraint", nil, "rule for the agent, in words (repeatable)")
	fl.StringVar(&f.source.Kind, "provider", "", "one of "+providerNames)
	fl.StringVar(&f.model, "model", "", "model to ask")
	fl.StringVar(&f.source.BaseURL, "base-url", "", "address of another server with the provider's API")
	fl.StringArrayVar(&f.fallback, "fallback", nil, fallbackForm+" to ask when the provider cannot answer now (repeatable, in order); none leaves out those of the configuration")
	fl.StringVar(&f.policy, "policy", "", "standard, strict, trusting, or a policy file")
	f.limits.add(cmd, "most")
	fl.StringVar(&f.key, "key", "", "makes the start idempotent: the same key and task is the same run")
	fl.IntVar(&f.maxRetries, "max-retries", core.DefaultMaxRetries, "tries after a failed model call, per step")
	fl.StringVar(&f.record, "record", "", "write a recording to this file")
	fl.StringVar(&f.replay, "replay", "", "answer from this recording instead of a provider")
	fl.BoolVar(&f.plain, "plain", false, "print lines")
	fl.StringVar(&f.approve, "approve", "", "who answers: ask, all, none, defer (default: ask on a terminal, else defer)")
	return cmd
}

func (a *app) startRun(cmd *cobra.Command, f runFlags, goal string) error {
	c, pol, err := a.contract(f, goal)
	if err != nil {
		return err
	}
	a.warnOfOwn(c.Workspace)
	p, err := a.chain(c, false)
	if err != nil {
		return err
	}
	if f.record != "" {
		if err := writable(f.record); err != nil {
			return err
		}
		if c.Record, err = filepath.Abs(f.record); err != nil {
			return err
		}
	}
	approve := f.approve
	if approve == "" {
		approve = a.conf.Approve
	}
	return a.act(cmd.Context(), func(store *db.Store) error {
		d := &driving{app: a, cmd: cmd, store: store, approve: approve, plain: f.plain}
		return d.start(p, pol, c)
	})
}

// warnOfOwn warns of a workspace that holds the program's own settings or state: what confines commands covers those files,
// but not that somebody puts others in the place of the folders above them.
func (a *app) warnOfOwn(workspace string) {
	root, err := filepath.Abs(workspace)
	if err != nil {
		return
	}
	if real, err := filepath.EvalSymlinks(root); err == nil {
		root = real
	}
	var own []string
	if file := config.UserFile(a.Getenv); file != "" {
		own = append(own, filepath.Dir(file))
	}
	if dir, err := config.StateDir(a.Getenv); err == nil {
		own = append(own, dir)
	}
	for _, dir := range own {
		if rel, err := filepath.Rel(root, dir); err == nil && rel != "." && filepath.IsLocal(rel) {
			fmt.Fprintf(a.Err, "tillerman: the workspace %s holds tillerman's own %s, which an agent's command could replace; work in a folder below it\n", text.Line(root), text.Line(rel))
			return
		}
	}
}

// contract is what the flags and the configurations ask for.
func (a *app) contract(f runFlags, goal string) (core.Contract, *policy.Policy, error) {
	c := core.Defaults()
	c.Goal, c.Workspace, c.File, c.Constraints, c.VerifyWhen = goal, f.workspace, f.file, f.constraints, f.verifyWhen
	var err error
	if f.replay != "" {
		if f.source.Kind != "" || f.source.BaseURL != "" {
			return c, nil, &usageError{"--replay answers from a file; leave out --provider and --base-url"}
		}
		if len(f.fallback) > 0 {
			return c, nil, &usageError{"--replay answers from a file; leave out --fallback"}
		}
		path, err := filepath.Abs(f.replay)
		if err != nil {
			return c, nil, err
		}
		c.Provider = core.Source{Kind: "replay", Ref: path}
		if c.Model, err = replayModel(path, f.model); err != nil {
			return c, nil, err
		}
	} else if c.Provider, c.Model, err = a.source(f.source, f.model); err != nil {
		return c, nil, err
	} else if c.Fallback, err = a.fallbacks(f, c); err != nil {
		return c, nil, err
	}
	for _, line := range f.verify {
		g, err := gate.Command(line)
		if err != nil {
			return c, nil, &usageError{fmt.Sprintf("--verify %q: %v", line, err)}
		}
		c.Gates = append(c.Gates, g)
	}
	for _, spec := range f.contains {
		g, err := gate.Contains(spec)
		if err != nil {
			return c, nil, &usageError{"--contains: " + err.Error()}
		}
		c.Gates = append(c.Gates, g)
	}
	if f.maxRetries < 0 {
		return c, nil, &usageError{"--max-retries is negative; leave it out or raise it"}
	}
	c.MaxRetries, c.Key = f.maxRetries, f.key
	pol, err := a.loadPolicy(f.policy)
	if err != nil {
		return c, nil, err
	}
	if err := a.limits(f, &c); err != nil {
		return c, nil, err
	}
	pol, err = a.narrow(&c, pol)
	return c, pol, err
}

// limits sets the budgets: flags, else the user's settings, else the defaults.
func (a *app) limits(f runFlags, c *core.Contract) error {
	conf, err := a.conf.Limits.Duration()
	if err != nil {
		return &usageError{err.Error()}
	}
	c.Time, c.Tokens = conf, a.conf.Limits.Tokens
	if a.conf.Limits.Steps > 0 {
		c.MaxSteps = a.conf.Limits.Steps
	}
	if c.Money, err = a.conf.Limits.MoneyMicros(); err != nil {
		return &usageError{err.Error()}
	}
	set, err := f.limits.limits()
	if err != nil {
		return err
	}
	set.Apply(c)
	return nil
}

// start drives a new run and writes its recording.
func (d *driving) start(p provider.Provider, pol *policy.Policy, c core.Contract) error {
	e, pr, err := d.engine(p, pol)
	if err != nil {
		return err
	}
	var id int64
	drove := false
	err = d.drive(pr, 0, func(ctx context.Context, obs observer.Observer) (core.Result, error) {
		res, err := e.With(core.WithObserver(observer.Fanout(marks(&drove), obs))).Run(ctx, c)
		id = res.RunID
		return res, err
	})
	if id != 0 && !drove {
		if d.app.json { // it is the same run, and so are its events
			through := make(chan struct{})
			close(through)
			return errors.Join(d.show(pr, id, 0, through), err)
		}
		d.app.printer(d.store).Note("nothing was driven: run %d was started with this key before", id)
		return errors.Join(d.app.showRun(d.cmd.Context(), d.store, id, showFlags{}), err)
	}
	return errors.Join(d.saveRecording(id, c.Record), err)
}

// marks is an observer that notes that something happened at all.
func marks(happened *bool) observer.Observer {
	return observer.Func(func(*observer.Event) observer.Flow {
		*happened = true
		return observer.Continue
	})
}

// writable finds out before the run whether its recording could be written.
func writable(path string) error {
	dir := filepath.Dir(path)
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() {
		return &usageError{fmt.Sprintf("--record %s: the folder does not exist; create it or name another file", path)}
	}
	f, err := os.CreateTemp(dir, ".tillerman-*")
	if err != nil {
		return &usageError{fmt.Sprintf("--record %s: the folder cannot be written; name another file", path)}
	}
	_ = f.Close()
	return os.Remove(f.Name())
}
