package db

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// Status is where a run's life stands.
type Status string

// The three states of a run. Running with no living driver is an interrupted run.
const (
	Running   Status = "running"
	Paused    Status = "paused"
	Completed Status = "completed"
)

// Run is one agent's run.
type Run struct {
	ID             int64
	ParentID       int64 // 0 for a root
	ParentStep     int
	ParentPosition int
	RootID         int64
	Depth          int
	Agent          string
	Goal           string
	Workspace      string
	Provider       string
	Model          string
	Contract       string // JSON, the engine's
	ContractDigest string
	Policy         string // JSON, the policy in force
	PolicyDigest   string
	Inputs         string // JSON, what was read once at the start
	Key            string // idempotency key, "" for none
	Version        string
	Status         Status
	Outcome        string // "" while undecided; a pause word while paused
	StopReason     string
	Said           string // the final message
	Drive          int
	Seq            int64
	Sealed         int // steps
	CreatedAt      int64
	FinishedAt     int64 // 0 until then
	TraceRemovedAt int64
}

// KeyError says that a run with this key exists already.
type KeyError struct{ Existing Run }

func (e *KeyError) Error() string {
	return fmt.Sprintf("key %q belongs to run %d", e.Existing.Key, e.Existing.ID)
}

const runColumns = `r.id, coalesce(r.parent_id,0), coalesce(r.parent_step,0), coalesce(r.parent_position,0), r.root_id, r.depth, r.agent,
 r.goal, r.workspace, r.provider, r.model, r.contract, r.contract_digest, r.policy, r.policy_digest, r.inputs, coalesce(r.key,''), r.version,
 r.status, coalesce(r.outcome,''), coalesce(r.stop_reason,''), coalesce(r.said,''), r.drive, r.seq, r.sealed, r.created_at,
 coalesce(r.finished_at,0), coalesce(r.trace_removed_at,0)`

// fields are where runColumns go.
func (r *Run) fields() []any {
	return []any{
		&r.ID, &r.ParentID, &r.ParentStep, &r.ParentPosition, &r.RootID, &r.Depth, &r.Agent,
		&r.Goal, &r.Workspace, &r.Provider, &r.Model, &r.Contract, &r.ContractDigest, &r.Policy, &r.PolicyDigest, &r.Inputs, &r.Key, &r.Version,
		&r.Status, &r.Outcome, &r.StopReason, &r.Said, &r.Drive, &r.Seq, &r.Sealed, &r.CreatedAt, &r.FinishedAt, &r.TraceRemovedAt,
	}
}

const selectRun = `SELECT ` + runColumns + ` FROM runs r`

func scanRun(row interface{ Scan(...any) error }) (Run, error) {
	var r Run
	err := row.Scan(r.fields()...)
	return r, err
}

func insertRun(c *conn, r Run, now time.Time) (int64, error) {
	var id int64
	err := c.row(`INSERT INTO runs (parent_id, parent_step, parent_position, root_id, depth, agent, goal, workspace, provider, model,
 contract, contract_digest, policy, policy_digest, inputs, key, version, status, created_at)
 VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,'running',?) RETURNING id`,
		nullID(r.ParentID), nullID(int64(r.ParentStep)), nullID(int64(r.ParentPosition)), r.RootID, r.Depth, r.Agent, r.Goal, r.Workspace,
		r.Provider, r.Model, r.Contract, r.ContractDigest, r.Policy, r.PolicyDigest, r.Inputs, null(r.Key), r.Version, now.UnixMilli()).Scan(&id)
	if err != nil {
		return 0, err
	}
	if r.RootID == 0 {
		_, err = c.exec(`UPDATE runs SET root_id = id WHERE id = ?`, id)
	}
	return id, err
}

func nullID(n int64) any {
	if n == 0 {
		return nil
	}
	return n
}

// Run reads one run. ErrNotFound when there is none.
func (s *Store) Run(ctx context.Context, id int64) (Run, error) {
	r, err := scanRun(s.reader(ctx).row(selectRun+` WHERE id = ?`, id))
	return r, wrap("read", s.path, noRows(err, "run %d", id))
}

// LastRun is the newest root run. ErrNotFound when there is none.
func (s *Store) LastRun(ctx context.Context) (Run, error) {
	r, err := scanRun(s.reader(ctx).row(selectRun + ` WHERE parent_id IS NULL ORDER BY id DESC LIMIT 1`))
	return r, wrap("read", s.path, noRows(err, "the newest run"))
}

// SetPolicy replaces the policy in force, for a resume that brings its own.
func (tx *Tx) SetPolicy(policy, digest string) error {
	tx.policy = digest
	_, err := tx.exec(`UPDATE runs SET policy = ?, policy_digest = ? WHERE id = ?`, policy, digest, tx.lease.RunID)
	return err
}

// SetContract replaces the contract when its budgets change. Its digest stays that of what was asked at the start: by it
// a second start with the same key is known.
func (tx *Tx) SetContract(contract string) error {
	_, err := tx.exec(`UPDATE runs SET contract = ? WHERE id = ?`, contract, tx.lease.RunID)
	return err
}

// Drive is one process's time with a run.
type Drive struct {
	Drive     int
	StartedAt int64
	ElapsedMS int64
	Ended     string // "" while driven and after a crash
	Actor     string
	Sandbox   string
}

// Drives lists a run's drives in order.
func (s *Store) Drives(ctx context.Context, runID int64) ([]Drive, error) {
	d, err := drives(s.reader(ctx), runID)
	return d, wrap("read", s.path, err)
}

func drives(q querier, runID int64) ([]Drive, error) {
	return list(q, func(r *sql.Rows) (Drive, error) {
		var d Drive
		err := r.Scan(&d.Drive, &d.StartedAt, &d.ElapsedMS, &d.Ended, &d.Actor, &d.Sandbox)
		return d, err
	}, `SELECT drive, started_at, elapsed_ms, coalesce(ended,''), actor, sandbox FROM drives WHERE run_id = ? ORDER BY drive`, runID)
}
