package db

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"testing"
	"time"

	"tillerman/db/audit"
	"tillerman/observer"
)

// stepper does the commits of a typical step: a model call, its answer with one tool call, the call judged, begun and
// ended, the seal; each with its spans, events and audit rows.
type stepper struct {
	s       *Store
	lease   Lease
	runSpan int64
	system  []byte
	tools   []byte
}

func newStepper(t testing.TB, s *Store) *stepper {
	t.Helper()
	d := &stepper{s: s, system: make([]byte, 3000), tools: make([]byte, 6000)}
	var err error
	d.lease, _, err = s.Start(t.Context(), aRun(), tester, "floor", func(tx *Tx) error {
		var err error
		d.runSpan, err = tx.OpenSpan(0, "run", "goal", 0, nil)
		return err
	})
	must(t, err)
	return d
}

func message(step int) []byte {
	return fmt.Appendf(nil, `{"role":"tool","parts":[{"text":"%0600d"}]}`, step)
}

func answerOf(step int) []byte {
	return fmt.Appendf(nil, `{"role":"assistant","parts":[{"text":"%0400d"}]}`, step)
}

const (
	arguments = `{"path":"internal/server/handler.go","content":"package server"}`
	result    = "wrote internal/server/handler.go"
)

// steps does the commits of one step, as a list so that a test can die between them.
func (d *stepper) commits(step int) []func(*Tx) error {
	a := Attempt{Step: step, Provider: "script", Model: "m", MaxOutput: 8192, Keep: 2 * step, RequestDigest: "r", Estimate: 4000, Hold: 12000}
	var stepSpan, modelSpan, callSpan int64
	c := Call{Step: step, Position: 1, CallID: fmt.Sprint("call_", step), Name: "write_file", Arguments: arguments}
	return []func(*Tx) error{
		func(tx *Tx) (err error) {
			digest, err := tx.Keep(message(step))
			if err != nil {
				return err
			}
			a.Append = []string{digest}
			if a.System, err = tx.Keep(d.system); err != nil {
				return err
			}
			if a.Tools, err = tx.Keep(d.tools); err != nil {
				return err
			}
			if a.Attempt, err = tx.AddAttempt(a); err != nil {
				return err
			}
			if stepSpan, err = tx.OpenSpan(d.runSpan, "step", "step", step, nil); err != nil {
				return err
			}
			if modelSpan, err = tx.OpenSpan(stepSpan, "model", "m", step, nil); err != nil {
				return err
			}
			return tx.Event(step, 0, observer.ModelAsked{Provider: a.Provider, Model: a.Model, Attempt: a.Attempt})
		},
		func(tx *Tx) (err error) {
			if a.Answer, err = tx.Keep(answerOf(step)); err != nil {
				return err
			}
			a.State, a.Hold, a.Stop, a.Finish, a.Served, a.AnsweredModel = AttemptAnswered, 0, "calls", "tool_use", "script", "m-1"
			a.Input, a.Output, a.CostMicros, a.TotalMS = ptr(int64(4000)), ptr(int64(200)), ptr(int64(15000)), ptr(int64(900))
			if err := tx.EndAttempt(a); err != nil {
				return err
			}
			if err := tx.AddCalls([]Call{c}); err != nil {
				return err
			}
			if _, err := tx.CloseSpan(modelSpan, "answered"); err != nil {
				return err
			}
			return tx.Event(step, 0, observer.ModelCall{Provider: "script", AskedModel: "m", Input: a.Input, Output: a.Output, Measured: true, LatencyMillis: 900})
		},
		func(tx *Tx) error {
			if err := tx.Event(step, 0, observer.ToolCall{Name: c.Name, Target: "handler.go"}); err != nil {
				return err
			}
			c.State, c.Safety, c.Reach, c.Act, c.Target, c.Effect, c.Digest = CallJudged, "idempotent", "none", "write", "handler.go", "allow", "d"
			c.Rule, c.Layer = ptr("*.go"), ptr("team")
			if err := tx.AddVerdict(Verdict{Step: step, Position: ptr(1), Act: c.Act, Target: c.Target, Effect: c.Effect, Rule: c.Rule, Layer: c.Layer}); err != nil {
				return err
			}
			return tx.SetCall(c)
		},
		func(tx *Tx) (err error) {
			c.State, c.Key, c.Begun = CallBegun, fmt.Sprint("k/", step), 1
			err = tx.Audit(AuditRow{Action: "write", Actor: tester, Step: step, Position: ptr(1), Act: c.Act, Target: c.Target, Rule: c.Rule, Layer: c.Layer, Model: "m-1", Digest: c.Digest, Decision: c.Effect})
			if err != nil {
				return err
			}
			if callSpan, err = tx.OpenSpan(stepSpan, "call", c.Name, step, ptr(1)); err != nil {
				return err
			}
			if err := tx.SetCall(c); err != nil {
				return err
			}
			return tx.Event(step, 0, observer.ToolBegan{Name: c.Name, Target: c.Target, Position: 1})
		},
		func(tx *Tx) (err error) {
			c.State, c.Result, c.Changed, c.Decision = CallEnded, result, true, "wrote handler.go"
			if c.DurationMS, err = tx.CloseSpan(callSpan, c.Decision); err != nil {
				return err
			}
			if err := tx.SetCall(c); err != nil {
				return err
			}
			return tx.Event(step, 0, observer.ToolResult{Name: c.Name, Target: c.Target, Position: 1, OK: true, Changed: true})
		},
		func(tx *Tx) error {
			if err := tx.Seal(Step{Step: step, Decision: c.Decision, ToolCall: c.Name + ":" + c.Arguments, Said: "next", Tokens: 4200, Measured: true, Changed: true}); err != nil {
				return err
			}
			if _, err := tx.CloseSpan(stepSpan, c.Decision); err != nil {
				return err
			}
			return tx.Event(step, 0, observer.Step{Decision: c.Decision, ToolCall: c.Name + ":" + c.Arguments, Tokens: 4200, Measured: true, Changed: true})
		},
	}
}

