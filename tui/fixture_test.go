package tui

import (
	"context"
	"database/sql"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"tillerman/core"
	"tillerman/db"
	"tillerman/observer"
	"tillerman/tui/benchstore"
	"tillerman/tui/tuitest"
)

// The clock of the program under test stands at drawnAt; the facts of these tests are from shortly before.
var drawnAt = time.Date(2026, 3, 4, 15, 4, 5, 0, time.UTC)

// kim is somebody else.
var kim = db.Actor{User: "kim", Surface: "command", Host: "elsewhere"}

// facts writes a run into a store as an engine would, one fact after another.
type facts struct {
	t     *testing.T
	store *db.Store
	now   time.Time
}

func newFacts(t *testing.T, path string) *facts {
	t.Helper()
	f := &facts{t: t, now: drawnAt.Add(-time.Minute)}
	var err error
	if f.store, err = db.Open(context.Background(), path, db.Options{Now: func() time.Time { return f.now }}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.store.Close() })
	return f
}

// homeStore is the store that programs of a home use.
func homeStore(h *tuitest.Home) string { return filepath.Join(h.Dir, "state", "tillerman", "runs.db") }

func (f *facts) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// run starts a run with sealed steps, driven by this process.
func (f *facts) run(workspace string, steps int, change func(*core.Contract)) *factRun {
	f.t.Helper()
	c := core.Defaults()
	c.Goal, c.Workspace = "keep the nightly build green", workspace
	if change != nil {
		change(&c)
	}
	contract, err := json.Marshal(c)
	f.must(err)
	r := &factRun{facts: f}
	r.lease, _, err = f.store.Start(context.Background(), db.Run{
		Agent: "0", Goal: c.Goal, Workspace: workspace, Provider: "script", Model: "m", Contract: string(contract), Policy: "{}", Inputs: "{}", Version: core.Version,
	}, db.Here("test"), "floor", func(tx *db.Tx) error {
		var err error
		if r.span, err = tx.OpenSpan(0, "run", c.Goal, 0, nil); err != nil {
			return err
		}
		for n := 1; n <= steps; n++ {
			if err := benchstore.Step(tx, n); err != nil {
				return err
			}
		}
		return tx.Event(0, 0, observer.Started{Goal: c.Goal, Provider: "script"})
	})
	f.must(err)
	r.steps = steps
	f.now = drawnAt.Add(-12 * time.Second)
	return r
}

// factRun is a run under construction.
type factRun struct {
	*facts
	lease db.Lease
	span  int64
	steps int
}

func (r *factRun) id() int64 { return r.lease.RunID }

func (r *factRun) commit(fn func(tx *db.Tx) error) {
	r.t.Helper()
	_, err := r.store.Commit(context.Background(), r.lease, fn)
	r.must(err)
}

// asks begins a model call of the next step.
func (r *factRun) asks() (attempt int) {
	r.commit(func(tx *db.Tx) error {
		var err error
		if attempt, err = tx.AddAttempt(db.Attempt{Step: r.steps + 1, Provider: "script", Model: "m", RequestDigest: "d", System: "s", Tools: "t"}); err != nil {
			return err
		}
		_, err = tx.OpenSpan(r.span, "model", "m", r.steps+1, nil)
		return err
	})
	return attempt
}

// fails ends the model call under way and waits for delay before the next.
func (r *factRun) fails(attempt int, delay time.Duration, hinted bool) {
	r.commit(func(tx *db.Tx) error {
		ms := delay.Milliseconds()
		a := db.Attempt{Attempt: attempt, Step: r.steps + 1, State: db.AttemptFailed, Provider: "script", Kind: "rate_limited", Status: 429, Message: "slow down", DelayMS: &ms}
		if hinted {
			a.HintMS = &ms
		}
		if err := tx.EndAttempt(a); err != nil {
			return err
		}
		if _, err := tx.CloseSpan(r.span+1, "failed"); err != nil {
			return err
		}
		_, err := tx.OpenSpan(r.span, "retry", "rate_limited (HTTP 429)", r.steps+1, nil)
		return err
	})
}

// acts begins a call of the next step. One that must not happen twice is journalled with the listing before it.
func (r *factRun) acts(c db.Call, listing []byte) db.Call {
	in, out := int64(900), int64(80)
	attempt := r.asks()
	c.Step, c.Position, c.CallID, c.State, c.Begun, c.Effect = r.steps+1, 1, "c", db.CallBegun, 1, "allow"
	if c.Arguments == "" {
		c.Arguments = `{"argv":["sh","deploy.sh"]}`
	}
	c.Key = "2f0c1a/1/0/4/1"
	r.commit(func(tx *db.Tx) error {
		if err := tx.EndAttempt(db.Attempt{Attempt: attempt, Step: c.Step, State: db.AttemptAnswered, Provider: "script", Served: "script", AnsweredModel: "m", Input: &in, Output: &out}); err != nil {
			return err
		}
		if _, err := tx.CloseSpan(r.span+1, "answered"); err != nil {
			return err
		}
		if err := tx.AddCalls([]db.Call{c}); err != nil {
			return err
		}
		if listing != nil {
			var err error
			if c.Listing, err = tx.Keep(listing); err != nil {
				return err
			}
			if err := tx.OpenEffect(c.Key, c.Step, c.Position); err != nil {
				return err
			}
		}
		if _, err := tx.OpenSpan(r.span, "call", c.Name, c.Step, &c.Position); err != nil {
			return err
		}
		return tx.SetCall(c)
	})
	return c
}

// question opens a question and waits for its answer.
func (r *factRun) question(q db.Request) {
	r.commit(func(tx *db.Tx) error {
		if _, err := tx.Ask(q); err != nil {
			return err
		}
		_, err := tx.OpenSpan(r.span, "question", q.Target, q.Step, nil)
		return err
	})
}

// orders stores a control; observed names the safe point that saw it, "" for none.
func (r *factRun) orders(c db.Control, observed string) {
	r.t.Helper()
	c.RunID = r.id()
	if c.By == (db.Actor{}) {
		c.By = db.Here("test")
	}
	stored, _, err := r.store.Control(context.Background(), c)
	r.must(err)
	if observed != "" {
		r.commit(func(tx *db.Tx) error { return tx.ObserveControl(stored.ID, observed) })
	}
}

// pauses ends the drive with a word that waits.
func (r *factRun) pauses(outcome observer.Outcome) {
	r.commit(func(tx *db.Tx) error {
		_, err := tx.Finish(db.Ending{Outcome: string(outcome), Status: db.Paused, StopReason: "a reason"})
		return err
	})
}

// exec changes the store past the package that writes it: what another host would have written.
func (r *factRun) exec(query string, args ...any) {
	r.t.Helper()
	conn, err := sql.Open("sqlite", r.store.Path())
	r.must(err)
	defer conn.Close()
	_, err = conn.Exec(query, args...)
	r.must(err)
}

// put writes a file into the folder where a home's programs start.
func put(t *testing.T, h *tuitest.Home, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(h.Work, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// read is what such a file holds, "" when there is none.
func read(h *tuitest.Home, name string) string {
	b, err := os.ReadFile(filepath.Join(h.Work, name))
	if err != nil {
		return ""
	}
	return string(b)
}
