package db

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"strings"
)

// Filter chooses runs. Empty fields choose all.
type Filter struct {
	Query     string // words that must all occur in goal, model, outcome, workspace or id
	Outcome   string
	Provider  string
	Model     string
	Workspace string
	Since     int64 // created at or after, ms since the epoch
	NeedsMe   bool  // waiting for a person
	Children  bool  // include sub-agents
	Before    int64 // id below, for the next page; 0 is the first page
	Limit     int   // 0 is 50
}

// Listed is a run in a list with the figures a list shows.
type Listed struct {
	Run
	Success    bool
	Ended      bool // has a summary
	Tokens     int64
	DurationMS int64
	Waiting    int // open questions
	Driven     bool
	Driver     Owner
	CostMicros *int64
	Cancelling bool
}

// Runs lists runs, newest first, one page.
func (s *Store) Runs(ctx context.Context, f Filter) ([]Listed, error) {
	where, args := f.where()
	limit := f.Limit
	if limit <= 0 {
		limit = 50
	}
	ids, err := list(s.reader(ctx), func(r *sql.Rows) (int64, error) {
		var id int64
		err := r.Scan(&id)
		return id, err
	}, `SELECT id FROM runs `+where+` ORDER BY id DESC LIMIT ?`, append(args, limit)...)
	if err != nil {
		return nil, wrap("read", s.path, err)
	}
	all := make([]Listed, 0, len(ids))
	for _, id := range ids {
		l, err := s.listed(ctx, id)
		if err != nil {
			return nil, wrap("read", s.path, err)
		}
		all = append(all, l)
	}
	return all, nil
}

// Listed reads one run as a list shows it.
func (s *Store) Listed(ctx context.Context, id int64) (Listed, error) {
	l, err := s.listed(ctx, id)
	return l, wrap("read", s.path, noRows(err, "run %d", id))
}

// State is how the run stands, in one word or two: its outcome, what it waits for, or whether anybody drives it.
func (l Listed) State() string {
	switch {
	case l.Status == Completed, l.Status == Paused:
		return l.Outcome
	case l.Cancelling && l.Driven:
		return "cancelling"
	case !l.Driven:
		return "interrupted"
	case l.Waiting > 0:
		return "waits for you"
	}
	return "running"
}

func (s *Store) listed(ctx context.Context, id int64) (Listed, error) {
	q := s.reader(ctx)
	run, err := scanRun(q.row(selectRun+` WHERE id = ?`, id))
	if err != nil {
		return Listed{}, err
	}
	l := Listed{Run: run}
	sum, err := scanSummary(q.row(selectSummary+` WHERE run_id = ?`, id))
	switch {
	case err == nil:
		l.Ended, l.Success, l.Tokens, l.DurationMS, l.CostMicros = true, sum.Success, sum.Tokens, sum.DurationMS, sum.CostMicros
		return l, nil
	case !errors.Is(err, sql.ErrNoRows):
		return l, err
	}
	if err := q.row(`SELECT tokens, (SELECT count(*) FROM requests WHERE run_id=?1 AND state='open'),
 (SELECT coalesce(sum(elapsed_ms),0) FROM drives WHERE run_id=?1),
 EXISTS (SELECT 1 FROM controls WHERE run_id=?1 AND `+unstopped+`) FROM runs WHERE id=?1`, id).Scan(&l.Tokens, &l.Waiting, &l.DurationMS, &l.Cancelling); err != nil {
		return l, err
	}
	if run.Status != Completed {
		l.Driver, l.Driven, err = leaseOwner(q, id)
		if err == nil && l.Driven {
			l.Driven = LifeOf(l.Driver, s.self) != Dead
		}
	}
	return l, err
}

func (f Filter) where() (string, []any) {
	var parts []string
	var args []any
	add := func(cond string, vals ...any) {
		parts = append(parts, cond)
		args = append(args, vals...)
	}
	indexed := false
	if f.NeedsMe {
		add("id IN (SELECT run_id FROM requests WHERE state = 'open' UNION SELECT id FROM runs WHERE status = 'paused')")
		indexed = true
	}
	// One index is used, that of the condition that leaves the fewest runs; a plus keeps SQLite from the others.
	equal := func(cond string, vals ...any) {
		if indexed {
			cond = "+" + cond
		}
		indexed = true
		add(cond, vals...)
	}
	for _, exact := range []struct{ column, value string }{
		{"workspace", f.Workspace}, {"model", f.Model}, {"provider", f.Provider}, {"outcome", f.Outcome},
	} {
		if exact.value != "" {
			equal(exact.column+" = ?", exact.value)
		}
	}
	if !f.Children {
		equal("parent_id IS NULL")
	}
	if f.Since != 0 { // the order is that of ids, and a clock may have gone back
		add("id >= (SELECT min(id) FROM runs WHERE created_at >= ?) AND +created_at >= ?", f.Since, f.Since)
	}
	if f.Before != 0 {
		add("id < ?", f.Before)
	}
	for _, word := range strings.Fields(f.Query) {
		like := "%" + likeEscaper.Replace(word) + "%"
		id, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			id = -1
		}
		add(`(goal LIKE ? ESCAPE '\' OR model LIKE ? ESCAPE '\' OR provider LIKE ? ESCAPE '\' OR coalesce(outcome,status) LIKE ? ESCAPE '\' OR workspace LIKE ? ESCAPE '\' OR id = ?)`,
			like, like, like, like, like, id)
	}
	if len(parts) == 0 {
		return "", nil
	}
	return "WHERE " + strings.Join(parts, " AND "), args
}

var likeEscaper = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)
