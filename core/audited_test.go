package core_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tillerman/core/policy"
	"tillerman/core/tool"
	"tillerman/db"
	"tillerman/db/audit"
	"tillerman/observer"
)

// occurrence is one happening that has to be audited, as the facts tell of it and as its row does. What the facts do not
// hold stays empty on both sides.
type occurrence struct {
	Action      string
	Step        int
	Position    int
	Act, Target string
	Decision    string
	Request     int64
	Digest      string
	Note        string
}

// audited is every action that is audited and the facts it has to agree with, one row an occurrence. A row of any other
// action fails the check: whoever adds an action adds it here.
var audited = []struct {
	action string
	facts  func(runFacts) []occurrence
	// blank drops from the row what the facts do not hold.
	blank func(*occurrence)
}{
	{audit.Start, func(f runFacts) []occurrence { return f.drives(true) }, digestless},
	{audit.Resume, func(f runFacts) []occurrence { return f.drives(false) }, func(o *occurrence) { digestless(o); noteless(o) }},
	{audit.Wait, func(f runFacts) []occurrence { return f.endings(observer.StatusPaused) }, noteless},
	{audit.End, func(f runFacts) []occurrence { return f.endings(observer.StatusCompleted) }, noteless},
	{audit.Request, runFacts.requests, nil},
	{audit.Decision, runFacts.decisions, nil},
	{audit.Denial, runFacts.denials, digestless},
	{audit.Endpoint, runFacts.endpoints, nil},
	{audit.Gate, runFacts.gates, func(o *occurrence) { digestless(o); noteless(o) }},
	{audit.Recovery, runFacts.recoveries, digestless},
	{audit.Policy, runFacts.policies, func(o *occurrence) { o.Step, o.Note = 0, "" }},
	{audit.Rule, runFacts.given, func(o *occurrence) {
		noteless(o)
		if o.Decision == "revoke" {
			o.Step = 0
		}
	}},
	{audit.Read, func(f runFacts) []occurrence { return f.acts(policy.Read) }, digestless},
	{audit.Write, func(f runFacts) []occurrence { return f.acts(policy.Write) }, digestless},
	{audit.Exec, func(f runFacts) []occurrence { return f.acts(policy.Exec) }, digestless},
	{audit.Net, func(f runFacts) []occurrence { return f.acts(policy.Net) }, digestless},
	{audit.Cancel, func(f runFacts) []occurrence { return f.controls("cancel") }, stepless},
	{audit.Kill, func(f runFacts) []occurrence { return f.controls("kill") }, stepless},
	{audit.Pause, func(f runFacts) []occurrence { return f.controls("pause") }, stepless},
	{audit.Continue, func(f runFacts) []occurrence { return f.controls("continue") }, stepless},
	{audit.Tell, func(f runFacts) []occurrence { return f.controls("tell") }, stepless},
	{audit.Budget, func(f runFacts) []occurrence { return f.controls("budget") }, func(o *occurrence) { stepless(o); noteless(o) }},
}

func digestless(o *occurrence) { o.Digest = "" }
func noteless(o *occurrence)   { o.Note = "" }
func stepless(o *occurrence)   { o.Step = 0 }

// runFacts is what the store holds of one run, but for its audit rows. rows is those.
type runFacts struct {
	run    db.Run
	events []observer.Event
	reqs   []db.Request
	calls  []db.Call
	judged []db.Verdict
	checks []db.Gate
	ctrls  []db.Control
	resolv []db.Effect
	rules  []db.Rule
	rows   []audit.Entry
}

