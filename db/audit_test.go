package db

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"tillerman/db/audit"
	"tillerman/observer"
)

// checkChain fails unless a store's audit rows are dense and each carries the hash of the one before.
func checkChain(t *testing.T, s *Store, want int) []audit.Entry {
	t.Helper()
	links, err := s.AuditLog(t.Context(), 0, 0, 0)
	must(t, err)
	if len(links) != want {
		t.Errorf("%d audit rows, want %d", len(links), want)
	}
	prev := ""
	var all []audit.Entry
	for i, l := range links {
		e := entryOf(t, l)
		if l.Seq != int64(i+1) || e.Seq != l.Seq || l.Prev != prev || l.Hash != audit.Seal(s.opts.AuditKey, prev, l.Body) {
			t.Fatalf("row %d does not follow: %+v", i+1, l)
		}
		prev = l.Hash
		all = append(all, e)
	}
	return all
}

func TestAuditRowsAreNeverChanged(t *testing.T) {
	s := opened(t, Options{})
	lease := begun(t, s)
	commit(t, s, lease, func(tx *Tx) error {
		return errors.Join(tx.Audit(AuditRow{Action: "start", Actor: tester}), tx.Audit(AuditRow{Action: "end", Actor: tester}))
	})
	before := dump(t, s)
	for _, text := range []string{
		"UPDATE audit SET action = 'other' WHERE seq = 1", "UPDATE audit SET seq = 7 WHERE seq = 2", "DELETE FROM audit WHERE seq = 2", "DELETE FROM audit",
		"REPLACE INTO audit SELECT seq, x'00', prev, hash, run_id, step, action, at FROM audit WHERE seq = 2",
		"INSERT INTO audit SELECT 4, body, prev, hash, run_id, step, action, at FROM audit WHERE seq = 2",
		"INSERT INTO audit SELECT 0, body, prev, hash, run_id, step, action, at FROM audit WHERE seq = 2",
		"INSERT INTO audit (seq, body, prev, hash, action, at) VALUES (1, x'', '', '', '', 0) ON CONFLICT (seq) DO UPDATE SET action = 'other'",
	} {
		_, err := s.writer.conn.ExecContext(t.Context(), text)
		if err == nil || !strings.Contains(err.Error(), "audit rows are") {
			t.Errorf("%s: %v", text, err)
		}
	}
	if after := dump(t, s); after != before {
		t.Error("the rows have changed")
	}
}

// No row, no action; no action, no row.
func TestAuditRowIsInTheCommitOfItsFact(t *testing.T) {
	s := opened(t, Options{})
	lease := begun(t, s)
	refused := errors.New("no")
	before := dump(t, s)
	_, err := s.Commit(t.Context(), lease, func(tx *Tx) error {
		must(t, tx.AddVerdict(Verdict{Step: 1, Act: "exec", Target: "x", Effect: "deny"}))
		must(t, tx.Audit(AuditRow{Action: "denial", Actor: tester}))
		must(t, tx.Event(1, 0, observer.Stalled{}))
		return refused
	})
	if err != refused {
		t.Fatal(err)
	}
	if after := dump(t, s); after != before {
		t.Error("a commit that failed left something")
	}
	raw(t, s, "CREATE TRIGGER full BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'no room'); END")
	_, err = s.Commit(t.Context(), lease, func(tx *Tx) error {
		must(t, tx.AddVerdict(Verdict{Step: 1, Act: "exec", Target: "x", Effect: "deny"}))
		return tx.Audit(AuditRow{Action: "denial", Actor: tester})
	})
	if err == nil || number(t, s, "SELECT count(*) FROM verdicts") != 0 {
		t.Errorf("a fact without its row: %v", err)
	}
}

