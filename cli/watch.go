package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"tillerman/db"
	"tillerman/observer"
	"tillerman/tui/plain"
)

func (a *app) watch() *cobra.Command {
	var lines bool
	cmd := &cobra.Command{
		Use: "watch RUN", Short: "Attach to a run that another process drives",
		Long: `Attach to a run that another process drives: the console shows it live, and every key that steers or answers works as
for a run of its own. q detaches; the run goes on. With --plain or --json, or without a terminal, the run's events are
printed until it ends or pauses. A run that nobody drives is printed as far as it is; one whose driver dies meanwhile is
waited for, until somebody takes it up.`,
		Args: exactly("RUN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.look(cmd.Context(), func(store *db.Store) error {
				id, err := runID(cmd.Context(), store, args[0])
				if err != nil {
					return err
				}
				if a.Terminal && !a.json && !lines {
					return (&driving{app: a, cmd: cmd, store: store}).attach(id)
				}
				return a.follow(cmd, store, id)
			})
		},
	}
	cmd.Flags().BoolVar(&lines, "plain", false, "print lines")
	return cmd
}

// follow shows a run from its first event until it ends or pauses. A run that nobody drives is left at once; one whose
// driver dies meanwhile is waited for: somebody may take it up.
func (a *app) follow(cmd *cobra.Command, store *db.Store, id int64) error {
	ctx := cmd.Context()
	if run, err := store.Run(ctx, id); err != nil {
		return err
	} else if err := run.Traced(); err != nil {
		return err
	}
	printer := a.printer(store)
	out := observer.Lines(plainJSON{a.Out})
	// driven says that it was driven while it was watched, waiting that it is not now.
	_, life, driven, err := store.Driver(ctx, id)
	if err != nil {
		return err
	}
	driven, waiting := driven && life != db.Dead, false
	err = plain.Follow(ctx, store, id, 0, func(ev observer.Event) error {
		if a.json {
			out.Event(&ev)
			return out.Err()
		}
		return printer.Event(ctx, ev)
	}, func(seq int64) (bool, error) {
		run, err := store.Run(ctx, id)
		if err != nil || seq < run.Seq {
			return false, err
		}
		if run.Status != db.Running {
			return true, nil
		}
		_, life, held, err := store.Driver(ctx, id)
		if err != nil {
			return false, err
		}
		alone := !held || life == db.Dead
		if alone && driven && !waiting && !a.json {
			printer.Note("run %d is interrupted: nobody drives it; waiting for tillerman resume %d, Ctrl-C leaves", id, id)
		}
		driven, waiting = driven || !alone, alone
		return alone && !driven, printer.Err()
	})
	if err != nil {
		return err
	}
	run, err := store.Run(ctx, id)
	if err != nil {
		return err
	}
	if run.Status == db.Running && !a.json {
		printer.Note("run %d is interrupted: nobody drives it; go on with tillerman resume %d", id, id)
	}
	return (&driving{app: a, store: store}).watched(run)
}

// attach shows a run in the console until the person detaches, and says how it stands then.
func (d *driving) attach(id int64) error {
	if err := d.browse(id); err != nil {
		return err
	}
	ctx := context.WithoutCancel(d.cmd.Context())
	run, err := d.store.Run(ctx, id)
	if err != nil {
		return err
	}
	p := d.app.printer(d.store)
	if run.Status != db.Running {
		p.Note("run %d: %s; see tillerman show %d", id, run.Outcome, id)
		return d.watched(run)
	}
	owner, life, held, err := d.store.Driver(ctx, id)
	switch {
	case err != nil:
		return err
	case !held || life == db.Dead:
		p.Note("detached; run %d is interrupted: nobody drives it; go on with tillerman resume %d", id, id)
	case life == db.Unknown:
		p.Note("detached; run %d was driven by process %d on %s, which cannot be seen from here", id, owner.PID, owner.Host)
	default:
		p.Note("detached; run %d goes on in process %d", id, owner.PID)
	}
	return nil
}

// watched is the exit code of having watched a run that stands so. Watching one that goes on, or an interrupted one, is
// no failure of watching.
func (d *driving) watched(run db.Run) error {
	err := d.ending(coreResult(run))
	var exit *exitError
	if errors.As(err, &exit) && run.Status == db.Running {
		return nil
	}
	return err
}
