package db

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"tillerman/db/audit"
	"tillerman/observer"
)

// day is long for a run and short for a record.
const day = int64(24 * time.Hour / time.Millisecond)

// lived makes a run of steps first to last, with something of everything, and gives it the outcome. A pause word leaves
// it paused.
func lived(t testing.TB, s *Store, first, last int, outcome string) int64 {
	t.Helper()
	d := newStepper(t, s)
	for step := first; step <= last; step++ {
		n := step - first + 1
		d.stepOf(t, n, step)
	}
	commit(t, s, d.lease, func(tx *Tx) error {
		whole, err := tx.Keep(fmt.Appendf(nil, "the whole output of %d", first))
		if err != nil {
			return err
		}
		ordinal, err := tx.BeginGate(Gate{Step: 1, Position: 1, Phase: "command:1", Target: "make", Listing: whole})
		if err != nil {
			return err
		}
		if err := tx.EndGate(Gate{Ordinal: ordinal, State: "passed", Output: "ok", Whole: whole}); err != nil {
			return err
		}
		before, err := tx.Keep(fmt.Appendf(nil, "the file before %d", first))
		if err != nil {
			return err
		}
		if err := tx.AddFile(File{Step: 1, Position: 1, Path: "a.go", Source: "write", Change: "modified", Before: &before, Kept: true, Done: true}); err != nil {
			return err
		}
		if err := tx.AddContextFact(1, "replan", "try again"); err != nil {
			return err
		}
		if err := tx.AddSandboxFact(SandboxFact{Step: 1, Kind: "exec"}); err != nil {
			return err
		}
		if err := tx.OpenEffect(fmt.Sprintf("%d/1/1", d.lease.RunID), 1, 1); err != nil {
			return err
		}
		if _, err := tx.AddControl(Control{Kind: "tell", Body: "mind the tests", By: tester}); err != nil {
			return err
		}
		_, err = tx.Ask(Request{Step: 1, Position: ptr(1), Act: "exec", Target: "make", Payload: "make all", Said: "I need it", Digest: "d"})
		return err
	})
	if row, _ := observer.Outcome(outcome).Row(); row.Status == observer.StatusPaused {
		ended(t, s, d.lease, Ending{Outcome: outcome, Status: Paused})
	} else {
		ended(t, s, d.lease, Ending{Outcome: outcome, Status: Completed, Success: outcome == "success"})
	}
	return d.lease.RunID
}

// stepOf does the commits of step n with the contents of step content.
func (d *stepper) stepOf(t testing.TB, n, content int) {
	t.Helper()
	for _, fn := range d.commits(content) {
		commit(t, d.s, d.lease, fn)
	}
	raw(t, d.s, `UPDATE attempts SET step = ? WHERE run_id = ? AND step = ?`, n, d.lease.RunID, content)
	raw(t, d.s, `UPDATE calls SET step = ? WHERE run_id = ? AND step = ?`, n, d.lease.RunID, content)
	raw(t, d.s, `UPDATE steps SET step = ? WHERE run_id = ? AND step = ?`, n, d.lease.RunID, content)
	raw(t, d.s, `UPDATE runs SET sealed = ? WHERE id = ?`, n, d.lease.RunID)
}

// rowsOf counts the rows of a run's trace.
func rowsOf(t testing.TB, s *Store, run int64) map[string]int64 {
	t.Helper()
	n := map[string]int64{}
	for _, table := range traceTables {
		if rows := number(t, s, `SELECT count(*) FROM `+table.name+` WHERE run_id = ?`, run); rows > 0 {
			n[table.name] = rows
		}
	}
	return n
}

// sound fails when a content that a run with a trace refers to is missing, or one is there that nobody refers to.
func sound(t testing.TB, s *Store) {
	t.Helper()
	refs, err := newReferences(t.Context(), s, func(int64) bool { return false })
	must(t, err)
	for _, run := range must2(numbers(s.reader(t.Context()), `SELECT id FROM runs`))(t) {
		must(t, refs.readRun(s.reader(t.Context()), run))
	}
	held := must2(words(s.reader(t.Context()), `SELECT digest FROM contents`))(t)
	have := map[reference]bool{}
	for _, d := range held {
		have[referenceTo(d)] = true
		if !refs.needed(d) {
			t.Errorf("content %s belongs to nobody", d)
		}
	}
	for r := range refs.known {
		if !have[r] && len(strings.TrimRight(string(r[:]), "\x00")) == 16 {
			t.Errorf("content %s… is missing", r[:])
		}
	}
	if n := number(t, s, "SELECT count(*) FROM pragma_foreign_key_check"); n != 0 {
		t.Errorf("%d rows refer to nothing", n)
	}
	if got := must2(words(s.reader(t.Context()), `PRAGMA integrity_check`))(t); !slices.Equal(got, []string{"ok"}) {
		t.Errorf("integrity check: %v", got)
	}
}

