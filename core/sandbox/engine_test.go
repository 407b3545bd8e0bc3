package sandbox

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
)

// startEngine starts another process that runs a script, and returns it with its output.
func startEngine(t *testing.T, state, script string, env ...string) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), roleVariable+"=engine", "STATE="+state, "SCRIPT="+script), env...)
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewReader(pipe)
}

func readLine(t *testing.T, r *bufio.Reader) string {
	t.Helper()
	line, err := r.ReadString('\n')
	if err != nil {
		t.Fatalf("read the engine's output: %v after %q", err, line)
	}
	return strings.TrimSuffix(line, "\n")
}

// When the engine is killed, nothing of its commands goes on, and whoever takes over can tell.
func TestEngineIsKilled(t *testing.T) {
	t.Parallel()
	for _, env := range []string{"FLOOR=", "FLOOR=1"} {
		t.Run(env, func(t *testing.T) {
			t.Parallel()
			killEngine(t, env)
		})
	}
}

func killEngine(t *testing.T, env string) {
	state := t.TempDir()
	engine, output := startEngine(t, state, stubborn, env)
	mark := readLine(t, output)
	eventually(t, 5*time.Second, "the command is listed", func() bool {
		left, err := Survivors(state)
		if err != nil {
			t.Fatal(err)
		}
		return len(left) >= 3 // the supervisor, the shell, the one in another session
	})
	killed := time.Now()
	if err := engine.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = engine.Wait()

	short, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, errors.New("too early"))
	defer cancel()
	left, err := WaitGone(short, state)
	if waited := err != nil && strings.Contains(err.Error(), "too early") && len(left) > 0; !waited && time.Since(killed) < goneGrace {
		t.Errorf("while they run: %v, %v", left, err)
	}
	long, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	if left, err := WaitGone(long, state); err != nil {
		t.Errorf("left after 3 s: %v, %v", left, err)
	}
	if left := (tree{mark: mark}).members(); len(left) > 0 {
		t.Errorf("still running: %v", left)
	}
	if left, err := os.ReadDir(recordDir(state)); err != nil || len(left) > 0 {
		t.Errorf("records: %v, %v", left, err)
	}
}

// The system kills the command when engine and supervisor are killed together; what it left is named.
func TestEngineAndSupervisorAreKilled(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux ties a process to its parent")
	}
	t.Parallel()
	state := t.TempDir()
	engine, output := startEngine(t, state, printMark+`setsid sleep 300 & echo $PPID; exec sleep 301`, "FLOOR=1")
	mark := readLine(t, output)
	supervisor := readLine(t, output)
	// Stopped, it does not see that the engine is gone.
	if err := exec.Command("kill", "-STOP", supervisor).Run(); err != nil {
		t.Fatal(err)
	}
	_ = engine.Process.Kill()
	if err := exec.Command("kill", "-KILL", supervisor).Run(); err != nil {
		t.Fatal(err)
	}
	_ = engine.Wait()
	eventually(t, 5*time.Second, "only the one in its own session is left", func() bool {
		left, err := Survivors(state)
		return err == nil && len(left) == 1 && left[0].Name == "sleep" && !left[0].Ended
	})
	tree{mark: mark}.kill()
	if left, err := WaitGone(t.Context(), state); err != nil || left != nil {
		t.Errorf("%v, %v", left, err)
	}
}

// Whoever is told to kill a run ends what its engine left behind, also what does not end by itself.
func TestEndSurvivors(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells whose a process was that left its session")
	}
	t.Parallel()
	for _, tc := range []struct {
		name, then string // what happens to the supervisor after the engine was killed
	}{
		{"supervisor stopped", ""},
		{"supervisor killed", "-KILL"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			state := t.TempDir()
			engine, output := startEngine(t, state, printMark+`setsid sh -c 'trap "" TERM; sleep 300; sleep 301' & echo $PPID; exec sleep 302`, "FLOOR=1")
			mark := readLine(t, output)
			supervisor := readLine(t, output)
			eventually(t, 5*time.Second, "the deaf one is deaf", func() bool { // supervisor, shell, its sleep, the other sleep
				left, err := Survivors(state)
				return err == nil && len(left) >= 4
			})
			signal := func(name string) {
				if err := exec.Command("kill", name, supervisor).Run(); err != nil {
					t.Fatal(err)
				}
			}
			signal("-STOP") // it does not see that the engine is gone
			_ = engine.Process.Kill()
			_ = engine.Wait()
			if tc.then != "" {
				signal(tc.then)
			}
			if left, err := EndSurvivors(t.Context(), state); err != nil || left != nil {
				t.Errorf("%v, %v", left, err)
			}
			if left := (tree{mark: mark}).members(); len(left) > 0 {
				t.Errorf("still running: %v", left)
			}
		})
	}
}

// With a terminal at hand a command still cannot have it.
func TestEngineOnATerminal(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVariable+"=engine", "STATE="+t.TempDir(),
		`SCRIPT=(echo owned </dev/tty) 2>/dev/null && echo reached || echo refused`)
	terminal, err := pty.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	// The system reports the end of a terminal as an error.
	output, _ := io.ReadAll(terminal)
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	if text := string(output); strings.Contains(text, "reached") || !strings.Contains(text, "refused") {
		t.Errorf("output %q", text)
	}
}

// An upgrade replaces the program while it runs; commands must go on.
func TestEngineWithoutItsFile(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux can start a removed program")
	}
	t.Parallel()
	path := filepath.Join(t.TempDir(), "engine")
	copyProgram(t, path)
	cmd := exec.Command(path)
	cmd.Env = append(os.Environ(), roleVariable+"=engine", "STATE="+t.TempDir(), "SCRIPT=echo worked", "REMOVE_SELF=1")
	output, err := cmd.CombinedOutput()
	if err != nil || !strings.HasPrefix(string(output), "worked\n") {
		t.Errorf("%q, %v", output, err)
	}
}

// The supervisor's command line alone makes no supervisor, and neither does the environment.
func TestNobodyBecomesASupervisorByAccident(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{supervisorName}, {supervisorName, "x"}, {os.Args[0]}} {
		cmd := exec.Command(os.Args[0])
		cmd.Args = args
		cmd.Env = append(os.Environ(), roleVariable+"=bystander", markVariable+"=1", "TILLERMAN_SUPERVISOR=1")
		output, err := cmd.CombinedOutput()
		if err != nil || string(output) != "not a supervisor\n" {
			t.Errorf("%q: %q, %v", args, output, err)
		}
	}
}

// A supervisor that cannot be started is an error, not a result.
func TestSupervisorThatIsNone(t *testing.T) {
	t.Parallel()
	for _, executable := range []string{"/no/such/program", "/bin/true"} {
		r, err := NewRunner(Options{Executable: executable, State: t.TempDir(), Workspace: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := r.Run(t.Context(), shell("echo")); err == nil {
			t.Errorf("%s: %+v", executable, got)
		}
	}
}
