package db

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// remove takes rows away until the turn is over or nothing is left.
func (p *pruning) remove(c *conn, t *turn) error {
	if err := p.refs.catchUp(c); err != nil {
		return err
	}
	for len(p.runs) > 0 && !t.over() {
		run := p.runs[0]
		if !p.blanked {
			var err error
			if p.blanked, err = blank(c, run, t); err != nil {
				return err
			}
			continue
		}
		done, err := p.some(c, run, traceTables[p.table], t)
		if err != nil {
			return err
		}
		if done {
			p.table++
		}
		if p.table == len(traceTables) {
			p.runs, p.blanked, p.table, p.dropped = p.runs[1:], false, 0, nil
		}
	}
	return nil
}

// some removes the first rows of a run from a table, with the contents that nobody else needs, and says whether none is
// left. The rows go last: whatever ends the removal before, they still name the contents that are left.
func (p *pruning) some(c *conn, run int64, table traceTable, t *turn) (done bool, err error) {
	order := ` WHERE run_id = ? ORDER BY ` + strings.Join(table.key, ", ") + ` LIMIT ?`
	if len(table.contents) > 0 && !p.read {
		if err := p.readContents(c, table, order, run); err != nil {
			return false, err
		}
		p.read = true
	}
	for ; len(p.pending) > 0; p.pending = p.pending[1:] {
		if t.over() {
			return false, nil
		}
		if err := p.drop(c, p.pending[0], t); err != nil {
			return false, err
		}
	}
	if t.over() {
		return false, nil
	}
	p.read = false
	id := table.id
	if id == "" {
		id = "run_id, " + strings.Join(table.key, ", ")
	}
	res, err := c.exec(`DELETE FROM `+table.name+` WHERE (`+id+`) IN (SELECT `+id+` FROM `+table.name+order+`)`, run, chunkRows)
	if err != nil {
		return false, err
	}
	n, err := res.RowsAffected()
	t.done += int(n)
	return n < chunkRows, err
}

// readContents notes the contents of a run's first rows in a table.
func (p *pruning) readContents(c *conn, table traceTable, order string, run int64) error {
	if p.dropped == nil {
		p.dropped = map[reference]struct{}{}
	}
	_, err := list(c, func(r *sql.Rows) (struct{}, error) {
		found := make([]sql.NullString, len(table.contents))
		into := make([]any, len(found))
		for i := range found {
			into[i] = &found[i]
		}
		if err := r.Scan(into...); err != nil {
			return struct{}{}, err
		}
		all, err := digests(found)
		for _, d := range all {
			if _, ok := p.dropped[referenceTo(d)]; !ok {
				p.dropped[referenceTo(d)] = struct{}{}
				p.pending = append(p.pending, d)
			}
		}
		return struct{}{}, err
	}, `SELECT `+strings.Join(table.contents, ", ")+` FROM `+table.name+order, run, chunkRows)
	return err
}

// drop removes a content that nobody needs.
func (p *pruning) drop(c *conn, digest string, t *turn) error {
	if p.refs.needed(digest) {
		return nil
	}
	var size int64
	err := c.row(`SELECT length(body) FROM contents WHERE digest = ?`, digest).Scan(&size)
	if err == sql.ErrNoRows {
		return nil
	}
	if err != nil {
		return err
	}
	p.sum.Contents++
	p.sum.Bytes += size
	t.done++
	_, err = c.exec(`DELETE FROM contents WHERE digest = ?`, digest)
	return err
}

// blank takes what was shown and said out of some of a run's questions and orders. Who decided what stays.
func blank(c *conn, run int64, t *turn) (done bool, err error) {
	left := int64(0)
	for _, query := range []string{
		`UPDATE requests SET payload='', covers='', said='', changed_args=NULL WHERE id IN
 (SELECT id FROM requests WHERE run_id = ? AND (payload <> '' OR covers <> '' OR said <> '' OR changed_args IS NOT NULL) LIMIT ?)`,
		`UPDATE controls SET body='' WHERE id IN (SELECT id FROM controls WHERE run_id = ? AND kind = 'tell' AND body <> '' LIMIT ?)`,
	} {
		res, err := c.exec(query, run, chunkRows)
		if err != nil {
			return false, err
		}
		n, err := res.RowsAffected()
		if err != nil {
			return false, err
		}
		left = max(left, n)
		t.done += int(n)
	}
	return left < chunkRows, nil
}

// emptyLog moves the log into the store and cuts it, as far as that goes without holding anybody up.
func (s *Store) emptyLog(ctx context.Context) error {
	w := s.writer
	w.mu.Lock()
	defer w.mu.Unlock()
	run := func(pragma string) error {
		rows, err := w.conn.QueryContext(ctx, pragma)
		if err != nil {
			return err
		}
		return rows.Close()
	}
	// Most of it is moved while others write. Cutting it needs the store for a moment and is left out when somebody has it.
	if err := run("PRAGMA wal_checkpoint(PASSIVE)"); err != nil {
		return wrap("write", s.path, err)
	}
	if err := run("PRAGMA busy_timeout=0"); err != nil {
		return wrap("write", s.path, err)
	}
	err := run("PRAGMA wal_checkpoint(TRUNCATE)")
	if classify(err) == ErrLocked {
		err = nil
	}
	if back := run(fmt.Sprintf("PRAGMA busy_timeout=%d", s.opts.wait.Milliseconds())); err == nil {
		err = back
	}
	return wrap("write", s.path, err)
}
