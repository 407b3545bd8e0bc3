package cli

import (
	"bufio"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tillerman/db"
	"tillerman/observer"
	"tillerman/tui/plain"
)

func (a *app) inbox() *cobra.Command {
	return &cobra.Command{
		Use: "inbox", Short: "List every question that waits for a person, oldest first",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.look(cmd.Context(), func(store *db.Store) error {
				reqs, err := store.Inbox(cmd.Context())
				if err != nil {
					return err
				}
				stuck, err := unresolved(cmd.Context(), store)
				if err != nil {
					return err
				}
				if a.json {
					return a.inboxJSON(reqs, stuck)
				}
				if len(reqs)+len(stuck) == 0 {
					_, err := fmt.Fprintln(a.Out, "nothing waits")
					return err
				}
				p := a.printer(store)
				for _, r := range reqs {
					p.Note("run %d  %s  (asked %s ago)", r.RunID, r.Goal, plain.Duration(a.Now().UnixMilli()-r.AskedAt))
					if err := p.Question(r); err != nil {
						return err
					}
					p.Note("      %s", howToDecide(r))
				}
				for _, run := range stuck {
					p.Note("run %d  %s", run.ID, run.Goal)
					p.Note("   !  %s", run.StopReason)
					p.Note("      tillerman resolve %d --done | --retry | --fail --reason TEXT", run.ID)
				}
				return p.Err()
			})
		},
	}
}

// howToDecide is the command that says yes.
func howToDecide(r db.Request) string {
	switch r.Act {
	case db.QuestionAct:
		return fmt.Sprintf("tillerman answer %d %s TEXT", r.RunID, requestName(r))
	case db.BudgetAct:
		return fmt.Sprintf("tillerman budget %d, or tillerman deny %d %s", r.RunID, r.RunID, requestName(r))
	}
	return fmt.Sprintf("tillerman approve %d %s", r.RunID, requestName(r))
}

// requestName is a request with what it asks about: a decision under this name can approve nothing else.
func requestName(r db.Request) string { return fmt.Sprintf("%d@%s", r.ID, plain.ShortDigest(r.Digest)) }

type inboxRow struct {
	Request  string  `json:"request"` // ID@DIGEST
	ID       int64   `json:"id"`
	RunID    int64   `json:"run_id"`
	Step     int     `json:"step"`
	Goal     string  `json:"goal"`
	Act      string  `json:"act"`
	Target   string  `json:"target"`
	Payload  string  `json:"payload"`
	Digest   string  `json:"digest"`
	Rule     *string `json:"rule"`
	Layer    *string `json:"layer"`
	Sandbox  string  `json:"sandbox"`
	AskedAt  int64   `json:"asked_at"`
	Deferred bool    `json:"deferred"`
}

// unresolved lists the runs that wait for a word on an interrupted call.
func unresolved(ctx context.Context, store *db.Store) ([]db.Listed, error) {
	runs, err := store.Runs(ctx, db.Filter{Outcome: string(observer.OutcomeNeedsOperator), Children: true, Limit: 1000})
	return slices.DeleteFunc(runs, func(r db.Listed) bool { return r.Status != db.Paused }), err
}

func (a *app) inboxJSON(reqs []db.Request, stuck []db.Listed) error {
	rows := make([]inboxRow, 0, len(reqs))
	for _, r := range reqs {
		rows = append(rows, inboxRow{
			Request: requestName(r), ID: r.ID, RunID: r.RunID, Step: r.Step, Goal: r.Goal, Act: r.Act, Target: r.Target, Payload: r.Payload, Digest: r.Digest,
			Rule: r.Rule, Layer: r.Layer, Sandbox: r.Sandbox, AskedAt: r.AskedAt, Deferred: r.Deferred,
		})
	}
	for _, run := range stuck { // no request: a resolve answers it
		rows = append(rows, inboxRow{RunID: run.ID, Step: run.Sealed + 1, Goal: run.Goal, Act: "resolve", Target: run.StopReason})
	}
	return a.printJSON(rows)
}

func (a *app) deny() *cobra.Command {
	d := db.Decision{Answer: "deny"}
	cmd := &cobra.Command{
		Use: "deny RUN [REQUEST]", Short: "Deny what a run asks; the run goes on",
		Args: runAndRequest,
		RunE: func(cmd *cobra.Command, args []string) error {
			d.Reason = a.clean(d.Reason)
			return a.decide(cmd, args, as(d))
		},
	}
	cmd.Flags().StringVar(&d.Reason, "reason", "", "why: the model reads it")
	cmd.Flags().BoolVar(&d.Stop, "stop", false, "end the run too")
	return cmd
}

func (a *app) deferCmd() *cobra.Command {
	return &cobra.Command{
		Use: "defer RUN [REQUEST]", Short: "Put a question off: the run pauses, the question stays in the inbox",
		Args: runAndRequest,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.decide(cmd, args, as(db.Decision{Answer: "defer"}))
		},
	}
}

func runAndRequest(cmd *cobra.Command, args []string) error {
	if len(args) < 1 || len(args) > 2 {
		return &usageError{fmt.Sprintf("%s wants RUN and, when several questions wait, REQUEST; see %s --help", cmd.Name(), cmd.CommandPath())}
	}
	return nil
}

