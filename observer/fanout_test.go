package observer

import (
	"fmt"
	"slices"
	"testing"
)

// liveLog is an observer with a live side that logs what it gets.
type liveLog struct {
	name string
	log  *[]string
}

func (l liveLog) add(format string, args ...any) {
	*l.log = append(*l.log, l.name+" "+fmt.Sprintf(format, args...))
}

func (l liveLog) Event(e *Event) Flow {
	l.add("%s %d", e.Kind.Tag(), e.Seq)
	return Continue
}

func (l liveLog) Delta(runID int64, step int, agent, kind, text string) {
	l.add("delta %d %d %s %s %s", runID, step, agent, kind, text)
}

func (l liveLog) Output(runID int64, step, position int, agent string, chunk []byte) {
	l.add("output %d %d %d %s %s", runID, step, position, agent, chunk)
}

func TestFanout(t *testing.T) {
	answer := func(f Flow) Observer { return Func(func(*Event) Flow { return f }) }
	for _, c := range []struct {
		name string
		of   []Observer
		want Flow
	}{
		{"none", nil, Continue},
		{"nil", []Observer{nil}, Continue},
		{"ignore", []Observer{Ignore{}}, Continue},
		{"all continue", []Observer{answer(Continue), answer(Continue)}, Continue},
		{"first cancels", []Observer{answer(Cancel), answer(Continue)}, Cancel},
		{"last cancels", []Observer{answer(Continue), answer(Cancel)}, Cancel},
		{"inner cancels", []Observer{Fanout(answer(Cancel)), Ignore{}}, Cancel},
	} {
		calls := 0
		count := Func(func(*Event) Flow { calls++; return Continue })
		all := append(append([]Observer{count}, c.of...), count)
		if got := Fanout(all...).Event(&Event{Kind: Stalled{}}); got != c.want || calls != 2 {
			t.Errorf("%s: %v after %d calls", c.name, got, calls)
		}
	}
}

func TestLiveGoesToThoseWhoTakeIt(t *testing.T) {
	var log []string
	a, b := liveLog{"a", &log}, liveLog{"b", &log}
	o := Guard(Fanout(a, Ignore{}, Fanout(Guard(b, nil))), nil)
	o.Event(&Event{Kind: Stalled{}, Seq: 1})
	live := LiveOf(o)
	live.Delta(4, 2, "0", "text", "hi")
	live.Output(4, 2, 1, "0.1", []byte("ok"))
	want := []string{
		"a stalled 1", "b stalled 1",
		"a delta 4 2 0 text hi", "b delta 4 2 0 text hi",
		"a output 4 2 1 0.1 ok", "b output 4 2 1 0.1 ok",
	}
	if !slices.Equal(log, want) {
		t.Errorf("got %q", log)
	}
}

func TestLiveOfAnObserverWithoutIt(*testing.T) {
	for _, o := range []Observer{nil, Ignore{}, NewChannel(1), Fanout(Ignore{}), Guard(Ignore{}, nil)} {
		live := LiveOf(o)
		live.Delta(1, 1, "0", "text", "x")
		live.Output(1, 1, 1, "0", nil)
	}
}
