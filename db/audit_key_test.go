package db

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"tillerman/db/audit"
)

var (
	firstKey  = []byte("the first key of this log, long.")
	secondKey = []byte("the key that takes its place....")
)

// verifies reads a store's whole log with the keys and anchors.
func verifies(t *testing.T, s *Store, anchors []audit.Anchor, keys ...[]byte) audit.Report {
	t.Helper()
	v := audit.Verifier{Keys: audit.KeysOf(keys...), Anchors: anchors}
	for l, err := range s.AuditRows(t.Context(), 0, 0) {
		must(t, err)
		if v.Add(l) != nil {
			break
		}
	}
	return v.Report()
}

func appends(t *testing.T, path string, key []byte, n int) {
	t.Helper()
	s, err := Open(t.Context(), path, Options{AuditKey: key})
	must(t, err)
	lease := begun(t, s)
	for range n {
		commit(t, s, lease, func(tx *Tx) error { return tx.Audit(AuditRow{Action: audit.Write, Actor: tester}) })
	}
	must(t, s.Close())
}

// A key comes into use, and another takes its place; each change is a row. Without a key the chain takes no more rows.
func TestKeyOfTheChainChanges(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.db")
	appends(t, path, nil, 3)
	appends(t, path, firstKey, 3)
	appends(t, path, firstKey, 1)
	appends(t, path, secondKey, 2)
	s, err := Open(t.Context(), path, Options{})
	must(t, err)
	defer s.Close()
	if r := verifies(t, s, nil, firstKey, secondKey); r.Verdict != audit.Intact || r.Rows != 11 || r.KeyedFrom != 4 {
		t.Errorf("%+v", r)
	}
	var changes []string
	for l, err := range s.AuditRows(t.Context(), 0, 0) {
		must(t, err)
		if e := entryOf(t, l); e.Action == audit.Key {
			changes = append(changes, fmt.Sprint(e.Seq, " ", e.Digest, " ", e.Note, " ", e.User != ""))
		}
	}
	want := []string{fmt.Sprint("4 ", audit.KeyID(firstKey), " before it none true"), fmt.Sprint("9 ", audit.KeyID(secondKey), " before it ", audit.KeyID(firstKey), " true")}
	if strings.Join(changes, "\n") != strings.Join(want, "\n") {
		t.Errorf("%q, want %q", changes, want)
	}
	before := dump(t, s)
	lease, err := func() (Lease, error) {
		l, _, err := s.Start(t.Context(), Run{Agent: "0", Goal: "g"}, tester, "floor", func(tx *Tx) error { return tx.Audit(AuditRow{Action: audit.Start, Actor: tester}) })
		return l, err
	}()
	if !errors.Is(err, ErrAuditKey) || !strings.Contains(err.Error(), "audit.key_file") || lease.RunID != 0 || dump(t, s) != before {
		t.Errorf("without the key: %v", err)
	}
	if _, err := Open(t.Context(), path, Options{AuditKey: []byte("short")}); !errors.Is(err, ErrAuditKey) {
		t.Errorf("a short key: %v", err)
	}
}

// The anchor is given after the commit that ends a run or lets it wait, and every so many rows; never in it.
func TestAnchorsComeAfterTheirCommit(t *testing.T) {
	var s *Store
	var got []audit.Anchor
	s = opened(t, Options{AuditKey: firstKey, Anchor: func(a audit.Anchor) {
		got = append(got, a)
		if n := number(t, s, "SELECT max(seq) FROM audit"); n != a.Count {
			t.Errorf("the anchor is over %d rows, %d are committed", a.Count, n)
		}
	}})
	lease := begun(t, s)
	row := func(action string) {
		commit(t, s, lease, func(tx *Tx) error { return tx.Audit(AuditRow{Action: action, Actor: tester}) })
	}
	row(audit.Start)
	row(audit.Write)
	if len(got) != 0 {
		t.Fatalf("%+v", got)
	}
	row(audit.Wait)
	row(audit.Resume)
	row(audit.End)
	_, err := s.Commit(t.Context(), lease, func(tx *Tx) error {
		must(t, tx.Audit(AuditRow{Action: audit.End, Actor: tester}))
		return errors.New("no")
	})
	if err == nil || len(got) != 2 || got[0].Count != 3 || got[1].Count != 5 || got[1].Store != s.path {
		t.Fatalf("%v %+v", err, got)
	}
	commit(t, s, lease, func(tx *Tx) error {
		var err error
		for range audit.AnchorEvery {
			err = errors.Join(err, tx.Audit(AuditRow{Action: audit.Write, Actor: tester}))
		}
		return err
	})
	if len(got) != 3 || got[2].Count != audit.AnchorEvery+5 {
		t.Errorf("%+v", got)
	}
	must(t, audit.CheckSignatures(got, audit.KeysOf(firstKey)))
	if r := verifies(t, s, got, firstKey); r.Verdict != audit.Intact || r.Anchors != 3 {
		t.Errorf("%+v", r)
	}
}