// as is a decision that is the same whatever is asked.
func as(d db.Decision) func(context.Context, *db.Store, db.Request) (db.Decision, error) {
	return func(context.Context, *db.Store, db.Request) (db.Decision, error) { return d, nil }
}

// decide finds the question, has the decision made and stores it.
func (a *app) decide(cmd *cobra.Command, args []string, by func(context.Context, *db.Store, db.Request) (db.Decision, error)) error {
	ctx := cmd.Context()
	return a.steer(ctx, args[0], func(store *db.Store, id int64) error {
		req, err := a.pick(ctx, store, id, args[1:])
		if err != nil {
			return err
		}
		d, err := by(ctx, store, req)
		if err != nil {
			return err
		}
		bound := len(args) == 2 && strings.Contains(args[1], "@")
		if d.Answer == "approve" && req.Act != db.QuestionAct && !bound {
			if !a.Terminal {
				return &usageError{fmt.Sprintf("without a terminal name what you approve: tillerman approve %d %s", id, requestName(req))}
			}
			yes, err := a.confirm(ctx, store, req)
			if err != nil {
				return err
			}
			if !yes {
				return &exitError{code: exitOther, msg: "nothing was decided"}
			}
		}
		d.Digest = req.Digest
		got, err := store.Decide(ctx, req.ID, d, db.Here(surface(cmd)))
		if err != nil {
			return err
		}
		return a.decided(ctx, store, got)
	})
}

// pick finds the question that is meant. Several that wait need a name.
func (a *app) pick(ctx context.Context, store *db.Store, run int64, args []string) (db.Request, error) {
	reqs, err := store.Requests(ctx, run)
	if err != nil {
		return db.Request{}, err
	}
	if len(args) == 1 {
		return named(reqs, run, args[0])
	}
	var open []db.Request
	for _, r := range reqs {
		if r.State == "open" {
			open = append(open, r)
		}
	}
	switch len(open) {
	case 1:
		return open[0], nil
	case 0:
		if n := len(reqs); n > 0 && reqs[n-1].State == "decided" {
			return db.Request{}, &db.DecidedError{Request: reqs[n-1]}
		}
		return db.Request{}, &usageError{fmt.Sprintf("run %d asks nothing; see tillerman inbox", run)}
	}
	var names []string
	for _, r := range open {
		names = append(names, requestName(r)+" ("+r.Act+" "+r.Target+")")
	}
	return db.Request{}, &usageError{fmt.Sprintf("run %d asks several things; name one: %s", run, strings.Join(names, ", "))}
}

// named finds a question by ID or ID@DIGEST. The digest must be at least as long as the inbox prints it.
func named(reqs []db.Request, run int64, name string) (db.Request, error) {
	idText, digest, bound := strings.Cut(name, "@")
	id, err := strconv.ParseInt(idText, 10, 64)
	if err != nil {
		return db.Request{}, &usageError{fmt.Sprintf("%q is no request; write ID@DIGEST as tillerman inbox prints it", name)}
	}
	for _, r := range reqs {
		if r.ID != id {
			continue
		}
		if bound && (len(digest) < len(plain.ShortDigest(r.Digest)) || !strings.HasPrefix(r.Digest, digest)) {
			return r, &db.DigestError{ID: id, Shown: digest, Asks: r.Digest}
		}
		return r, nil
	}
	return db.Request{}, &usageError{fmt.Sprintf("run %d has no request %d; see tillerman inbox", run, id)}
}

// confirm shows the whole request and asks. Only the word yes approves: Enter does not.
func (a *app) confirm(ctx context.Context, store *db.Store, req db.Request) (bool, error) {
	p := a.printer(store)
	flushInput(a.In)()
	if err := p.Question(req); err != nil {
		return false, err
	}
	fmt.Fprint(a.Out, "      approve this? type yes and Enter > ")
	shown := a.Now()
	line, err := bufio.NewReader(a.In).ReadString('\n')
	if err != nil {
		return false, nil
	}
	return strings.TrimSpace(line) == "yes" && a.Now().Sub(shown) >= 400*time.Millisecond, nil
}

// decided says what was decided and what is left to do.
func (a *app) decided(ctx context.Context, store *db.Store, r db.Request) error {
	if a.json {
		return a.printJSON(map[string]any{"request": requestName(r), "run_id": r.RunID, "decision": r.Decision, "by": r.DecidedBy})
	}
	p := a.printer(store)
	p.Note("request %d: %s: %s %s", r.ID, r.Decision, r.Act, r.Target)
	return a.hintResume(ctx, store, p, r.RunID)
}

// hintResume says how to go on when nobody drives the run.
func (a *app) hintResume(ctx context.Context, store *db.Store, p *plain.Printer, run int64) error {
	_, life, held, err := store.Driver(ctx, run)
	if err != nil {
		return err
	}
	if !held || life == db.Dead {
		p.Note("nobody drives run %d now; go on with: tillerman resume %d", run, run)
	}
	return p.Err()
}
