package core_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tillerman/core"
	"tillerman/core/approval"
	"tillerman/core/gate"
	"tillerman/core/policy"
	"tillerman/core/provider"
	"tillerman/core/tool"
	"tillerman/db"
	"tillerman/db/audit"
	"tillerman/observer"
)

// hosts is a model that is reached over the network.
type hosts struct {
	*turns
	at []string
}

func (h hosts) Endpoints() []string { return h.at }

// Rows agree with facts after every single commit of runs that between them do everything that is audited: a crash
// between any two leaves no act without its row, and no row without its act.
func TestEveryAuditedActionHasItsRowInItsCommit(t *testing.T) {
	rules := func(text string) *policy.Policy {
		p, err := policy.Parse([]byte(text), "test.toml")
		must(t, err)
		return p
	}
	dir := t.TempDir()
	var store *db.Store
	commits, bad := 0, false
	store = openStore(t, filepath.Join(dir, "runs.db"), db.Options{AfterCommit: func(int64) {
		if store == nil || bad {
			return
		}
		commits++
		checkAudit(t, store)
		bad = t.Failed()
	}})
	r := &rig{t: t, dir: dir, store: store, ws: t.TempDir()}
	ctx := context.Background()
	ping := tool.Func(tool.Spec{Name: "ping", Description: "d", Schema: json.RawMessage(`{"type":"object"}`), Safety: tool.Once, Reach: tool.ReachNone},
		func(context.Context, string, json.RawMessage) (string, error) {
			// Its row is there before it acts.
			links, err := store.AuditLog(ctx, 0, 0, 0)
			if err != nil || len(links) == 0 {
				return "", fmt.Errorf("no row: %v", err)
			}
			e, err := audit.Parse(links[len(links)-1].Body)
			if err != nil || e.Action != audit.Exec || e.Target != "ping" {
				t.Errorf("the newest row when ping acts is %+v, %v", e, err)
			}
			return "pong", nil
		})
	p := rules(`[defaults]
write = "allow"
exec = "ask"
[[layer]]
name = "team"
[[layer.rule]]
act = "exec"
effect = "deny"
match = ["rm", "*"]
[[layer.rule]]
act = "exec"
effect = "allow"
match = ["true"]
[[layer.rule]]
act = "net"
effect = "ask"
match = ["asks.example"]
`)
	c := r.contract()
	c.MaxSteps = 6
	c.Gates = []gate.Gate{{Argv: []string{"true"}}, {File: "a", Text: "hi"}}
	model := hosts{answers(
		calls([2]string{"write_file", `{"path":"a","content":"hi"}`}, [2]string{"ping", `{}`}, [2]string{"exec", `{"argv":["rm","a"]}`}, [2]string{"list", `{"path":"."}`}),
		call("exec", `{"argv":["true"]}`), call("nonsense", `{}`), call("exec", `{"argv":["echo","no"]}`), call("find", `{"glob":"*"}`), say("done"),
	), []string{"model.example", "asks.example"}}
	e := r.engine(model, core.WithPolicy(p), core.WithTools(ping), core.WithApprover(approval.Later{}))
	res, err := e.Run(ctx, c)
	must(t, err)
	for range 20 { // deferred, decided from elsewhere, resumed
		inbox, err := store.Inbox(ctx)
		must(t, err)
		if len(inbox) == 0 {
			break
		}
		answer := "approve"
		if strings.Contains(inbox[0].Target, "echo") {
			answer = "deny"
		}
		_, err = store.Decide(ctx, inbox[0].ID, db.Decision{Answer: answer, Digest: inbox[0].Digest, Reason: "because"}, db.Here("test"))
		must(t, err)
		res, err = e.Resume(ctx, res.RunID)
		must(t, err)
	}
	if res.Outcome != observer.OutcomeSuccess {
		t.Fatalf("%s: %s", res.Outcome, res.Message)
	}
	// A larger budget and another policy; a host that is denied; a cancel; a step cap.
	c.MaxSteps, c.Gates = 1, nil
	model = hosts{answers(call("list", `{"path":"."}`), call("exec", `{"argv":["sleep","0"]}`), say("done")), nil}
	e = r.engine(model, core.WithPolicy(p))
	res, err = e.Run(ctx, c)
	must(t, err)
	_, err = e.Resume(ctx, res.RunID, core.NewLimits(core.Limits{MaxSteps: new(5)}), core.ReplacePolicy(rules("[defaults]\nexec = \"deny\"\n")))
	must(t, err)
	denied := rules("[[layer]]\nname = \"l\"\n[[layer.rule]]\nact = \"net\"\neffect = \"deny\"\nmatch = [\"model.example\"]\n")
	res, err = r.engine(hosts{answers(say("no")), []string{"model.example"}}, core.WithPolicy(denied)).Run(ctx, c)
	must(t, err)
	if res.Outcome != observer.OutcomeRefused {
		t.Fatal(res.Outcome)
	}
	c.MaxSteps = 5
	other := r.elsewhere()
	_, err = r.engine(answers(call("exec", `{"argv":["sleep","30"]}`)), core.WithApprover(approval.Elsewhere{}), core.WithObserver(cancelWhen(t, other, tagged("approval_requested")))).Run(ctx, c)
	must(t, err)
	seen := map[string]int{}
	links, err := store.AuditLog(ctx, 0, 0, 0)
	must(t, err)
	for _, l := range links {
		e, err := audit.Parse(l.Body)
		must(t, err)
		seen[e.Action]++
	}
	for _, want := range []string{"start", "resume", "wait", "end", "request", "decision", "denial", "endpoint", "gate", "policy", "write", "exec", "cancel", "budget"} {
		if seen[want] == 0 {
			t.Errorf("the script has no %s: %v", want, seen)
		}
	}
	t.Logf("%d commits, rows %v", commits, seen)
}

