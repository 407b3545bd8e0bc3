package sandbox

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func TestBackgroundProcessesDoNotHoldTheResult(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, script, left string }{
		{"background", "sleep 300 & echo done", "sleep"},
		{"own session", "setsid sleep 300 & echo done", "sleep"},
		{"flood", "(yes > /dev/stderr &) ; echo done", "yes"},
		{"nohup", "nohup sleep 300 & sleep 0.3; echo done", "sleep"},
		{"forked twice", "setsid sh -c '(setsid sleep 300 &) ; exit 0'; echo done", "sleep"},
		{"deaf", `setsid sh -c 'trap "" TERM; while :; do sleep 1; done' & echo done`, "sh"},
		{"silent", "sleep 300 >/dev/null 2>&1 </dev/null & echo done", "sleep"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			inAllModes(t, func(t *testing.T, run runFunc) {
				start := time.Now()
				c := shell(printMark + tc.script)
				done, end := false, "" // the flood may push it out of what is kept
				c.Output = func(b []byte) {
					end += string(b)
					done = done || strings.Contains(end, "done\n")
					end = end[max(0, len(end)-8):]
				}
				got, err := run(t.Context(), c)
				over := time.Since(start) - got.Elapsed
				if err != nil || got.Exit != 0 || got.Signal != "" || got.TimedOut {
					t.Fatalf("%+v, %v", got, err)
				}
				// The exact bound is tested with a clock of its own; here a busy machine may be slow.
				if over > 20*time.Second {
					t.Errorf("returned %v after the end", over)
				}
				if !done {
					t.Errorf("output %.60q", got.Output)
				}
				named := false
				for _, p := range got.Left {
					named = named || strings.HasPrefix(p.Name, tc.left)
					// That they end is looked at below: on a busy machine they may need longer than a result does.
					if p.PID <= 1 {
						t.Errorf("left %+v", p)
					}
				}
				if !named {
					t.Errorf("%s is not among %+v", tc.left, got.Left)
				}
				expectNothing(t, markOf(t, got.Output))
			})
		})
	}
}

// Somebody who is none of the command's processes may hold its output open, too.
func TestStrangerHoldsTheOutput(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("opens another process's pipe by way of /proc")
	}
	t.Parallel()
	inModes(t, []mode{floored, unwatched}, func(t *testing.T, run runFunc) {
		c := shell("echo $$; while ! test -e go; do sleep 0.01; done; echo done")
		c.Dir = t.TempDir()
		c.Output = func(b []byte) {
			pid, _, _ := strings.Cut(string(b), "\n")
			if pid == "done" {
				return
			}
			pipe, err := os.OpenFile("/proc/"+pid+"/fd/1", os.O_WRONLY, 0)
			if err != nil {
				t.Error(err)
			}
			t.Cleanup(func() { pipe.Close() })
			write(t, filepath.Join(c.Dir, "go"), "")
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		within(t, 20*time.Second, func() {
			if got, err := run(ctx, c); err != nil || !strings.HasSuffix(string(got.Output), "done\n") || got.Left != nil {
				t.Errorf("%+v, %v", got, err)
			}
		})
	})
}

// What ends by itself right after the command was not left running.
func TestStragglersAreNotLeft(t *testing.T) {
	t.Parallel()
	inAllModes(t, func(t *testing.T, run runFunc) {
		got, err := run(t.Context(), shell("(sleep 0.02; echo late) & echo done"))
		if err != nil || got.Left != nil || string(got.Output) != "done\nlate\n" {
			t.Errorf("%+v, %q, %v", got, got.Output, err)
		}
	})
}

// immortal is a process that no signal ends.
type immortal struct{ process }

func (i immortal) members() []process { return []process{i.process} }
func (immortal) terminate()           {}
func (immortal) kill()                {}

// What cannot be ended is named as such, within a second.
func TestWhatCannotBeEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan syscall.WaitStatus, 1)
		w := &watch{tree: stuck, look: true, ended: ended}
		time.AfterFunc(time.Hour, func() { ended <- 3 << 8 })
		start := time.Now()
		r := w.run()
		if took := time.Since(start) - time.Hour; took > time.Second {
			t.Errorf("took %v from the command's end", took)
		}
		if !r.Ended || r.Elapsed != time.Hour || len(r.Left) != 1 || r.Left[0] != (Left{PID: 77, Name: "stuck"}) {
			t.Errorf("%+v", r)
		}
	})
}

var stuck = immortal{process{identity: identity{PID: 77, Start: 5}, name: "stuck"}}

// A command that cannot be ended is itself what is left.
func TestACommandThatCannotBeEnded(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		asked request
		most  time.Duration
	}{
		{kill, 2 * killWait},
		{gone, goneGrace + 2*killWait},
		{stop, stopGrace + 2*killWait},
	} {
		synctest.Test(t, func(t *testing.T) {
			requests := make(chan request, 1)
			requests <- tc.asked
			w := &watch{tree: stuck, look: true, requests: requests}
			start := time.Now()
			r := w.run()
			if took := time.Since(start); took != tc.most {
				t.Errorf("%c: took %v, want %v", tc.asked, took, tc.most)
			}
			var got Result
			r.apply(&got)
			if got.Exit != -1 || len(got.Left) != 1 || got.Left[0].Ended || !r.Stopped {
				t.Errorf("%c: %+v", tc.asked, got)
			}
		})
	}
}

// A stronger request does not wait for a weaker one's grace to end.
func TestRequestsGrowStronger(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		requests := make(chan request)
		ended := make(chan syscall.WaitStatus, 1)
		mortal := &killable{ended: ended}
		w := &watch{tree: mortal, look: true, requests: requests, ended: ended}
		go func() {
			requests <- stop
			time.Sleep(time.Second / 2)
			requests <- stop // says nothing new
			time.Sleep(time.Second / 2)
			requests <- kill
		}()
		r := w.run()
		if !mortal.asked || !r.Stopped || r.Elapsed != time.Second || len(r.Left) != 0 {
			t.Errorf("%+v", r)
		}
	})
}

// killable is a command that only SIGKILL ends, unless it is polite.
type killable struct {
	ended  chan<- syscall.WaitStatus
	polite bool
	asked  bool
	dead   bool
}

func (k *killable) members() []process {
	if k.dead {
		return nil
	}
	return []process{stuck.process}
}

func (k *killable) terminate() {
	k.asked = true
	k.dead = k.polite
}

func (k *killable) kill() {
	if !k.dead {
		k.dead = true
		k.ended <- 9
	}
}

// What ends when it is asked, or when it is killed, is listed as ended.
func TestWhatIsLeftAndEnds(t *testing.T) {
	t.Parallel()
	for _, polite := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			ended := make(chan syscall.WaitStatus, 2)
			ended <- 0
			rest := &killable{ended: ended, polite: polite}
			w := &watch{tree: rest, look: true, ended: ended}
			r := w.run()
			if !r.Ended || r.Stopped || !rest.asked || len(r.Left) != 1 || !r.Left[0].Ended {
				t.Errorf("polite %v: %+v", polite, r)
			}
		})
	}
}
