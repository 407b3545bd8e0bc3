package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"tillerman/db"
	"tillerman/observer"
	"tillerman/tui/plain"
)

func (a *app) watch() *cobra.Command {
	var lines bool
	cmd := &cobra.Command{
		Use: "watch RUN", Short: "Follow a run that another process drives",
		Args: exactly("RUN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.look(cmd.Context(), func(store *db.Store) error {
				id, err := runID(cmd.Context(), store, args[0])
				if err != nil {
					return err
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
	out := observer.Lines(a.Out)
	driven, waiting := false, false // it was driven while it was watched; it is not now
	err := plain.Follow(ctx, store, id, 0, func(ev observer.Event) error {
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
	var exit *exitError
	err = (&driving{app: a, store: store}).ending(coreResult(run))
	if errors.As(err, &exit) && run.Status == db.Running {
		return nil // watching an interrupted run is no failure of watching
	}
	return err
}
