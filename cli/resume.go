package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"tillerman/core"
	"tillerman/core/policy"
	"tillerman/db"
	"tillerman/observer"
)

func (a *app) resume() *cobra.Command {
	var (
		policyName, approve string
		limits              limitFlags
		takeOver, plain     bool
		detached            bool
	)
	cmd := &cobra.Command{
		Use: "resume RUN", Short: "Take up a run that was interrupted, waits, or has a larger budget now",
		Args: exactly("RUN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.outsider(); err != nil { // it may come with answers of its own
				return err
			}
			set, err := limits.limits()
			if err != nil {
				return err
			}
			return a.act(cmd.Context(), func(store *db.Store) error {
				id, err := runID(cmd.Context(), store, args[0])
				if err != nil {
					return err
				}
				opts := []core.ResumeOption{core.NewLimits(set)}
				if policyName != "" {
					p, err := a.loadPolicy(policyName)
					if err != nil {
						return err
					}
					opts = append(opts, core.ReplacePolicy(p))
				}
				if takeOver {
					opts = append(opts, core.TakeOver())
				}
				d := &driving{app: a, cmd: cmd, store: store, approve: approve, plain: plain, detached: detached}
				return d.resume(id, opts)
			})
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&policyName, "policy", "", "replace the stored policy: standard, strict, trusting, or a file")
	fl.StringVar(&approve, "approve", "", "who answers: ask, all, none, defer (default: ask on a terminal, else defer)")
	limits.add(cmd, "new ceiling of")
	fl.BoolVar(&takeOver, "take-over", false, "the driver cannot be seen from here and I know that it is gone")
	fl.BoolVar(&detached, "detached", false, "drive without a terminal; questions wait in the inbox")
	_ = fl.MarkHidden("detached") // how a console leaves a run; never fails for a flag that exists
	fl.BoolVar(&plain, "plain", false, "print lines")
	return cmd
}

// resume takes a run up and shows what happens from now on. One that has ended is shown as it stands.
func (d *driving) resume(id int64, opts []core.ResumeOption) error {
	ctx := d.cmd.Context()
	run, err := d.store.Run(ctx, id)
	if err != nil {
		return err
	}
	if err := run.Traced(); err != nil {
		return err
	}
	c, err := core.StoredContract(ctx, d.store, id)
	if err != nil {
		return err
	}
	p, err := d.app.chain(c, !d.app.Terminal)
	if err != nil {
		return err
	}
	e, printer, err := d.engine(p, policy.Permissive()) // never applies to a resume: the stored policy does
	if err != nil {
		return err
	}
	drove := false
	var res core.Result
	err = d.drive(printer, run.Seq, func(ctx context.Context, obs observer.Observer) (core.Result, error) {
		var err error
		res, err = e.With(core.WithObserver(observer.Fanout(marks(&drove), obs))).Resume(ctx, id, opts...)
		return res, err
	})
	if drove {
		err = errors.Join(d.saveRecording(id, c.Record), err)
	}
	var exit *exitError
	if !drove && (err == nil || errors.As(err, &exit)) && !d.app.json {
		state := "waits: " + res.Message
		if run.Status == db.Completed {
			state = "has ended: " + run.Outcome
		}
		d.app.printer(d.store).Note("nothing was driven: run %d %s", id, state)
		return errors.Join(d.app.showRun(ctx, d.store, id, showFlags{}), err)
	}
	return err
}
