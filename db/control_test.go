package db

import (
	"errors"
	"fmt"
	"testing"

	"tillerman/observer"
)

func TestTheSameCancelIsOne(t *testing.T) {
	c := newClock()
	s := opened(t, Options{Now: c.now})
	lease := begun(t, s)
	first, fresh, err := s.Control(t.Context(), Control{RunID: lease.RunID, Kind: "cancel", Reason: "wrong branch", By: tester})
	must(t, err)
	if !fresh || first.ID == 0 || first.RequestedAt != c.at.UnixMilli() || first.By != tester {
		t.Errorf("the first: %+v %v", first, fresh)
	}
	c.move(1000)
	second, fresh, err := s.Control(t.Context(), Control{RunID: lease.RunID, Kind: "cancel", By: Actor{User: "bob"}})
	must(t, err)
	if fresh || fmt.Sprint(second) != fmt.Sprint(first) {
		t.Errorf("the second: %+v %v, want %+v", second, fresh, first)
	}
	kill, fresh, err := s.Control(t.Context(), Control{RunID: lease.RunID, Kind: "kill", By: Actor{User: "bob"}})
	must(t, err)
	if !fresh || kill.ID == first.ID {
		t.Errorf("a kill is another wish: %+v", kill)
	}
	for range 2 { // words are said as often as they are said
		if _, fresh, err := s.Control(t.Context(), Control{RunID: lease.RunID, Kind: "tell", Body: "look at a.go", By: tester}); err != nil || !fresh {
			t.Errorf("tell: %v %v", fresh, err)
		}
	}
	var actions []string
	links, err := s.AuditLog(t.Context(), lease.RunID, 0, 0)
	must(t, err)
	for _, l := range links {
		e := entryOf(t, l)
		actions = append(actions, e.Action+" "+e.User+" "+e.Reason)
		if (e.Digest == Digest([]byte("look at a.go"))) != (e.Action == "tell") {
			t.Errorf("%s: digest %q", e.Action, e.Digest)
		}
	}
	if want := "[cancel ann wrong branch kill bob  tell ann  tell ann ]"; fmt.Sprint(actions) != want {
		t.Errorf("audit %v, want %s", actions, want)
	}
	events, err := s.EventsAfter(t.Context(), lease.RunID, 0, 0)
	must(t, err)
	if len(events) != 2 || events[0].Kind != (observer.CancelRequested{Kind: "cancel", By: "ann", Through: "test"}) {
		t.Errorf("events %v", events)
	}
}

func TestControlOfARunThatEnded(t *testing.T) {
	s := opened(t, Options{})
	lease := begun(t, s)
	ended(t, s, lease, Ending{Outcome: "success", Status: Completed, Success: true})
	before := dump(t, s)
	_, _, err := s.Control(t.Context(), Control{RunID: lease.RunID, Kind: "cancel", By: tester})
	if e, ok := asError[*EndedError](err); !ok || e.Outcome != "success" || e.RunID != lease.RunID {
		t.Errorf("Control: %v", err)
	}
	if _, _, err := s.Control(t.Context(), Control{RunID: 99, Kind: "cancel", By: tester}); !errors.Is(err, ErrNotFound) {
		t.Errorf("Control of no run: %v", err)
	}
	if _, _, err := s.Control(t.Context(), Control{RunID: lease.RunID, Kind: "dance", By: tester}); err == nil {
		t.Error("an unknown kind was stored")
	}
	if after := dump(t, s); after != before {
		t.Error("controls that failed left something")
	}
}