func must2[V any](v V, err error) func(testing.TB) V {
	return func(t testing.TB) V {
		t.Helper()
		must(t, err)
		return v
	}
}

// aged is a store with runs of every kind; old lists those that a removal takes.
func aged(t testing.TB, path string, opts Options) (s *Store, clk *clock, old, others []int64) {
	t.Helper()
	clk = newClock()
	opts.Now = clk.now
	s = reopened(t, path, opts)
	old = append(old, lived(t, s, 1, 4, "success"), lived(t, s, 3, 6, "cancelled")) // they share contents
	others = append(others, lived(t, s, 4, 8, "awaiting_approval"))                 // and so does one that is paused
	live := newStepper(t, s)
	live.stepOf(t, 1, 5)
	others = append(others, live.lease.RunID)
	clk.move(40 * day)
	others = append(others, lived(t, s, 6, 9, "success")) // too young
	return s, clk, old, others
}

func month(clk *clock) Retention {
	return Retention{Before: clk.now().UnixMilli() - 30*day, Asked: "older than 30d", By: tester, Version: "9.9"}
}

func TestPruneRemovesWhatHasEndedLongAgo(t *testing.T) {
	s, clk, old, others := aged(t, t.TempDir()+"/runs.db", Options{})
	before := map[int64]map[string]int64{}
	for _, run := range others {
		before[run] = rowsOf(t, s, run)
	}
	auditRows := must2(s.AuditLog(t.Context(), 0, 0, 0))(t)
	summary := must2(s.Summary(t.Context(), old[0]))(t)

	planned := must2(s.Removable(t.Context(), month(clk).Before))(t)
	snapshot := dump(t, s)
	done := must2(s.Prune(t.Context(), month(clk)))(t)
	if dump(t, s) == snapshot {
		t.Error("nothing was removed")
	}
	planned.Chunks, planned.Longest = done.Chunks, done.Longest
	if planned != done || done.Runs != 2 || done.Trees != 2 || done.Steps != 8 || done.Contents == 0 || done.Bytes == 0 {
		t.Errorf("planned %+v, done %+v", planned, done)
	}
	for _, run := range old {
		if rows := rowsOf(t, s, run); len(rows) > 0 {
			t.Errorf("of run %d is left %v", run, rows)
		}
		r := must2(s.Run(t.Context(), run))(t)
		if e, ok := asError[*RemovedError](r.Traced()); !ok || e.At != clk.now().UnixMilli() || r.Goal != aRun().Goal || r.Outcome == "" || r.Inputs != "{}" {
			t.Errorf("run %d: %+v", run, r)
		}
		reqs := must2(s.Requests(t.Context(), run))(t)
		if len(reqs) != 1 || reqs[0].Payload != "" || reqs[0].Said != "" || reqs[0].Target != "make" || reqs[0].Digest != "d" {
			t.Errorf("its questions: %+v", reqs)
		}
		if c := must2(s.Controls(t.Context(), run))(t); len(c) != 1 || c[0].Body != "" {
			t.Errorf("what it was told: %+v", c)
		}
	}
	if got := must2(s.Summary(t.Context(), old[0]))(t); encode(got) != encode(summary) {
		t.Errorf("the summary has changed: %s", encode(got))
	}
	for _, run := range others {
		if got := rowsOf(t, s, run); fmt.Sprint(got) != fmt.Sprint(before[run]) {
			t.Errorf("run %d has %v, had %v", run, got, before[run])
		}
		if err := must2(s.Run(t.Context(), run))(t).Traced(); err != nil {
			t.Error(err)
		}
	}
	sound(t, s)

	now := must2(s.AuditLog(t.Context(), 0, 0, 0))(t)
	if len(now) != len(auditRows)+1 || string(now[len(auditRows)-1].Body) != string(auditRows[len(auditRows)-1].Body) {
		t.Fatalf("%d audit rows, had %d", len(now), len(auditRows))
	}
	row := now[len(auditRows)]
	e := entryOf(t, row)
	if e.Action != "retention" || e.RunID != 0 || e.User != tester.User || e.Reason != "older than 30d" || e.Version != "9.9" ||
		e.Note != "2 runs in 2 trees, 8 steps" || !strings.Contains(e.Target, "2023-") {
		t.Errorf("audit row: %+v", e)
	}
	if row.Prev != auditRows[len(auditRows)-1].Hash || row.Hash != audit.Hash(nil, row.Prev, row.Body) {
		t.Error("the chain is broken")
	}
	if n := number(t, s, "SELECT count(*) FROM audit WHERE run_id IS NULL"); n != 1 {
		t.Errorf("%d audit rows without a run", n)
	}

	if again := must2(s.Prune(t.Context(), month(clk)))(t); again != (Removal{}) {
		t.Errorf("a second time: %+v", again)
	}
	if n := number(t, s, "SELECT count(*) FROM audit"); n != int64(len(now)) {
		t.Error("removing nothing was recorded")
	}
	if info, err := os.Stat(s.path + "-wal"); err != nil || info.Size() != 0 {
		t.Errorf("the log was not cut: %v %v", info, err)
	}
}

