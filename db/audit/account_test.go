package audit

import (
	"errors"
	"strings"
	"testing"
)

// story is the rows of a run with an approved command, a command that a rule allows, a check and a host.
func story() []Entry {
	base := Entry{User: "ann", Surface: "command run", Terminal: "/dev/pts/1", Host: "box", PID: 42, RunID: 7, Agent: "0", PolicyDigest: "p1", Version: "0.1.0"}
	row := func(change func(*Entry)) Entry {
		e := base
		change(&e)
		return e
	}
	call := func(e *Entry) {
		e.Step, e.Position, e.Act, e.Target, e.Digest, e.Layer, e.Model = 1, 1, "exec", "make", "d1", NoRule, "large-2"
	}
	list := []Entry{
		row(func(e *Entry) { e.Action = Start }),
		row(func(e *Entry) {
			e.Action, e.Act, e.Target, e.Layer, e.Rule, e.Decision = Endpoint, "net", "api.example", "provider", "api.example", "allow"
		}),
		row(func(e *Entry) { call(e); e.Action, e.RequestID = Request, 5 }),
		row(func(e *Entry) {
			call(e)
			e.Action, e.RequestID, e.Decision, e.User, e.Surface = Decision, 5, "approve", "bea", "key a"
		}),
		row(func(e *Entry) { call(e); e.Action, e.RequestID, e.Decision = Exec, 5, "ask" }),
		row(func(e *Entry) {
			call(e)
			e.Action, e.Decision, e.Position, e.Rule, e.Layer, e.Target = Exec, "allow", 2, "go test *", "team", "go test"
		}),
		row(func(e *Entry) {
			e.Action, e.Decision, e.Step, e.Act, e.Target, e.Layer, e.Rule = Gate, "allow", 1, "exec", "true", "contract", "true"
		}),
		row(func(e *Entry) { e.Action, e.Decision = End, "success" }),
	}
	for i := range list {
		list[i].Seq, list[i].At = int64(i+1), int64(i)
	}
	return list
}

// accounts follows rows and returns the accounts by the seq of the act.
func accounts(rows []Entry) (map[int64]*Account, error) {
	var l Ledger
	out := map[int64]*Account{}
	var all error
	for _, e := range rows {
		a, err := l.Add(e)
		if a != nil {
			out[e.Seq] = a
		}
		all = errors.Join(all, err)
	}
	return out, all
}

func TestAccountsOfEveryAct(t *testing.T) {
	got, err := accounts(story())
	if err != nil || len(got) != 5 {
		t.Fatalf("%d accounts: %v", len(got), err)
	}
	for seq, want := range map[int64]string{2: "ann", 4: "bea", 5: "bea", 6: "ann", 7: "ann"} {
		if got[seq].Person.User != want {
			t.Errorf("row %d: %s answers for it, want %s", seq, got[seq].Person.User, want)
		}
	}
	words := strings.Join(got[5].Words(), "\n")
	for _, want := range []string{"large-2", "tillerman 0.1.0", "run 7", "policy p1", "request 5, approved by bea (key a on /dev/pts/1, box, process 42)", "the policy's default"} {
		if !strings.Contains(words, want) {
			t.Errorf("%q is not in\n%s", want, words)
		}
	}
	if words := strings.Join(got[6].Words(), "\n"); !strings.Contains(words, `rule "go test *" of layer "team"`) || !strings.Contains(words, "allowed by the policy of ann") {
		t.Error(words)
	}
}

