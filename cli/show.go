package cli

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"tillerman/core"
	"tillerman/db"
	"tillerman/db/canonical"
	"tillerman/observer"
	"tillerman/tui/plain"
)

// showFlags choose what show prints.
type showFlags struct {
	steps, canonical, trace bool
}

func (a *app) show() *cobra.Command {
	var f showFlags
	cmd := &cobra.Command{
		Use: "show RUN", Short: "Show how a run stands or ended",
		Args: exactly("RUN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.look(cmd.Context(), func(store *db.Store) error {
				id, err := runID(cmd.Context(), store, args[0])
				if err != nil {
					return err
				}
				if f.trace {
					return a.showTrace(cmd.Context(), store, id)
				}
				if f.canonical {
					return canonical.Write(cmd.Context(), a.Out, store, id)
				}
				return a.showRun(cmd.Context(), store, id, f)
			})
		},
	}
	cmd.Flags().BoolVar(&f.steps, "steps", false, "every step")
	cmd.Flags().BoolVar(&f.trace, "trace", false, "where time, tokens and money went: every model call, tool call, question, wait and check")
	cmd.Flags().BoolVar(&f.canonical, "canonical", false, "the canonical trace: what two identical runs share")
	cmd.MarkFlagsMutuallyExclusive("steps", "trace", "canonical")
	return cmd
}

// shownRun is show --json.
type shownRun struct {
	RunID      int64   `json:"run_id"`
	Goal       string  `json:"goal"`
	Workspace  string  `json:"workspace"`
	Provider   string  `json:"provider"`
	Model      string  `json:"model"`
	Status     string  `json:"status"`
	State      string  `json:"state"`
	Outcome    *string `json:"outcome"`
	StopReason *string `json:"stop_reason"`
	CreatedAt  int64   `json:"created_at"`
	Drives     int     `json:"drives"`
	// TraceRemovedAt is null for a run that has its trace.
	TraceRemovedAt *int64      `json:"trace_removed_at"`
	Summary        *db.Summary `json:"summary"` // null for a run that has not ended
	Steps          []shownStep `json:"steps,omitempty"`
}

type shownStep struct {
	Step     int    `json:"step"`
	Decision string `json:"decision"`
	Said     string `json:"said"`
	Tokens   *int64 `json:"tokens"` // null when not measured
	Changed  bool   `json:"changed"`
}

func (a *app) showRun(ctx context.Context, store *db.Store, id int64, f showFlags) error {
	run, err := store.Run(ctx, id)
	if err != nil {
		return err
	}
	var sum *db.Summary
	if s, err := store.Summary(ctx, id); err == nil {
		sum = &s
	} else if !errors.Is(err, db.ErrNotFound) {
		return err
	}
	listed, err := store.Listed(ctx, id)
	if err != nil {
		return err
	}
	var steps []db.Step
	if f.steps {
		if err := run.Traced(); err != nil {
			return err
		}
		if steps, err = store.Steps(ctx, id, 0, 0); err != nil {
			return err
		}
	}
	if a.json {
		out := shownRun{
			RunID: id, Goal: run.Goal, Workspace: run.Workspace, Provider: run.Provider, Model: run.Model, Status: string(run.Status), State: listed.State(),
			CreatedAt: run.CreatedAt, Drives: run.Drive, Summary: sum,
		}
		if run.Outcome != "" {
			out.Outcome, out.StopReason = &run.Outcome, &run.StopReason
		}
		if run.TraceRemovedAt != 0 {
			out.TraceRemovedAt = &run.TraceRemovedAt
		}
		for _, st := range steps {
			row := shownStep{Step: st.Step, Decision: st.Decision, Said: st.Said, Changed: st.Changed}
			if st.Measured {
				row.Tokens = &st.Tokens
			}
			out.Steps = append(out.Steps, row)
		}
		return a.printJSON(out)
	}
	p := a.printer(store)
	p.Note("%s", run.Goal)
	p.Note("  started   %s in %s", time.UnixMilli(run.CreatedAt).Format("2006-01-02 15:04:05"), run.Workspace)
	if sum == nil {
		p.Note("  state     %s: %d steps, %s tokens so far, no summary until it ends", listed.State(), run.Sealed, plain.Count(listed.Tokens))
		switch {
		case run.Status == db.Paused && run.Outcome == string(observer.OutcomeAwaitingApproval) && listed.Waiting == 0:
			p.Note("  answered  go on with tillerman resume %d", id)
		case listed.State() == "interrupted":
			p.Note("  driver    none: go on with tillerman resume %d", id)
		case run.Status == db.Paused:
			p.Note("  waits     %s", run.StopReason)
		}
	} else if err := p.Summary(*sum); err != nil {
		return err
	}
	if run.TraceRemovedAt != 0 {
		p.Note("  trace     removed on %s", time.UnixMilli(run.TraceRemovedAt).Format(time.DateOnly))
	}
	if sum != nil && sum.Said != "" {
		p.Note("  said      %s", sum.Said)
	}
	for _, st := range steps {
		if err := p.Event(ctx, observer.Event{RunID: id, Step: st.Step, Kind: observer.Step{}}); err != nil {
			return err
		}
	}
	return p.Err()
}

// coreResult is how a run stands, as a drive would report it.
func coreResult(run db.Run) core.Result {
	return core.Result{RunID: run.ID, Outcome: observer.Outcome(run.Outcome), Message: run.StopReason}
}
