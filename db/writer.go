package db

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"

	"tillerman/db/audit"
)

// writer is the one connection that writes, with its statements prepared once.
type writer struct {
	mu      sync.Mutex
	db      *sql.DB
	conn    *sql.Conn
	stmts   map[string]*sql.Stmt
	commits int64
	before  func(int64)
	after   func(int64)
}

func openWriter(ctx context.Context, path string, wait time.Duration) (*writer, error) {
	deadline := time.Now().Add(wait)
	for {
		db, err := sql.Open("sqlite", dsn(path, wait))
		if err != nil {
			return nil, err
		}
		db.SetMaxOpenConns(1)
		conn, err := db.Conn(ctx)
		if err == nil {
			return &writer{db: db, conn: conn, stmts: map[string]*sql.Stmt{}}, nil
		}
		_ = db.Close()
		// Switching the journal to WAL needs the file for itself for a moment, and SQLite does not wait for that.
		if classify(err) != ErrLocked || time.Now().After(deadline) {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (w *writer) close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, st := range w.stmts {
		_ = st.Close()
	}
	return errors.Join(w.conn.Close(), w.db.Close())
}

// do runs fn inside one immediate transaction. It ignores ctx's end once it has begun: a commit is never half done.
func (w *writer) do(ctx context.Context, fn func(*conn) error) (err error) {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	ctx = context.WithoutCancel(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	c := &conn{ctx: ctx, w: w}
	if _, err := c.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	done := false
	defer func() {
		if !done { // fn failed or panicked
			_, _ = c.exec("ROLLBACK")
		}
	}()
	if err := fn(c); err != nil {
		return err
	}
	if w.before != nil {
		w.before(w.commits + 1)
	}
	if _, err := c.exec("COMMIT"); err != nil {
		return err
	}
	done = true
	w.commits++
	if w.after != nil {
		w.after(w.commits)
	}
	return nil
}

// conn is the write connection inside a transaction.
type conn struct {
	ctx context.Context
	w   *writer

	tail   *audit.Anchor // the newest audit row of this transaction
	anchor bool          // it is to be anchored
}

func (c *conn) stmt(query string) (*sql.Stmt, error) {
	if st := c.w.stmts[query]; st != nil {
		return st, nil
	}
	st, err := c.w.conn.PrepareContext(c.ctx, query)
	if err != nil {
		return nil, err
	}
	c.w.stmts[query] = st
	return st, nil
}

func (c *conn) exec(query string, args ...any) (sql.Result, error) {
	st, err := c.stmt(query)
	if err != nil {
		return nil, err
	}
	return st.ExecContext(c.ctx, args...)
}

func (c *conn) query(query string, args ...any) (*sql.Rows, error) {
	st, err := c.stmt(query)
	if err != nil {
		return nil, err
	}
	return st.QueryContext(c.ctx, args...)
}

func (c *conn) row(query string, args ...any) *sql.Row {
	st, err := c.stmt(query)
	if err != nil {
		return c.w.conn.QueryRowContext(c.ctx, query, args...) // Scan reports what is wrong
	}
	return st.QueryRowContext(c.ctx, args...)
}