// A cancel is asked, seen and done; it waits for being done until it is, whoever saw it.
func TestCancelIsPendingUntilItStopped(t *testing.T) {
	c := newClock()
	s := opened(t, Options{Now: c.now})
	lease := begun(t, s)
	pending := func(want int) Control {
		t.Helper()
		got, err := s.PendingControls(t.Context(), lease.RunID)
		must(t, err)
		waiting, err := s.UnstoppedControls(t.Context(), lease.RunID)
		must(t, err)
		listed, err := s.Listed(t.Context(), lease.RunID)
		must(t, err)
		if len(got) != want || len(waiting) != want || listed.Cancelling != (want > 0) {
			t.Fatalf("%d pending, %d unstopped, cancelling %v; want %d", len(got), len(waiting), listed.Cancelling, want)
		}
		if want == 0 {
			return Control{}
		}
		return got[0]
	}
	pending(0)
	_, _, err := s.Control(t.Context(), Control{RunID: lease.RunID, Kind: "cancel", By: tester})
	must(t, err)
	wish := pending(1)
	c.move(300)
	commit(t, s, lease, func(tx *Tx) error { return tx.ObserveControl(wish.ID, "waiting for a person") })
	if got := pending(1); *got.ObservedAt != c.at.UnixMilli() || got.Point != "waiting for a person" { // its driver may die here
		t.Errorf("seen: %+v", got)
	}
	c.move(200)
	var sum Summary
	commit(t, s, lease, func(tx *Tx) error {
		if err := tx.ObserveControl(wish.ID, "start"); err != nil { // the first look counts
			return err
		}
		if err := tx.StopControl(wish.ID); err != nil {
			return err
		}
		sum, err = tx.Finish(Ending{Outcome: "cancelled", Status: Completed})
		return err
	})
	pending(0)
	all, err := s.Controls(t.Context(), lease.RunID)
	must(t, err)
	if got := all[0]; got.Point != "waiting for a person" || *got.LatencyMS != 500 || *got.StoppedAt != wish.RequestedAt+500 {
		t.Errorf("stopped: %+v", got)
	}
	if *sum.CancelMS != 500 || sum.CancelledBy != "ann (test)" || sum.Late != "" {
		t.Errorf("summary: %+v", sum)
	}
}

func TestCancelThatCameTooLate(t *testing.T) {
	for _, seen := range []bool{true, false} { // the driver noticed, or the wish came when it was ending
		s := opened(t, Options{})
		lease := begun(t, s)
		_, _, err := s.Control(t.Context(), Control{RunID: lease.RunID, Kind: "cancel", By: tester})
		must(t, err)
		var sum Summary
		commit(t, s, lease, func(tx *Tx) error {
			e := Ending{Outcome: "step_cap_reached", Status: Completed}
			if seen {
				e.Late = "noticed"
				if err := tx.ObserveControl(1, TooLate); err != nil {
					return err
				}
			}
			sum, err = tx.Finish(e)
			return err
		})
		want := "noticed"
		if !seen {
			want = "cancel asked by ann (test), too late: the run was ending"
		}
		if sum.Late != want || sum.CancelMS != nil || sum.CancelledBy != "" {
			t.Errorf("summary: %+v", sum)
		}
		// A larger budget lets the run go on: that cancel is over, and the next one is a new wish.
		lease, _, err = s.TakeUp(t.Context(), lease.RunID, tester, "floor", false, nothing)
		must(t, err)
		if left, err := s.PendingControls(t.Context(), lease.RunID); err != nil || len(left) != 0 {
			t.Errorf("pending %v %v", left, err)
		}
		if l, err := s.Listed(t.Context(), lease.RunID); err != nil || l.Cancelling || l.State() != "running" {
			t.Errorf("listed as %s: %v", l.State(), err)
		}
		if _, fresh, err := s.Control(t.Context(), Control{RunID: lease.RunID, Kind: "cancel", By: tester}); err != nil || !fresh {
			t.Errorf("a cancel of the run that goes on: %v %v", fresh, err)
		}
	}
}

// The clock of a person's machine may go back between asking and stopping.
func TestLatencyIsNeverNegative(t *testing.T) {
	c := newClock()
	s := opened(t, Options{Now: c.now})
	lease := begun(t, s)
	_, _, err := s.Control(t.Context(), Control{RunID: lease.RunID, Kind: "kill", By: tester})
	must(t, err)
	c.move(-3_600_000)
	commit(t, s, lease, func(tx *Tx) error { return tx.StopControl(1) })
	all, err := s.Controls(t.Context(), lease.RunID)
	must(t, err)
	if *all[0].LatencyMS != 0 {
		t.Errorf("latency %d", *all[0].LatencyMS)
	}
}
