package db

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// read is one way to read a store. Its first word is the method.
type read struct {
	name string
	do   func(ctx context.Context, s *Store, run int64) error
}

// drop makes a read of a call with a result.
func drop[T any](_ T, err error) error { return err }

// reads is every way to read a store: what lists and screens do.
var reads = []read{
	{"Run", func(ctx context.Context, s *Store, run int64) error { return drop(s.Run(ctx, run)) }},
	{"LastRun", func(ctx context.Context, s *Store, _ int64) error { return drop(s.LastRun(ctx)) }},
	{"Listed", func(ctx context.Context, s *Store, run int64) error { return drop(s.Listed(ctx, run)) }},
	{"Runs", runs(Filter{})},
	{"Runs next page", runs(Filter{Before: 100})},
	{"Runs with children", runs(Filter{Children: true})},
	{"Runs by outcome", runs(Filter{Outcome: "success"})},
	{"Runs by provider", runs(Filter{Provider: "script"})},
	{"Runs by model", runs(Filter{Model: "m"})},
	{"Runs by workspace", runs(Filter{Workspace: "/w"})},
	{"Runs by all four", runs(Filter{Outcome: "success", Provider: "script", Model: "m", Workspace: "/w"})},
	{"Runs by outcome, next page, with children", runs(Filter{Outcome: "success", Before: 100, Children: true})},
	{"Runs since", runs(Filter{Since: 1})},
	{"Runs since with children", runs(Filter{Since: 1, Children: true})},
	{"Runs since by model", runs(Filter{Since: 1, Model: "m"})},
	{"Runs that need me", runs(Filter{NeedsMe: true})},
	{"Runs that need me by workspace", runs(Filter{NeedsMe: true, Workspace: "/w"})},
	{"Runs with words", runs(Filter{Query: "tests 12"})},
	{"RunsThatAre", func(ctx context.Context, s *Store, _ int64) error { return drop(s.RunsThatAre(ctx, Paused, 50)) }},
	{"OpenEffects", func(ctx context.Context, s *Store, _ int64) error { return drop(s.OpenEffects(ctx, 50)) }},
	{"RunRows", func(ctx context.Context, s *Store, _ int64) error { return drop(s.RunRows(ctx, 5000)) }},
	{"OlderRunRows", func(ctx context.Context, s *Store, run int64) error {
		return drop(s.OlderRunRows(ctx, "tests", run, 200))
	}},
	{"Refusals", func(ctx context.Context, s *Store, run int64) error { return drop(s.Refusals(ctx, run, 20)) }},
	{"SlowestSpan", func(ctx context.Context, s *Store, run int64) error { return drop(s.SlowestSpan(ctx, run)) }},
	{"StepFiles", func(ctx context.Context, s *Store, run int64) error { return drop(s.StepFiles(ctx, run, 1)) }},
	{"Summary", func(ctx context.Context, s *Store, run int64) error { return drop(s.Summary(ctx, run)) }},
	{"Figures", func(ctx context.Context, s *Store, run int64) error { return drop(s.Figures(ctx, run)) }},
	{"Drives", func(ctx context.Context, s *Store, run int64) error { return drop(s.Drives(ctx, run)) }},
	{"Driver", func(ctx context.Context, s *Store, run int64) error {
		_, _, _, err := s.Driver(ctx, run)
		return err
	}},
	{"Rules", func(ctx context.Context, s *Store, run int64) error { return drop(s.Rules(ctx, run)) }},
	{"Before", func(ctx context.Context, s *Store, _ int64) error {
		return drop(s.Before(ctx, Request{Act: "exec", Target: "go test"}))
	}},
	{"DecidedCalls", func(ctx context.Context, s *Store, _ int64) error { return drop(s.DecidedCalls(ctx, "exec", 100)) }},
	{"Hold", func(ctx context.Context, s *Store, run int64) error { return drop(s.Hold(ctx, run)) }},
	{"Steps", func(ctx context.Context, s *Store, run int64) error { return drop(s.Steps(ctx, run, 5, 50)) }},
	{"Window", func(ctx context.Context, s *Store, run int64) error { return drop(s.Window(ctx, run, 1, 40)) }},
	{"Calls", func(ctx context.Context, s *Store, run int64) error { return drop(s.Calls(ctx, run)) }},
	{"StepCalls", func(ctx context.Context, s *Store, run int64) error { return drop(s.StepCalls(ctx, run, 1)) }},
	{"Attempts", func(ctx context.Context, s *Store, run int64) error { return drop(s.Attempts(ctx, run)) }},
	{"StepAttempts", func(ctx context.Context, s *Store, run int64) error { return drop(s.StepAttempts(ctx, run, 1)) }},
	{"AttemptsAfter", func(ctx context.Context, s *Store, run int64) error { return drop(s.AttemptsAfter(ctx, run, 1)) }},
	{"Files", func(ctx context.Context, s *Store, run int64) error { return drop(s.Files(ctx, run)) }},
	{"Gates", func(ctx context.Context, s *Store, run int64) error { return drop(s.Gates(ctx, run)) }},
	{"Verdicts", func(ctx context.Context, s *Store, run int64) error { return drop(s.Verdicts(ctx, run)) }},
	{"ContextFacts", func(ctx context.Context, s *Store, run int64) error { return drop(s.ContextFacts(ctx, run)) }},
	{"SandboxFacts", func(ctx context.Context, s *Store, run int64) error { return drop(s.SandboxFacts(ctx, run)) }},
	{"Effects", func(ctx context.Context, s *Store, run int64) error { return drop(s.Effects(ctx, run)) }},
	{"Spans", func(ctx context.Context, s *Store, run int64) error { return drop(s.Spans(ctx, run)) }},
	{"SpansAfter", func(ctx context.Context, s *Store, run int64) error { return drop(s.SpansAfter(ctx, run, 5, 500)) }},
	{"FilesBetween", func(ctx context.Context, s *Store, run int64) error { return drop(s.FilesBetween(ctx, run, 1, 40)) }},
	{"RecentSpans", func(ctx context.Context, s *Store, run int64) error { return drop(s.RecentSpans(ctx, run, 8)) }},
	{"Request", func(ctx context.Context, s *Store, _ int64) error { return drop(s.Request(ctx, 1)) }},
	{"Requests", func(ctx context.Context, s *Store, run int64) error { return drop(s.Requests(ctx, run)) }},
	{"OpenRequests", func(ctx context.Context, s *Store, run int64) error { return drop(s.OpenRequests(ctx, run)) }},
	{"Inbox", func(ctx context.Context, s *Store, _ int64) error { return drop(s.Inbox(ctx)) }},
	{"Controls", func(ctx context.Context, s *Store, run int64) error { return drop(s.Controls(ctx, run)) }},
	{"PendingControls", func(ctx context.Context, s *Store, run int64) error { return drop(s.PendingControls(ctx, run)) }},
	{"Stops", func(ctx context.Context, s *Store, _ int64) error { return drop(s.Stops(ctx, 5, 500)) }},
	{"UnstoppedControls", func(ctx context.Context, s *Store, run int64) error { return drop(s.UnstoppedControls(ctx, run)) }},
	{"EventsAfter", func(ctx context.Context, s *Store, run int64) error { return drop(s.EventsAfter(ctx, run, 5, 500)) }},
	{"EventsSince", func(ctx context.Context, s *Store, _ int64) error { return drop(s.EventsSince(ctx, 5, 500)) }},
	{"LastCursor", func(ctx context.Context, s *Store, _ int64) error { return drop(s.LastCursor(ctx)) }},
	{"AuditLog", func(ctx context.Context, s *Store, _ int64) error { return drop(s.AuditLog(ctx, 0, 5, 500)) }},
	{"AuditLog of a run", func(ctx context.Context, s *Store, run int64) error { return drop(s.AuditLog(ctx, run, 5, 500)) }},
	{"Removable", func(ctx context.Context, s *Store, _ int64) error { return drop(s.Removable(ctx, 1<<62)) }},
	{"AuditBefore", func(ctx context.Context, s *Store, _ int64) error { return drop(s.AuditBefore(ctx, 0, 0, 200)) }},
	{"AuditBefore of a run", func(ctx context.Context, s *Store, run int64) error { return drop(s.AuditBefore(ctx, run, 5, 200)) }},
	{"AuditRows", func(ctx context.Context, s *Store, run int64) error {
		for _, err := range s.AuditRows(ctx, run, 0) {
			if err != nil {
				return err
			}
		}
		return nil
	}},
	{"Content", func(ctx context.Context, s *Store, _ int64) error { return drop(s.Content(ctx, Digest(message(1)))) }},
	{"Contents", func(ctx context.Context, s *Store, _ int64) error { return drop(s.Contents(ctx, []string{"a", "b"})) }},
}

