package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"tillerman/core"
	"tillerman/db"
	"tillerman/tui/plain"
)

func (a *app) prune() *cobra.Command {
	var older string
	var dry bool
	cmd := &cobra.Command{
		Use: "prune", Short: "Remove the traces of runs that ended long ago; their summaries and the audit trail stay",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if older == "" {
				return &usageError{"say which traces go: --older 30d"}
			}
			now := a.Now()
			before, ok := ago(older, now)
			if !ok {
				return &usageError{fmt.Sprintf("--older %q is no age; write it like 30d, 12h or 90m", older)}
			}
			ctx := cmd.Context()
			if dry {
				return a.look(ctx, func(store *db.Store) error {
					sum, err := store.Removable(ctx, before.UnixMilli())
					if err != nil {
						return err
					}
					return a.printRemoval(store, sum, before, "would remove")
				})
			}
			if err := a.outsider(); err != nil {
				return err
			}
			path, err := a.storePath()
			if err != nil {
				return err
			}
			if err := mustExist(path); err != nil {
				return err
			}
			return a.act(ctx, func(store *db.Store) error {
				sum, err := store.Prune(ctx, db.Retention{Before: before.UnixMilli(), Asked: "older than " + older, By: db.Here(surface(cmd)), Version: core.Version})
				if err != nil {
					return err
				}
				return a.printRemoval(store, sum, before, "removed")
			})
		},
	}
	cmd.Flags().StringVar(&older, "older", "", "traces of runs that ended longer ago than this: 30d, 12h, 90m")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "say what would be removed, and remove nothing")
	return cmd
}

func (a *app) printRemoval(store *db.Store, sum db.Removal, before time.Time, verb string) error {
	if a.json {
		return a.printJSON(struct {
			Verb     string `json:"verb"`
			BeforeMS int64  `json:"before"`
			db.Removal
		}{verb, before.UnixMilli(), sum})
	}
	p := a.printer(store)
	if sum.Runs == 0 {
		p.Note("nothing to remove: no run that has its trace ended before %s", before.Format("2006-01-02 15:04"))
		return p.Err()
	}
	traces := "the trace of 1 run"
	if sum.Runs != 1 {
		traces = "the traces of " + plain.Count(int64(sum.Runs)) + " runs"
	}
	p.Note("%s %s that ended before %s: %s steps, %s contents of %s", verb, traces, before.Format("2006-01-02 15:04"),
		plain.Count(sum.Steps), plain.Count(sum.Contents), plain.Bytes(sum.Bytes))
	p.Note("summaries, decisions and the audit trail stay; the file keeps its size and uses the room again")
	return p.Err()
}
