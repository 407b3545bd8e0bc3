package db

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// A filter chooses what its words say, a page at a time, whatever the order of the clocks.
func TestRunsMatchTheirFilter(t *testing.T) {
	c := newClock()
	s := opened(t, Options{Now: c.now})
	pick := func(all ...string) func(i int) string { return func(i int) string { return all[i%len(all)] } }
	outcome, provider, model, workspace := pick("success", "denied", "", "stalled"), pick("script", "chat", "script"), pick("m", "large"), pick("/w", "/w/sub", "/x_y", "/100%")
	var all []Run
	for i := range 60 {
		r := aRun()
		r.Goal = fmt.Sprintf("Goal %d_%d%% o'clock \\ Ärger", i, i%7)
		r.Provider, r.Model, r.Workspace = provider(i/2), model(i/3), workspace(i/5)
		if i%9 == 8 {
			r.ParentID = all[i-1].ID
		}
		lease, _, err := s.Start(t.Context(), r, tester, "floor", nothing)
		must(t, err)
		switch o := outcome(i / 3); {
		case o != "":
			ended(t, s, lease, Ending{Outcome: o, Status: Completed, Success: o == "success"})
		case i%2 == 0:
			ended(t, s, lease, Ending{Outcome: "awaiting_approval", Status: Paused})
		case i%3 == 0:
			commit(t, s, lease, func(tx *Tx) error {
				_, err := tx.Ask(Request{Act: "exec", Target: "x", Digest: "d"})
				return err
			})
		}
		run, err := s.Run(t.Context(), lease.RunID)
		must(t, err)
		all = append(all, run)
		c.move([]int64{1000, -700, 10}[i%3])
	}
	open := map[int64]bool{}
	inbox, err := s.Inbox(t.Context())
	must(t, err)
	for _, r := range inbox {
		open[r.RunID] = true
	}
	matches := func(f Filter, r Run) bool {
		for _, word := range strings.Fields(strings.ToLower(f.Query)) {
			state := r.Outcome
			if state == "" {
				state = string(r.Status)
			}
			found := fmt.Sprint(r.ID) == word
			for _, field := range []string{r.Goal, r.Model, r.Provider, state, r.Workspace} {
				found = found || strings.Contains(strings.ToLower(field), word)
			}
			if !found {
				return false
			}
		}
		return (f.Outcome == "" || r.Outcome == f.Outcome) && (f.Provider == "" || r.Provider == f.Provider) && (f.Model == "" || r.Model == f.Model) &&
			(f.Workspace == "" || r.Workspace == f.Workspace) && r.CreatedAt >= f.Since && (!f.NeedsMe || r.Status == Paused || open[r.ID]) &&
			(f.Children || r.ParentID == 0) && (f.Before == 0 || r.ID < f.Before)
	}
	rapid.Check(t, func(r *rapid.T) {
		maybe := func(label string, words ...string) string {
			return rapid.SampledFrom(append(words, "", "")).Draw(r, label)
		}
		f := Filter{
			Query:   maybe("query", "goal", "GOAL 1_", "%", "_", `\`, "ärger", "12", "o'clock success", "running", "no such"),
			Outcome: maybe("outcome", "success", "denied", "awaiting_approval", "none"), Provider: maybe("provider", "script", "chat"),
			Model: maybe("model", "m", "large"), Workspace: maybe("workspace", "/w", "/x_y", "/100%"),
			NeedsMe: rapid.Bool().Draw(r, "needs me"), Children: rapid.Bool().Draw(r, "children"),
			Since: rapid.SampledFrom([]int64{0, all[0].CreatedAt, all[20].CreatedAt, all[40].CreatedAt, all[59].CreatedAt + 10_000}).Draw(r, "since"),
			Limit: rapid.IntRange(0, 70).Draw(r, "limit"),
		}
		if f.Query == "ärger" {
			f.Query = "Ärger" // SQLite folds the case of ASCII letters only
		}
		var want, got []int64
		for _, run := range slices.Backward(all) {
			if matches(f, run) {
				want = append(want, run.ID)
			}
		}
		limit := f.Limit
		if limit == 0 {
			limit = 50
		}
		for {
			page, err := s.Runs(t.Context(), f)
			must(r, err)
			if len(page) > limit {
				r.Fatalf("a page of %d, limit %d", len(page), limit)
			}
			for _, l := range page {
				got = append(got, l.ID)
			}
			if len(page) < limit {
				break
			}
			f.Before = page[len(page)-1].ID
		}
		if !slices.Equal(got, want) {
			r.Fatalf("%+v: %v, want %v", f, got, want)
		}
	})
}

func TestListedState(t *testing.T) {
	s := opened(t, Options{})
	state := func(lease Lease, want string) Listed {
		t.Helper()
		l, err := s.Listed(t.Context(), lease.RunID)
		must(t, err)
		if l.State() != want {
			t.Errorf("%q, want %q", l.State(), want)
		}
		page, err := s.Runs(t.Context(), Filter{})
		must(t, err)
		if i := slices.IndexFunc(page, func(p Listed) bool { return p.ID == l.ID }); i < 0 || !reflect.DeepEqual(page[i], l) {
			t.Errorf("a page holds %+v, the run alone is %+v", page, l)
		}
		rows, err := s.RunRows(t.Context(), 10)
		must(t, err)
		if i := slices.IndexFunc(rows, func(r RunRow) bool { return r.ID == l.ID }); i < 0 || rows[i].State() != want || rows[i].Tokens != l.Tokens || rows[i].DurationMS != l.DurationMS {
			t.Errorf("the long list holds %+v", rows)
		}
		return l
	}
	d := newStepper(t, s)
	state(d.lease, "running")
	d.step(t, 1)
	if l := state(d.lease, "running"); l.Tokens != 4200 || l.Ended || !l.Driven || l.Driver != s.self {
		t.Errorf("%+v", l)
	}
	commit(t, s, d.lease, func(tx *Tx) error {
		_, err := tx.Ask(Request{Step: 2, Act: "exec", Target: "x", Digest: "d"})
		return err
	})
	if l := state(d.lease, "waits for you"); l.Waiting != 1 {
		t.Errorf("%+v", l)
	}
	_, _, err := s.Control(t.Context(), Control{RunID: d.lease.RunID, Kind: "cancel", By: tester})
	must(t, err)
	state(d.lease, "cancelling")
	raw(t, s, "UPDATE leases SET pid_start='1'")
	state(d.lease, "interrupted")
	d.lease, _, err = s.TakeUp(t.Context(), d.lease.RunID, tester, "floor", false, nothing)
	must(t, err)
	sum := ended(t, s, d.lease, Ending{Outcome: "success", Status: Completed, Success: true})
	if l := state(d.lease, "success"); !l.Ended || !l.Success || l.Driven || l.Waiting != 0 || l.Cancelling || l.Tokens != 4200 || *l.CostMicros != *sum.CostMicros {
		t.Errorf("%+v", l)
	}
	raw(t, s, "DELETE FROM summaries")
	if l := state(d.lease, "success"); l.Ended || l.Tokens != 4200 {
		t.Errorf("%+v", l)
	}
}

// million names the variable that makes tests of size use the sizes that are promised.
const million = "TILLERMAN_MILLION"

// A page of a long list is quick, from wherever it is.
func TestPagesOfALongList(t *testing.T) {
	if testing.Short() {
		t.Skip("fills a large store")
	}
	n := 100_000
	if os.Getenv(million) != "" {
		n = 1_000_000
	}
	s := opened(t, Options{})
	raw(t, s, `WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i+1 FROM n WHERE i < ?)
 INSERT INTO runs (id, root_id, goal, workspace, provider, model, contract, contract_digest, policy, policy_digest, inputs, version, status, outcome, created_at, finished_at, sealed, tokens)
 SELECT i, i, 'fix the failing test in package ' || i, '/home/ann/work/' || (i % 50), 'provider' || (i % 5), 'model-' || (i % 7), '{}', 'c', '{}', 'p', '{}', '0', 'completed',
 CASE WHEN i % 10 < 7 THEN 'success' ELSE 'stalled' END, 1700000000000 + i * 1000, 1700000000000 + i * 1000 + 500, 5, 900 FROM n`, n)
	raw(t, s, `INSERT INTO summaries (run_id, outcome, success, steps, tokens, duration_ms, finished_at, detail)
 SELECT id, outcome, outcome = 'success', 5, 900, 500, finished_at, '{"cost_micros": 12}' FROM runs`)
	lease := begun(t, s)
	for name, f := range map[string]Filter{
		"first page":           {},
		"last page":            {Before: 40},
		"a rare pair":          {Workspace: "/home/ann/work/7", Model: "model-3"},
		"by outcome":           {Outcome: "stalled", Before: int64(n / 2)},
		"nothing of that name": {Provider: "provider9"},
		"since the last hour":  {Since: 1_700_000_000_000 + int64(n-3600)*1000},
		"since ever":           {Since: 1},
		"since tomorrow":       {Since: 1_800_000_000_000_000},
		"what needs me":        {NeedsMe: true},
		"common words":         {Query: "failing test"},
	} {
		best := time.Hour // a busy machine is not a slow query
		for range 7 {
			began := time.Now()
			_, err := s.Runs(t.Context(), f)
			must(t, err)
			best = min(best, time.Since(began))
		}
		t.Logf("%s: %v", name, best)
		if best > 50*time.Millisecond {
			t.Errorf("%s of %d runs takes %v", name, n, best)
		}
	}
	all, err := s.Runs(t.Context(), Filter{})
	must(t, err)
	since, err := s.Runs(t.Context(), Filter{Since: 1})
	must(t, err)
	if !reflect.DeepEqual(all, since) {
		t.Error("a date before all runs leaves some out")
	}
	if last, err := s.LastRun(t.Context()); err != nil || last.ID != lease.RunID {
		t.Errorf("the newest run is %d: %v", last.ID, err)
	}
}

// A screenful of a long run is quick too, and its ending does not keep others from writing for long.
func TestALongRun(t *testing.T) {
	if os.Getenv(million) == "" {
		t.Skip("set " + million + " to fill a run with 100,000 steps")
	}
	const n = 100_000
	s := opened(t, Options{})
	lease := begun(t, s)
	for _, text := range []string{
		`INSERT INTO steps (run_id, step, decision, tool_call, said, tokens, measured, changed, sealed_at) SELECT 1, i, 'wrote a.go', 'write_file:{}', 'next', 100, 1, 1, 1 FROM n`,
		`INSERT INTO attempts (run_id, attempt, step, drive, provider, model, max_output, system, tools, keep, append, request_digest, estimate, hold, state, input, output, cost_micros, answered_model, started_at)
 SELECT 1, i, i, 1, 'p', 'm', 1, 's', 't', 1, '[]', 'r', 1, 0, 'answered', 90, 10, 3, 'm-1', 1 FROM n`,
		`INSERT INTO calls (run_id, step, position, call_id, name, arguments, state, result) SELECT 1, i, 1, 'c', 'write_file', '{}', 'ended', 'wrote a.go' FROM n`,
		`INSERT INTO gates (run_id, ordinal, step, position, phase, target, state) SELECT 1, i, i, 1, 'command:1', 'go test', 'passed' FROM n`,
		`INSERT INTO spans (run_id, span, kind, name, step, drive, started_at, start_ms, duration_ms) SELECT 1, i, CASE i % 3 WHEN 0 THEN 'step' WHEN 1 THEN 'model' ELSE 'call' END, 'x', i/3, 1, 1, i, 1 FROM n`,
		`INSERT INTO spans (run_id, span, kind, name, step, drive, started_at, start_ms, duration_ms) SELECT 1, i + 100000, 'call', 'x', i/3, 1, 1, i, 1 FROM n`,
		`INSERT INTO spans (run_id, span, kind, name, step, drive, started_at, start_ms, duration_ms) SELECT 1, i + 200000, 'model', 'x', i/3, 1, 1, i, 1 FROM n`,
		`INSERT INTO events (run_id, seq, tag, body) SELECT 1, i, 'stalled', '{"event":"stalled"}' FROM n`,
	} {
		raw(t, s, `WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i+1 FROM n WHERE i < ?) `+text, n)
	}
	raw(t, s, "UPDATE runs SET sealed = ?, seq = ?", n, n)
	for name, c := range map[string]struct {
		limit time.Duration
		do    func() error
	}{
		"window":       {20 * time.Millisecond, func() error { return drop(s.Window(t.Context(), 1, n-40, n)) }},
		"first window": {20 * time.Millisecond, func() error { return drop(s.Window(t.Context(), 1, 1, 40)) }},
		"step":         {20 * time.Millisecond, func() error { return drop(s.StepAttempts(t.Context(), 1, n/2)) }},
		"now":          {20 * time.Millisecond, func() error { return drop(s.RecentSpans(t.Context(), 1, 8)) }},
		"listed":       {20 * time.Millisecond, func() error { return drop(s.Listed(t.Context(), 1)) }},
		"events":       {50 * time.Millisecond, func() error { return drop(s.EventsAfter(t.Context(), 1, n-500, 500)) }},
		"figures":      {2 * time.Second, func() error { return drop(s.Figures(t.Context(), 1)) }},
	} {
		best := time.Hour
		for range 5 {
			began := time.Now()
			must(t, c.do())
			best = min(best, time.Since(began))
		}
		t.Logf("%s: %v", name, best)
		if best > c.limit {
			t.Errorf("%s of a run of %d steps takes %v", name, n, best)
		}
	}
	commit(t, s, lease, nothing)
}