func runs(f Filter) func(context.Context, *Store, int64) error {
	return func(ctx context.Context, s *Store, _ int64) error { return drop(s.Runs(ctx, f)) }
}

// A new way to read a store belongs into the list above, so that the tests below hold for it too.
func TestEveryReadIsListed(t *testing.T) {
	rest := strings.Fields("Close Commit Commits Control Decide LetGo NewWaiter Path Prune Resolve RevokeRule Start TakeUp Wake")
	methods := reflect.TypeFor[*Store]()
	for i := range methods.NumMethod() {
		name := methods.Method(i).Name
		listed := slices.ContainsFunc(reads, func(r read) bool { return strings.Fields(r.name)[0] == name })
		if !listed && !slices.Contains(rest, name) {
			t.Errorf("%s is not in the list of reads", name)
		}
	}
}

// populated is a store with a run that has something of everything, and a question that waits.
func populated(t *testing.T) (*Store, int64) {
	t.Helper()
	s := opened(t, Options{})
	d := newStepper(t, s)
	for step := range 3 {
		d.step(t, step+1)
	}
	commit(t, s, d.lease, func(tx *Tx) error {
		_, err := tx.Ask(Request{Step: 4, Act: "exec", Target: "make", Digest: "d"})
		return err
	})
	ended(t, s, d.lease, Ending{Outcome: "awaiting_approval", Status: Paused})
	other := begun(t, s)
	ended(t, s, other, Ending{Outcome: "success", Status: Completed, Success: true})
	return s, d.lease.RunID
}

// No read leaves a transaction open behind it: one would keep the log from ever being emptied.
func TestNoReadStaysOpen(t *testing.T) {
	s, run := populated(t)
	for _, r := range reads {
		if err := r.do(t.Context(), s, run); err != nil && !strings.Contains(err.Error(), ErrNotFound.Error()) {
			t.Errorf("%s: %v", r.name, err)
		}
		begun(t, s) // something for the log
		if busy, _ := checkpoint(t, s); busy != 0 {
			t.Fatalf("after %s the log cannot be emptied", r.name)
		}
	}
}

// checkpoint empties the log. busy is not 0 when a reader kept it from that.
func checkpoint(t *testing.T, s *Store) (busy, pages int) {
	t.Helper()
	var moved int
	must(t, s.writer.conn.QueryRowContext(t.Context(), "PRAGMA busy_timeout=0").Scan(new(int)))
	must(t, s.writer.conn.QueryRowContext(t.Context(), "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &pages, &moved))
	must(t, s.writer.conn.QueryRowContext(t.Context(), "PRAGMA busy_timeout=10000").Scan(new(int)))
	return busy, pages
}
