package sandbox

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// stubborn is a script whose processes ignore every wish to end, from the moment it has said its mark.
const stubborn = `trap "" TERM HUP INT; ` + printMark + `setsid sh -c 'trap "" TERM; while :; do sleep 1; done' & while :; do sleep 1; done`

// markOf returns the mark that a script printed first.
func markOf(t *testing.T, output []byte) string {
	t.Helper()
	mark, _, ok := strings.Cut(string(output), "\n")
	if !ok || len(mark) != 16 {
		t.Fatalf("no mark in %q", output)
	}
	return mark
}

const printMark = `echo "$TILLERMAN_COMMAND"; `

func expectNothing(t *testing.T, mark string) {
	t.Helper()
	eventually(t, 5*time.Second, "all processes end", func() bool { return len(tree{mark: mark}.members()) == 0 })
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	inAllModes(t, func(t *testing.T, run runFunc) {
		c := shell("trap 'echo bye; exit 7' TERM; " + printMark + "sleep 300 & wait")
		c.Timeout = 2 * time.Second
		within(t, 30*time.Second, func() {
			got, err := run(t.Context(), c)
			if err != nil || !got.TimedOut || got.Exit != 7 || !strings.HasSuffix(string(got.Output), "bye\n") {
				t.Errorf("%+v, %v", got, err)
			}
			expectNothing(t, markOf(t, got.Output))
		})
	})
}

func TestTimeoutOfWhatDoesNotListen(t *testing.T) {
	t.Parallel()
	inAllModes(t, func(t *testing.T, run runFunc) {
		c := shell(stubborn)
		c.Timeout = 2 * time.Second
		within(t, 30*time.Second, func() {
			got, err := run(t.Context(), c)
			if err != nil || !got.TimedOut || got.Signal != "SIGKILL" || got.Elapsed < stopGrace {
				t.Errorf("%+v, %v", got, err)
			}
			expectNothing(t, markOf(t, got.Output))
		})
	})
}

func TestEndsBeforeItsTimeout(t *testing.T) {
	t.Parallel()
	inAllModes(t, func(t *testing.T, run runFunc) {
		c := shell("exit 0")
		c.Timeout = time.Minute
		if got, err := run(t.Context(), c); err != nil || got.TimedOut {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

// cancelOnOutput cancels a context when the command has begun to speak.
func cancelOnOutput(t *testing.T, c *Command, cause error) context.Context {
	ctx, cancel := context.WithCancelCause(t.Context())
	t.Cleanup(func() { cancel(nil) })
	c.Output = func([]byte) { cancel(cause) }
	return ctx
}

func TestCancel(t *testing.T) {
	t.Parallel()
	cause := errors.New("the operator pressed stop")
	inAllModes(t, func(t *testing.T, run runFunc) {
		c := shell(printMark + "sleep 300")
		ctx := cancelOnOutput(t, &c, cause)
		within(t, 30*time.Second, func() {
			got, err := run(ctx, c)
			if !errors.Is(err, cause) || got.Signal != "SIGTERM" || got.TimedOut {
				t.Errorf("%+v, %v", got, err)
			}
			expectNothing(t, markOf(t, got.Output))
		})
	})
}

// errKilled is a cause to stop a command for.
var errKilled = errors.New("killed")

// A kill gives what it ends the time to put away what it holds, and no more.
func TestKill(t *testing.T) {
	t.Parallel()
	inAllModes(t, func(t *testing.T, run runFunc) {
		c := shell(stubborn)
		ctx := cancelOnOutput(t, &c, errKilled)
		within(t, 30*time.Second, func() {
			got, err := run(ctx, c)
			if !errors.Is(err, errKilled) || got.Signal != "SIGKILL" || got.Elapsed < stopGrace {
				t.Errorf("%+v, %v", got, err)
			}
			expectNothing(t, markOf(t, got.Output))
		})
		c = shell("sleep 300 & trap 'sleep 0.3; exit 5' TERM; echo; wait")
		ctx = cancelOnOutput(t, &c, errKilled)
		within(t, 30*time.Second, func() {
			got, err := run(ctx, c)
			if !errors.Is(err, errKilled) || got.Exit != 5 || got.Elapsed >= stopGrace {
				t.Errorf("%+v, %v", got, err)
			}
		})
	})
}

// A stopped process must be woken to hear that it shall end.
func TestCancelOfAStoppedCommand(t *testing.T) {
	t.Parallel()
	inAllModes(t, func(t *testing.T, run runFunc) {
		c := shell("trap 'exit 5' TERM; echo; kill -STOP $$; sleep 300")
		ctx := cancelOnOutput(t, &c, context.Canceled)
		within(t, 30*time.Second, func() {
			if got, err := run(ctx, c); !errors.Is(err, context.Canceled) || got.Exit != 5 {
				t.Errorf("%+v, %v", got, err)
			}
		})
	})
}

// A command can kill its supervisor, or stop it. That helps none of its processes.
func TestCommandAttacksItsSupervisor(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, script string }{
		{"kill", printMark + "setsid sleep 300 & sleep 0.1; kill -KILL $PPID; sleep 300"},
		{"stop", printMark + "setsid sleep 300 & sleep 0.1; kill -STOP $PPID; echo stopped; sleep 300"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := newTestRunner(t)
			floored.prepare(r) // elsewhere it cannot
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			c := shell(tc.script)
			c.Output = func(b []byte) {
				if strings.Contains(string(b), "stopped") {
					cancel(errKilled)
				}
			}
			within(t, 20*time.Second, func() {
				got, err := r.Run(ctx, c)
				if !errors.Is(err, errSupervisor) || got.Exit != -1 {
					t.Errorf("%+v, %v", got, err)
				}
				expectNothing(t, markOf(t, got.Output))
			})
		})
	}
}