// Each link of the chain, taken away, leaves the act without an account that says which.
func TestEachLinkIsNeeded(t *testing.T) {
	const act = 5 // the approved command
	for _, c := range []struct {
		name, link string
		remove     func([]Entry) []Entry
	}{
		{"the model that asked", "model", change(act, func(e *Entry) { e.Model = "" })},
		{"the program's version", "version", change(act, func(e *Entry) { e.Version = "" })},
		{"the run's number", "run", change(act, func(e *Entry) { e.RunID = 0 })},
		{"the run's start", "run", without(1)},
		{"the policy", "policy", change(act, func(e *Entry) { e.PolicyDigest = "" })},
		{"the row that set the policy", "policy", change(act, func(e *Entry) { e.PolicyDigest = "p2" })},
		{"the rule", "rule", change(act, func(e *Entry) { e.Layer = "" })},
		{"the question", "request", without(3)},
		{"the question's number", "request", change(act, func(e *Entry) { e.RequestID = 0 })},
		{"what the question was about", "request", change(3, func(e *Entry) { e.Digest = "d2" })},
		{"the question's call", "request", change(3, func(e *Entry) { e.Position = 9 })},
		{"the answer", "decision", without(4)},
		{"the answer's consent", "decision", change(4, func(e *Entry) { e.Decision = "deny" })},
		{"what the answer was about", "decision", change(4, func(e *Entry) { e.Digest = "d2" })},
		{"the person", "person", change(4, func(e *Entry) { e.User = "" })},
	} {
		_, err := accounts(c.remove(story()))
		if !strings.Contains(errText(err), "audit row 5: the "+c.link+" is not accounted for") {
			t.Errorf("without %s: %v, want the %s missing", c.name, err, c.link)
		}
	}
	// What a rule or the contract allows is answered for by whoever set them.
	for _, c := range []struct {
		act, seq int64
		link     string
	}{{2, 1, "person"}, {6, 1, "person"}, {7, 1, "person"}} {
		_, err := accounts(change(c.seq, func(e *Entry) { e.User = "" })(story()))
		var broken *BrokenError
		if !errors.As(err, &broken) || broken.Link != c.link {
			t.Errorf("row %d without a user: %v", c.act, err)
		}
	}
}

// A rule that a person gave for the rest of a run is that person's, whatever the policy's author wrote in the same words.
func TestARememberedRuleIsNotThePolicys(t *testing.T) {
	act := story()[5]
	act.Layer, act.Seq = Remembered, 30
	if _, err := accounts(append(story(), act)); !strings.Contains(errText(err), "audit row 30: the rule is not accounted for") {
		t.Errorf("without the row of the rule: %v", err)
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func change(seq int64, fn func(*Entry)) func([]Entry) []Entry {
	return func(rows []Entry) []Entry { fn(&rows[seq-1]); return rows }
}

func without(seq int64) func([]Entry) []Entry {
	return func(rows []Entry) []Entry { return append(rows[:seq-1:seq-1], rows[seq:]...) }
}

func TestAccountsAfterAResume(t *testing.T) {
	rows := story()
	act := rows[5]
	again := rows[4]
	again.Note, again.Digest = Again, "d9" // what the first, cut-off run of the command changed
	policy, resume, rule := rows[0], rows[0], rows[5]
	policy.Action, policy.User, policy.PolicyDigest = Policy, "eve", "p2"
	resume.Action, resume.User, resume.Surface, resume.Seq = Resume, "cid", "command resume", 20
	rule.Action, rule.User, rule.Surface = Rule, "dan", "key A"
	act.Layer, rule.Layer = Remembered, Remembered // act2 is by a rule of the policy in the same words
	revoked := rule
	revoked.User, revoked.Decision = "fay", "revoke"
	act2 := act
	act2.PolicyDigest, act2.Layer, act2.Seq = "p2", rows[5].Layer, 21
	act.PolicyDigest, again.PolicyDigest, rule.PolicyDigest = "p2", "p2", "p2"
	var l Ledger
	for _, e := range append(rows[:5:5], policy, resume, rule, revoked) {
		if _, err := l.Add(e); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		act  Entry
		want string
	}{{again, "bea"}, {act, "dan"}, {act2, "eve"}} {
		a, err := l.Add(c.act)
		if err != nil || a.Person.User != c.want || a.Drive.User != "cid" {
			t.Errorf("%+v, %v, want %s", a, err, c.want)
			continue
		}
		if !strings.Contains(strings.Join(a.Words(), "\n"), "resumed by cid (command resume") {
			t.Error(a.Words())
		}
	}
}