// Somebody who can write the file drops the triggers and changes rows with SQL. Each change is found by a verifier with
// key and anchor, and the first bad row named.
func TestHostileWriter(t *testing.T) {
	for name, c := range map[string]struct {
		do    string
		want  audit.Verdict
		first int64
	}{
		"nothing":              {"SELECT 1", audit.Intact, 0},
		"a body":               {"UPDATE audit SET body = (SELECT body FROM audit WHERE seq = 3) WHERE seq = 4", audit.Altered, 4},
		"a hash":               {"UPDATE audit SET hash = prev WHERE seq = 4", audit.Altered, 4},
		"a link":               {"UPDATE audit SET prev = '' WHERE seq = 4", audit.Altered, 4},
		"a copied column":      {"UPDATE audit SET run_id = 99 WHERE seq = 4", audit.Altered, 4},
		"a row is gone":        {"DELETE FROM audit WHERE seq = 4", audit.Altered, 4},
		"a row is renumbered":  {"UPDATE audit SET seq = 99 WHERE seq = 4", audit.Altered, 4},
		"rows change places":   {"UPDATE audit SET seq = -1 WHERE seq = 4; UPDATE audit SET seq = 4 WHERE seq = 5; UPDATE audit SET seq = 5 WHERE seq = -1", audit.Altered, 4},
		"the end is gone":      {"DELETE FROM audit WHERE seq > 6", audit.Short, 0},
		"all is gone":          {"DELETE FROM audit", audit.Short, 0},
		"a row at the bottom":  {"INSERT INTO audit SELECT -9223372036854775807 - 1, body, prev, hash, run_id, step, action, at FROM audit WHERE seq = 4", audit.Altered, 1},
		"a body of other type": {"UPDATE audit SET body = x'' WHERE seq = 1", audit.Altered, 1},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "runs.db")
			var anchors []audit.Anchor
			s, err := Open(t.Context(), path, Options{AuditKey: firstKey, Anchor: func(a audit.Anchor) { anchors = append(anchors, a) }})
			must(t, err)
			defer s.Close()
			lease := begun(t, s)
			for i := range 10 {
				action := audit.Write
				if i == 9 {
					action = audit.End
				}
				commit(t, s, lease, func(tx *Tx) error { return tx.Audit(AuditRow{Action: action, Actor: tester, Step: i}) })
			}
			raw(t, s, "DROP TRIGGER audit_no_update; DROP TRIGGER audit_no_delete; DROP TRIGGER audit_next")
			raw(t, s, c.do)
			r := verifies(t, s, anchors, firstKey)
			if r.Verdict != c.want || c.first != 0 && r.Fault.Seq != c.first {
				t.Errorf("%s: %s", r.Verdict, r.Msg)
			}
		})
	}
}

func TestAuditRowsGoesThroughPages(t *testing.T) {
	s := opened(t, Options{})
	lease := begun(t, s)
	const rows = 2*auditPage + 1
	commit(t, s, lease, func(tx *Tx) error {
		var err error
		for range rows {
			err = errors.Join(err, tx.Audit(AuditRow{Action: audit.Write, Actor: tester}))
		}
		return err
	})
	next := int64(6)
	for l, err := range s.AuditRows(t.Context(), lease.RunID, 5) {
		must(t, err)
		if l.Seq != next {
			t.Fatalf("row %d, want %d", l.Seq, next)
		}
		next++
	}
	if next != rows+1 {
		t.Errorf("it ended before row %d", next)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	for _, err := range s.AuditRows(ctx, 0, 0) {
		if err == nil {
			t.Error("a row after the end of the context")
		}
	}
}