func (d *stepper) step(t testing.TB, step int) {
	t.Helper()
	for _, fn := range d.commits(step) {
		commit(t, d.s, d.lease, fn)
	}
}

// write is a statement with its arguments.
type write struct {
	st   *sql.Stmt
	args []any
}

// floor writes the rows of the stepper's steps by plain prepared statements: everything that can be computed before is.
type floor struct {
	conn  *sql.Conn
	stmts map[string]*sql.Stmt
	run   int64
}

func (f *floor) w(t testing.TB, query string, args ...any) write {
	t.Helper()
	st := f.stmts[query]
	if st == nil {
		var err error
		st, err = f.conn.PrepareContext(context.Background(), query)
		must(t, err)
		f.stmts[query] = st
	}
	return write{st, args}
}

// prepare computes the writes of one step, one list a transaction.
func (f *floor) prepare(t testing.TB, step int) [][]write {
	t.Helper()
	now := time.Now().UnixMilli()
	seq := int64(6 * (step - 1))
	span := int64(3*(step-1) + 1)
	event := func(k observer.Kind) write {
		seq++
		body, err := observer.Event{RunID: f.run, Step: step, Kind: k, Seq: seq, At: now, Drive: 1, Agent: "0"}.MarshalJSON()
		must(t, err)
		return f.w(t, `INSERT INTO events (run_id, seq, tag, body) VALUES (?,?,?,?)`, f.run, seq, k.Tag(), string(body))
	}
	keep := func(body []byte) (string, write) {
		d := Digest(body)
		return d, f.w(t, `INSERT OR IGNORE INTO contents (digest, body) VALUES (?, ?)`, d, body)
	}
	after := func(ws ...write) []write {
		return append(ws, f.w(t, `UPDATE runs SET seq = ? WHERE id = ?`, seq, f.run), f.w(t, `UPDATE drives SET elapsed_ms = ? WHERE run_id = ? AND drive = 1`, seq, f.run))
	}
	openSpan := func(n int64, parent int64, kind, name string, position any) write {
		return f.w(t, `INSERT INTO spans (run_id, span, parent, kind, name, step, position, drive, started_at, start_ms) VALUES (?,?,?,?,?,?,?,1,?,?)`, f.run, n, parent, kind, name, step, position, now, seq)
	}
	closeSpan := func(n int64, outcome string) write {
		return f.w(t, `UPDATE spans SET duration_ms = ?, outcome = ? WHERE run_id = ? AND span = ?`, 5, outcome, f.run, n)
	}
	setCall := func(state, decision, result string, begun int) write {
		return f.w(t, `UPDATE calls SET state=?, safety=?, reach=?, key=?, act=?, target=?, effect=?, rule=?, layer=?, repeatable=?, digest=?,
 changed_args=?, listing=?, begun=?, decision=?, result=?, whole=?, failed=?, changed=?, exit_code=?, left_running=?, duration_ms=?
 WHERE run_id=? AND step=? AND position=1`, state, "idempotent", "none", "k", "write", "handler.go", "allow", "*.go", "team", 0, "d", nil, nil, begun, decision, result, nil, 0, 1, nil, nil, 5, f.run, step)
	}
	m, keepMessage := keep(message(step))
	sys, keepSystem := keep(make([]byte, 3000))
	tools, keepTools := keep(make([]byte, 6000))
	ans, keepAnswer := keep(answerOf(step))
	entry := audit.Entry{Seq: int64(step), At: now, Action: "write", User: "ann", RunID: f.run, Act: "write", Target: "handler.go", Rule: "*.go", Layer: "team", Model: "m-1", Digest: "d", Decision: "allow"}
	body := entry.Canonical()
	return [][]write{
		after(keepMessage, keepSystem, keepTools,
			f.w(t, `INSERT INTO attempts (run_id, attempt, step, drive, inner, provider, model, max_output, system, tools, keep, append, request_digest, estimate, hold, state, started_at)
 VALUES (?,?,?,1,0,'script','m',8192,?,?,?,?,'r',4000,12000,'open',?)`, f.run, step, step, sys, tools, 2*step, `["`+m+`"]`, now),
			openSpan(span+1, 1, "step", "step", nil), openSpan(span+2, span+1, "model", "m", nil),
			event(observer.ModelAsked{Provider: "script", Model: "m", Attempt: step})),
		after(keepAnswer,
			f.w(t, `UPDATE attempts SET state='answered', hold=0, stop='calls', finish='tool_use', answer=?, served='script', answered_model='m-1', input=4000, output=200, cost_micros=15000, total_ms=900 WHERE run_id=? AND attempt=?`, ans, f.run, step),
			f.w(t, `INSERT INTO calls (run_id, step, position, call_id, name, arguments, state) VALUES (?,?,1,?,?,?,'given')`, f.run, step, fmt.Sprint("call_", step), "write_file", arguments),
			closeSpan(span+2, "answered"),
			event(observer.ModelCall{Provider: "script", AskedModel: "m", Input: ptr(int64(4000)), Output: ptr(int64(200)), Measured: true, LatencyMillis: 900})),
		after(event(observer.ToolCall{Name: "write_file", Target: "handler.go"}),
			f.w(t, `INSERT INTO verdicts (run_id, ordinal, step, position, act, target, effect, rule, layer) VALUES (?,?,?,1,'write','handler.go','allow','*.go','team')`, f.run, step, step),
			setCall("judged", "", "", 0)),
		after(
			f.w(t, `INSERT INTO audit (seq, body, prev, hash, run_id, step, action, at) VALUES (?,?,?,?,?,?,?,?)`, step, body, "", audit.Hash(nil, "", body), f.run, step, "write", now),
			openSpan(span+3, span+1, "call", "write_file", 1), setCall("begun", "", "", 1),
			event(observer.ToolBegan{Name: "write_file", Target: "handler.go", Position: 1})),
		after(closeSpan(span+3, "wrote handler.go"), setCall("ended", "wrote handler.go", result, 1),
			event(observer.ToolResult{Name: "write_file", Target: "handler.go", Position: 1, OK: true, Changed: true})),
		after(
			f.w(t, `INSERT INTO steps (run_id, step, decision, tool_call, said, tokens, measured, changed, sealed_at) VALUES (?,?,?,?,'next',4200,1,1,?)`, f.run, step, "wrote handler.go", "write_file:"+arguments, now),
			f.w(t, `UPDATE runs SET sealed = ?, tokens = tokens + 4200 WHERE id = ?`, step, f.run),
			closeSpan(span+1, "wrote handler.go"),
			event(observer.Step{Decision: "wrote handler.go", ToolCall: "write_file:" + arguments, Tokens: 4200, Measured: true, Changed: true})),
	}
}

