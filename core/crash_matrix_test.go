package core_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"tillerman/core"
	"tillerman/core/approval"
	"tillerman/core/gate"
	"tillerman/core/policy"
	"tillerman/core/provider"
	"tillerman/core/retry"
	"tillerman/db"
	"tillerman/observer"
)

// The matrix: one run that does everything whose interruption could lose or double something, killed before and after
// every commit. A commit is a durable moment, and what happens between two of them is the effect of the first; killed
// after the first commit and before the second, the effect has not happened and has.

// matrixModel is the model of the matrix. What it says is by how many answers the conversation holds; what it does beside
// (say something to the agent, raise a budget, fail once) is by what the store holds, so that a resumed run meets the
// same world.
type matrixModel struct {
	turns
	store *db.Store
	run   func() int64
}

func newMatrixModel(store *db.Store) *matrixModel {
	m := &matrixModel{store: store}
	m.run = func() int64 {
		run, err := store.LastRun(context.Background())
		if err != nil {
			panic(err)
		}
		return run.ID
	}
	m.answers = []func(provider.Request) (provider.Answer, error){
		call("write_file", `{"path":"a.txt","content":"one\n"}`),
		m.failOnce(2, call("exec", `{"argv":["sh","-c","echo once >> once.log"]}`)),
		calls([2]string{"edit", `{"path":"a.txt","old":"one","new":"two"}`}, [2]string{"exec", `{"argv":["sh","check.sh"]}`}, [2]string{"read_file", `{"path":".env"}`}),
		m.once("tell", "mind the gap", m.once("budget", `{"max_steps":9}`, say("done"))), // at the cap: without the budget it ends here
		call("write_file", `{"path":"b.txt","content":"three\n"}`),
		say("done now"),
	}
	return m
}

// failOnce fails the step's first attempt.
func (m *matrixModel) failOnce(step int, then func(provider.Request) (provider.Answer, error)) func(provider.Request) (provider.Answer, error) {
	return func(req provider.Request) (provider.Answer, error) {
		attempts, err := m.store.StepAttempts(context.Background(), m.run(), step)
		if err != nil {
			return provider.Answer{}, err
		}
		if !slices.ContainsFunc(attempts, func(a db.Attempt) bool { return a.State == db.AttemptFailed }) {
			return provider.Answer{}, &provider.Error{Kind: provider.Overloaded, Provider: "turns", Message: "busy"}
		}
		return then(req)
	}
}

// once stores a control the first time that it is asked.
func (m *matrixModel) once(kind, body string, then func(provider.Request) (provider.Answer, error)) func(provider.Request) (provider.Answer, error) {
	return func(req provider.Request) (provider.Answer, error) {
		controls, err := m.store.Controls(context.Background(), m.run())
		if err != nil {
			return provider.Answer{}, err
		}
		if !slices.ContainsFunc(controls, func(c db.Control) bool { return c.Kind == kind }) {
			if _, _, err := m.store.Control(context.Background(), db.Control{RunID: m.run(), Kind: kind, Body: body, By: db.Here("test")}); err != nil {
				return provider.Answer{}, err
			}
		}
		return then(req)
	}
}

func matrixContract(ws string) core.Contract {
	c := core.Defaults()
	c.Goal, c.Workspace, c.Model, c.MaxSteps = "do everything", ws, "m1", 4
	c.Retry = retry.Policy{Base: time.Millisecond, Max: time.Millisecond}
	c.Repeatable = [][]string{{"sh", "check.sh"}}
	c.Gates = []gate.Gate{{Argv: []string{"sh", "gate.sh"}}}
	return c
}

