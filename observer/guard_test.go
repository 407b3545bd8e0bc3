package observer

import (
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

func TestGuardDropsAfterThreePanics(t *testing.T) {
	calls := 0
	var reports []error
	g := Guard(Func(func(e *Event) Flow {
		calls++
		if e.Seq%2 == 1 {
			panic("odd")
		}
		return Cancel
	}), func(err error) { reports = append(reports, err) })

	for seq, want := range []Flow{Cancel, Continue, Cancel, Continue, Cancel, Continue, Continue, Continue} {
		if got := g.Event(&Event{Seq: int64(seq)}); got != want {
			t.Errorf("event %d: %v", seq, got)
		}
	}
	if calls != 6 || len(reports) != 3 || !g.Dropped() {
		t.Fatalf("%d calls, %d reports, dropped %v", calls, len(reports), g.Dropped())
	}
	for i, err := range reports {
		var p *PanicError
		if !errors.As(err, &p) || p.Value != "odd" || p.Dropped != (i == 2) {
			t.Errorf("report %d: %#v", i, err)
		}
		if !strings.Contains(err.Error(), "odd") || !strings.Contains(string(p.Stack), "guard_test.go") {
			t.Errorf("report %d says %q with stack %s", i, err, p.Stack)
		}
	}
	if !strings.Contains(reports[2].Error(), "dropped") {
		t.Errorf("the last report does not say that it is the last: %q", reports[2])
	}
}

type livePanics struct{ Ignore }

func (livePanics) Delta(int64, int, string, string, string) { panic(io.EOF) }
func (livePanics) Output(int64, int, int, string, []byte)   { panic(nil) }

func TestGuardCountsPanicsOfLiveText(t *testing.T) {
	var reports []error
	g := Guard(livePanics{}, func(err error) { reports = append(reports, err) })
	g.Delta(1, 1, "0", "text", "x")
	g.Output(1, 1, 1, "0", nil)
	g.Delta(1, 1, "0", "text", "x")
	g.Output(1, 1, 1, "0", nil)
	g.Event(&Event{})
	if len(reports) != 3 || !g.Dropped() || !errors.Is(reports[0], io.EOF) {
		t.Errorf("reports %v, dropped %v", reports, g.Dropped())
	}
}

func TestGuardReportsEveryPanicOfConcurrentCalls(t *testing.T) {
	const agents = 8
	var inside, done sync.WaitGroup
	var calls, reports, last atomic.Int64
	g := Guard(Func(func(*Event) Flow {
		calls.Add(1)
		inside.Done()
		inside.Wait() // until all of them are in
		panic("always")
	}), func(err error) {
		reports.Add(1)
		if err.(*PanicError).Dropped {
			last.Add(1)
		}
	})
	event := func() {
		if g.Event(&Event{}) != Continue {
			t.Error("a panic cancelled")
		}
	}
	inside.Add(agents)
	for range agents {
		done.Go(event)
	}
	done.Wait()
	event() // dropped by now
	if calls.Load() != agents || reports.Load() != agents || last.Load() != 1 {
		t.Errorf("%d calls, %d reports, %d of them the last", calls.Load(), reports.Load(), last.Load())
	}
}

func TestGuardWithoutReport(t *testing.T) {
	g := Guard(nil, nil) // calling nil panics too
	for range 4 {
		if g.Event(&Event{}) != Continue {
			t.Error("a panic cancelled")
		}
	}
}
