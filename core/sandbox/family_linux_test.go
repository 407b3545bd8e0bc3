package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// watchedModes are those in which nothing may get away, whatever it does.
var watchedModes = []mode{confined, spaceless, floored}

var sleeps atomic.Int64

// uniqueSleep is a command that can be found by its arguments alone, and how to find it.
func uniqueSleep() (command string, running func() []int) {
	seconds := fmt.Sprintf("3%06d.%06d", os.Getpid()%1_000_000, sleeps.Add(1))
	return "sleep " + seconds, func() []int {
		var pids []int
		table, _ := snapshot()
		for _, p := range table {
			line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.PID))
			if err == nil && !p.dead && strings.HasPrefix(string(line), "sleep\x00"+seconds) {
				pids = append(pids, p.PID)
			}
		}
		return pids
	}
}

// escapes are ways to be found neither by parent, nor by session, nor by environment.
var escapes = []struct{ name, script string }{
	{"drops the mark", "env -i setsid %s & sleep 0.3; echo done"},
	{"forked twice without the mark", "setsid sh -c 'exec env -i setsid %s &'; sleep 0.3; echo done"},
	{"closes everything", "setsid env -i sh -c 'cd /; exec </dev/null >/dev/null 2>&1; (%s &)'; sleep 0.3; echo done"},
	{"deaf without the mark", `setsid env -i sh -c 'trap "" TERM HUP INT; %s' & sleep 0.3; echo done`},
}

func TestNothingGetsAway(t *testing.T) {
	t.Parallel()
	for _, tc := range escapes {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			inModes(t, watchedModes, func(t *testing.T, run runFunc) {
				sleep, running := uniqueSleep()
				start := time.Now()
				got, err := run(t.Context(), shell(fmt.Sprintf(tc.script, sleep)))
				if err != nil || got.Exit != 0 || !strings.HasSuffix(string(got.Output), "done\n") || len(got.Left) == 0 {
					t.Errorf("%+v, %v", got, err)
				}
				if over := time.Since(start) - got.Elapsed; over > 5*time.Second {
					t.Errorf("returned %v after the end", over)
				}
				for _, p := range got.Left {
					if p.PID <= 1 || p.Name == stageName {
						t.Errorf("left %+v", p)
					}
				}
				eventually(t, 5*time.Second, "it ends", func() bool { return len(running()) == 0 })
			})
		})
	}
}

// leaderOf reads from its record which process supervises the one command of a state directory.
func leaderOf(t *testing.T, state string) int {
	t.Helper()
	var r record
	eventually(t, 5*time.Second, "the command is recorded", func() bool {
		entries, err := os.ReadDir(recordDir(state))
		if err != nil || len(entries) != 1 {
			return false
		}
		text, err := os.ReadFile(recordDir(state) + "/" + entries[0].Name())
		return err == nil && json.Unmarshal(text, &r) == nil
	})
	return r.Leader.PID
}

// Whoever kills the supervisor frees nothing, whether or not the processes can be recognised.
func TestSupervisorIsKilled(t *testing.T) {
	t.Parallel()
	for _, tc := range escapes {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			for _, m := range watchedModes {
				t.Run(m.name, func(t *testing.T) {
					t.Parallel()
					r := newTestRunner(t)
					m.prepare(r)
					sleep, running := uniqueSleep()
					go func() {
						eventually(t, 10*time.Second, "it runs", func() bool { return len(running()) > 0 })
						leader := leaderOf(t, r.state)
						if r.confine.Spaces.PID {
							_ = unix.Kill(leader, unix.SIGKILL)
							return
						}
						// Without a namespace the supervisor must have looked once.
						eventually(t, 10*time.Second, "it is written down", func() bool {
							entries, _ := os.ReadDir(recordDir(r.state))
							for _, entry := range entries {
								text, _ := os.ReadFile(recordDir(r.state) + "/" + entry.Name())
								var found record
								_ = json.Unmarshal(text, &found)
								if len(found.Strays) > 0 {
									return true
								}
							}
							return false
						})
						_ = unix.Kill(leader, unix.SIGKILL)
					}()
					got, err := r.Run(t.Context(), shell(strings.ReplaceAll(fmt.Sprintf(tc.script, sleep), "sleep 0.3", "sleep 60")))
					if !errors.Is(err, errSupervisor) || got.Exit != -1 {
						t.Errorf("%+v, %v", got, err)
					}
					eventually(t, 5*time.Second, "all ends", func() bool { return len(running()) == 0 })
				})
			}
		})
	}
}

