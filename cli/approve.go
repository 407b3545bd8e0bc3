package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"mvdan.cc/sh/v3/shell"

	"tillerman/core"
	"tillerman/db"
)

// approveFlags are what an approve may bring beside the yes.
type approveFlags struct {
	rule   string // a pattern, or "exact"
	change string // the call's arguments as changed, JSON
	edit   bool
	try    bool
}

func (a *app) approve() *cobra.Command {
	var f approveFlags
	cmd := &cobra.Command{
		Use: "approve RUN [REQUEST]", Short: "Approve what a run asks, once",
		Long: `Approves what a run asks, once. With --change or --edit the call is changed first; what was made of it is checked by
the policy and asked about anew where that asks. With --rule what the rule matches is allowed for the rest of the run
too; --rule exact allows exactly what is asked, nothing else. A rule never crosses a deny or an ask of the policy.`,
		Args: runAndRequest,
		RunE: func(cmd *cobra.Command, args []string) error { return a.approveWith(cmd, args, f) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.rule, "rule", "", `also allow what matches for the rest of the run: "exact", or a pattern such as "go test *"`)
	fl.BoolVar(&f.try, "dry-run", false, "only say what the rule would cover")
	fl.StringVar(&f.change, "change", "", "the call's arguments as changed, JSON")
	fl.BoolVar(&f.edit, "edit", false, "change the call's arguments in $EDITOR")
	return cmd
}

func (a *app) approveWith(cmd *cobra.Command, args []string, f approveFlags) error {
	switch {
	case f.edit && f.change != "":
		return &usageError{"use one of --edit and --change"}
	case f.rule != "" && (f.edit || f.change != ""):
		return &usageError{"a rule is for what is asked; leave out --edit and --change"}
	case f.try && f.rule == "":
		return &usageError{"--dry-run says what a rule would cover; name one with --rule"}
	}
	return a.decide(cmd, args, func(ctx context.Context, store *db.Store, req db.Request) (db.Decision, error) {
		d := db.Decision{Answer: "approve"}
		var err error
		switch {
		case f.rule != "":
			d.Rule, err = a.rule(ctx, store, req, f)
		case f.change != "":
			d.ChangedArgs, err = changedArguments(f.change)
		case f.edit:
			d.ChangedArgs, err = a.editArguments(ctx, store, req)
		}
		return d, err
	})
}

// rule is the rule that the flags ask for, tried and shown before it is stored.
func (a *app) rule(ctx context.Context, store *db.Store, req db.Request, f approveFlags) ([]string, error) {
	var match []string
	if f.rule != "exact" {
		match = []string{f.rule} // a command's words are split by the policy
	}
	p, err := a.propose(ctx, store, req, match, "command approve")
	if err != nil {
		return nil, err
	}
	if !p.Covers {
		return nil, &usageError{fmt.Sprintf("the rule %q would not allow what is asked: %s", strings.Join(p.Match, " "), p.Why)}
	}
	if !a.json {
		a.printer(store).Note("rule for the rest of run %d: allow %s %s; it would have allowed %d calls decided so far, %d of which were denied",
			req.RunID, p.Act, strings.Join(p.Match, " "), p.Approved+p.Denied, p.Denied)
	}
	if f.try {
		return nil, &exitError{code: exitDone}
	}
	return p.Match, nil
}

// propose tries a rule on what is asked and on what was decided before.
func (a *app) propose(ctx context.Context, store *db.Store, req db.Request, match []string, surface string) (core.RuleProposal, error) {
	e, err := a.undriven(store, surface)
	if err != nil {
		return core.RuleProposal{}, err
	}
	return e.With(core.WithPrivate(a.private(store, a.stateDir(store))...)).ProposeRule(ctx, req, match)
}

// changedArguments checks that a text is one JSON object.
func changedArguments(text string) (string, error) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &object); err != nil || object == nil {
		return "", &usageError{"the changed arguments are not one JSON object; write them as the call has them"}
	}
	return text, nil
}

// editArguments lets a person change a call's arguments in their editor.
func (a *app) editArguments(ctx context.Context, store *db.Store, req db.Request) (string, error) {
	if !a.Terminal {
		return "", &usageError{"--edit needs a terminal; use --change"}
	}
	before, err := core.CallArguments(ctx, store, req)
	if err != nil {
		return "", err
	}
	after, err := edited(ctx, a.Getenv, before)
	if err != nil {
		return "", err
	}
	if strings.TrimSpace(after) == strings.TrimSpace(before) {
		return "", &exitError{code: exitOther, msg: "nothing was changed and nothing was decided"}
	}
	return changedArguments(after)
}

