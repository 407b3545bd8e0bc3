package db

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"strings"
)

// Digest is the name of a content: its SHA-256 in hex.
func Digest(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// Content reads a content by its digest. ErrNotFound when it was never kept or has been removed.
func (s *Store) Content(ctx context.Context, digest string) ([]byte, error) {
	var body []byte
	err := s.reader(ctx).row(`SELECT body FROM contents WHERE digest = ?`, digest).Scan(&body)
	return body, wrap("read", s.path, noRows(err, "content %s", digest))
}

// Contents reads several contents at once. Digests that are not there are missing from the answer.
func (s *Store) Contents(ctx context.Context, digests []string) (map[string][]byte, error) {
	found := make(map[string][]byte, len(digests))
	const batch = 500
	for len(digests) > 0 {
		n := min(batch, len(digests))
		args := make([]any, n)
		for i, d := range digests[:n] {
			args[i] = d
		}
		digests = digests[n:]
		query := `SELECT digest, body FROM contents WHERE digest IN (?` + strings.Repeat(",?", n-1) + `)`
		rows, err := s.read.QueryContext(ctx, query, args...)
		if err != nil {
			return nil, wrap("read", s.path, err)
		}
		if _, err := collect(rows, func(r *sql.Rows) (struct{}, error) {
			var d string
			var body []byte
			err := r.Scan(&d, &body)
			found[d] = body
			return struct{}{}, err
		}); err != nil {
			return nil, wrap("read", s.path, err)
		}
	}
	return found, nil
}

// collect reads all rows and closes them, so that no read transaction outlives the call.
func collect[T any](rows *sql.Rows, scan func(*sql.Rows) (T, error)) ([]T, error) {
	defer rows.Close()
	var all []T
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, rows.Err()
}

// reading is the read pool with the shape of a write connection, so that one query serves both.
type reading struct {
	ctx context.Context
	s   *Store
}

func (s *Store) reader(ctx context.Context) reading { return reading{ctx, s} }

func (r reading) row(query string, args ...any) *sql.Row {
	if st := r.s.reads.prepared(r.ctx, r.s.read, query); st != nil {
		return st.QueryRowContext(r.ctx, args...)
	}
	return r.s.read.QueryRowContext(r.ctx, query, args...)
}

func (r reading) query(query string, args ...any) (*sql.Rows, error) {
	if st := r.s.reads.prepared(r.ctx, r.s.read, query); st != nil {
		return st.QueryContext(r.ctx, args...)
	}
	return r.s.read.QueryContext(r.ctx, query, args...)
}

// querier is either side's reading half.
type querier interface {
	row(query string, args ...any) *sql.Row
	query(query string, args ...any) (*sql.Rows, error)
}

// list runs a query and collects its rows.
func list[T any](q querier, scan func(*sql.Rows) (T, error), query string, args ...any) ([]T, error) {
	rows, err := q.query(query, args...)
	if err != nil {
		return nil, err
	}
	return collect(rows, scan)
}
