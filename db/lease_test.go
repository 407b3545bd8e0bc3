package db

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tillerman/observer"
)

func nothing(*Tx) error { return nil }

func TestSecondDriverIsRefusedByName(t *testing.T) {
	s := opened(t, Options{})
	p := child(t, "drive", s.path)
	id := number64(p.hear())
	_, _, err := s.TakeUp(t.Context(), id, tester, "floor", true, nothing) // even by force: the driver lives
	held, ok := asError[*HeldError](err)
	if !ok {
		t.Fatalf("TakeUp: %v", err)
	}
	if held.Owner.PID != p.cmd.Process.Pid || held.Life != Alive || !strings.Contains(err.Error(), fmt.Sprint(p.cmd.Process.Pid)) {
		t.Errorf("the refusal does not name the driver %d: %v", p.cmd.Process.Pid, err)
	}
	if owner, life, driven, err := s.Driver(t.Context(), id); owner != held.Owner || life != Alive || !driven || err != nil {
		t.Errorf("Driver: %v %v %v %v", owner, life, driven, err)
	}
	p.say("commit")
	p.want("<nil>")
}

func TestTakeOverFromAKilledProcess(t *testing.T) {
	s := opened(t, Options{})
	p := child(t, "drive", s.path)
	id := number64(p.hear())
	p.say("commit")
	p.want("<nil>")
	p.kill()
	if _, life, driven, err := s.Driver(t.Context(), id); life != Dead || !driven || err != nil {
		t.Errorf("Driver: %v %v %v", life, driven, err)
	}
	var was Status
	lease, events, err := s.TakeUp(t.Context(), id, tester, "floor", false, func(tx *Tx) error {
		was = tx.Was()
		return tx.Event(0, 0, observer.Started{Goal: "g"})
	})
	must(t, err)
	if lease.Fence != 2 || lease.Drive != 2 || was != Running || len(events) != 1 || events[0].Seq != 2 || events[0].Drive != 2 {
		t.Errorf("lease %+v, was %q, events %v", lease, was, events)
	}
}

// A slow or suspended process loses nothing.
func TestStoppedProcessKeepsItsLease(t *testing.T) {
	s := opened(t, Options{})
	p := child(t, "drive", s.path)
	id := number64(p.hear())
	p.signal(syscall.SIGSTOP)
	if _, _, err := s.TakeUp(t.Context(), id, tester, "floor", false, nothing); err == nil {
		t.Fatal("the run of a suspended process was taken over")
	}
	p.signal(syscall.SIGCONT)
	p.say("commit")
	p.want("<nil>")
}

func TestStaleDriverWritesNothing(t *testing.T) {
	c := newClock()
	s := opened(t, Options{Now: c.now})
	old := begun(t, s)
	raw(t, s, "UPDATE leases SET pid_start = 'another'") // its number belongs to a later process now
	lease, _, err := s.TakeUp(t.Context(), old.RunID, tester, "floor", false, nothing)
	must(t, err)
	before := dump(t, s)
	c.move(5000)
	_, err = s.Commit(t.Context(), old, func(tx *Tx) error {
		t.Error("the function of a stale driver was called")
		return tx.Event(1, 0, observer.Stalled{})
	})
	if !errors.Is(err, ErrLeaseLost) {
		t.Errorf("Commit: %v", err)
	}
	must(t, s.LetGo(t.Context(), old, "late"))
	if after := dump(t, s); after != before {
		t.Errorf("a stale driver wrote:\n%s\nbefore:\n%s", after, before)
	}
	commit(t, s, lease, nothing)
	must(t, s.LetGo(t.Context(), lease, "interrupted"))
	if _, err := s.Commit(t.Context(), lease, nothing); !errors.Is(err, ErrLeaseLost) {
		t.Errorf("Commit after letting go: %v", err)
	}
	if _, _, driven, err := s.Driver(t.Context(), old.RunID); driven || err != nil {
		t.Errorf("after letting go: driven %v, %v", driven, err)
	}
	ds, err := s.Drives(t.Context(), old.RunID)
	must(t, err)
	if len(ds) != 2 || ds[0].Ended != "" || ds[0].ElapsedMS != 0 || ds[1].Ended != "interrupted" || ds[1].ElapsedMS != 5000 {
		t.Errorf("drives: %+v", ds)
	}
}

