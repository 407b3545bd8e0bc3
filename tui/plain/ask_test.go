package plain

import (
	"context"
	"io"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tillerman/core/approval"
	"tillerman/db"
)

var shownAt = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// typist is a terminal's input: each Read gives the next line and sets the clock to when it was typed. The first waits
// until the question was shown. A Read follows only when the line before it was looked at.
type typist struct {
	lines []string
	gaps  []time.Duration // since the question was shown
	clock *atomic.Int64   // ns since shownAt
	asked chan struct{}
	gone  func() // called when nothing more is typed
}

func (p *typist) Read(b []byte) (int, error) {
	<-p.asked
	if len(p.lines) == 0 {
		time.AfterFunc(2*time.Second, p.gone) // time to act on the line before
		return 0, io.EOF
	}
	p.clock.Store(int64(p.gaps[0]))
	n := copy(b, p.lines[0]+"\n")
	p.lines, p.gaps = p.lines[1:], p.gaps[1:]
	return n, nil
}

// ask asks once and returns what was decided; nil when the terminal ended first.
func ask(t *testing.T, gaps []time.Duration, lines ...string) (*approval.Decision, string) {
	t.Helper()
	var out strings.Builder
	clock := new(atomic.Int64)
	in := &typist{lines: lines, gaps: gaps, clock: clock, asked: make(chan struct{})}
	looked := new(atomic.Bool)
	store, err := db.Open(context.Background(), filepath.Join(t.TempDir(), "runs.db"), db.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	a := NewAsker(&Printer{W: &out, Store: store, Width: 80}, in, func() time.Time {
		now := shownAt.Add(time.Duration(clock.Load()))
		if looked.CompareAndSwap(false, true) { // the question stands; typing moves the clock on
			close(in.asked)
		}
		return now
	}, nil)
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	in.gone = stop
	d, err := a.Decide(ctx, approval.Request{ID: 1, Act: "exec", Target: "ls", Payload: "ls -la\n", Digest: "0123456789abcdef"})
	if err != nil {
		return nil, out.String()
	}
	return &d, out.String()
}

func TestAnswersByLine(t *testing.T) {
	later := func(n int) []time.Duration {
		gaps := make([]time.Duration, n)
		for i := range gaps {
			gaps[i] = time.Duration(i+1) * time.Second
		}
		return gaps
	}
	for text, want := range map[string]approval.Decision{
		"a":              {Answer: approval.Approve},
		"d not that way": {Answer: approval.Deny, Reason: "not that way"},
		"D enough":       {Answer: approval.Deny, Reason: "enough", Stop: true},
		"f":              {Answer: approval.Defer},
	} {
		lines := strings.Split(text, "\n")
		got, out := ask(t, later(len(lines)), lines...)
		if got == nil || !reflect.DeepEqual(*got, want) {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
		if !strings.Contains(out, "| ls -la") || !strings.Contains(out, "1@0123456789ab") {
			t.Errorf("the question is not shown whole: %s", out)
		}
	}
}

func TestWhatWasTypedTooEarlyDoesNotCount(t *testing.T) {
	got, _ := ask(t, []time.Duration{0, 399 * time.Millisecond, time.Second}, "a", "a", "d no")
	if got == nil || got.Answer != approval.Deny {
		t.Errorf("%+v", got)
	}
	if got, _ := ask(t, []time.Duration{100 * time.Millisecond}, "a"); got != nil {
		t.Errorf("decided by what was typed too early: %+v", got)
	}
}

func TestWhatIsNoAnswer(t *testing.T) {
	for _, line := range []string{"", " ", "yes", "A", "a b", "ad", "f x"} {
		if d, ok := parse(line, "exec"); ok {
			t.Errorf("%q is read as %+v", line, d)
		}
	}
}