// Whoever takes a run up again keeps its trace; whose trace is gone is not taken up.
func TestPruneAndTakeUp(t *testing.T) {
	s, clk, old, _ := aged(t, t.TempDir()+"/runs.db", Options{})
	lease, _, err := s.TakeUp(t.Context(), old[1], tester, "floor", false, func(*Tx) error { return nil })
	must(t, err)
	done := must2(s.Prune(t.Context(), month(clk)))(t)
	if done.Runs != 1 || len(rowsOf(t, s, old[1])) == 0 {
		t.Errorf("the trace of a driven run was removed: %+v", done)
	}
	ended(t, s, lease, Ending{Outcome: "success", Status: Completed, Success: true})
	_, _, err = s.TakeUp(t.Context(), old[0], tester, "floor", true, func(*Tx) error { return nil })
	if e, ok := asError[*RemovedError](err); !ok || e.RunID != old[0] {
		t.Errorf("a run without a trace was taken up: %v", err)
	}
	if _, err := s.Summary(t.Context(), old[0]); err != nil {
		t.Error(err)
	}
	sound(t, s)
}

func TestPruneTakesTreesWhole(t *testing.T) {
	clk := newClock()
	s := opened(t, Options{Now: clk.now})
	root := lived(t, s, 1, 2, "success")
	first, second := lived(t, s, 3, 4, "success"), lived(t, s, 5, 6, "success")
	raw(t, s, `UPDATE runs SET root_id = ?, parent_id = ?, depth = 1 WHERE id IN (?, ?)`, root, root, first, second)
	clk.move(40 * day)
	raw(t, s, `UPDATE runs SET finished_at = ? WHERE id = ?`, clk.now().UnixMilli(), second)
	if done := must2(s.Prune(t.Context(), month(clk)))(t); done != (Removal{}) {
		t.Errorf("a sub-agent is too young: %+v", done)
	}
	clk.move(40 * day)
	if done := must2(s.Prune(t.Context(), month(clk)))(t); done.Runs != 3 || done.Trees != 1 {
		t.Errorf("%+v", done)
	}
	for _, run := range []int64{root, first, second} {
		if rows := rowsOf(t, s, run); len(rows) > 0 {
			t.Errorf("of run %d is left %v", run, rows)
		}
		if r := must2(s.Run(t.Context(), run))(t); r.RootID != root {
			t.Errorf("run %d lost its tree", run)
		}
	}
	// A sub-agent of a tree that is going is not taken up, even before its own mark.
	raw(t, s, `UPDATE runs SET trace_removed_at = NULL WHERE id = ?`, second)
	if _, _, err := s.TakeUp(t.Context(), second, tester, "floor", false, func(*Tx) error { return nil }); err == nil {
		t.Error("a sub-agent of a removed tree was taken up")
	}
	sound(t, s)
}

