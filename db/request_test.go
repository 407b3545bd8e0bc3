package db

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
)

// asked stores n questions of a new run.
func asked(t *testing.T, s *Store, n int) (Lease, []int64) {
	t.Helper()
	lease := begun(t, s)
	var ids []int64
	commit(t, s, lease, func(tx *Tx) error {
		for i := range n {
			id, err := tx.Ask(Request{Step: 1, Position: ptr(i + 1), Act: "exec", Target: "make", Payload: "make", Digest: "d", Rule: ptr("make *"), Layer: ptr("team"), Model: "m-1"})
			if err != nil {
				return err
			}
			ids = append(ids, id)
		}
		return nil
	})
	return lease, ids
}

// checkDecided fails unless the request was decided once, as winner did.
func checkDecided(t *testing.T, s *Store, id int64, winner, answer string) {
	t.Helper()
	r, err := s.Request(t.Context(), id)
	must(t, err)
	if r.State != "decided" || r.Decision != answer || r.DecidedBy.User != winner {
		t.Fatalf("request %d: %s %s by %v, want %s by %s", id, r.State, r.Decision, r.DecidedBy, answer, winner)
	}
	links, err := s.AuditLog(t.Context(), r.RunID, 0, 0)
	must(t, err)
	rows := 0
	for _, l := range links {
		if e := entryOf(t, l); e.Action == "decision" && e.RequestID == id {
			rows++
			if e.User != winner || e.Decision != answer {
				t.Errorf("request %d: the audit row says %s by %s", id, e.Decision, e.User)
			}
		}
	}
	if rows != 1 {
		t.Errorf("request %d: %d audit rows", id, rows)
	}
}

// Of two decisions at the same time one wins, whichever comes first.
func TestDecisionRace(t *testing.T) {
	const races = 200
	s := opened(t, Options{})
	_, ids := asked(t, s, races)
	winners := map[string]int{}
	for i, id := range ids {
		answers := map[string]string{"ann": "approve", "bob": "deny"}
		names := []string{"ann", "bob"}
		if i%2 == 1 {
			names = []string{"bob", "ann"}
		}
		got := make([]string, 2)
		var start, done sync.WaitGroup
		start.Add(2)
		for k, name := range names {
			done.Go(func() {
				start.Done()
				start.Wait()
				_, err := s.Decide(t.Context(), id, Decision{Answer: answers[name], Digest: "d"}, Actor{User: name, Surface: "key"})
				got[k] = verdict(err)
			})
		}
		done.Wait()
		winner := names[0]
		if got[1] == "won" {
			winner = names[1]
			got[0], got[1] = got[1], got[0]
		}
		winners[winner]++
		if got[0] != "won" || got[1] != "lost to "+winner {
			t.Fatalf("race %d: %q", i, got)
		}
		if i%20 < 2 {
			checkDecided(t, s, id, winner, answers[winner])
		}
	}
	if n := number(t, s, "SELECT count(*) FROM audit"); n != races {
		t.Errorf("%d audit rows for %d decisions", n, races)
	}
	t.Log(winners)
}

func TestDecisionRaceOfProcesses(t *testing.T) {
	const races = 200
	s := opened(t, Options{})
	_, ids := asked(t, s, races)
	ann, bob := child(t, "decide", s.path, "ann", "approve"), child(t, "decide", s.path, "bob", "deny")
	ann.want("ready")
	bob.want("ready")
	winners := map[string]int{}
	for i, id := range ids {
		first, second := ann, bob
		if i%2 == 1 {
			first, second = bob, ann
		}
		first.say("%d", id)
		second.say("%d", id)
		a, b := ann.hear(), bob.hear()
		switch {
		case a == "won" && b == "lost to ann":
			winners["ann"]++
			if i%20 < 2 {
				checkDecided(t, s, id, "ann", "approve")
			}
		case b == "won" && a == "lost to bob":
			winners["bob"]++
			if i%20 < 2 {
				checkDecided(t, s, id, "bob", "deny")
			}
		default:
			t.Fatalf("race %d: ann %q, bob %q", i, a, b)
		}
	}
	if n := number(t, s, "SELECT count(*) FROM audit"); n != races {
		t.Errorf("%d audit rows for %d decisions", n, races)
	}
	t.Log(winners)
}

