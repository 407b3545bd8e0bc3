package db

import (
	"context"
	"database/sql"

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

// Audit appends a row to the chain, in the transaction of what it records. No row, no action.
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

// chain links an entry to the newest one.
func (tx *Tx) chain(e audit.Entry) error {
	var prev string
	err := tx.row(`SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1`).Scan(&e.Seq, &prev)
	if err != nil && err != sql.ErrNoRows {
		return err
	}
	e.Seq++
	body := e.Canonical()
	_, err = tx.exec(`INSERT INTO audit (seq, body, prev, hash, run_id, step, action, at) VALUES (?,?,?,?,?,?,?,?)`,
		e.Seq, body, prev, audit.Hash(tx.store.opts.AuditKey, prev, body), e.RunID, e.Step, e.Action, e.At)
	return err
}

// AuditLog lists the entries of one run in order, of all runs for run 0, after the given seq, at most limit; limit 0 is all.
func (s *Store) AuditLog(ctx context.Context, runID, after int64, limit int) ([]audit.Link, error) {
	if limit <= 0 {
		limit = -1
	}
	scan := func(r *sql.Rows) (audit.Link, error) {
		var l audit.Link
		err := r.Scan(&l.Seq, &l.Body, &l.Prev, &l.Hash)
		return l, err
	}
	query, args := `SELECT seq, body, prev, hash FROM audit WHERE seq > ? ORDER BY seq LIMIT ?`, []any{after, limit}
	if runID != 0 {
		query, args = `SELECT seq, body, prev, hash FROM audit WHERE run_id = ? AND seq > ? ORDER BY seq LIMIT ?`, []any{runID, after, limit}
	}
	l, err := list(s.reader(ctx), scan, query, args...)
	return l, wrap("read", s.path, err)
}
