package core_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"tillerman/core"
	"tillerman/core/policy"
	"tillerman/core/provider"
	"tillerman/core/provider/script"
	"tillerman/db"
	"tillerman/observer"
	"tillerman/recordings"
)

// crashArg makes the test binary run the demo and kill itself after a commit.
const crashArg = "crash-in-the-demo"

// crashing runs a case in dir, the demo, a command that must not run twice, the same resumed or a model that falls over,
// and dies by SIGKILL right after commit n.
func crashing(args []string) int {
	what, dir, n := args[0], args[1], args[2]
	if what == "matrix" {
		return crashInMatrix(dir, n)
	}
	at, err := strconv.ParseInt(n, 10, 64)
	if err != nil {
		return 3
	}
	ctx := context.Background()
	store, err := db.Open(ctx, filepath.Join(dir, "runs.db"), db.Options{AfterCommit: func(n int64) {
		if n == at {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}})
	if err != nil {
		return 3
	}
	c, model, err := crashCase(what, filepath.Join(dir, "ws"))
	if err != nil {
		return 3
	}
	std, _ := policy.Starter("standard")
	e := core.New(store, model, core.WithPolicy(std), core.WithState(filepath.Join(dir, "state"), os.Environ()))
	if what == "once-again" {
		run, err := store.LastRun(ctx)
		if err != nil {
			return 3
		}
		if res, err := e.Resume(ctx, run.ID); err != nil || res.Outcome != observer.OutcomeSuccess {
			return 3
		}
		return 0
	}
	if res, err := e.Run(ctx, c); err != nil || res.Outcome != observer.OutcomeSuccess {
		return 3
	}
	return 0
}

// crashCase is the contract and model of a case.
func crashCase(what, ws string) (core.Contract, provider.Provider, error) {
	if what == "fallback" {
		return fallbackCase(ws)
	}
	if what == "once" || what == "once-again" {
		c := core.Defaults()
		c.Goal, c.Workspace, c.Model = "append once", ws, "m1"
		return c, answers(call("exec", `{"argv":["sh","-c","echo x >> log"]}`), say("done")), nil
	}
	demo, err := recordings.Demo()
	if err != nil {
		return core.Contract{}, nil, err
	}
	s, err := script.Parse(demo.Script)
	return demoContract(new(testing.T), ws), script.New(s, script.Options{Fast: true}), err
}

// TestKilledAtAnyCommitAndResumed kills the demo with SIGKILL after a commit, resumes it, and wants the trace and files
// of a run that was never interrupted. TILLERMAN_CRASH=all does it after every commit.
func TestKilledAtAnyCommitAndResumed(t *testing.T) {
	if testing.Short() {
		t.Skip("kills many processes")
	}
	whole := newRig(t)
	c, model := whole.demo()
	res, err := whole.engine(model).Run(context.Background(), c)
	must(t, err)
	want, wantFile := whole.trace(res.RunID), whole.read("lib/duration.sh")
	commits := whole.store.Commits()
	stride := max(1, commits/20)
	if os.Getenv("TILLERMAN_CRASH") == "all" {
		stride = 1
	}
	for n := int64(2); n < commits; n += stride { // the first commit makes the schema
		t.Run(fmt.Sprintf("after-%d", n), func(t *testing.T) {
			t.Parallel()
			killAndResume(t, n, want, wantFile)
		})
	}
	t.Logf("%d commits, killed after every %d", commits, stride)
}

func killAndResume(t *testing.T, n int64, want, wantFile string) {
	dir := t.TempDir()
	ws := filepath.Join(dir, "ws")
	must(t, os.Mkdir(ws, 0o755))
	must(t, recordings.CopyWorkspace(ws))
	kill(t, "demo", dir, n)
	store := openStore(t, filepath.Join(dir, "runs.db"), db.Options{})
	checkAudit(t, store)
	run, err := store.LastRun(context.Background())
	if err != nil {
		t.Skip("it died before the run existed")
	}
	e := core.New(store, demoModel(t), core.WithState(filepath.Join(dir, "state"), os.Environ()))
	res, err := e.Resume(context.Background(), run.ID)
	must(t, err)
	if res.Outcome != observer.OutcomeSuccess {
		t.Fatalf("resumed to %s: %s", res.Outcome, res.Message)
	}
	if got := traceOf(t, store, run.ID); got != want {
		t.Errorf("the trace differs from an uninterrupted run's:\n%s", firstDifference(want, got))
	}
	got, err := os.ReadFile(filepath.Join(ws, "lib/duration.sh"))
	must(t, err)
	if string(got) != wantFile {
		t.Error("the repaired file differs")
	}
	denseEvents(t, store, run.ID)
	checkAudit(t, store)
}

// kill runs a case in another process, which dies after commit n.
func kill(t *testing.T, what, dir string, n int64) {
	t.Helper()
	cmd := exec.Command(os.Args[0], crashArg, what, dir, strconv.FormatInt(n, 10))
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Skipf("the run was through before commit %d", n)
	}
	if st, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || st.Signal() != syscall.SIGKILL {
		t.Fatalf("the driver was not killed: %v\n%s", err, out)
	}
}