func factsOf(t *testing.T, store *db.Store, run int64) runFacts {
	t.Helper()
	ctx := context.Background()
	f := runFacts{}
	var errs [9]error
	f.run, errs[0] = store.Run(ctx, run)
	f.events, errs[1] = store.EventsAfter(ctx, run, 0, 0)
	f.reqs, errs[2] = store.Requests(ctx, run)
	f.calls, errs[3] = store.Calls(ctx, run)
	f.judged, errs[4] = store.Verdicts(ctx, run)
	f.checks, errs[5] = store.Gates(ctx, run)
	f.ctrls, errs[6] = store.Controls(ctx, run)
	f.resolv, errs[7] = store.Effects(ctx, run)
	f.rules, errs[8] = store.Rules(ctx, run)
	for _, err := range errs {
		must(t, err)
	}
	links, err := store.AuditLog(ctx, run, 0, 0)
	must(t, err)
	for _, l := range links {
		e, err := audit.Parse(l.Body)
		must(t, err)
		f.rows = append(f.rows, e)
	}
	return f
}

func (f runFacts) drives(first bool) (out []occurrence) {
	for _, ev := range f.events {
		if _, ok := ev.Kind.(observer.Started); ok && (ev.Drive == 1) == first {
			out = append(out, occurrence{Step: ev.Step})
		}
	}
	return out
}

func (f runFacts) endings(status string) (out []occurrence) {
	for _, ev := range f.events {
		if k, ok := ev.Kind.(observer.Finished); ok {
			if row, _ := k.Outcome.Row(); row.Status == status {
				out = append(out, occurrence{Step: ev.Step, Decision: string(k.Outcome)})
			}
		}
	}
	return out
}

func (f runFacts) requests() (out []occurrence) {
	for _, r := range f.reqs {
		out = append(out, occurrence{Step: r.Step, Position: at(r.Position), Act: r.Act, Target: r.Target, Request: r.ID, Digest: r.Digest})
	}
	return out
}

func (f runFacts) decisions() (out []occurrence) {
	for _, ev := range f.events {
		k, ok := ev.Kind.(observer.ApprovalDecided)
		if !ok {
			continue
		}
		i := slices.IndexFunc(f.reqs, func(r db.Request) bool { return r.ID == *ev.RequestID })
		out = append(out, occurrence{
			Step: ev.Step, Position: at(f.reqs[i].Position), Act: k.Act, Target: k.Target, Decision: k.Decision, Request: *ev.RequestID, Digest: f.reqs[i].Digest,
		})
	}
	return out
}

func (f runFacts) denials() (out []occurrence) {
	for _, v := range f.judged {
		if v.Effect == string(policy.Deny) && v.Position != nil {
			out = append(out, occurrence{Step: v.Step, Position: at(v.Position), Act: v.Act, Target: v.Target, Decision: "deny"})
		}
	}
	return out
}

func (f runFacts) endpoints() (out []occurrence) {
	for _, v := range f.judged {
		if v.Position == nil {
			out = append(out, occurrence{Step: v.Step, Act: v.Act, Target: v.Target, Decision: v.Effect})
		}
	}
	return out
}

func (f runFacts) gates() (out []occurrence) {
	for _, g := range f.checks {
		act := "exec"
		if strings.HasPrefix(g.Phase, "contains") {
			act = "read"
		}
		out = append(out, occurrence{Step: g.Step, Act: act, Target: g.Target, Decision: "allow"})
	}
	return out
}

func (f runFacts) recoveries() (out []occurrence) {
	for _, ev := range f.events {
		if k, ok := ev.Kind.(observer.Recovery); ok {
			i := slices.IndexFunc(f.resolv, func(e db.Effect) bool { return e.Key == k.Key })
			j := slices.IndexFunc(f.calls, func(c db.Call) bool { return c.Step == f.resolv[i].Step && c.Position == f.resolv[i].Position })
			out = append(out, occurrence{Step: ev.Step, Position: f.resolv[i].Position, Act: f.calls[j].Act, Target: k.Target, Decision: k.Decision})
		}
	}
	return out
}

