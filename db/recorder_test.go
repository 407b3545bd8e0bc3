package db

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"sync"
	"testing"
)

// recorder is a connector that notes every query that goes through it.
type recorder struct {
	driver driver.Driver
	name   string

	mu      sync.Mutex
	queries []query
}

type query struct {
	text string
	args []any
}

func (r *recorder) Connect(context.Context) (driver.Conn, error) {
	c, err := r.driver.Open(r.name)
	return recordedConn{c, r}, err
}

func (r *recorder) Driver() driver.Driver { return r.driver }

// take is what was recorded since it was last called.
func (r *recorder) take() []query {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.queries
	r.queries = nil
	return all
}

type recordedConn struct {
	driver.Conn
	r *recorder
}

func (c recordedConn) QueryContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	c.r.note(text, args)
	return c.Conn.(driver.QueryerContext).QueryContext(ctx, text, args)
}

func (c recordedConn) PrepareContext(ctx context.Context, text string) (driver.Stmt, error) {
	st, err := c.Conn.(driver.ConnPrepareContext).PrepareContext(ctx, text)
	return recordedStmt{st, text, c.r}, err
}

type recordedStmt struct {
	driver.Stmt
	text string
	r    *recorder
}

func (s recordedStmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	s.r.note(s.text, args)
	return s.Stmt.(driver.StmtQueryContext).QueryContext(ctx, args)
}

func (r *recorder) note(text string, args []driver.NamedValue) {
	q := query{text: text}
	for _, a := range args {
		q.args = append(q.args, a.Value)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.queries = append(r.queries, q)
}

// recorded puts a recorder before a store's reads.
func recorded(t *testing.T, s *Store) *recorder {
	t.Helper()
	r := &recorder{driver: s.read.Driver(), name: dsn(s.path, busyTimeout, "_pragma=query_only(1)")}
	must(t, s.read.Close())
	s.read = sql.OpenDB(r)
	s.reads.all = nil // of the pool that is gone
	return r
}

// plan is how SQLite goes about a query.
func plan(t *testing.T, s *Store, q query) []string {
	t.Helper()
	rows, err := s.writer.conn.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+q.text, q.args...)
	must(t, err)
	parts, err := collect(rows, func(r *sql.Rows) (string, error) {
		var id, parent, unused int
		var detail string
		err := r.Scan(&id, &parent, &unused, &detail)
		return detail, err
	})
	must(t, err)
	return parts
}