// TestOnceOnlyCallIsNeverRepeatedUnseen kills a run around a command that must not run twice, after every commit. Where
// nobody can know whether it ran, the run waits for a person; in the end it has run once.
func TestOnceOnlyCallIsNeverRepeatedUnseen(t *testing.T) {
	if testing.Short() {
		t.Skip("kills many processes")
	}
	waited := 0
	for n := int64(2); n < 40; n++ {
		dir := t.TempDir()
		ws := filepath.Join(dir, "ws")
		must(t, os.Mkdir(ws, 0o755))
		through := false
		t.Run(fmt.Sprintf("after-%d", n), func(t *testing.T) {
			through = true
			kill(t, "once", dir, n)
			through = false
			waited += onceResumed(t, dir, ws)
		})
		if through {
			break
		}
	}
	if waited == 0 {
		t.Error("no kill left the run waiting for a person")
	}
}

// onceResumed resumes the run and answers truthfully what became of the call. It returns 1 when it was asked.
func onceResumed(t *testing.T, dir, ws string) int {
	ctx := context.Background()
	store := openStore(t, filepath.Join(dir, "runs.db"), db.Options{})
	checkAudit(t, store)
	run, err := store.LastRun(ctx)
	if err != nil {
		return 0 // it died before the run existed
	}
	_, model, err := crashCase("once", ws)
	must(t, err)
	e := core.New(store, model, core.WithState(filepath.Join(dir, "state"), os.Environ()))
	res, err := e.Resume(ctx, run.ID)
	must(t, err)
	asked := 0
	if res.Outcome == observer.OutcomeNeedsOperator {
		asked = 1
		again, err := e.Resume(ctx, run.ID)
		must(t, err)
		if again.Outcome != observer.OutcomeNeedsOperator || res.Summary != nil {
			t.Fatalf("resumed unresolved to %s", again.Outcome)
		}
		answer := "retry"
		if _, err := os.Stat(filepath.Join(ws, "log")); err == nil {
			answer = "done"
		}
		_, err = store.Resolve(ctx, run.ID, db.Resolution{Answer: answer, Reason: "looked at the log"}, db.Here("test"))
		must(t, err)
		res, err = e.Resume(ctx, run.ID)
		must(t, err)
	}
	log, err := os.ReadFile(filepath.Join(ws, "log"))
	must(t, err)
	if res.Outcome != observer.OutcomeSuccess || string(log) != "x\n" {
		t.Errorf("%s, log %q", res.Outcome, log)
	}
	return asked
}

// TestARetryThatDiesIsAskedAboutAgain kills a run before a command that must not run twice, has it retried and kills the
// retry after every commit: what a person said of the first interruption says nothing of the second.
func TestARetryThatDiesIsAskedAboutAgain(t *testing.T) {
	if testing.Short() {
		t.Skip("kills many processes")
	}
	begun := func(t *testing.T, dir string) bool {
		t.Helper()
		ctx := context.Background()
		store := openStore(t, filepath.Join(dir, "runs.db"), db.Options{})
		defer store.Close()
		run, err := store.LastRun(ctx)
		if err != nil {
			return false
		}
		effects, err := store.Effects(ctx, run.ID)
		must(t, err)
		return len(effects) == 1 && effects[0].State == "open"
	}
	first := int64(2) // the commit after which the command has begun and not run
	for dir := t.TempDir(); ; dir, first = t.TempDir(), first+1 {
		must(t, os.Mkdir(filepath.Join(dir, "ws"), 0o755))
		kill(t, "once", dir, first)
		if begun(t, dir) {
			break
		}
	}
	twice := 0
	for n := int64(1); n < 7; n++ {
		dir := t.TempDir()
		ws := filepath.Join(dir, "ws")
		must(t, os.Mkdir(ws, 0o755))
		kill(t, "once", dir, first)
		store := openStore(t, filepath.Join(dir, "runs.db"), db.Options{})
		run, err := store.LastRun(context.Background())
		must(t, err)
		_, model, err := crashCase("once", ws)
		must(t, err)
		e := core.New(store, model, core.WithState(filepath.Join(dir, "state"), os.Environ()))
		_, err = e.Resume(context.Background(), run.ID)
		must(t, err)
		_, err = store.Resolve(context.Background(), run.ID, db.Resolution{Answer: "retry", Reason: "nothing was written"}, db.Here("test"))
		must(t, err)
		must(t, store.Close())
		t.Run(fmt.Sprintf("after-%d", n), func(t *testing.T) {
			kill(t, "once-again", dir, n)
			want := 0
			if begun(t, dir) {
				want = 1
				twice++
			}
			if asked := onceResumed(t, dir, ws); asked != want {
				t.Errorf("asked %d times, want %d", asked, want)
			}
		})
	}
	if twice == 0 {
		t.Error("no kill fell into the retry")
	}
}

// denseEvents wants every seq from 1 on, once.
func denseEvents(t *testing.T, store *db.Store, run int64) {
	t.Helper()
	events, err := store.EventsAfter(context.Background(), run, 0, 0)
	must(t, err)
	for i, ev := range events {
		if ev.Seq != int64(i+1) {
			t.Fatalf("event %d has seq %d", i+1, ev.Seq)
		}
	}
}
