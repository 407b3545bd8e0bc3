package sandbox

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

// roleVariable makes the test binary something else than a test: an engine that runs one command.
const roleVariable = "TILLERMAN_TEST_ROLE"

func TestMain(m *testing.M) {
	Main()
	switch os.Getenv(roleVariable) {
	case "engine":
		os.Exit(beEngine(os.Getenv("STATE"), os.Getenv("SCRIPT")))
	case "try":
		unix.Exit(beTryer(os.Getenv("TRY")))
	case "bystander":
		fmt.Println("not a supervisor")
		os.Exit(0)
	}
	// Tests wait for processes much more than they work.
	flag.Parse()
	if err := flag.Set("test.parallel", "16"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// beEngine runs a script, shows its output as it comes, and then its result.
func beEngine(state, script string) int {
	if os.Getenv("REMOVE_SELF") != "" {
		self, _ := os.Executable()
		if err := os.Remove(self); err != nil {
			fmt.Println(err)
			return 1
		}
	}
	r, err := NewRunner(Options{Env: os.Environ(), State: state, Workspace: state})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	if os.Getenv("FLOOR") != "" {
		r.weaken(backend{})
	}
	result, err := r.Run(context.Background(), Command{
		Argv:   []string{"sh", "-c", script},
		Output: func(b []byte) { _, _ = os.Stdout.Write(b) },
	})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	text, _ := json.Marshal(result)
	fmt.Printf("RESULT %s\n", text)
	return 0
}

// weaken takes from a runner what it confines commands by.
func (r *Runner) weaken(to backend) {
	r.backend = to
	r.confine.Spaces, r.confine.Landlock, r.confine.Filter = to.spaces, to.landlock, to.filter
}

// mode is a way to run commands: confined as far as this machine lets it, confined without namespaces, under a supervisor
// and no more, or directly.
type mode struct {
	name    string
	prepare func(*Runner)
	run     func(ctx context.Context, r *Runner, c Command) (Result, error)
}

var (
	supervised = func(ctx context.Context, r *Runner, c Command) (Result, error) { return r.Run(ctx, c) }
	confined   = mode{"confined", func(*Runner) {}, supervised}
	spaceless  = mode{"without namespaces", func(r *Runner) {
		r.weaken(backend{landlock: r.backend.landlock, filter: r.backend.filter})
	}, supervised}
	floored   = mode{"floor", func(r *Runner) { r.weaken(backend{}) }, supervised}
	unwatched = mode{"direct", func(*Runner) {}, func(ctx context.Context, r *Runner, c Command) (Result, error) {
		j, err := r.prepare(c)
		if err != nil {
			return Result{}, err
		}
		return follow(ctx, c, j, direct)
	}}
	modes = []mode{confined, spaceless, floored, unwatched}
)

// inAllModes runs a test for each mode, with a runner of its own.
func inAllModes(t *testing.T, test func(t *testing.T, run func(ctx context.Context, c Command) (Result, error))) {
	t.Helper()
	inModes(t, modes, test)
}

func inModes(t *testing.T, modes []mode, test func(t *testing.T, run func(ctx context.Context, c Command) (Result, error))) {
	t.Helper()
	for _, m := range modes {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			r := newTestRunner(t)
			m.prepare(r)
			test(t, func(ctx context.Context, c Command) (Result, error) { return m.run(ctx, r, c) })
		})
	}
}

func newTestRunner(t *testing.T) *Runner {
	t.Helper()
	r, err := NewRunner(Options{Env: os.Environ(), State: t.TempDir(), Workspace: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func shell(script string) Command { return Command{Argv: []string{"sh", "-c", script}} }

// within fails the test when what it is given takes longer.
func within(t *testing.T, d time.Duration, do func()) {
	t.Helper()
	start := time.Now()
	do()
	if took := time.Since(start); took > d {
		t.Errorf("took %v, want less than %v", took, d)
	}
}

// eventually waits for what another process does.
func eventually(t *testing.T, d time.Duration, what string, condition func() bool) {
	t.Helper()
	for start := time.Now(); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Since(start) > d {
			t.Fatalf("not within %v: %s", d, what)
		}
	}
}

// copyProgram copies this program. Another process writes it: a file that any child of this one still has open for
// writing, however short, cannot be started.
func copyProgram(t *testing.T, to string) {
	t.Helper()
	if text, err := exec.Command("cp", os.Args[0], to).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}