// run writes prepared steps.
func (f *floor) write(t testing.TB, steps [][][]write) {
	t.Helper()
	ctx := context.Background()
	begin, end := f.w(t, "BEGIN IMMEDIATE"), f.w(t, "COMMIT")
	for _, step := range steps {
		for _, tx := range step {
			_, err := begin.st.ExecContext(ctx)
			must(t, err)
			for _, w := range tx {
				_, err := w.st.ExecContext(ctx, w.args...)
				must(t, err)
			}
			_, err = end.st.ExecContext(ctx)
			must(t, err)
		}
	}
}

// newFloor opens another store and takes its write connection.
func newFloor(t testing.TB) *floor {
	t.Helper()
	d := newStepper(t, durable(t, t.TempDir()+"/runs.db", Options{}))
	return &floor{conn: d.s.writer.conn, stmts: map[string]*sql.Stmt{}, run: d.lease.RunID}
}

// ratio measures the commits of steps through the package against the floor, in interleaved rounds, and gives the
// medians of a step's time on both sides.
func ratio(t testing.TB, rounds, steps int) (ours, plain time.Duration) {
	t.Helper()
	d, f := newStepper(t, durable(t, t.TempDir()+"/runs.db", Options{})), newFloor(t)
	var a, b []time.Duration
	for round := range rounds + 1 {
		prepared := make([][][]write, steps)
		for i := range steps {
			prepared[i] = f.prepare(t, round*steps+i+1)
		}
		began := time.Now()
		f.write(t, prepared)
		middle := time.Now()
		for i := range steps {
			d.step(t, round*steps+i+1)
		}
		if round > 0 { // the first round warms both up
			a, b = append(a, time.Since(middle)/time.Duration(steps)), append(b, middle.Sub(began)/time.Duration(steps))
		}
	}
	slices.Sort(a)
	slices.Sort(b)
	return a[len(a)/2], b[len(b)/2]
}

