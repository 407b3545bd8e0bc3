package tool

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"tillerman/core/policy"
	"tillerman/core/sandbox"
)

func TestExecPlan(t *testing.T) {
	root := workspace(t, map[string]string{"core/sub/": ""})
	link(t, root, "core/sub", "link")
	env := open(t, root)
	p := plan(t, execTool{}, env, map[string]any{"argv": []string{"go", "test", "a b"}, "cwd": "link", "stdin": "hi\n", "timeout": 5})
	if p.Action.Act != policy.Exec || strings.Join(p.Action.Argv, "|") != "go|test|a b" || p.Action.Dir != "core/sub" || p.Action.Input != "hi\n" {
		t.Errorf("judged as %+v", p.Action)
	}
	if e := p.Exec; e == nil || e.Dir != "core/sub" || e.Stdin != "hi\n" || e.Timeout != 5*time.Second {
		t.Errorf("the command is %+v", p.Exec)
	}
	if p.Target != "go test 'a b'" || p.Payload != "go test 'a b'\n[in core/sub]\n[ended after 5 s]\n[3 bytes of input:]\nhi\n" {
		t.Errorf("target %s, payload %q", p.Target, p.Payload)
	}
	p = plan(t, execTool{}, env, map[string]any{"argv": []string{"ls"}})
	if p.Action.Dir != "" || p.Exec.Timeout != 10*time.Minute || p.Payload != "ls" {
		t.Errorf("by default %+v, %+v, %q", p.Action, p.Exec, p.Payload)
	}
}

func TestExecArguments(t *testing.T) {
	root := workspace(t, map[string]string{"file": ""})
	link(t, root, "..", "up")
	env := open(t, root)
	for raw, want := range map[string]string{
		`{"argv":"ls -l"}`:               `exec: "argv" must be a list of strings, not a string; for a shell line use ["sh", "-c", "the line"]`,
		`{"argv":[]}`:                    "exec: argv must begin with the name of a program",
		`{"argv":["","x"]}`:              "exec: argv must begin with the name of a program",
		`{"argv":["ls","a\u0000b"]}`:     "exec: item 2 of argv holds a NUL, which no argument can",
		`{"argv":["ls"],"timeout":3601}`: `exec: "timeout" must be from 1 to 3600`,
		`{"argv":["ls"],"timeout":0}`:    `exec: "timeout" must be from 1 to 3600`,
		`{"argv":["ls"],"cwd":".."}`:     "exec: cwd: .. is outside the workspace",
		`{"argv":["ls"],"cwd":"up"}`:     "exec: cwd: up is outside the workspace",
		`{"argv":["ls"],"cwd":"file"}`:   "exec: cwd: not a directory: file",
		`{"argv":["ls"],"cwd":"none"}`:   "exec: cwd: not found: none does not exist",
		`{"cmd":["ls"]}`:                 `exec: there is no argument "cmd" (there are: argv, cwd, timeout, stdin); "argv" is missing`,
	} {
		_, err := execTool{}.Plan(context.Background(), env, json.RawMessage(raw))
		if err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", raw, err, want)
		}
	}
}

func TestCommandResult(t *testing.T) {
	left := []sandbox.Left{{PID: 7, Name: "sleep", Ended: true}, {PID: 9, Name: "yes", Ended: true}, {PID: 8, Name: "sleep", Ended: true}, {PID: 3, Name: "stuck"}}
	for name, c := range map[string]struct {
		ended  sandbox.Result
		want   string
		failed bool
		exit   int // -1 for none
	}{
		"success":    {sandbox.Result{Output: []byte("ok\n"), Total: 3}, "ok\n[exit 0]", false, 0},
		"nothing":    {sandbox.Result{}, "[exit 0]", false, 0},
		"failure":    {sandbox.Result{Exit: 2, Output: []byte("no"), Total: 2}, "no\n[exit 2]", true, 2},
		"signal":     {sandbox.Result{Signal: "SIGKILL"}, "[ended by signal KILL]", true, -1},
		"short name": {sandbox.Result{Signal: "TERM"}, "[ended by signal TERM]", true, -1},
		"time":       {sandbox.Result{TimedOut: true, Signal: "SIGTERM", Output: []byte("a\n"), Total: 2}, "a\n[timed out after 600 s]", true, -1},
		"no end":     {sandbox.Result{Exit: -1}, "[could not be ended]", true, -1},
		"both":       {sandbox.Result{Exit: -1, TimedOut: true}, "[timed out after 600 s and could not be ended]", true, -1},
		"not found":  {sandbox.Result{NotFound: "no such program"}, "[not found: no such program]", true, -1},
		"bytes":      {sandbox.Result{Output: []byte("\xff\n"), Total: 2}, `\xff` + "\n[exit 0]", false, 0},
		"left":       {sandbox.Result{Left: left}, "[left running and ended: sleep (2), yes (1)]\n[left running, could not be ended: stuck (1)]\n[exit 0]", false, 0},
	} {
		r := commandResult(c.ended, 10*time.Minute)
		if r.Text != c.want || r.Failed != c.failed || (r.Exit == nil) != (c.exit < 0) || (r.Exit != nil && *r.Exit != c.exit) {
			t.Errorf("%s: got %q, failed %v, exit %v", name, r.Text, r.Failed, r.Exit)
		}
	}
}