// childPrune removes one row or content at a time and dies after the given number of commits.
func childPrune(ctx context.Context, _ *bufio.Scanner, args []string) error {
	var last int64
	if _, err := fmt.Sscan(args[1], &last); err != nil {
		return err
	}
	clk := newClock()
	clk.move(40 * day)
	s, err := Open(ctx, args[0], Options{Now: clk.now, chunk: 1, AfterCommit: func(n int64) {
		if n == last {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
	}})
	if err != nil {
		return err
	}
	done, err := s.Prune(ctx, month(clk))
	fmt.Println("done", done.Chunks, err)
	return s.Close()
}

// A removal that is killed at any commit is ended by the next, and comes to the same.
func TestPruneKilledAnywhere(t *testing.T) {
	dir := t.TempDir()
	s, clk, _, _ := aged(t, filepath.Join(dir, "runs.db"), Options{})
	_, err := s.writer.conn.ExecContext(t.Context(), "PRAGMA wal_checkpoint(TRUNCATE)")
	must(t, err)
	copyTo := func(name string) string {
		path := filepath.Join(dir, name)
		must(t, copyFile(path, s.path))
		return path
	}
	whole := reopened(t, copyTo("whole.db"), Options{Now: clk.now, chunk: 1})
	chunks := must2(whole.Prune(t.Context(), month(clk)))(t).Chunks
	want := withoutAudit(dump(t, whole))
	if chunks < 30 {
		t.Fatalf("only %d transactions", chunks)
	}
	every := 1
	if testing.Short() {
		every = 7
	}
	points := 0
	for n := 1; n <= chunks; n += every {
		path := copyTo(fmt.Sprint(n, ".db"))
		p := child(t, "prune", path, fmt.Sprint(n))
		p.finish()
		s := reopened(t, path, Options{Now: clk.now})
		rest := must2(s.Prune(t.Context(), Retention{Before: 1, Asked: "only what was begun", By: tester}))(t)
		for _, run := range must2(numbers(s.reader(t.Context()), `SELECT id FROM runs WHERE trace_removed_at IS NOT NULL`))(t) {
			if rows := rowsOf(t, s, run); len(rows) > 0 {
				t.Errorf("killed after %d: of run %d is left %v", n, run, rows)
			}
		}
		must2(s.Prune(t.Context(), month(clk)))(t) // and what was not yet begun
		if got := withoutAudit(dump(t, s)); got != want {
			t.Errorf("killed after %d of %d transactions, then ended (%+v): the store differs", n, chunks, rest)
		}
		sound(t, s)
		must(t, os.Remove(path))
		points++
	}
	t.Logf("killed at %d of %d transactions", points, chunks)
}

func withoutAudit(dump string) string {
	lines := strings.Split(dump, "\n")
	return strings.Join(slices.DeleteFunc(lines, func(l string) bool { return strings.HasPrefix(l, "audit ") || strings.HasPrefix(l, "sqlite_") }), "\n")
}

// A run that begins to need a content while its removal goes on keeps it.
func TestPruneBesideARunThatNeedsTheSame(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.db")
	_, clk, _, _ := aged(t, path, Options{})
	beside := reopened(t, path, Options{Now: clk.now})
	live := newStepper(t, beside)
	needed, next := 0, 1
	s := reopened(t, path, Options{Now: clk.now, chunk: 1, AfterCommit: func(n int64) {
		if n%3 != 0 || next > 4 {
			return
		}
		content := next // of the runs that go
		if _, err := beside.Content(t.Context(), Digest(answerOf(content))); err == nil {
			needed++
		}
		for _, fn := range live.commits(content) {
			commit(t, beside, live.lease, fn)
		}
		if next == 2 { // a run that comes and goes between two transactions
			r := newStepper(t, beside)
			r.step(t, 3)
			ended(t, beside, r.lease, Ending{Outcome: "success", Status: Completed, Success: true})
		}
		next++
	}})
	done := must2(s.Prune(t.Context(), month(clk)))(t)
	if done.Runs != 2 || needed == 0 {
		t.Errorf("%+v, %d contents were there to be needed", done, needed)
	}
	sound(t, s)
}

// What a run began to need is seen in the transaction that would remove it, not only by the look before.
func TestPruneLooksAgainInItsTransaction(t *testing.T) {
	s, clk, old, _ := aged(t, t.TempDir()+"/runs.db", Options{})
	p := &pruning{s: s}
	must(t, p.mark(t.Context(), month(clk), must2(s.endedTrees(t.Context(), month(clk).Before))(t)))
	var err error
	p.refs, err = newReferences(t.Context(), s, func(run int64) bool { return slices.Contains(old, run) })
	must(t, err)
	p.runs = must2(s.leavingRuns(t.Context()))(t)
	newStepper(t, s).step(t, 1)
	for len(p.runs) > 0 {
		must(t, p.chunk(t.Context(), p.remove))
	}
	sound(t, s)
}

// Other writers get their turn while traces go: one that is woken by a transaction of the removal commits beside the next.
func TestPruneLetsOthersWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.db")
	turns := make(chan struct{}, 1000)
	s, clk, _, _ := aged(t, path, Options{chunk: 3, AfterCommit: func(int64) {
		select {
		case turns <- struct{}{}:
		default:
		}
	}})
	beside := reopened(t, path, Options{wait: 5 * time.Second})
	lease := begun(t, beside)
	for len(turns) > 0 {
		<-turns
	}
	ended := make(chan struct{})
	wrote := make(chan int, 1)
	go func() {
		n := 0
		defer func() { wrote <- n }()
		for {
			select {
			case <-ended:
				return
			case <-turns:
			}
			if _, err := beside.Commit(context.Background(), lease, func(tx *Tx) error { return tx.Event(1, 0, observer.Stalled{}) }); err != nil {
				t.Error(err)
				return
			}
			n++
		}
	}()
	done, err := s.Prune(t.Context(), month(clk))
	close(ended)
	must(t, err)
	if n := <-wrote; n < 10 || done.Chunks < 10 {
		t.Errorf("%d commits beside %d transactions", n, done.Chunks)
	}
	t.Logf("longest transaction %s of %d", done.Longest, done.Chunks)
}