func TestLifeOf(t *testing.T) {
	self := Self()
	gone := child(t, "hold", filepath.Join(t.TempDir(), "x"))
	gone.want("held")
	dead := self
	dead.PID = gone.cmd.Process.Pid
	dead.Started, _ = processStart(dead.PID)
	if got := LifeOf(dead, self); got != Alive {
		t.Errorf("a living process: %s", got)
	}
	gone.kill()
	change := func(f func(*Owner)) Owner {
		o := self
		f(&o)
		return o
	}
	for name, c := range map[string]struct {
		owner Owner
		want  Life
	}{
		"this process":                        {self, Alive},
		"killed":                              {dead, Dead},
		"same number, other start":            {change(func(o *Owner) { o.Started = "1" }), Dead},
		"same host, started anew":             {change(func(o *Owner) { o.BootID = "other" }), Dead},
		"other host":                          {change(func(o *Owner) { o.Host = "other"; o.BootID = "other" }), Unknown},
		"other name of the host":              {change(func(o *Owner) { o.Host = "other" }), Unknown},
		"other container":                     {change(func(o *Owner) { o.PIDSpace = "pid:[1]" }), Unknown},
		"other container, no such number":     {change(func(o *Owner) { o.PIDSpace = "pid:[1]"; o.PID = dead.PID }), Unknown},
		"no boot id":                          {change(func(o *Owner) { o.BootID = "" }), Unknown},
		"start unknown":                       {change(func(o *Owner) { o.Started = "" }), Unknown},
		"a number that no process ever has":   {change(func(o *Owner) { o.PID = 1 << 30 }), Dead},
		"a number that a signal goes to many": {change(func(o *Owner) { o.PID = 0; o.Started = "" }), Unknown},
	} {
		if got := LifeOf(c.owner, self); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// A process that has ended and that nobody has waited for yet does nothing any more.
func TestZombieIsDead(t *testing.T) {
	p := child(t, "hold", filepath.Join(t.TempDir(), "x"))
	p.want("held")
	o := Self()
	o.PID = p.cmd.Process.Pid
	o.Started, _ = processStart(o.PID)
	must(t, p.cmd.Process.Kill())
	for p.out.Scan() { // until its end closes the pipe
	}
	if err := waitZombie(o.PID); err != nil {
		t.Skip(err)
	}
	if got := LifeOf(o, Self()); got != Dead {
		t.Errorf("a zombie is %s", got)
	}
}

func TestOwnerThatCannotBeSeen(t *testing.T) {
	s := opened(t, Options{})
	lease := begun(t, s)
	raw(t, s, "UPDATE leases SET host='elsewhere', boot_id='other', pid=42")
	_, _, err := s.TakeUp(t.Context(), lease.RunID, tester, "floor", false, nothing)
	held, ok := asError[*HeldError](err)
	if !ok || held.Life != Unknown || !strings.Contains(err.Error(), "elsewhere") || !strings.Contains(err.Error(), "--take-over") {
		t.Fatalf("TakeUp: %v", err)
	}
	if _, _, err := s.TakeUp(t.Context(), lease.RunID, tester, "floor", true, nothing); err != nil {
		t.Errorf("TakeUp by force: %v", err)
	}
	if _, err := s.Commit(t.Context(), lease, nothing); !errors.Is(err, ErrLeaseLost) {
		t.Errorf("Commit of the one that could not be seen: %v", err)
	}
}

func TestTenTakeOneRunUp(t *testing.T) {
	s := opened(t, Options{})
	p := child(t, "drive", s.path)
	id := p.hear()
	p.kill()
	var all []*process
	for range 10 {
		all = append(all, child(t, "takeup", s.path, id))
	}
	for _, p := range all {
		p.want("ready")
	}
	for _, p := range all {
		p.say("go")
	}
	won, winner := 0, 0
	var lost []string
	for _, p := range all {
		if got := p.hear(); strings.HasPrefix(got, "won") {
			won, winner = won+1, p.cmd.Process.Pid
		} else {
			lost = append(lost, got)
		}
	}
	if won != 1 {
		t.Fatalf("%d processes won", won)
	}
	for _, got := range lost {
		if want := fmt.Sprint("held by ", winner); got != want {
			t.Errorf("a loser says %q, want %q", got, want)
		}
	}
	if n := number(t, s, "SELECT count(*) FROM drives"); n != 2 {
		t.Errorf("%d drives, want 2", n)
	}
}

func TestTakeUpClearsHowARunEnded(t *testing.T) {
	s := opened(t, Options{})
	lease := begun(t, s)
	ended(t, s, lease, Ending{Outcome: "step_cap_reached", Status: Completed, StopReason: "r", Said: "s"})
	var was Status
	lease, _, err := s.TakeUp(t.Context(), lease.RunID, tester, "floor", false, func(tx *Tx) error {
		was = tx.Was()
		return nil
	})
	must(t, err)
	run, err := s.Run(t.Context(), lease.RunID)
	must(t, err)
	if was != Completed || run.Status != Running || run.Outcome != "" || run.StopReason != "" || run.Said != "" || run.FinishedAt != 0 || run.Drive != 2 {
		t.Errorf("was %q, run %+v", was, run)
	}
	if _, err := s.Summary(t.Context(), lease.RunID); !errors.Is(err, ErrNotFound) {
		t.Errorf("the summary of a run that goes on: %v", err)
	}
	refused := errors.New("no")
	ended(t, s, lease, Ending{Outcome: "success", Status: Completed, Success: true})
	if _, _, err := s.TakeUp(t.Context(), lease.RunID, tester, "floor", false, func(*Tx) error { return refused }); err != refused {
		t.Errorf("TakeUp: %v", err)
	}
	if sum, err := s.Summary(t.Context(), lease.RunID); err != nil || sum.Outcome != "success" {
		t.Errorf("a take-up that was refused changed the run: %v %v", sum, err)
	}
	if _, _, err := s.TakeUp(t.Context(), 99, tester, "floor", false, nothing); !errors.Is(err, ErrNotFound) || err.Error() != "run 99: not found" {
		t.Errorf("TakeUp of no run: %v", err)
	}
}

func TestKeyStartsOneRun(t *testing.T) {
	s := opened(t, Options{})
	run := aRun()
	run.Key = "nightly"
	first, _, err := s.Start(t.Context(), run, tester, "floor", nothing)
	must(t, err)
	lease, events, err := s.Start(t.Context(), run, tester, "floor", func(*Tx) error {
		t.Error("a run was started under a key that is taken")
		return nil
	})
	taken, ok := asError[*KeyError](err)
	if !ok || taken.Existing.ID != first.RunID || lease != (Lease{}) || events != nil {
		t.Errorf("Start: %v", err)
	}
	for range 2 { // no key is no key
		begun(t, s)
	}
	if n := number(t, s, "SELECT count(*) FROM runs"); n != 3 {
		t.Errorf("%d runs, want 3", n)
	}
}

func TestStartThatFailsLeavesNothing(t *testing.T) {
	s := opened(t, Options{})
	refused := errors.New("no")
	lease, _, err := s.Start(t.Context(), aRun(), tester, "floor", func(tx *Tx) error {
		must(t, tx.Event(0, 0, observer.Started{Goal: "g"}))
		must(t, tx.Audit(AuditRow{Action: "start", Actor: tester}))
		return refused
	})
	if err != refused || lease != (Lease{}) {
		t.Errorf("Start: %v %v", lease, err)
	}
	for _, table := range []string{"runs", "drives", "leases", "events", "audit"} {
		if n := number(t, s, "SELECT count(*) FROM "+table); n != 0 {
			t.Errorf("%s has %d rows", table, n)
		}
	}
}

func TestEndedContextStartsNothing(t *testing.T) {
	s := opened(t, Options{})
	lease := begun(t, s)
	why := errors.New("going away")
	ctx, stop := context.WithCancelCause(t.Context())
	stop(why)
	if _, err := s.Commit(ctx, lease, nothing); !errors.Is(err, why) {
		t.Errorf("Commit: %v", err)
	}
	// One that ends in the middle does not tear a commit.
	ctx, stop = context.WithCancelCause(t.Context())
	_, err := s.Commit(ctx, lease, func(tx *Tx) error {
		stop(why)
		return tx.Event(1, 0, observer.Stalled{})
	})
	must(t, err)
	if n := number(t, s, "SELECT count(*) FROM events"); n != 1 {
		t.Errorf("%d events, want 1", n)
	}
}

func TestSelfIsComplete(t *testing.T) {
	o := Self()
	if o.Host == "" || o.BootID == "" || o.PID != os.Getpid() || o.Started == "" {
		t.Errorf("%+v", o)
	}
	a := Here("key a")
	if a.User == "" || a.Host != o.Host || a.PID != o.PID || a.Surface != "key a" || a.String() != a.User+" (key a)" {
		t.Errorf("%+v", a)
	}
}
