package db

import (
	"context"
	"database/sql"
)

// Step is one sealed step.
type Step struct {
	Step      int
	Decision  string // what its calls came to, joined
	ToolCall  string // for the wire only
	Said      string // the model's own words
	Tokens    int64  // 0 when not measured
	Measured  bool
	Changed   bool
	BrokenOff string // why it ended early, "" when it did not
	SealedAt  int64
}

// Seal stores a step whose calls have all ended.
func (tx *Tx) Seal(st Step) error {
	if _, err := tx.exec(`INSERT INTO steps (run_id, step, decision, tool_call, said, tokens, measured, changed, broken_off, sealed_at) VALUES (?,?,?,?,?,?,?,?,?,?)`,
		tx.lease.RunID, st.Step, st.Decision, st.ToolCall, st.Said, st.Tokens, st.Measured, st.Changed, null(st.BrokenOff), tx.at); err != nil {
		return err
	}
	_, err := tx.exec(`UPDATE runs SET sealed = ?, tokens = CAST(min(tokens + ?, 9e18) AS INTEGER) WHERE id = ?`, st.Step, st.Tokens, tx.lease.RunID)
	return err
}

const selectStep = `SELECT step, decision, tool_call, said, tokens, measured, changed, coalesce(broken_off,''), sealed_at FROM steps WHERE run_id = ?`

func scanStep(r *sql.Rows) (Step, error) {
	var st Step
	err := r.Scan(&st.Step, &st.Decision, &st.ToolCall, &st.Said, &st.Tokens, &st.Measured, &st.Changed, &st.BrokenOff, &st.SealedAt)
	return st, err
}

// Steps lists a run's sealed steps after the given one, at most limit of them; limit 0 is all.
func (s *Store) Steps(ctx context.Context, runID int64, after, limit int) ([]Step, error) {
	if limit <= 0 {
		limit = -1
	}
	st, err := list(s.reader(ctx), scanStep, selectStep+` AND step > ? ORDER BY step LIMIT ?`, runID, after, limit)
	return st, wrap("read", s.path, err)
}

// File is one file that a call changed or was about to change.
type File struct {
	Step, Position int
	Path           string
	Source         string // write, command
	Change         string // added, modified, removed, none
	Mode           *uint32
	Before, After  *string // content digests; Before nil: the file did not exist, or a command changed it
	Kept           bool    // contents are stored, not only their digests
	Done           bool
}

// AddFile stores a file change, replacing an earlier row of the same call and path.
func (tx *Tx) AddFile(f File) error {
	_, err := tx.exec(`INSERT OR REPLACE INTO files (run_id, step, position, path, source, change, mode, before_digest, after_digest, kept, done) VALUES (?,?,?,?,?,?,?,?,?,?,?)`,
		tx.lease.RunID, f.Step, f.Position, f.Path, f.Source, f.Change, f.Mode, f.Before, f.After, f.Kept, f.Done)
	return err
}

// FileDone marks the intended change of a call as in place.
func (tx *Tx) FileDone(step, position int, change string) error {
	_, err := tx.exec(`UPDATE files SET done = 1, change = ? WHERE run_id = ? AND step = ? AND position = ? AND source = 'write'`,
		change, tx.lease.RunID, step, position)
	return err
}

// Files lists the files a run touched, in the order of the calls.
func (s *Store) Files(ctx context.Context, runID int64) ([]File, error) {
	f, err := files(s.reader(ctx), runID)
	return f, wrap("read", s.path, err)
}

const selectFile = `SELECT step, position, path, source, change, mode, before_digest, after_digest, kept, done FROM files WHERE run_id = ?`

func scanFile(r *sql.Rows) (File, error) {
	var f File
	err := r.Scan(&f.Step, &f.Position, &f.Path, &f.Source, &f.Change, &f.Mode, &f.Before, &f.After, &f.Kept, &f.Done)
	return f, err
}

func files(q querier, runID int64) ([]File, error) {
	return list(q, scanFile, selectFile+` ORDER BY step, position, path`, runID)
}

// FilesBetween lists the files that the steps from first to last touched, both included, in the order of the calls.
func (s *Store) FilesBetween(ctx context.Context, runID int64, first, last int) ([]File, error) {
	f, err := list(s.reader(ctx), scanFile, selectFile+` AND step BETWEEN ? AND ? ORDER BY step, position, path`, runID, first, last)
	return f, wrap("read", s.path, err)
}

// StepFiles lists the files one step touched.
func (s *Store) StepFiles(ctx context.Context, runID int64, step int) ([]File, error) {
	f, err := list(s.reader(ctx), scanFile, selectFile+` AND step = ? ORDER BY position, path`, runID, step)
	return f, wrap("read", s.path, err)
}
