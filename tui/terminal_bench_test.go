package tui

import (
	"bytes"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/creack/pty"

	"tillerman/db"
	"tillerman/observer"
	"tillerman/tui/benchstore"
	"tillerman/tui/tuitest"
)

// minimalArg makes the test binary the smallest program of its kind: the floor under the console's start.
const minimalArg = "minimal-program"

type minimal struct{}

func (minimal) Init() tea.Cmd                         { return nil }
func (m minimal) Update(tea.Msg) (tea.Model, tea.Cmd) { return m, nil }
func (minimal) View() tea.View {
	v := tea.NewView("ready")
	v.AltScreen = true
	return v
}

// terminal runs a program in a pseudo-terminal and reads what it draws.
type terminal struct {
	cmd *exec.Cmd
	tty *os.File
	got chan []byte
}

func inTerminal(b *testing.B, cmd *exec.Cmd) *terminal {
	b.Helper()
	cmd.Env = append(os.Environ(), "TERM=xterm-256color", "COLORTERM=truecolor")
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: 200, Rows: 50})
	if err != nil {
		b.Fatal(err)
	}
	t := &terminal{cmd: cmd, tty: tty, got: make(chan []byte, 1000)}
	go func() {
		defer close(t.got)
		buf := make([]byte, 1<<16)
		for {
			n, err := tty.Read(buf)
			if err != nil {
				return
			}
			t.got <- bytes.Clone(buf[:n])
		}
	}()
	return t
}

func (t *terminal) until(b *testing.B, text string) {
	b.Helper()
	var all []byte
	for deadline := time.After(20 * time.Second); ; {
		select {
		case piece, ok := <-t.got:
			if all = append(all, piece...); bytes.Contains(all, []byte(text)) {
				return
			}
			if !ok {
				b.Fatalf("%q was never drawn: %q", text, all)
			}
		case <-deadline:
			b.Fatalf("%q was never drawn: %q", text, all)
		}
	}
}

func (t *terminal) close() {
	_ = t.cmd.Process.Kill()
	_ = t.cmd.Wait()
	_ = t.tty.Close()
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// BenchmarkStart opens the console on a store of 100,000 runs, in turn with the smallest program of its kind.
func BenchmarkStart(b *testing.B) {
	program := tuitest.Build(b)
	store := benchstore.Open(b)
	benchstore.Runs(b, store, 100_000)
	for b.Loop() {
		var ours, floor []time.Duration
		for range 11 {
			for _, round := range []struct {
				cmd  *exec.Cmd
				text string
				into *[]time.Duration
			}{{exec.Command(os.Args[0], minimalArg), "ready", &floor}, {exec.Command(program, "--db", store.Path()), "tillerman", &ours}} {
				began := time.Now()
				t := inTerminal(b, round.cmd)
				t.until(b, round.text)
				*round.into = append(*round.into, time.Since(began))
				t.close()
			}
		}
		b.ReportMetric(float64(median(ours).Milliseconds()), "ms")
		b.ReportMetric(float64(median(floor).Milliseconds()), "floor-ms")
		b.ReportMetric(float64(median(ours))/float64(median(floor)), "ratio")
	}
}

// BenchmarkKey measures the time from a key to the bytes it leads to, on a long run.
func BenchmarkKey(b *testing.B) {
	program := tuitest.Build(b)
	store := benchstore.Open(b)
	benchstore.Fill(b, store, 20_000, true)
	for b.Loop() {
		t := inTerminal(b, exec.Command(program, "--db", store.Path()))
		t.until(b, "a long run")
		if _, err := t.tty.WriteString("\r"); err != nil {
			b.Fatal(err)
		}
		t.until(b, "checks")
		if _, err := t.tty.WriteString("\r"); err != nil {
			b.Fatal(err)
		}
		t.until(b, "STEPS")
		var took []time.Duration
		for i := range 100 {
			for quiet := false; !quiet; { // what the key before led to is drawn
				select {
				case <-t.got:
				case <-time.After(60 * time.Millisecond):
					quiet = true
				}
			}
			key := "k"
			if i%40 >= 20 {
				key = "j"
			}
			began := time.Now()
			if _, err := t.tty.WriteString(key); err != nil {
				b.Fatal(err)
			}
			<-t.got
			took = append(took, time.Since(began))
		}
		t.close()
		slices.Sort(took)
		b.ReportMetric(float64(took[50].Microseconds())/1000, "p50-ms")
		b.ReportMetric(float64(took[95].Microseconds())/1000, "p95-ms")
	}
}

// BenchmarkKeyUnderLoad measures the time from a key to the help it opens, while another process commits 5,000 events
// and 50 steps a second to the run on the screen.
func BenchmarkKeyUnderLoad(b *testing.B) {
	program := tuitest.Build(b)
	store := benchstore.Open(b)
	steps := 20_000
	lease := benchstore.Fill(b, store, steps, false)
	for b.Loop() {
		t := inTerminal(b, exec.Command(program, "--db", store.Path()))
		t.until(b, "a long run")
		stop, stopped, events := make(chan struct{}), make(chan error), 0
		began := time.Now()
		go func() {
			defer close(stopped)
			tick := time.NewTicker(20 * time.Millisecond)
			defer tick.Stop()
			for {
				select {
				case <-stop:
					return
				case <-tick.C:
				}
				steps++
				if _, err := store.Commit(b.Context(), lease, func(tx *db.Tx) error {
					for range 99 {
						if err := tx.Event(steps, 0, observer.Stalled{}); err != nil {
							return err
						}
					}
					return benchstore.Step(tx, steps)
				}); err != nil {
					stopped <- err
					return
				}
				events += 100
			}
		}()
		if _, err := t.tty.WriteString("\r"); err != nil {
			b.Fatal(err)
		}
		t.until(b, "STEPS")
		time.Sleep(2 * time.Second) // the run's first reading
		var took []time.Duration
		for range 100 {
			asked := time.Now()
			if _, err := t.tty.WriteString("?"); err != nil {
				b.Fatal(err)
			}
			t.until(b, "clipboard")
			took = append(took, time.Since(asked))
			if _, err := t.tty.WriteString("?"); err != nil {
				b.Fatal(err)
			}
			t.until(b, "STEPS")
			time.Sleep(30 * time.Millisecond)
		}
		close(stop)
		if err := <-stopped; err != nil {
			b.Fatal(err)
		}
		wall := time.Since(began)
		t.close()
		slices.Sort(took)
		b.ReportMetric(float64(events)/wall.Seconds(), "events/s")
		b.ReportMetric(float64(took[50].Microseconds())/1000, "p50-ms")
		b.ReportMetric(float64(took[95].Microseconds())/1000, "p95-ms")
	}
}