// edited is a text after a person's editor had it.
func edited(ctx context.Context, getenv func(string) string, body string) (string, error) {
	cmd, done, err := editing(ctx, getenv, body)
	if err != nil {
		return "", err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	failed := cmd.Run()
	after, err := done()
	if failed != nil {
		return "", &usageError{fmt.Sprintf("the editor %s failed: %v", cmd.Args[0], failed)}
	}
	return after, err
}

// editing prepares a person's editor on a private file with a text. done reads what the file holds and removes it.
func editing(ctx context.Context, getenv func(string) string, body string) (cmd *exec.Cmd, done func() (string, error), err error) {
	name := getenv("VISUAL")
	if name == "" {
		name = getenv("EDITOR")
	}
	if name == "" {
		return nil, nil, &usageError{"no editor is set; set EDITOR, or change the call without one"}
	}
	words, err := shell.Fields(name, getenv)
	if err != nil || len(words) == 0 {
		return nil, nil, &usageError{fmt.Sprintf("EDITOR %q is no command", name)}
	}
	dir, err := os.MkdirTemp("", "tillerman-") // an editor's own copies stay private too, and go with it
	if err != nil {
		return nil, nil, err
	}
	file := filepath.Join(dir, "arguments.json")
	if err := os.WriteFile(file, []byte(body), 0o600); err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(dir))
	}
	done = func() (string, error) {
		after, err := os.ReadFile(file)
		return string(after), errors.Join(err, os.RemoveAll(dir))
	}
	return exec.CommandContext(ctx, words[0], append(words[1:], file)...), done, nil
}

func (a *app) answer() *cobra.Command {
	return &cobra.Command{
		Use: "answer RUN [REQUEST] TEXT", Short: "Answer a question that the agent asks",
		Long: `Answers a question that the agent asks with the tool ask_operator. TEXT may be the number of a choice. An answer is
information for the agent, never a permission.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 || len(args) > 3 {
				return &usageError{fmt.Sprintf("answer wants RUN and TEXT, with REQUEST between them when several questions wait; see %s --help", cmd.CommandPath())}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			text := args[len(args)-1]
			if strings.TrimSpace(text) == "" {
				return &usageError{"TEXT is empty; say something, or use tillerman deny"}
			}
			return a.decide(cmd, args[:len(args)-1], func(_ context.Context, _ *db.Store, req db.Request) (db.Decision, error) {
				if req.Act != db.QuestionAct {
					return db.Decision{}, &usageError{fmt.Sprintf("request %d asks for an approval, not for an answer; see tillerman inbox", req.ID)}
				}
				return db.Decision{Answer: "approve", Reason: a.clean(text)}, nil
			})
		},
	}
}

func (a *app) rules() *cobra.Command {
	var revoke int64
	cmd := &cobra.Command{
		Use: "rules RUN", Short: "List the rules given for the rest of a run, or revoke one",
		Args: exactly("RUN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			open := a.look
			if revoke != 0 {
				open = a.act
			}
			return open(ctx, func(store *db.Store) error {
				id, err := runID(ctx, store, args[0])
				if err != nil {
					return err
				}
				if revoke != 0 {
					if err := a.outsider(); err != nil {
						return err
					}
					if _, err := store.RevokeRule(ctx, id, revoke, db.Here(surface(cmd))); isNotFound(err) {
						return &usageError{fmt.Sprintf("run %d has no rule %d that holds; see tillerman rules %d", id, revoke, id)}
					} else if err != nil {
						return err
					}
				}
				return a.listRules(ctx, store, id)
			})
		},
	}
	cmd.Flags().Int64Var(&revoke, "revoke", 0, "take the rule with this number back")
	return cmd
}

func (a *app) listRules(ctx context.Context, store *db.Store, id int64) error {
	rules, err := store.Rules(ctx, id)
	if err != nil {
		return err
	}
	if a.json {
		rows := make([]map[string]any, 0, len(rules))
		for _, r := range rules {
			rows = append(rows, map[string]any{
				"rule": r.ID, "act": r.Act, "match": r.Match, "request": r.RequestID, "by": r.MadeBy, "made_at": r.MadeAt, "revoked": r.RevokedAt != 0, "revoked_by": r.RevokedBy,
			})
		}
		return a.printJSON(rows)
	}
	p := a.printer(store)
	if len(rules) == 0 {
		p.Note("run %d has no rules of its own", id)
	}
	for _, r := range rules {
		state := "holds"
		if r.RevokedBy != nil {
			state = "revoked by " + r.RevokedBy.String()
		}
		p.Note("%4d  allow %s %s · by %s with request %d · %s", r.ID, r.Act, r.Text(), r.MadeBy.String(), r.RequestID, state)
	}
	return p.Err()
}
