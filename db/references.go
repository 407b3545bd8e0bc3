package db

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"strings"
)

// traceTable is a table that holds a part of runs' traces: rows that belong to one run and go with its trace.
type traceTable struct {
	name string
	// key orders the rows of one run. With run_id before it, it is the primary key, unless the rows have a name of their own.
	key []string
	// id names a row in the whole store, where it is not run_id and key.
	id string
	// contents are the columns that hold digests of contents, or JSON lists of them. Such a table has a column step.
	contents []string
}

// traceTables are removed in this order. Of a run whose removal is not complete, drives has rows.
var traceTables = []traceTable{
	{name: "attempts", key: []string{"attempt"}, contents: []string{"system", "tools", "append", "answer"}},
	{name: "calls", key: []string{"step", "position"}, contents: []string{"listing", "whole"}},
	{name: "files", key: []string{"step", "position", "path"}, contents: []string{"before_digest", "after_digest"}},
	{name: "gates", key: []string{"ordinal"}, contents: []string{"whole", "listing"}},
	{name: "steps", key: []string{"step"}},
	{name: "context_facts", key: []string{"ordinal"}},
	{name: "verdicts", key: []string{"ordinal"}},
	{name: "sandbox_facts", key: []string{"ordinal"}},
	{name: "effects", key: []string{"step", "position"}, id: "key"},
	{name: "spans", key: []string{"span"}},
	{name: "events", key: []string{"seq"}, id: "cursor"},
	{name: "drives", key: []string{"drive"}},
}

// referencePage is how many rows one look at a table takes, so that no read transaction lasts.
const referencePage = 1000

// reference is the beginning of a content's digest: enough that two contents do not share it by chance. Where they did,
// one would be kept too long.
type reference [16]byte

func referenceTo(digest string) (r reference) {
	copy(r[:], digest)
	return r
}

// digests are the contents that one row refers to.
func digests(columns []sql.NullString) ([]string, error) {
	var all []string
	for _, c := range columns {
		switch {
		case c.String == "":
		case c.String[0] == '[':
			var some []string
			if err := json.Unmarshal([]byte(c.String), &some); err != nil {
				return nil, err
			}
			all = append(all, some...)
		default:
			all = append(all, c.String)
		}
	}
	return all, nil
}

// references are the contents that runs outside a removal refer to, about 40 bytes of memory for each. Rows are only
// added to by drivers, in steps that rise, so what comes after the first look is found by looking at few rows again.
type references struct {
	known   map[reference]struct{}
	cursor  int64         // of the newest event when runs were looked at last
	from    map[int64]int // the step from which a run that is or was driven since may refer to more
	leaving func(runID int64) bool
}

// newReferences looks at every run that is not leaving.
func newReferences(ctx context.Context, s *Store, leaving func(runID int64) bool) (*references, error) {
	r := &references{known: map[reference]struct{}{}, from: map[int64]int{}, leaving: leaving}
	q := s.reader(ctx)
	if err := q.row(`SELECT coalesce(max(cursor), 0) FROM events`).Scan(&r.cursor); err != nil {
		return nil, err
	}
	// What is driven now goes on while the tables are read: its newest steps are looked at again.
	if _, err := list(q, func(rows *sql.Rows) (struct{}, error) {
		var run int64
		var sealed int
		err := rows.Scan(&run, &sealed)
		r.from[run] = sealed
		return struct{}{}, err
	}, `SELECT run_id, (SELECT sealed FROM runs WHERE id = run_id) FROM leases`); err != nil {
		return nil, err
	}
	for _, t := range traceTables {
		if len(t.contents) > 0 {
			if err := r.readAll(q, t); err != nil {
				return nil, err
			}
		}
	}
	return r, r.catchUp(q)
}

// readAll reads what a whole table refers to, a page at a time.
func (r *references) readAll(q querier, t traceTable) error {
	key := "run_id, " + strings.Join(t.key, ", ")
	query := `SELECT ` + key + `, ` + strings.Join(t.contents, ", ") + ` FROM ` + t.name +
		` WHERE (` + key + `) > (?` + strings.Repeat(", ?", len(t.key)) + `) ORDER BY ` + key + ` LIMIT ?`
	last := make([]any, len(t.key)+1)
	for i := range last {
		last[i] = 0 // before every row: numbers come before texts
	}
	for {
		rows, err := list(q, func(rows *sql.Rows) (struct{}, error) {
			values := make([]any, len(last))
			into := make([]any, 0, len(last)+len(t.contents))
			for i := range values {
				into = append(into, &values[i])
			}
			found := make([]sql.NullString, len(t.contents))
			for i := range found {
				into = append(into, &found[i])
			}
			if err := rows.Scan(into...); err != nil {
				return struct{}{}, err
			}
			copy(last, values)
			if run, ok := values[0].(int64); ok && r.leaving(run) {
				return struct{}{}, nil
			}
			return struct{}{}, r.add(found)
		}, query, append(slices.Clone(last), referencePage)...)
		if err != nil || len(rows) < referencePage {
			return err
		}
	}
}

func (r *references) add(columns []sql.NullString) error {
	all, err := digests(columns)
	for _, d := range all {
		r.known[referenceTo(d)] = struct{}{}
	}
	return err
}

// readRun reads what a run refers to from the step on from which it may have changed, and notes how far it has come.
func (r *references) readRun(q querier, run int64) error {
	var now int
	if err := q.row(`SELECT sealed FROM runs WHERE id = ?`, run).Scan(&now); err != nil {
		return err
	}
	for _, t := range traceTables {
		if len(t.contents) == 0 {
			continue
		}
		_, err := list(q, func(rows *sql.Rows) (struct{}, error) {
			found := make([]sql.NullString, len(t.contents))
			into := make([]any, len(found))
			for i := range found {
				into[i] = &found[i]
			}
			if err := rows.Scan(into...); err != nil {
				return struct{}{}, err
			}
			return struct{}{}, r.add(found)
		}, `SELECT `+strings.Join(t.contents, ", ")+` FROM `+t.name+` WHERE run_id = ? AND step >= ?`, run, r.from[run])
		if err != nil {
			return err
		}
	}
	r.from[run] = now
	return nil
}

// catchUp looks at what was added since it was looked last. Only a driver adds references; one that has come and gone in
// between has left an event.
func (r *references) catchUp(q querier) error {
	runs := map[int64]bool{}
	for run := range r.from {
		runs[run] = true
	}
	added, err := numbers(q, `SELECT run_id FROM leases`)
	if err != nil {
		return err
	}
	var cursor int64
	if err := q.row(`SELECT coalesce(max(cursor), 0) FROM events`).Scan(&cursor); err != nil {
		return err
	}
	// The plus keeps SQLite from the index of runs, which it would read whole.
	told, err := numbers(q, `SELECT DISTINCT +run_id FROM events WHERE cursor > ?`, r.cursor)
	if err != nil {
		return err
	}
	for _, run := range append(added, told...) {
		runs[run] = true
	}
	for run := range runs {
		if r.leaving(run) {
			continue
		}
		if err := r.readRun(q, run); err != nil {
			return err
		}
	}
	r.cursor = max(r.cursor, cursor)
	return nil
}

// needed says whether a run outside the removal refers to a content.
func (r *references) needed(digest string) bool {
	_, ok := r.known[referenceTo(digest)]
	return ok
}

// numbers reads a column of numbers.
func numbers(q querier, query string, args ...any) ([]int64, error) {
	return list(q, func(r *sql.Rows) (int64, error) {
		var n int64
		err := r.Scan(&n)
		return n, err
	}, query, args...)
}
