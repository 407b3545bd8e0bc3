package db

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"iter"
	"math"

	"tillerman/db/audit"
)

// AuditRow is one entry of the audit trail: who did or authorised what, under which rule, through what.
type AuditRow struct {
	Action      string // one of package audit
	Actor       Actor
	Step        int
	Position    *int
	Act, Target string
	Rule, Layer *string
	Model       string // that asked, as answered
	Digest      string // of the content
	Decision    string
	Reason      string
	RequestID   int64
	Note        string // "again", "by contract", …
}

// Audit appends a row to the chain, in the transaction of what it records. No row, no action. What belongs to no run has
// run 0.
func (tx *Tx) Audit(r AuditRow) error {
	var position int64
	if r.Position != nil {
		position = int64(*r.Position)
	}
	var rule, layer string
	if r.Rule != nil {
		rule = *r.Rule
	}
	if r.Layer != nil {
		layer = *r.Layer
	}
	if r.Act != "" && rule == "" && layer == "" {
		layer = audit.NoRule
	}
	return tx.chain(audit.Entry{
		At: tx.at, Action: r.Action, User: r.Actor.User, Surface: r.Actor.Surface, Terminal: r.Actor.Terminal, Host: r.Actor.Host, PID: int64(r.Actor.PID),
		RunID: tx.lease.RunID, Agent: tx.lease.Agent, Step: int64(r.Step), Position: position, Act: r.Act, Target: r.Target, Rule: rule, Layer: layer,
		PolicyDigest: tx.policy, Model: r.Model, Digest: r.Digest, Decision: r.Decision, Reason: r.Reason, RequestID: r.RequestID, Note: r.Note, Version: tx.version,
	})
}

// chain links an entry to the newest one. A chain that is keyed never goes on without a key, and a row says so when one
// comes into use or takes another's place.
func (tx *Tx) chain(e audit.Entry) error {
	var seq int64
	var head string
	err := tx.row(`SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1`).Scan(&seq, &head)
	if err != nil && err != sql.ErrNoRows {
		return err
	}
	was, is := audit.SealedBy(head), audit.KeyID(tx.store.opts.AuditKey)
	if was != is && is == "" {
		return fmt.Errorf("%w: its newest row is sealed with the key %s", ErrAuditKey, was)
	}
	if was != is && seq > 0 {
		by := Here("settings")
		if seq, head, err = tx.link(seq, head, audit.Entry{
			At: e.At, Action: audit.Key, User: by.User, Surface: by.Surface, Terminal: by.Terminal, Host: by.Host, PID: int64(by.PID),
			Digest: is, Note: "before it " + cmp.Or(was, "none"), Version: e.Version,
		}); err != nil {
			return err
		}
	}
	seq, head, err = tx.link(seq, head, e)
	tx.tail = &audit.Anchor{Store: tx.store.path, Count: seq, Head: head, At: e.At}
	tx.anchor = tx.anchor || e.Action == audit.End || e.Action == audit.Wait || seq%audit.AnchorEvery == 0
	return err
}

// link appends one row behind the one given.
func (tx *Tx) link(seq int64, prev string, e audit.Entry) (int64, string, error) {
	e.Seq = seq + 1
	body := e.Canonical()
	hash := audit.Seal(tx.store.opts.AuditKey, prev, body)
	_, err := tx.exec(`INSERT INTO audit (seq, body, prev, hash, run_id, step, action, at) VALUES (?,?,?,?,?,?,?,?)`,
		e.Seq, body, prev, hash, nullID(e.RunID), e.Step, e.Action, e.At)
	return e.Seq, hash, err
}

// AuditLog lists the entries of one run in order, of all runs for run 0, after the given seq, at most limit; limit 0 is all.
func (s *Store) AuditLog(ctx context.Context, runID, after int64, limit int) ([]audit.Link, error) {
	if limit <= 0 {
		limit = -1
	}
	query, args := selectAudit+` WHERE seq > ? ORDER BY seq LIMIT ?`, []any{after, limit}
	if runID != 0 {
		query, args = selectAudit+` WHERE run_id = ? AND seq > ? ORDER BY seq LIMIT ?`, []any{runID, after, limit}
	}
	l, err := list(s.reader(ctx), scanAudit, query, args...)
	return l, wrap("read", s.path, err)
}

// AuditBefore lists the entries of one run, of all runs for run 0, newest first: those below the given seq, the newest
// of all for 0, at most limit.
func (s *Store) AuditBefore(ctx context.Context, runID, before int64, limit int) ([]audit.Link, error) {
	if before == 0 {
		before = math.MaxInt64
	}
	query, args := selectAudit+` WHERE seq < ? ORDER BY seq DESC LIMIT ?`, []any{before, limit}
	if runID != 0 {
		query, args = selectAudit+` WHERE run_id = ? AND seq < ? ORDER BY seq DESC LIMIT ?`, []any{runID, before, limit}
	}
	l, err := list(s.reader(ctx), scanAudit, query, args...)
	return l, wrap("read", s.path, err)
}

const selectAudit = `SELECT seq, body, prev, hash, coalesce(run_id,0), coalesce(step,0), action, at FROM audit`

func scanAudit(r *sql.Rows) (audit.Link, error) {
	l := audit.Link{Copy: &audit.Copy{}}
	err := r.Scan(&l.Seq, &l.Body, &l.Prev, &l.Hash, &l.Copy.RunID, &l.Copy.Step, &l.Copy.Action, &l.Copy.At)
	return l, err
}

// auditPage is how many rows AuditRows reads at once: a few milliseconds' worth, no reader holds the log up for longer.
const auditPage = 1000

// AuditRows goes through the entries of one run, of all runs for run 0, after the given seq, page by page: a log of any
// length in the memory of one page. Rows that are appended meanwhile come too. An error ends it.
func (s *Store) AuditRows(ctx context.Context, runID, after int64) iter.Seq2[audit.Link, error] {
	return func(yield func(audit.Link, error) bool) {
		if after == 0 {
			// A row that somebody put before the first is seen too, however low its number: those come newest first,
			// and one of them is as good as all, because none belongs there.
			before, err := s.AuditBefore(ctx, runID, 1, 1)
			if err != nil {
				yield(audit.Link{}, err)
				return
			}
			for _, l := range before {
				if !yield(l, nil) {
					return
				}
			}
		}
		for {
			page, err := s.AuditLog(ctx, runID, after, auditPage)
			if err != nil {
				yield(audit.Link{}, err)
				return
			}
			for _, l := range page {
				if !yield(l, nil) {
					return
				}
				after = l.Seq
			}
			if len(page) < auditPage {
				return
			}
		}
	}
}
