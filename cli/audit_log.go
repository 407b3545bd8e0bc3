package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tillerman/db"
	"tillerman/db/audit"
	"tillerman/tui/text"
)

// loggedRow is a row of audit log --json, one a line.
type loggedRow struct {
	audit.Entry
	Prev    string   `json:"prev"`
	Hash    string   `json:"hash"`
	Account []string `json:"account,omitempty"` // who let it happen, one link a line; of one run's acts
}

func (a *app) auditLog() *cobra.Command {
	var since, run string
	cmd := &cobra.Command{
		Use: "log [RUN]", Short: "Print the audit trail, oldest first; of one run with who let each act happen",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) > 1 || len(args) == 1 && run != "":
				return &usageError{"audit log wants at most one RUN; see tillerman audit log --help"}
			case len(args) == 1:
				run = args[0]
			}
			var from int64
			if since != "" {
				t, err := parseSince(since, a.Now())
				if err != nil {
					return err
				}
				from = t.UnixMilli()
			}
			ctx := cmd.Context()
			return a.look(ctx, func(store *db.Store) error {
				var id int64
				if run != "" || len(args) == 1 {
					var err error
					if id, err = runID(ctx, store, run); err != nil {
						return err
					}
				}
				return a.logRows(ctx, store, id, from)
			})
		},
	}
	cmd.Flags().StringVar(&since, "since", "", "only rows since: 24h, 7d, or a date like 2026-01-31")
	cmd.Flags().StringVar(&run, "run", "", "only rows of this run")
	return cmd
}

// logRows prints the rows of one run, with accounts, or of all runs for 0.
func (a *app) logRows(ctx context.Context, store *db.Store, run, from int64) error {
	var ledger audit.Ledger
	shown := false
	for l, err := range store.AuditRows(ctx, run, 0) {
		if err != nil {
			return err
		}
		e, err := audit.Parse(l.Body)
		if err != nil {
			return fmt.Errorf("row %d of the audit trail cannot be read: %w; see tillerman audit verify", l.Seq, err)
		}
		row := loggedRow{Entry: e, Prev: l.Prev, Hash: l.Hash}
		if run != 0 {
			row.Account = accountOf(&ledger, e)
		}
		if e.At < from {
			continue
		}
		shown = true
		if err := a.logRow(row); err != nil {
			return err
		}
	}
	if !shown && !a.json {
		_, err := fmt.Fprintln(a.Out, "no rows")
		return err
	}
	return nil
}

// accountOf is the chain behind an act in words, or what is missing of it.
func accountOf(ledger *audit.Ledger, e audit.Entry) []string {
	acc, err := ledger.Add(e)
	var broken *audit.BrokenError
	switch {
	case errors.As(err, &broken):
		return []string{"NOT ACCOUNTED FOR: the " + broken.Link + ": " + broken.Msg}
	case acc == nil:
		return nil
	}
	return acc.Words()
}

func (a *app) logRow(r loggedRow) error {
	if a.json {
		enc := json.NewEncoder(a.Out)
		enc.SetEscapeHTML(false)
		return enc.Encode(r)
	}
	line := text.Line(auditLine(r.Entry))
	if a.Terminal {
		line = text.Truncate(line, a.Width, "…")
	}
	if _, err := fmt.Fprintln(a.Out, line); err != nil {
		return err
	}
	for _, s := range r.Account {
		if _, err := fmt.Fprintln(a.Out, "        "+text.Line(s)); err != nil {
			return err
		}
	}
	return nil
}

// auditLine is a row on one line: number, time, where, what, who.
func auditLine(e audit.Entry) string {
	where := ""
	if e.RunID != 0 {
		where = fmt.Sprintf("run %d", e.RunID)
	}
	if e.Step != 0 {
		where += fmt.Sprintf(" step %d", e.Step)
	}
	if e.Position != 0 {
		where += fmt.Sprintf(" call %d", e.Position)
	}
	what := []string{e.Action}
	for _, s := range []string{e.Act, e.Target} {
		if s != "" && s != what[len(what)-1] {
			what = append(what, s)
		}
	}
	if e.Decision != "" {
		what = append(what, "→ "+e.Verdict())
	}
	line := fmt.Sprintf("%6d  %s  %-20s  %s  by %s (%s)", e.Seq, time.UnixMilli(e.At).Format("2006-01-02 15:04:05.000"), where, strings.Join(what, " "), e.User, e.Surface)
	if e.Action == audit.Rule { // what it lets happen is more than what was asked when it was given
		line += fmt.Sprintf("; the rule %q", e.Rule)
	}
	for _, s := range []string{e.Reason, e.Note} {
		if s != "" {
			line += "; " + s
		}
	}
	return line
}