// running is an environment with a real runner.
func running(t testing.TB, root string) Env {
	t.Helper()
	runner, err := sandbox.NewRunner(sandbox.Options{Env: os.Environ(), State: t.TempDir(), Workspace: root})
	if err != nil {
		t.Fatal(err)
	}
	env := open(t, root)
	env.Runner, env.Key = runner, "run/0/3/1"
	return env
}

func TestExecRuns(t *testing.T) {
	root := workspace(t, map[string]string{"sub/here": ""})
	env := running(t, root)
	for _, c := range []struct {
		args map[string]any
		want string
	}{
		{map[string]any{"argv": []string{"echo", "a  b"}}, "a  b\n[exit 0]"},
		{map[string]any{"argv": []string{"sh", "-c", "echo out; echo err >&2; exit 3"}}, "out\nerr\n[exit 3]"},
		{map[string]any{"argv": []string{"ls"}, "cwd": "sub"}, "here\n[exit 0]"},
		{map[string]any{"argv": []string{"cat"}, "stdin": "from the call"}, "from the call\n[exit 0]"},
		{map[string]any{"argv": []string{"cat"}}, "[exit 0]"},
		{map[string]any{"argv": []string{"sh", "-c", "printf %s $" + CallKeyEnv}}, "run/0/3/1\n[exit 0]"},
		{map[string]any{"argv": []string{"sh", "-c", `printf 'bad\377'`}}, `bad\xff` + "\n[exit 0]"},
		{map[string]any{"argv": []string{"sh", "-c", "kill -9 $$"}}, "[ended by signal KILL]"},
		{map[string]any{"argv": []string{"sleep", "60"}, "timeout": 1}, "[timed out after 1 s]"},
	} {
		wantText(t, call(t, execTool{}, env, c.args), c.want)
	}
	r := call(t, execTool{}, env, map[string]any{"argv": []string{"no-such-program-here"}})
	if !r.Failed || r.Exit != nil || !strings.HasPrefix(r.Text, "[not found: ") || strings.Contains(r.Text, root) {
		t.Errorf("got %+v", r)
	}
}

// A child that goes on in the background and holds the pipe must not hold the call, and is named without its number.
func TestExecLeavesNothingRunning(t *testing.T) {
	env := running(t, workspace(t, nil))
	for _, line := range []string{"sleep 300 & echo done", "setsid sleep 300 & echo done"} {
		r := call(t, execTool{}, env, map[string]any{"argv": []string{"sh", "-c", line}})
		// The child may be seen before it has become sleep.
		if want := regexp.MustCompile(`^done\n\[left running and ended: (sleep|setsid|sh) \(1\)\]\n\[exit 0\]$`); !want.MatchString(r.Text) {
			t.Errorf("got %q", r.Text)
		}
		if len(r.Left) != 1 || !r.Left[0].Ended {
			t.Errorf("left: %+v", r.Left)
		}
	}
}

func TestExecHasNoTerminal(t *testing.T) {
	env := running(t, workspace(t, nil))
	r := call(t, execTool{}, env, map[string]any{"argv": []string{"sh", "-c", "read x </dev/tty"}})
	if !r.Failed {
		t.Errorf("a command read from a terminal: %+v", r)
	}
}

func TestExecInterrupted(t *testing.T) {
	env := running(t, workspace(t, nil))
	p := plan(t, execTool{}, env, map[string]any{"argv": []string{"sh", "-c", "echo ready; exec sleep 300"}})
	cause := errors.New("the engine goes away")
	ctx, cancel := context.WithCancelCause(context.Background())
	env.Output = func([]byte) { cancel(cause) }
	r, err := execTool{}.Run(ctx, env, p)
	if !errors.Is(err, cause) || !strings.HasPrefix(r.Text, "ready\n") {
		t.Errorf("got %q, %v; want the cause and what was said before", r.Text, err)
	}
}

func TestExecInASwappedDirectory(t *testing.T) {
	root := workspace(t, map[string]string{"sub/": "", "other/": ""})
	env := running(t, root)
	p := plan(t, execTool{}, env, map[string]any{"argv": []string{"touch", "mark"}, "cwd": "sub"})
	if err := swap(filepath.Join(root, "sub"), "other"); err != nil {
		t.Fatal(err)
	}
	r, err := execTool{}.Run(context.Background(), env, p)
	if err != nil {
		t.Fatal(err)
	}
	wantFailed(t, r, "changed")
	if _, err := os.Lstat(filepath.Join(root, "other/mark")); err == nil {
		t.Error("the command ran elsewhere")
	}
}

func TestExecWithoutARunnerIsBroken(t *testing.T) {
	env := open(t, workspace(t, nil))
	p := plan(t, execTool{}, env, map[string]any{"argv": []string{"ls"}})
	if _, err := (execTool{}).Run(context.Background(), env, p); err == nil {
		t.Error("a command ran without a runner")
	}
}