// Pages that a removal frees are used again before the file grows.
func TestPrunedPagesAreUsedAgain(t *testing.T) {
	clk := newClock()
	s := opened(t, Options{Now: clk.now})
	lived(t, s, 1, 40, "success")
	clk.move(40 * day)
	pages := number(t, s, "PRAGMA page_count")
	must2(s.Prune(t.Context(), month(clk)))(t)
	free := number(t, s, "PRAGMA freelist_count")
	if free < pages/3 {
		t.Errorf("%d of %d pages are free", free, pages)
	}
	lived(t, s, 1, 20, "success")
	if now := number(t, s, "PRAGMA page_count"); now > pages {
		t.Errorf("the store grew from %d to %d pages beside %d free ones", pages, now, free)
	}
}

// A new table is a part of the trace or is kept; which one is to be said here or in traceTables.
func TestEveryTableIsRemovedOrKept(t *testing.T) {
	keep := strings.Fields("contents runs leases requests rules controls summaries audit")
	s := opened(t, Options{})
	for _, name := range must2(words(s.reader(t.Context()), `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`))(t) {
		trace := slices.ContainsFunc(traceTables, func(tt traceTable) bool { return tt.name == name })
		if trace == slices.Contains(keep, name) {
			t.Errorf("table %s: say whether prune removes its rows", name)
		}
	}
}

// Wherever a digest of a content stands in a table, the look at references finds it.
func TestEveryReferenceIsKnown(t *testing.T) {
	s, _, _, _ := aged(t, t.TempDir()+"/runs.db", Options{})
	contents := must2(words(s.reader(t.Context()), `SELECT digest FROM contents`))(t)
	lines := strings.Split(dump(t, s), "\n")
	checked := 0
	for _, l := range lines {
		table, rest, _ := strings.Cut(l, " ")
		if table == "contents" || table == "audit" || strings.HasPrefix(table, "sqlite_") {
			continue
		}
		for _, column := range strings.Fields(rest) {
			name, value, ok := strings.Cut(column, "=")
			if !ok || !slices.ContainsFunc(contents, func(d string) bool { return strings.Contains(value, d) }) {
				continue
			}
			checked++
			if !slices.ContainsFunc(traceTables, func(tt traceTable) bool { return tt.name == table && slices.Contains(tt.contents, name) }) {
				t.Errorf("%s.%s refers to a content and is not known to", table, name)
			}
		}
	}
	if checked < 20 {
		t.Errorf("only %d references were found", checked)
	}
}