func TestAuditRowSaysEverything(t *testing.T) {
	c := newClock()
	s := opened(t, Options{Now: c.now})
	lease := begun(t, s)
	row := AuditRow{
		Action: "write", Actor: Actor{User: "ann", Surface: "key a", Terminal: "/dev/pts/1", Host: "h", PID: 9}, Step: 3, Position: ptr(2), Act: "write", Target: "a.go",
		Rule: ptr("*.go"), Layer: ptr("team"), Model: "m-1", Digest: "d", Decision: "allow", Reason: "r", RequestID: 5, Note: "again",
	}
	commit(t, s, lease, func(tx *Tx) error { return tx.Audit(row) })
	want := audit.Entry{
		Seq: 1, At: c.at.UnixMilli(), Action: "write", User: "ann", Surface: "key a", Terminal: "/dev/pts/1", Host: "h", PID: 9, RunID: 1, Agent: "0", Step: 3, Position: 2,
		Act: "write", Target: "a.go", Rule: "*.go", Layer: "team", PolicyDigest: "p", Model: "m-1", Digest: "d", Decision: "allow", Reason: "r", RequestID: 5, Note: "again", Version: "0",
	}
	if got := checkChain(t, s, 1)[0]; got != want {
		t.Errorf("%+v\nwant\n%+v", got, want)
	}
	var copies string
	must(t, s.reader(t.Context()).row("SELECT run_id || ' ' || step || ' ' || action || ' ' || at FROM audit").Scan(&copies))
	if want := fmt.Sprintf("1 3 write %d", want.At); copies != want {
		t.Errorf("%s, want %s", copies, want)
	}
}

// Two processes append to one chain in turns, or at once.
func TestChainOfTwoProcesses(t *testing.T) {
	s := opened(t, Options{})
	lease := begun(t, s)
	other := child(t, "audit", s.path, fmt.Sprint(lease.RunID))
	other.want("ready")
	ours := func(i int) {
		commit(t, s, lease, func(tx *Tx) error {
			return tx.Audit(AuditRow{Action: "write", Actor: tester, Reason: fmt.Sprint("ours ", i)})
		})
	}
	for i := range 20 {
		other.say("theirs %d", i)
		other.want("<nil>")
		ours(i)
	}
	for i := range 20 {
		other.say("theirs %d", i)
		ours(i)
	}
	for range 20 {
		other.want("<nil>")
	}
	entries := checkChain(t, s, 80)
	if r := verifies(t, s, nil); r.Verdict != audit.Intact || r.Rows != 80 {
		t.Errorf("%+v", r)
	}
	for i := range 20 {
		if entries[2*i].Reason != fmt.Sprint("theirs ", i) || entries[2*i+1].Reason != fmt.Sprint("ours ", i) {
			t.Errorf("row %d is %q, the next %q", 2*i+1, entries[2*i].Reason, entries[2*i+1].Reason)
		}
	}
}

func TestKeyedChain(t *testing.T) {
	path := t.TempDir() + "/runs.db"
	for range 2 { // it goes on when the store is opened again
		s, err := Open(t.Context(), path, Options{AuditKey: []byte("sixteen secret bytes")})
		must(t, err)
		lease := begun(t, s)
		commit(t, s, lease, func(tx *Tx) error { return tx.Audit(AuditRow{Action: "start", Actor: tester}) })
		checkChain(t, s, int(lease.RunID))
		must(t, s.Close())
	}
}

func TestAuditLogPages(t *testing.T) {
	s := opened(t, Options{})
	runs := []Lease{begun(t, s), begun(t, s)}
	for i := range 10 {
		commit(t, s, runs[i%2], func(tx *Tx) error { return tx.Audit(AuditRow{Action: "write", Actor: tester}) })
	}
	for _, c := range []struct {
		run, after int64
		limit      int
		want       string
	}{{0, 0, 0, "[1 2 3 4 5 6 7 8 9 10]"}, {0, 3, 2, "[4 5]"}, {1, 0, 0, "[1 3 5 7 9]"}, {2, 4, 2, "[6 8]"}, {2, 10, 0, "[]"}, {99, 0, 0, "[]"}} {
		links, err := s.AuditLog(t.Context(), c.run, c.after, c.limit)
		must(t, err)
		got := make([]int64, len(links))
		for i, l := range links {
			got[i] = l.Seq
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("AuditLog(%d, %d, %d) = %v, want %s", c.run, c.after, c.limit, got, c.want)
		}
	}
}
