package sandbox

import (
	"os"
	"testing"
	"time"
)

// BenchmarkCommand is what a command costs that does nothing: confined, and under a supervisor alone.
func BenchmarkCommand(b *testing.B) {
	for _, m := range modes {
		b.Run(m.name, func(b *testing.B) {
			r, err := NewRunner(Options{Env: os.Environ(), State: b.TempDir(), Workspace: b.TempDir()})
			if err != nil {
				b.Fatal(err)
			}
			m.prepare(r)
			for b.Loop() {
				if got, err := r.Run(b.Context(), Command{Argv: []string{"/bin/true"}}); err != nil || got.Exit != 0 || got.NotFound != "" {
					b.Fatalf("%+v, %v", got, err)
				}
			}
		})
	}
	// Both in turn, so that whatever else the machine does weighs on both.
	b.Run("ratio", func(b *testing.B) {
		var took [2]time.Duration
		var runners [2]*Runner
		for i, m := range []mode{confined, floored} {
			r, err := NewRunner(Options{Env: os.Environ(), State: b.TempDir(), Workspace: b.TempDir()})
			if err != nil {
				b.Fatal(err)
			}
			m.prepare(r)
			runners[i] = r
		}
		for b.Loop() {
			for i, r := range runners {
				start := time.Now()
				if _, err := r.Run(b.Context(), Command{Argv: []string{"/bin/true"}}); err != nil {
					b.Fatal(err)
				}
				took[i] += time.Since(start)
			}
		}
		b.ReportMetric(float64(took[0])/float64(took[1]), "confined/floor")
	})
}
