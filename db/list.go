package db

import (
	"context"
	"database/sql"
	"encoding/json"
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
	Pause      OperatorPause
	// Unseen says that the driver is on another host or in another container: nobody here can tell whether it lives.
	Unseen bool
}

// OperatorPause is a pause that nobody has lifted.
type OperatorPause struct {
	Asked   bool  // it takes hold at the next boundary
	InForce bool  // nothing new begins
	By      Actor // who asked
}

// Runs lists runs, newest first, one page.
func (s *Store) Runs(ctx context.Context, f Filter) ([]Listed, error) {
	where, args := f.where()
	limit := f.Limit
	if limit <= 0 {
		limit = 50
	}
	page := `(SELECT id AS page FROM runs ` + where + ` ORDER BY id DESC LIMIT ?)`
	all, err := list(s.reader(ctx), s.scanListed, selectListed+` JOIN `+page+` ON page = r.id ORDER BY page DESC`, append(args, limit)...)
	return all, wrap("read", s.path, err)
}

// RunsThatAre lists runs of a status, sub-agents included, newest first, at most limit.
func (s *Store) RunsThatAre(ctx context.Context, status Status, limit int) ([]Listed, error) {
	all, err := list(s.reader(ctx), s.scanListed, selectListed+` WHERE r.status = ? ORDER BY r.id DESC LIMIT ?`, status, limit)
	return all, wrap("read", s.path, err)
}

// Listed reads one run as a list shows it.
func (s *Store) Listed(ctx context.Context, id int64) (Listed, error) {
	all, err := list(s.reader(ctx), s.scanListed, selectListed+` WHERE r.id = ?`, id)
	if err == nil && len(all) == 0 {
		err = sql.ErrNoRows
	}
	if err != nil {
		return Listed{}, wrap("read", s.path, noRows(err, "run %d", id))
	}
	return all[0], nil
}

// State is how the run stands, in one word or two: its outcome, what it waits for, or whether anybody drives it.
func (l Listed) State() string {
	switch {
	case l.Status == Paused && l.Outcome == "paused_by_operator" && !l.Pause.Asked && !l.Pause.InForce:
		return "interrupted" // the pause was lifted, and nobody has taken it up
	case l.Status == Paused && l.Outcome == "awaiting_approval" && l.Waiting == 0:
		return "answered"
	case l.Status == Completed, l.Status == Paused:
		return l.Outcome
	case l.Cancelling && l.Driven:
		return "cancelling"
	case !l.Driven:
		return "interrupted"
	case l.Waiting > 0:
		return "waits for you"
	case l.Pause.InForce:
		return "paused"
	case l.Unseen:
		return "driver unseen"
	case l.Pause.Asked:
		return "pausing"
	}
	return "running"
}

const selectListed = `SELECT ` + runColumns + `, ` + standingColumns + standingTables

func (s *Store) scanListed(r *sql.Rows) (Listed, error) {
	var l Listed
	var st standing
	err := r.Scan(append(l.Run.fields(), st.fields()...)...)
	l.Success, l.Ended, l.Tokens, l.DurationMS, l.CostMicros = st.success, st.ended, st.tokens, st.durationMS, st.costMicros
	l.Waiting, l.Cancelling, l.Driver = st.waiting, st.cancelling, st.driver
	l.Driven, l.Unseen = st.drives(s.self)
	if err == nil {
		l.Pause, err = st.operatorPause()
	}
	return l, err
}

// standing is how a run stands: what its summary says, or how far it has come.
type standing struct {
	ended, success     bool
	tokens, durationMS int64
	costMicros         *int64
	waiting            int
	cancelling, held   bool
	pause              string // of the newest pause without a later continue: + in force or - not yet, and who asked as JSON
	driver             Owner
}

// standingColumns and standingTables read it in one statement with the run, so that both are of one moment.
const (
	standingColumns = `s.run_id IS NOT NULL, coalesce(s.success, 0), coalesce(s.tokens, r.tokens),
 coalesce(s.duration_ms, (SELECT sum(elapsed_ms) FROM drives WHERE run_id = r.id), 0), s.detail ->> '$.cost_micros',
 CASE WHEN s.run_id IS NULL THEN (SELECT count(*) FROM requests WHERE run_id = r.id AND state = 'open') ELSE 0 END,
 s.run_id IS NULL AND EXISTS (SELECT 1 FROM controls WHERE run_id = r.id AND ` + unstopped + `),
 CASE WHEN s.run_id IS NULL THEN coalesce((SELECT iif(kind = 'pause', iif(observed_at IS NULL, '-', '+') || requested_by, '') FROM controls
 WHERE run_id = r.id AND kind IN ('pause', 'continue') ORDER BY id DESC LIMIT 1), '') ELSE '' END,
 l.run_id IS NOT NULL, coalesce(l.host,''), coalesce(l.boot_id,''), coalesce(l.pid_ns,''), coalesce(l.pid,0), coalesce(l.pid_start,'')`
	standingTables = ` FROM runs r LEFT JOIN summaries s ON s.run_id = r.id LEFT JOIN leases l ON l.run_id = r.id`
)

// fields are where standingColumns go.
func (st *standing) fields() []any {
	o := &st.driver
	return []any{
		&st.ended, &st.success, &st.tokens, &st.durationMS, &st.costMicros, &st.waiting, &st.cancelling,
		&st.pause, &st.held, &o.Host, &o.BootID, &o.PIDSpace, &o.PID, &o.Started,
	}
}

// drives says whether somebody drives the run, and whether that is only what the lease says: its owner cannot be seen.
func (st *standing) drives(self Owner) (driven, unseen bool) {
	if !st.held {
		return false, false
	}
	life := LifeOf(st.driver, self)
	return life != Dead, life == Unknown
}

// operatorPause is the pause that is asked for or in force.
func (st *standing) operatorPause() (OperatorPause, error) {
	if st.pause == "" {
		return OperatorPause{}, nil
	}
	p := OperatorPause{Asked: st.pause[0] == '-', InForce: st.pause[0] == '+'}
	return p, json.Unmarshal([]byte(st.pause[1:]), &p.By)
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
	if f.Since != 0 {
		// The order is that of ids, and a clock may have gone back: the first id that can match ends the search early.
		// Where very many match the search ends by itself.
		add(`id >= (SELECT CASE WHEN count(*) > 10000 THEN 0 ELSE min(id) END FROM
 (SELECT id FROM runs WHERE created_at >= ? LIMIT 10001)) AND created_at >= ?`, f.Since, f.Since)
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
