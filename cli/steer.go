package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"tillerman/core"
	"tillerman/db"
	"tillerman/tui/plain"
)

// Orders to a run from any terminal: each is a row in the store first, which the process that drives the run looks for.

func (a *app) pause() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "pause RUN", Short: "Hold a run: what is in flight ends, nothing new begins until continue",
		Args: exactly("RUN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.order(cmd, args[0], db.Control{Kind: "pause", Reason: reason}, func(p *plain.Printer, c db.Control, fresh bool) {
				if !fresh {
					p.Note("run %d was already asked to pause by %s (%s)", c.RunID, c.By.User, c.By.Surface)
					return
				}
				p.Note("pause requested: run %d holds before its next call; lift it with tillerman continue %d", c.RunID, c.RunID)
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the record")
	return cmd
}

func (a *app) continueCmd() *cobra.Command {
	return &cobra.Command{
		Use: "continue RUN", Short: "Lift the pause of a run",
		Args: exactly("RUN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.order(cmd, args[0], db.Control{Kind: "continue"}, func(p *plain.Printer, c db.Control, fresh bool) {
				if !fresh {
					p.Note("run %d is not paused", c.RunID)
					return
				}
				p.Note("run %d continues", c.RunID)
			})
		},
	}
}

func (a *app) tell() *cobra.Command {
	return &cobra.Command{
		Use: "tell RUN TEXT", Short: "Say something to the agent: it reads it at its next step",
		Args: exactly("RUN", "TEXT"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if strings.TrimSpace(args[1]) == "" {
				return &usageError{"TEXT is empty; say something"}
			}
			return a.order(cmd, args[0], db.Control{Kind: "tell", Body: args[1]}, func(p *plain.Printer, c db.Control, _ bool) {
				p.Note("queued: the agent of run %d reads it at its next step", c.RunID)
			})
		},
	}
}

func (a *app) budget() *cobra.Command {
	var f limitFlags
	cmd := &cobra.Command{
		Use: "budget RUN", Short: "Set ceilings of a run anew, up or down",
		Long: `Sets ceilings of a run anew, up or down, also while it runs; 0 lifts one, but for steps. They hold from the next step
on. A run that waits because a budget is used up goes on when it is large enough. Without a flag it says how the
ceilings stand.`,
		Args: exactly("RUN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			set, err := f.limits()
			if err != nil {
				return err
			}
			if set == (core.Limits{}) {
				return a.look(cmd.Context(), func(store *db.Store) error { return a.showBudget(cmd.Context(), store, args[0]) })
			}
			return a.setBudget(cmd, args[0], set)
		},
	}
	f.add(cmd, "new ceiling of")
	return cmd
}

func (a *app) setBudget(cmd *cobra.Command, arg string, set core.Limits) error {
	ctx := cmd.Context()
	err := a.act(ctx, func(store *db.Store) error {
		id, err := runID(ctx, store, arg)
		if err != nil {
			return err
		}
		prices, err := a.prices()
		if err != nil {
			return err
		}
		c, err := core.StoredContract(ctx, store, id)
		if err != nil {
			return err
		}
		if set.Money != nil {
			c.Money = *set.Money
			return core.CheckMoney(prices, c)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return a.order(cmd, arg, db.Control{Kind: "budget", Body: set.Budget().Encode()}, func(p *plain.Printer, c db.Control, _ bool) {
		p.Note("the ceilings of run %d change at its next step", c.RunID)
	})
}

// showBudget says how the ceilings of a run stand and how much of each is used.
func (a *app) showBudget(ctx context.Context, store *db.Store, arg string) error {
	id, err := runID(ctx, store, arg)
	if err != nil {
		return err
	}
	c, err := core.StoredContract(ctx, store, id)
	if err != nil {
		return err
	}
	used, err := store.Figures(ctx, id)
	if err != nil {
		return err
	}
	driven := used.DurationMS - used.Time.Away - used.Time.Person
	if a.json {
		return a.printJSON(map[string]any{
			"run_id": id, "max_steps": c.MaxSteps, "time_ms": ceiling(c.Time.Milliseconds()), "tokens": ceiling(c.Tokens), "money_micros": ceiling(c.Money),
			"used": map[string]any{"steps": used.Steps, "time_ms": driven, "tokens": used.TokensBilled, "money_micros": used.CostMicros},
		})
	}
	p := a.printer(store)
	p.Note("steps   %d of %d", used.Steps, c.MaxSteps)
	p.Note("time    %s of %s", plain.Duration(driven), orNone(c.Time > 0, c.Time.String()))
	p.Note("tokens  %s of %s", plain.Count(used.TokensBilled), orNone(c.Tokens > 0, plain.Count(c.Tokens)))
	p.Note("money   %s of %s", plain.Cost(used.CostMicros, a.asciiOnly()), orNone(c.Money > 0, plain.Amount(c.Money)))
	return p.Err()
}

func ceiling(n int64) *int64 {
	if n == 0 {
		return nil
	}
	return &n
}

func orNone(set bool, s string) string {
	if !set {
		return "no ceiling"
	}
	return s
}

// order stores a control and says what follows.
func (a *app) order(cmd *cobra.Command, arg string, c db.Control, said func(*plain.Printer, db.Control, bool)) error {
	ctx := cmd.Context()
	return a.steer(ctx, arg, func(store *db.Store, id int64) error {
		c.RunID, c.By, c.Reason, c.Body = id, db.Here(surface(cmd)), a.clean(c.Reason), a.clean(c.Body)
		stored, fresh, err := store.Control(ctx, c)
		var ended *db.EndedError
		if errors.As(err, &ended) && c.Kind == "budget" {
			return fmt.Errorf("%w; where a larger budget lets it go on, tillerman resume %d takes the same flags", err, id)
		}
		if err != nil {
			return err
		}
		if a.json {
			return a.printJSON(map[string]any{"run_id": id, "control": c.Kind, "requested_at": stored.RequestedAt, "new": fresh, "by": stored.By})
		}
		p := a.printer(store)
		said(p, stored, fresh)
		if c.Kind == "pause" {
			return p.Err()
		}
		return a.hintResume(ctx, store, p, id)
	})
}