// BenchmarkStepCommits compares the commits of a typical step through the package with the floor: the same rows into the
// same schema by plain prepared statements, with as many transactions.
func BenchmarkStepCommits(b *testing.B) {
	for b.Loop() {
		ours, plain := ratio(b, 21, 20)
		b.ReportMetric(float64(ours.Microseconds()), "µs/step")
		b.ReportMetric(float64(plain.Microseconds()), "floor-µs/step")
		b.ReportMetric(float64(ours)/float64(plain), "ratio")
	}
}

// TestStepCommitRatio is the benchmark's short form: it fails when a step through the package has come to cost several
// times its floor.
func TestStepCommitRatio(t *testing.T) {
	if testing.Short() {
		t.Skip("measures time")
	}
	ours, plain := ratio(t, 9, 4)
	got := float64(ours) / float64(plain)
	t.Logf("%v a step, floor %v, ratio %.2f", ours, plain, got)
	if got > 3 {
		t.Errorf("the commits of a step take %v, %.1f times the floor of %v", ours, got, plain)
	}
}

// The floor is a floor only if it leaves the same rows.
func TestFloorWritesTheSameRows(t *testing.T) {
	d, f := newStepper(t, opened(t, Options{})), newFloor(t)
	for step := 1; step <= 3; step++ {
		d.step(t, step)
		f.write(t, [][][]write{f.prepare(t, step)})
	}
	tables, err := words(d.s.reader(t.Context()), `SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name`)
	must(t, err)
	for _, table := range tables {
		query := "SELECT count(*) FROM " + table
		var got int64
		must(t, f.conn.QueryRowContext(t.Context(), query).Scan(&got))
		if want := number(t, d.s, query); got != want {
			t.Errorf("%s: the floor writes %d rows, a step %d", table, got, want)
		}
	}
}

// BenchmarkPrune removes a run of 2,000 steps and reports how long it holds other writers up at most.
func BenchmarkPrune(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		clk := newClock()
		s := durable(b, b.TempDir()+"/runs.db", Options{Now: clk.now})
		must(b, quick(s))
		d := newStepper(b, s)
		for step := range 2000 {
			d.step(b, step+1)
		}
		commit(b, s, d.lease, func(tx *Tx) error { // and one output as large as is kept
			digest, err := tx.Keep(make([]byte, 1<<20))
			if err != nil {
				return err
			}
			c := Call{Step: 1, Position: 1, State: CallEnded, Whole: digest}
			return tx.SetCall(c)
		})
		ended(b, s, d.lease, Ending{Outcome: "success", Status: Completed, Success: true})
		_, err := s.writer.conn.ExecContext(b.Context(), "PRAGMA synchronous=FULL")
		must(b, err)
		clk.move(40 * day)
		b.StartTimer()
		done, err := s.Prune(b.Context(), month(clk))
		must(b, err)
		b.ReportMetric(float64(done.Longest.Microseconds())/1000, "ms-longest")
		b.ReportMetric(float64(done.Chunks), "chunks")
	}
}
