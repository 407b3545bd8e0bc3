package cli

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tillerman/db"
	"tillerman/observer"
	"tillerman/tui/plain"
	"tillerman/tui/text"
)

func (a *app) runs() *cobra.Command {
	var f db.Filter
	var since string
	cmd := &cobra.Command{
		Use: "runs [QUERY]", Short: "List runs, newest first",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.Query = strings.Join(args, " ")
			if since != "" {
				t, err := parseSince(since, a.Now())
				if err != nil {
					return err
				}
				f.Since = t.UnixMilli()
			}
			if f.Outcome != "" {
				if _, ok := observer.Outcome(f.Outcome).Row(); !ok {
					return &usageError{fmt.Sprintf("there is no outcome %q; success, cancelled and stalled are some", f.Outcome)}
				}
			}
			if f.Workspace != "" {
				if abs, err := filepath.Abs(f.Workspace); err == nil {
					f.Workspace = abs
				}
				if real, err := filepath.EvalSymlinks(f.Workspace); err == nil {
					f.Workspace = real
				}
			}
			if f.Limit < 1 {
				return &usageError{"--limit wants a number above 0"}
			}
			return a.look(cmd.Context(), func(store *db.Store) error {
				rows, err := store.Runs(cmd.Context(), f)
				if err != nil {
					return err
				}
				return a.listRuns(rows)
			})
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.Outcome, "outcome", "", "only runs that ended so")
	fl.StringVar(&f.Provider, "provider", "", "only runs of this provider")
	fl.StringVar(&f.Model, "model", "", "only runs that asked this model")
	fl.StringVar(&f.Workspace, "workspace", "", "only runs in this folder")
	fl.StringVar(&since, "since", "", "only runs since: 24h, 7d, or a date like 2026-01-31")
	fl.BoolVar(&f.NeedsMe, "needs-me", false, "only runs that wait for a person")
	fl.IntVar(&f.Limit, "limit", 50, "most rows")
	return cmd
}

// parseSince reads an age or a date.
func parseSince(s string, now time.Time) (time.Time, error) {
	if t, ok := ago(s, now); ok {
		return t, nil
	}
	if t, err := time.ParseInLocation("2006-01-02", s, now.Location()); err == nil {
		return t, nil
	}
	return now, &usageError{fmt.Sprintf("--since %q is neither an age like 24h or 7d nor a date like 2026-01-31", s)}
}

// ago is the time that lies an age like 30d, 12h or 90m before now.
func ago(age string, now time.Time) (time.Time, bool) {
	if days, ok := strings.CutSuffix(age, "d"); ok {
		n, err := strconv.Atoi(days)
		if err != nil || n < 0 || n > 100_000 || strconv.Itoa(n) != days {
			return now, false
		}
		return now.AddDate(0, 0, -n), true
	}
	d, err := time.ParseDuration(age)
	if err != nil || d < 0 {
		return now, false
	}
	return now.Add(-d), true
}

// listedRun is a row of runs --json.
type listedRun struct {
	RunID      int64  `json:"run_id"`
	Goal       string `json:"goal"`
	Workspace  string `json:"workspace"`
	Provider   string `json:"provider"`
	Model      string `json:"model"`
	Status     string `json:"status"`
	State      string `json:"state"`
	Outcome    string `json:"outcome"`
	Success    bool   `json:"success"`
	Steps      int    `json:"steps"`
	Tokens     int64  `json:"tokens"`
	DurationMS int64  `json:"duration_ms"`
	CostMicros *int64 `json:"cost_micros"`
	Waiting    int    `json:"waiting"`
	CreatedAt  int64  `json:"created_at"`
	FinishedAt *int64 `json:"finished_at"`
	// TraceRemovedAt is null for a run that has its trace.
	TraceRemovedAt *int64 `json:"trace_removed_at"`
}

func (a *app) listRuns(rows []db.Listed) error {
	if a.json {
		out := make([]listedRun, 0, len(rows))
		for _, r := range rows {
			row := listedRun{
				RunID: r.ID, Goal: r.Goal, Workspace: r.Workspace, Provider: r.Provider, Model: r.Model, Status: string(r.Status), State: r.State(),
				Outcome: r.Outcome, Success: r.Success, Steps: r.Sealed, Tokens: r.Tokens, DurationMS: r.DurationMS, CostMicros: r.CostMicros,
				Waiting: r.Waiting, CreatedAt: r.CreatedAt,
			}
			if r.FinishedAt != 0 {
				row.FinishedAt = &r.FinishedAt
			}
			if r.TraceRemovedAt != 0 {
				row.TraceRemovedAt = &r.TraceRemovedAt
			}
			out = append(out, row)
		}
		return a.printJSON(out)
	}
	if len(rows) == 0 {
		_, err := fmt.Fprintln(a.Out, "no runs")
		return err
	}
	goal := max(20, a.Width-62)
	for _, r := range rows {
		when := time.UnixMilli(r.CreatedAt).Format("2006-01-02 15:04")
		words := text.Truncate(text.Line(r.Goal), goal, "…")
		if r.TraceRemovedAt != 0 {
			note := "  (trace removed on " + time.UnixMilli(r.TraceRemovedAt).Format(time.DateOnly) + ")"
			words = text.Truncate(text.Line(r.Goal), max(12, goal-len(note)), "…") + note
		}
		_, err := fmt.Fprintln(a.Out, strings.TrimRight(fmt.Sprintf("%5d  %s  %s  %3d st %9s tok  %s", r.ID, when, text.Fit(r.State(), 18), r.Sealed, plain.Count(r.Tokens), words), " "))
		if err != nil {
			return err
		}
	}
	return nil
}
