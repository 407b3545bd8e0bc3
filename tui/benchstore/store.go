// Package benchstore fills stores with long runs and many runs, for benchmarks of the console.
package benchstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"

	"tillerman/core"
	"tillerman/db"
	"tillerman/observer"
)

// Open makes an empty store in a folder of the test's.
func Open(tb testing.TB) *db.Store {
	tb.Helper()
	store, err := db.Open(context.Background(), filepath.Join(tb.TempDir(), "runs.db"), db.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = store.Close() })
	return store
}

// Fill adds a run with sealed steps, a thousand a commit, and ends it when end is set. It returns the run's lease.
func Fill(tb testing.TB, store *db.Store, steps int, end bool) db.Lease {
	tb.Helper()
	ctx := context.Background()
	contract, err := json.Marshal(core.Defaults())
	if err != nil {
		tb.Fatal(err)
	}
	lease, _, err := store.Start(ctx, db.Run{
		Agent: "0", Goal: "a long run over many files", Workspace: "/srv/project", Provider: "script", Model: "m", Contract: string(contract), Policy: "{}", Inputs: "{}", Version: core.Version,
	}, db.Here("bench"), "floor", func(tx *db.Tx) error { return tx.Event(0, 0, observer.Started{Goal: "g", Provider: "p"}) })
	if err != nil {
		tb.Fatal(err)
	}
	for from := 1; from <= steps; from += 1000 {
		if _, err := store.Commit(ctx, lease, func(tx *db.Tx) error {
			for n := from; n < from+1000 && n <= steps; n++ {
				if err := Step(tx, n); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			tb.Fatal(err)
		}
	}
	if end {
		if _, err := store.Commit(ctx, lease, func(tx *db.Tx) error {
			_, err := tx.Finish(db.Ending{Outcome: "success", Status: db.Completed, Success: true})
			return err
		}); err != nil {
			tb.Fatal(err)
		}
	}
	return lease
}

// Step adds one sealed step with a model call and a tool call.
func Step(tx *db.Tx, n int) error {
	a := db.Attempt{Step: n, Provider: "script", Model: "m", RequestDigest: "d", System: "s", Tools: "t", State: db.AttemptOpen}
	var err error
	if a.Attempt, err = tx.AddAttempt(a); err != nil {
		return err
	}
	in, out, took := int64(900), int64(80), int64(1200)
	a.State, a.Stop, a.Finish, a.Served, a.AnsweredModel, a.Input, a.Output, a.TotalMS = db.AttemptAnswered, "calls", "tool_calls", "script", "m", &in, &out, &took
	if err := tx.EndAttempt(a); err != nil {
		return err
	}
	c := db.Call{Step: n, Position: 1, CallID: "c", Name: "read_file", Arguments: `{"path":"a.go"}`, State: db.CallEnded, Target: fmt.Sprintf("src/file%d.go", n), Effect: "allow", Result: "text", Decision: "read_file"}
	if err := tx.AddCalls([]db.Call{c}); err != nil {
		return err
	}
	if err := tx.SetCall(c); err != nil {
		return err
	}
	if err := tx.Seal(db.Step{Step: n, Decision: c.Decision, ToolCall: "read_file:{}", Tokens: 980, Measured: true}); err != nil {
		return err
	}
	return tx.Event(n, 0, observer.Step{Decision: c.Decision, ToolCall: "read_file:{}", Tokens: 980, Measured: true})
}

// Runs adds many ended runs at once, past the package that writes them one by one.
func Runs(tb testing.TB, store *db.Store, n int) {
	tb.Helper()
	conn, err := sql.Open("sqlite", store.Path())
	if err != nil {
		tb.Fatal(err)
	}
	defer conn.Close()
	for _, query := range []string{
		`WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < ?)
 INSERT INTO runs (root_id, goal, workspace, provider, model, contract, contract_digest, policy, policy_digest, inputs, version, status, outcome, created_at, finished_at)
 SELECT i, 'make the ' || (i * 7919 % 10007) || ' tests of module ' || i || ' pass', '/srv/project', 'script', 'model-' || (i % 7), '{}', '', '{}', '', '{}', '', 'completed', 'success', i, i FROM c`,
		`INSERT INTO summaries (run_id, outcome, success, steps, tokens, duration_ms, finished_at, detail) SELECT id, 'success', 1, 9, 1000 + id, 5000, id, '{"cost_micros": 1000}' FROM runs WHERE ? > 0`,
	} {
		if _, err := conn.Exec(query, n); err != nil {
			tb.Fatal(err)
		}
	}
}