// matrixWorkspace makes the files that the run starts from.
func matrixWorkspace(ws string) error {
	for name, body := range map[string]string{
		"check.sh": "echo checked >> checked.log; echo ok\n",
		"gate.sh":  "echo gate; test -f b.txt\n",
		".env":     "SECRET=1\n",
	} {
		if err := os.WriteFile(filepath.Join(ws, name), []byte(body), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func matrixEngine(store *db.Store, model provider.Provider, dir string) *core.Engine {
	std, _ := policy.Starter("standard")
	return core.New(store, model, core.WithPolicy(std), core.WithState(filepath.Join(dir, "state"), os.Environ()), core.WithApprover(approval.All{}))
}

// crashInMatrix runs the matrix's run in dir and dies by SIGKILL at a point: "before-7" or "after-7".
func crashInMatrix(dir, point string) int {
	when, number, _ := strings.Cut(point, "-")
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return 3
	}
	die := func(at int64) {
		if at == n {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
	opts := db.Options{BeforeCommit: die}
	if when == "after" {
		opts = db.Options{AfterCommit: die}
	}
	store, err := db.Open(context.Background(), filepath.Join(dir, "runs.db"), opts)
	if err != nil {
		return 3
	}
	res, err := matrixEngine(store, newMatrixModel(store), dir).Run(context.Background(), matrixContract(filepath.Join(dir, "ws")))
	if err != nil || res.Outcome != observer.OutcomeSuccess {
		return 3
	}
	return 0
}

// told is what a finished run of the matrix must share with every other.
type told struct {
	trace    string
	requests string // the digest of each answered request
	files    map[string]string
	tokens   int64
}

func toldBy(t *testing.T, store *db.Store, dir string, run int64) told {
	t.Helper()
	got := told{trace: traceOf(t, store, run), files: map[string]string{}}
	attempts, err := store.Attempts(context.Background(), run)
	must(t, err)
	for _, a := range attempts {
		if a.State == db.AttemptAnswered {
			got.requests += fmt.Sprintln(a.Step, a.RequestDigest)
		}
	}
	for _, name := range []string{"a.txt", "b.txt", "once.log"} {
		body, err := os.ReadFile(filepath.Join(dir, "ws", name))
		must(t, err)
		got.files[name] = string(body)
	}
	sum, err := store.Summary(context.Background(), run)
	must(t, err)
	got.tokens = sum.TokensBilled
	return got
}

func TestCrashMatrix(t *testing.T) {
	if testing.Short() {
		t.Skip("kills many processes")
	}
	began := time.Now()
	dir := matrixDir(t)
	store := openStore(t, filepath.Join(dir, "runs.db"), db.Options{})
	res, err := matrixEngine(store, newMatrixModel(store), dir).Run(context.Background(), matrixContract(filepath.Join(dir, "ws")))
	must(t, err)
	if res.Outcome != observer.OutcomeSuccess {
		t.Fatalf("%s: %s", res.Outcome, res.Message)
	}
	want := toldBy(t, store, dir, res.RunID)
	if want.files["once.log"] != "once\n" || want.files["a.txt"] != "two\n" {
		t.Fatalf("files %v", want.files)
	}
	commits := store.Commits()
	var points []string
	for n := int64(1); n <= commits; n++ {
		points = append(points, fmt.Sprintf("before-%d", n), fmt.Sprintf("after-%d", n))
	}
	var resolved, unborn atomic.Int64
	var wg sync.WaitGroup
	slots := make(chan struct{}, max(2, runtime.NumCPU()))
	for _, point := range points {
		wg.Add(1)
		slots <- struct{}{}
		go func() {
			defer wg.Done()
			defer func() { <-slots }()
			matrixPoint(t, point, want, &resolved, &unborn)
		}()
	}
	wg.Wait()
	if resolved.Load() == 0 {
		t.Error("no kill left the once-only command for a person to judge")
	}
	t.Logf("%d commits, killed at %d points (%d before the run existed, %d resolved by a person), %s", commits, len(points), unborn.Load(), resolved.Load(), time.Since(began).Round(time.Second))
}

func matrixDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "ws"), 0o755))
	must(t, matrixWorkspace(filepath.Join(dir, "ws")))
	return dir
}