// The same when the engine goes, and nobody is left who could look.
func TestEngineIsKilledAndNothingCanBeRecognised(t *testing.T) {
	t.Parallel()
	for _, env := range []string{"FLOOR=", "FLOOR=1"} {
		for _, tc := range escapes {
			t.Run(env+" "+tc.name, func(t *testing.T) {
				t.Parallel()
				sleep, running := uniqueSleep()
				engine, _ := startEngine(t, t.TempDir(), strings.ReplaceAll(fmt.Sprintf(tc.script, sleep), "sleep 0.3", "sleep 60"), env)
				eventually(t, 10*time.Second, "it runs", func() bool { return len(running()) > 0 })
				_ = engine.Process.Kill()
				_ = engine.Wait()
				eventually(t, 5*time.Second, "all ends", func() bool { return len(running()) == 0 })
			})
		}
	}
}

func limited(t *testing.T, m mode, l Limits) *Runner {
	t.Helper()
	r, err := NewRunner(Options{Env: os.Environ(), State: t.TempDir(), Workspace: t.TempDir(), Limits: l})
	if err != nil {
		t.Fatal(err)
	}
	m.prepare(r)
	return r
}

func TestForkWithoutEnd(t *testing.T) {
	for _, m := range watchedModes { // one after the other: each is a load
		t.Run(m.name, func(t *testing.T) {
			sleep, running := uniqueSleep()
			r := limited(t, m, Limits{Processes: 60})
			bomb := "while :; do " + sleep + " & done"
			if r.confine.Spaces.PID {
				// Nothing outruns the end of a namespace.
				bomb = "f() { sleep 0.05; " + sleep + " & f & f; }; f"
			}
			within(t, 20*time.Second, func() {
				got, err := r.Run(t.Context(), shell(bomb))
				if err != nil || got.Limit != "limit of 60 processes" || got.Exit == 0 && got.Signal == "" {
					t.Errorf("%d %q %q, %v", got.Exit, got.Signal, got.Limit, err)
				}
			})
			eventually(t, 5*time.Second, "all end", func() bool { return len(running()) == 0 })
		})
	}
}

func TestMemoryRunsOut(t *testing.T) {
	for _, m := range watchedModes {
		t.Run(m.name, func(t *testing.T) {
			sleep, running := uniqueSleep()
			within(t, 30*time.Second, func() {
				// Not the shell itself takes it, and a sibling does nothing.
				got, err := limited(t, m, Limits{Memory: 100 << 20}).Run(t.Context(), shell("setsid "+sleep+" & head -c 600000000 /dev/zero | tail -c 500000000 >/dev/null; echo survived"))
				if err != nil || got.Limit != "memory limit 100 MiB" || got.Signal != "SIGKILL" || strings.Contains(string(got.Output), "survived") {
					t.Errorf("%d %q %q %q, %v", got.Exit, got.Signal, got.Limit, got.Output, err)
				}
			})
			eventually(t, 5*time.Second, "all end", func() bool { return len(running()) == 0 })
		})
	}
}

// Memory that processes share is one.
func TestSharedMemoryCountsOnce(t *testing.T) {
	for _, m := range watchedModes {
		t.Run(m.name, func(t *testing.T) {
			got, err := limited(t, m, Limits{Memory: 16 << 20}).Run(t.Context(), shell("for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do sleep 0.5 & done; wait; echo done"))
			if err != nil || got.Limit != "" || string(got.Output) != "done\n" {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

func TestOpenFilesRunOut(t *testing.T) {
	t.Parallel()
	for _, m := range watchedModes {
		got, err := limited(t, m, Limits{Files: 77}).Run(t.Context(), shell("ulimit -n; ulimit -Hn; ulimit -n 78 2>/dev/null && echo raised; ulimit -c"))
		if err != nil || string(got.Output) != "77\n77\n0\n" && !(os.Getuid() == 0 && m.name == floored.name) {
			t.Errorf("%s: %q, %v", m.name, got.Output, err)
		}
	}
}

// What is kept in memory because a program took it for a disk is bounded, in bytes and in files.
func TestScratchIsBounded(t *testing.T) {
	t.Parallel()
	needs(t, current().spaces.Mount, "a mount namespace")
	got, err := limited(t, confined, Limits{}).Run(t.Context(), shell(`stat -f -c "%c $((256 << 20))" /dev/shm; head -c 300000000 /dev/zero >/dev/shm/x 2>/dev/null; stat -c %s /dev/shm/x`))
	if err != nil || string(got.Output) != "65536 268435456\n268435456\n" {
		t.Errorf("%q, %v", got.Output, err)
	}
}

func TestBytesText(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{512: "512 B", 2 << 30: "2 GiB", 100 << 20: "100 MiB", 3 << 29: "1.5 GiB"} {
		if got := bytesText(n); got != want {
			t.Errorf("%d: %q", n, got)
		}
	}
}
