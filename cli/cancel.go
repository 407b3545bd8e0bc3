package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"tillerman/core"
	"tillerman/db"
)

func (a *app) cancel() *cobra.Command {
	return a.stop("cancel", "Ask a run to stop at the next safe point",
		`Asks a run to stop at the next safe point: between two steps, while it waits for a person or for another try, while
it is paused, before a check. A run that nobody drives is ended here and now.`)
}

func (a *app) kill() *cobra.Command {
	return a.stop("kill", "End a run at once: its model call and every process of it",
		`Ends a run at once: the model call in flight is abandoned and every process of the run is ended, by force where it
does not end itself. What could not be ended is listed. A run that nobody drives is ended here and now.`)
}

func (a *app) stop(kind, short, long string) *cobra.Command {
	var reason string
	var takeOver bool
	cmd := &cobra.Command{
		Use: kind + " RUN", Short: short, Long: long,
		Args: exactly("RUN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			return a.steer(ctx, args[0], func(store *db.Store, id int64) error {
				c, fresh, err := store.Control(ctx, db.Control{RunID: id, Kind: kind, Reason: a.clean(reason), By: db.Here(surface(cmd))})
				if err != nil {
					return err
				}
				return a.stopped(ctx, store, c, fresh, takeOver)
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the record")
	cmd.Flags().BoolVar(&takeOver, "take-over", false, "the driver cannot be seen from here and I know that it is gone")
	return cmd
}

// stopped says what became of a stored cancel or kill. Where nobody drives the run, it ends it.
func (a *app) stopped(ctx context.Context, store *db.Store, c db.Control, fresh, takeOver bool) error {
	res, err := a.settle(ctx, store, c.RunID, "command "+c.Kind, takeOver)
	var held *db.HeldError
	switch {
	case errors.As(err, &held) && held.Life == db.Unknown:
		return err
	case err != nil && !errors.As(err, &held):
		return fmt.Errorf("the %s of run %d is stored and holds when it is resumed; it could not be ended here: %w", c.Kind, c.RunID, err)
	}
	driven := err != nil
	if driven && c.Kind == "kill" {
		a.awaitStop(ctx, store, c.RunID)
	}
	run, err := store.Run(ctx, c.RunID)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(map[string]any{
			"run_id": c.RunID, "control": c.Kind, "requested_at": c.RequestedAt, "new": fresh, "by": c.By, "status": run.Status, "outcome": optional(run.Outcome),
		})
	}
	if driven && c.Kind == "kill" && run.Status != db.Completed {
		return &exitError{code: exitOther, msg: fmt.Sprintf("run %d has not stopped: its driver, process %d on %s, does not answer; the kill is stored and holds when it does", c.RunID, held.Owner.PID, held.Owner.Host)}
	}
	p := a.printer(store)
	switch {
	case !driven:
		p.Note("run %d: %s", c.RunID, res.Message)
	case run.Status == db.Completed:
		p.Note("run %d: %s", c.RunID, run.StopReason)
	case !fresh:
		p.Note("run %d was already asked to stop by %s (%s)", c.RunID, c.By.User, c.By.Surface)
	default:
		p.Note("%s requested: run %d stops at the next safe point", c.Kind, c.RunID)
	}
	return p.Err()
}

// killWait is how long a kill is followed: a driver sees it within a quarter of a second, processes have two seconds to go,
// and a supervisor that its command has stopped is given up after five more.
const killWait = 10 * time.Second

// awaitStop waits until a run has ended, for as long as a kill may take.
func (a *app) awaitStop(ctx context.Context, store *db.Store, id int64) {
	ctx, stop := context.WithTimeout(ctx, killWait)
	defer stop()
	w, err := store.NewWaiter(ctx)
	if err != nil {
		return
	}
	defer w.Close()
	for {
		run, err := store.Run(ctx, id)
		if err != nil || run.Status == db.Completed || w.Wait(ctx) != nil {
			return
		}
	}
}

// settle ends a run that nobody drives, for the cancel or kill that is stored. *db.HeldError says that somebody does.
func (a *app) settle(ctx context.Context, store *db.Store, id int64, surface string, takeOver bool) (core.Result, error) {
	e, err := a.undriven(store, surface)
	if err != nil {
		return core.Result{}, err
	}
	res, err := e.Stop(ctx, id, takeOver)
	if err != nil {
		return res, err
	}
	c, err := e.Contract(ctx, id)
	if err != nil {
		return res, err
	}
	return res, (&driving{app: a, store: store}).saveRecording(id, c.Record)
}

// undriven is an engine that drives nothing.
func (a *app) undriven(store *db.Store, surface string) (*core.Engine, error) {
	prices, err := a.prices()
	if err != nil {
		return nil, err
	}
	return core.New(store, nil, core.WithRedactor(a.redactor), core.WithPrices(prices), core.WithSurface(surface),
		core.WithState(a.stateDir(store), a.Environ), core.WithClock(a.Now)), nil
}

// clean takes secrets out of what a person typed, before it is stored.
func (a *app) clean(s string) string {
	s, _ = a.redactor.String(s)
	return s
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