// matrixPoint kills a run at a point, resumes it as often as it takes, and compares. It reports with Errorf only: it runs
// outside the test's goroutine.
func matrixPoint(t *testing.T, point string, want told, resolved, unborn *atomic.Int64) {
	t.Run(point, func(t *testing.T) {
		dir := matrixDir(t)
		cmd := exec.Command(os.Args[0], crashArg, "matrix", dir, point)
		out, err := cmd.CombinedOutput()
		if st, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); err == nil || !ok || st.Signal() != syscall.SIGKILL {
			t.Fatalf("the driver was not killed: %v\n%s", err, out)
		}
		store := openStore(t, filepath.Join(dir, "runs.db"), db.Options{})
		run, err := store.LastRun(context.Background())
		if err != nil {
			unborn.Add(1)
			return
		}
		e := matrixEngine(store, newMatrixModel(store), dir)
		res, err := e.Resume(context.Background(), run.ID)
		must(t, err)
		done := false
		if res.Outcome == observer.OutcomeNeedsOperator {
			resolved.Add(1)
			answer := "retry"
			if _, err := os.Stat(filepath.Join(dir, "ws", "once.log")); err == nil {
				answer, done = "done", true
			}
			_, err = store.Resolve(context.Background(), run.ID, db.Resolution{Answer: answer, Reason: "looked at the log"}, db.Here("test"))
			must(t, err)
			res, err = e.Resume(context.Background(), run.ID)
			must(t, err)
		}
		if res.Outcome != observer.OutcomeSuccess {
			t.Fatalf("%s: %s", res.Outcome, res.Message)
		}
		got := toldBy(t, store, dir, run.ID)
		denseEvents(t, store, run.ID)
		denseSteps(t, store, run.ID)
		noneUnderWay(t, store, run.ID)
		for name, body := range want.files {
			if got.files[name] != body {
				t.Errorf("%s holds %q, want %q", name, got.files[name], body)
			}
		}
		if got.tokens != want.tokens {
			t.Errorf("%d tokens, want %d", got.tokens, want.tokens)
		}
		wantTrace, gotTrace := want.trace, got.trace
		if done { // what it printed is not known any more: its result, and requests that quote it, differ
			wantTrace, gotTrace = withoutResult(wantTrace), withoutResult(gotTrace)
		} else if got.requests != want.requests {
			t.Errorf("the requests differ:\n%s", firstDifference(want.requests, got.requests))
		}
		if gotTrace != wantTrace {
			t.Errorf("the trace differs:\n%s", firstDifference(wantTrace, gotTrace))
		}
	})
}

// denseSteps wants every step from 1 on, once.
func denseSteps(t *testing.T, store *db.Store, run int64) {
	t.Helper()
	steps, err := store.Steps(context.Background(), run, 0, 0)
	must(t, err)
	for i, st := range steps {
		if st.Step != i+1 {
			t.Errorf("step %d is numbered %d", i+1, st.Step)
		}
	}
}

// noneUnderWay wants no check that a driver left when it died to look as if it ran still.
func noneUnderWay(t *testing.T, store *db.Store, run int64) {
	t.Helper()
	gates, err := store.Gates(context.Background(), run)
	must(t, err)
	for _, g := range gates {
		if g.State == "begun" {
			t.Errorf("check %d is %s", g.Ordinal, g.State)
		}
	}
}

// withoutResult takes out of a trace what follows from the printed result of the once-only command.
func withoutResult(trace string) string {
	var b bytes.Buffer
	for line := range strings.Lines(trace) {
		switch {
		case strings.HasPrefix(line, "step 2 "), strings.Contains(line, "once.log"):
			continue
		case strings.HasPrefix(line, "message"):
			if strings.Contains(line, "outcome%20unknown") || strings.Contains(line, "exit") {
				continue
			}
		case strings.HasPrefix(line, "attempt"):
			line, _, _ = strings.Cut(line, " | request=")
			line += "\n"
		}
		b.WriteString(line)
	}
	return b.String()
}