func TestDecide(t *testing.T) {
	s := opened(t, Options{})
	lease, ids := asked(t, s, 4)
	before := dump(t, s)
	_, err := s.Decide(t.Context(), ids[0], Decision{Answer: "approve", Digest: "other"}, tester)
	if e, ok := asError[*DigestError](err); !ok || e.ID != ids[0] || e.Shown != "other" || e.Asks != "d" {
		t.Errorf("a decision on something else: %v", err)
	}
	if _, err := s.Decide(t.Context(), ids[0], Decision{Answer: "yes"}, tester); err == nil || !strings.Contains(err.Error(), `"yes"`) {
		t.Errorf("no decision: %v", err)
	}
	if _, err := s.Decide(t.Context(), 99, Decision{Answer: "deny"}, tester); !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), "99") {
		t.Errorf("no request: %v", err)
	}
	if after := dump(t, s); after != before {
		t.Error("decisions that failed left something")
	}

	got, err := s.Decide(t.Context(), ids[0], Decision{Answer: "deny", Digest: "d", Reason: "not now", Stop: true}, tester)
	must(t, err)
	if got.State != "decided" || got.Decision != "deny" || got.Reason != "not now" || !got.Stop || *got.DecidedBy != tester || got.DecidedAt == 0 {
		t.Errorf("denied: %+v", got)
	}
	_, err = s.Decide(t.Context(), ids[0], Decision{Answer: "approve"}, Actor{User: "bob"})
	if late, ok := asError[*DecidedError](err); !ok || late.Request.DecidedBy.User != "ann" || err.Error() != fmt.Sprintf("request %d was already decided: deny by ann (test)", ids[0]) {
		t.Errorf("a second decision: %v", err)
	}

	// Put off, and answered later.
	got, err = s.Decide(t.Context(), ids[1], Decision{Answer: "defer"}, tester)
	must(t, err)
	if got.State != "open" || got.Decision != "defer" || !got.Deferred {
		t.Errorf("deferred: %+v", got)
	}
	if open, err := s.OpenRequests(t.Context(), lease.RunID); err != nil || len(open) != 3 {
		t.Errorf("%d open requests: %v", len(open), err)
	}
	got, err = s.Decide(t.Context(), ids[1], Decision{Answer: "approve", ChangedArgs: `{"x":1}`}, tester)
	must(t, err)
	if got.State != "decided" || got.Decision != "approve" || !got.Deferred || got.ChangedArgs != `{"x":1}` {
		t.Errorf("approved after it was put off: %+v", got)
	}

	commit(t, s, lease, func(tx *Tx) error { return tx.Supersede(ids[2]) })
	_, err = s.Decide(t.Context(), ids[2], Decision{Answer: "approve"}, tester)
	if late, ok := asError[*DecidedError](err); !ok || late.Request.State != "superseded" || !strings.Contains(err.Error(), "withdrawn") {
		t.Errorf("a decision on a withdrawn request: %v", err)
	}
	commit(t, s, lease, func(tx *Tx) error { return tx.Supersede(ids[0]) })
	if r, err := s.Request(t.Context(), ids[0]); err != nil || r.State != "decided" {
		t.Errorf("a decided request was withdrawn: %+v %v", r, err)
	}

	events, err := s.EventsAfter(t.Context(), lease.RunID, 0, 0)
	must(t, err)
	var told []string
	for _, ev := range events {
		told = append(told, fmt.Sprint(*ev.RequestID-ids[0], " ", ev.Kind))
	}
	if want := "[0 {exec make deny} 1 {exec make defer} 1 {exec make approve}]"; fmt.Sprint(told) != want {
		t.Errorf("events %v, want %s", told, want)
	}
}

// Another run cannot withdraw a question.
// TestBefore counts what was decided about the same act and target, and what of it about the same content.
func TestBefore(t *testing.T) {
	s := opened(t, Options{})
	_, ids := asked(t, s, 3)
	for i, answer := range []string{"approve", "deny", "approve"} {
		_, err := s.Decide(t.Context(), ids[i], Decision{Answer: answer}, tester)
		must(t, err)
	}
	for payload, same := range map[string]int{"make": 3, "make\n[standard input]\nother": 0} {
		b, err := s.Before(t.Context(), Request{Act: "exec", Target: "make", Payload: payload})
		must(t, err)
		if b.Approved != 2 || b.Denied != 1 || b.Same != same || b.Last == nil || b.Last.ID != ids[2] {
			t.Errorf("%q: %+v", payload, b)
		}
	}
	b, err := s.Before(t.Context(), Request{ID: ids[2], Act: "exec", Target: "make", Payload: "make"})
	must(t, err)
	if b.Approved != 1 || b.Last.ID != ids[1] {
		t.Errorf("the question itself counts: %+v", b)
	}
}

func TestSupersedeIsOfTheRun(t *testing.T) {
	s := opened(t, Options{})
	_, ids := asked(t, s, 1)
	other := begun(t, s)
	commit(t, s, other, func(tx *Tx) error { return tx.Supersede(ids[0]) })
	if r, err := s.Request(t.Context(), ids[0]); err != nil || r.State != "open" {
		t.Errorf("%+v %v", r, err)
	}
}

func TestInboxHoldsWhatWaits(t *testing.T) {
	s := opened(t, Options{})
	a, first := asked(t, s, 2)
	_, second := asked(t, s, 1)
	inbox := func(want ...int64) {
		t.Helper()
		reqs, err := s.Inbox(t.Context())
		must(t, err)
		var got []int64
		for _, r := range reqs {
			got = append(got, r.ID)
			if r.Goal != aRun().Goal {
				t.Errorf("goal %q", r.Goal)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("inbox %v, want %v", got, want)
		}
	}
	inbox(first[0], first[1], second[0])
	_, err := s.Decide(t.Context(), first[0], Decision{Answer: "deny"}, tester)
	must(t, err)
	inbox(first[1], second[0])
	ended(t, s, a, Ending{Outcome: "awaiting_approval", Status: Paused})
	inbox(first[1], second[0])
	a, _, err = s.TakeUp(t.Context(), a.RunID, tester, "floor", false, nothing)
	must(t, err)
	ended(t, s, a, Ending{Outcome: "time_budget_exceeded", Status: Completed}) // nobody can answer it any more
	inbox(second[0])
	if _, err := s.Decide(t.Context(), first[1], Decision{Answer: "approve"}, tester); err == nil {
		t.Error("a question of an ended run was answered")
	}
}
