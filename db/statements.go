package db

import (
	"context"
	"database/sql"
	"sync"
)

// statements are queries of the read pool, each prepared once a connection: SQLite takes longer to parse most of them than
// to answer them. They go with the pool.
type statements struct {
	mu  sync.Mutex
	all map[string]*sql.Stmt
}

// maxStatements bounds what is kept; the queries of this package are far fewer.
const maxStatements = 300

// prepared is the query's statement, nil where there is none: then the query itself says what is wrong. Nothing is locked
// while it waits for a connection.
func (s *statements) prepared(ctx context.Context, pool *sql.DB, query string) *sql.Stmt {
	s.mu.Lock()
	st, full := s.all[query], len(s.all) >= maxStatements
	s.mu.Unlock()
	if st != nil || full {
		return st
	}
	st, err := pool.PrepareContext(ctx, query)
	if err != nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if other := s.all[query]; other != nil {
		_ = st.Close()
		return other
	}
	if s.all == nil {
		s.all = map[string]*sql.Stmt{}
	}
	s.all[query] = st
	return st
}