// The check sees what is missing and what is too many, whatever the action.
func TestCheckOfAuditRowsSees(t *testing.T) {
	r := newRig(t)
	c := r.contract()
	c.Gates = []gate.Gate{{Argv: []string{"true"}}}
	res, err := r.engine(hosts{answers(
		calls([2]string{"write_file", `{"path":"a","content":"hi"}`}, [2]string{"read_file", `{"path":".env"}`}), say("done"),
	), []string{"model.example"}}, core.WithPolicy(trusting(t))).Run(context.Background(), c)
	must(t, err)
	f := factsOf(t, r.store, res.RunID)
	if diff := unaudited(f); len(diff) != 0 {
		t.Fatal(diff)
	}
	rows := f.rows
	for i, e := range rows {
		f.rows = append(rows[:i:i], rows[i+1:]...)
		if len(unaudited(f)) != 1 {
			t.Errorf("without the row %d (%s): %v", e.Seq, e.Action, unaudited(f))
		}
		f.rows = append(rows[:i:i], append([]audit.Entry{e}, rows[i:]...)...)
		if len(unaudited(f)) != 1 {
			t.Errorf("with the row %d (%s) twice: %v", e.Seq, e.Action, unaudited(f))
		}
	}
	other := rows[0]
	other.Action = "whatever"
	f.rows = append(rows[:len(rows):len(rows)], other)
	if len(unaudited(f)) != 1 {
		t.Error("a row of an unknown action passes")
	}
}

var _ provider.Provider = hosts{}

// No row holds a secret, whoever brings it: the model in a target, a person in a reason, a contract.
func TestNoAuditRowHoldsASecret(t *testing.T) {
	const canary = "CANARY-7f3a-do-not-store"
	red := redactor(canary)
	dir := t.TempDir()
	store := openStore(t, filepath.Join(dir, "runs.db"), db.Options{Clean: func(s string) string { clean, _ := red.String(s); return clean }})
	r := &rig{t: t, dir: dir, store: store, ws: t.TempDir()}
	r.write("make", "x")
	ctx := context.Background()
	c := r.contract()
	c.Constraints = []string{"use " + canary}
	e := r.engine(answers(
		call("exec", `{"argv":["sh","-c","echo `+canary+`"]}`), call("read_file", `{"path":"`+canary+`/.env"}`), call("exec", `{"argv":["touch","a"]}`), say("done"),
	), core.WithRedactor(red), core.WithApprover(approval.None{Reason: "not with " + canary}))
	res, err := e.Run(ctx, c)
	must(t, err)
	other, err := r.engine(answers(call("exec", `{"argv":["touch","a"]}`)), core.WithRedactor(red), core.WithApprover(approval.Later{})).Run(ctx, c)
	must(t, err)
	_, _, err = store.Control(ctx, db.Control{RunID: other.RunID, Kind: "tell", Body: "it is " + canary, Reason: canary, By: db.Here("test")})
	must(t, err)
	inbox, err := store.Inbox(ctx)
	must(t, err)
	_, err = store.Decide(ctx, inbox[0].ID, db.Decision{Answer: "deny", Reason: canary, ChangedArgs: canary}, db.Here("test"))
	must(t, err)
	c.Gates = []gate.Gate{{Argv: []string{"curl", "-H", "Authorization: " + canary}}}
	var refused *core.ContractError
	if _, err := e.Run(ctx, c); !errors.As(err, &refused) || strings.Contains(err.Error(), canary) {
		t.Errorf("a check with a secret: %v", err)
	}
	if f := factsOf(t, store, res.RunID); len(f.rows) < 5 {
		t.Errorf("%+v", f.rows)
	}
	files, err := filepath.Glob(filepath.Join(dir, "runs.db*"))
	must(t, err)
	for _, name := range files {
		b, err := os.ReadFile(name)
		must(t, err)
		if strings.Contains(string(b), canary) {
			t.Errorf("%s holds the secret", name)
		}
	}
}

// A server that does not say which model answered: the acts are accounted for all the same.
func TestActsOfAModelWithoutAName(t *testing.T) {
	r := newRig(t)
	nameless := func(req provider.Request) (provider.Answer, error) {
		a, err := call("write_file", `{"path":"b","content":"b"}`)(req)
		a.Model = ""
		return a, err
	}
	res, err := r.engine(answers(nameless, say("done")), core.WithApprover(approval.All{})).Run(context.Background(), r.contract())
	must(t, err)
	checkAudit(t, r.store)
	links, err := r.store.AuditLog(context.Background(), res.RunID, 0, 0)
	must(t, err)
	for _, l := range links {
		e, err := audit.Parse(l.Body)
		must(t, err)
		if e.Action == audit.Write && e.Model != r.contract().Model+" (as asked for)" {
			t.Errorf("asked by %q", e.Model)
		}
	}
}