// policies: the policy named by a run's rows changes in a row of that action and nowhere else, and the newest is in force.
func (f runFacts) policies() (out []occurrence) {
	for i, e := range f.rows {
		if e.Action == audit.Policy || i > 0 && e.PolicyDigest != f.rows[i-1].PolicyDigest {
			out = append(out, occurrence{Digest: e.PolicyDigest})
		}
	}
	if n := len(f.rows); n > 0 && f.rows[n-1].PolicyDigest != f.run.PolicyDigest {
		out = append(out, occurrence{Digest: f.run.PolicyDigest})
	}
	return out
}

// acts: every time a call was begun, unless it only looked.
func (f runFacts) acts(act policy.Act) (out []occurrence) {
	for _, c := range f.calls {
		if c.Act != string(act) || c.Safety == string(tool.Pure) && act == policy.Read {
			continue
		}
		for n := range c.Begun {
			o := occurrence{Step: c.Step, Position: c.Position, Act: c.Act, Target: c.Target, Decision: c.Effect}
			for _, r := range f.reqs {
				if c.Effect == string(policy.Ask) && r.Step == c.Step && at(r.Position) == c.Position && r.Decision == "approve" {
					o.Request = r.ID
				}
			}
			if n > 0 {
				o.Note = audit.Again
			}
			out = append(out, o)
		}
	}
	return out
}

func (f runFacts) controls(kind string) (out []occurrence) {
	for _, c := range f.ctrls {
		if c.Kind == kind {
			o := occurrence{}
			if c.Body != "" {
				o.Digest = db.Digest([]byte(c.Body))
			}
			out = append(out, o)
		}
	}
	return out
}

// given: a rule came with a decision, and was perhaps taken back.
func (f runFacts) given() (out []occurrence) {
	for _, r := range f.rules {
		i := slices.IndexFunc(f.reqs, func(q db.Request) bool { return q.ID == r.RequestID })
		req := f.reqs[i]
		out = append(out, occurrence{Step: req.Step, Position: at(req.Position), Act: r.Act, Target: req.Target, Decision: "allow", Request: req.ID, Digest: req.Digest})
		if r.RevokedAt != 0 {
			out = append(out, occurrence{Act: r.Act, Decision: "revoke", Request: req.ID})
		}
	}
	return out
}

func at(position *int) int {
	if position == nil {
		return 0
	}
	return *position
}

// checkAudit fails unless the audit rows of every run in the store agree with its facts, row for occurrence and
// occurrence for row, and every act is accounted for by the rows alone. It holds after any commit, a crash included.
func checkAudit(t *testing.T, store *db.Store) {
	t.Helper()
	runs, err := store.Runs(context.Background(), db.Filter{Children: true, Limit: 10_000})
	must(t, err)
	for _, r := range runs {
		f := factsOf(t, store, r.ID)
		for _, diff := range unaudited(f) {
			t.Errorf("run %d: %s", r.ID, diff)
		}
		var ledger audit.Ledger
		for _, e := range f.rows {
			if _, err := ledger.Add(e); err != nil {
				t.Errorf("run %d: %v", r.ID, err)
			}
		}
	}
}

// unaudited lists what has no row, and rows of what has not happened.
func unaudited(f runFacts) []string {
	open := map[occurrence]int{}
	for _, a := range audited {
		for _, o := range a.facts(f) {
			o.Action = a.action
			open[o]++
		}
	}
	for _, e := range f.rows {
		o := occurrence{
			Action: e.Action, Step: int(e.Step), Position: int(e.Position), Act: e.Act, Target: e.Target, Decision: e.Decision, Request: e.RequestID, Digest: e.Digest, Note: e.Note,
		}
		for _, a := range audited {
			if a.action == e.Action && a.blank != nil {
				a.blank(&o)
			}
		}
		open[o]--
	}
	var out []string
	for o, n := range open {
		b, err := json.Marshal(o)
		if err != nil {
			return []string{err.Error()}
		}
		switch {
		case n > 0:
			out = append(out, fmt.Sprintf("%d times without an audit row: %s", n, b))
		case n < 0:
			out = append(out, fmt.Sprintf("%d audit rows of what has not happened: %s", -n, b))
		}
	}
	slices.Sort(out)
	return out
}
