package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"tillerman/db"
)

func (a *app) resolve() *cobra.Command {
	var done, retry, fail bool
	var reason string
	cmd := &cobra.Command{
		Use: "resolve RUN", Short: "Say what became of a call that a crash interrupted and that must not run twice",
		Args: exactly("RUN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			answer := ""
			for name, set := range map[string]bool{"done": done, "retry": retry, "fail": fail} {
				if set && answer != "" {
					return &usageError{"use one of --done, --retry, --fail"}
				}
				if set {
					answer = name
				}
			}
			if answer == "" {
				return &usageError{"say what you found: --done, --retry or --fail, with --reason"}
			}
			if reason == "" {
				return &usageError{"--reason is required: say what you found"}
			}
			ctx := cmd.Context()
			return a.steer(ctx, args[0], func(store *db.Store, id int64) error {
				eff, err := store.Resolve(ctx, id, db.Resolution{Answer: answer, Reason: reason}, db.Here(surface(cmd)))
				if isNotFound(err) {
					return &usageError{fmt.Sprintf("run %d has no interrupted call that waits", id)}
				}
				if err != nil {
					return err
				}
				if a.json {
					return a.printJSON(map[string]any{"run_id": id, "step": eff.Step, "resolution": answer})
				}
				p := a.printer(store)
				p.Note("step %d, call %d of run %d: %s", eff.Step, eff.Position, id, answer)
				return a.hintResume(ctx, store, p, id)
			})
		},
	}
	cmd.Flags().BoolVar(&done, "done", false, "it happened")
	cmd.Flags().BoolVar(&retry, "retry", false, "it did not happen: do it again")
	cmd.Flags().BoolVar(&fail, "fail", false, "it did not happen: tell the model that it failed")
	cmd.Flags().StringVar(&reason, "reason", "", "what you found (required)")
	return cmd
}
