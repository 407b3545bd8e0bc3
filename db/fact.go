package db

import (
	"context"
	"database/sql"
)

// nextOrdinal is the SQL for the next dense number among the rows in table of the run ?1.
func nextOrdinal(table string) string {
	return `(SELECT coalesce(max(ordinal), 0) + 1 FROM ` + table + ` WHERE run_id = ?1)`
}

// ContextFact says what shaped a request beside steps.
type ContextFact struct {
	Ordinal int64
	Step    int
	Kind    string // replan, stalled, gate_read, told, compacted, stubbed, cut_off, served
	Detail  string
}

// AddContextFact appends a context fact.
func (tx *Tx) AddContextFact(step int, kind, detail string) error {
	_, err := tx.exec(`INSERT INTO context_facts (run_id, ordinal, step, kind, detail) VALUES (?1, `+nextOrdinal("context_facts")+`, ?,?,?)`, tx.lease.RunID, step, kind, detail)
	return err
}

// ContextFacts lists a run's context facts in order.
func (s *Store) ContextFacts(ctx context.Context, runID int64) ([]ContextFact, error) {
	f, err := list(s.reader(ctx), func(r *sql.Rows) (ContextFact, error) {
		var f ContextFact
		err := r.Scan(&f.Ordinal, &f.Step, &f.Kind, &f.Detail)
		return f, err
	}, `SELECT ordinal, step, kind, detail FROM context_facts WHERE run_id = ? ORDER BY ordinal`, runID)
	return f, wrap("read", s.path, err)
}

// Verdict is what the policy said to one action.
type Verdict struct {
	Ordinal     int64
	Step        int
	Position    *int // nil: not a call
	Act, Target string
	Effect      string
	Rule, Layer *string
	Part        string
}

// AddVerdict appends a verdict.
func (tx *Tx) AddVerdict(v Verdict) error {
	_, err := tx.exec(`INSERT INTO verdicts (run_id, ordinal, step, position, act, target, effect, rule, layer, part) VALUES (?1, `+nextOrdinal("verdicts")+`, ?,?,?,?,?,?,?,?)`,
		tx.lease.RunID, v.Step, v.Position, v.Act, v.Target, v.Effect, v.Rule, v.Layer, v.Part)
	return err
}

const selectVerdict = `SELECT ordinal, step, position, act, target, effect, rule, layer, part FROM verdicts WHERE run_id = ?`

func scanVerdict(r *sql.Rows) (Verdict, error) {
	var v Verdict
	err := r.Scan(&v.Ordinal, &v.Step, &v.Position, &v.Act, &v.Target, &v.Effect, &v.Rule, &v.Layer, &v.Part)
	return v, err
}

// Verdicts lists a run's verdicts in order.
func (s *Store) Verdicts(ctx context.Context, runID int64) ([]Verdict, error) {
	v, err := list(s.reader(ctx), scanVerdict, selectVerdict+` ORDER BY ordinal`, runID)
	return v, wrap("read", s.path, err)
}

// SandboxFact is one thing a sandbox did.
type SandboxFact struct {
	Ordinal int64
	Step    int
	Kind    string
	Backend *string
	Detail  string
}

// AddSandboxFact appends a sandbox fact.
func (tx *Tx) AddSandboxFact(f SandboxFact) error {
	_, err := tx.exec(`INSERT INTO sandbox_facts (run_id, ordinal, step, kind, backend, detail) VALUES (?1, `+nextOrdinal("sandbox_facts")+`, ?,?,?,?)`,
		tx.lease.RunID, f.Step, f.Kind, f.Backend, f.Detail)
	return err
}

// SandboxFacts lists what a run's sandboxes did, in order.
func (s *Store) SandboxFacts(ctx context.Context, runID int64) ([]SandboxFact, error) {
	f, err := list(s.reader(ctx), func(r *sql.Rows) (SandboxFact, error) {
		var f SandboxFact
		err := r.Scan(&f.Ordinal, &f.Step, &f.Kind, &f.Backend, &f.Detail)
		return f, err
	}, `SELECT ordinal, step, kind, backend, detail FROM sandbox_facts WHERE run_id = ? ORDER BY ordinal`, runID)
	return f, wrap("read", s.path, err)
}

// Gate is one run of one check.
type Gate struct {
	Ordinal    int64
	Step       int
	Position   int    // place in the contract, from 1
	Phase      string // command:1, contains:2
	Target     string
	State      string // begun, passed, failed, interrupted
	Output     string // as the model sees it
	Whole      string // content digest
	Tampered   string // JSON list of files the gate names that changed since the start
	Listing    string
	DurationMS *int64
}

// BeginGate stores that a check begins and returns its ordinal.
func (tx *Tx) BeginGate(g Gate) (int64, error) {
	var n int64
	err := tx.row(`INSERT INTO gates (run_id, ordinal, step, position, phase, target, state, listing) VALUES (?1, `+nextOrdinal("gates")+`, ?,?,?,?,'begun',?) RETURNING ordinal`,
		tx.lease.RunID, g.Step, g.Position, g.Phase, g.Target, null(g.Listing)).Scan(&n)
	return n, err
}

// EndGate stores a check's result.
func (tx *Tx) EndGate(g Gate) error {
	_, err := tx.exec(`UPDATE gates SET state=?, output=?, whole=?, tampered=?, duration_ms=? WHERE run_id=? AND ordinal=?`,
		g.State, g.Output, null(g.Whole), null(g.Tampered), g.DurationMS, tx.lease.RunID, g.Ordinal)
	return err
}

// InterruptGates marks the checks that were under way when their driver died.
func (tx *Tx) InterruptGates() error {
	_, err := tx.exec(`UPDATE gates SET state='interrupted' WHERE run_id=? AND state='begun'`, tx.lease.RunID)
	return err
}

const selectGate = `SELECT ordinal, step, position, phase, target, state, coalesce(output,''), coalesce(whole,''), coalesce(tampered,''), coalesce(listing,''), duration_ms
 FROM gates WHERE run_id = ?`

func scanGate(r *sql.Rows) (Gate, error) {
	var g Gate
	err := r.Scan(&g.Ordinal, &g.Step, &g.Position, &g.Phase, &g.Target, &g.State, &g.Output, &g.Whole, &g.Tampered, &g.Listing, &g.DurationMS)
	return g, err
}

// Gates lists a run's checks in the order they ran.
func (s *Store) Gates(ctx context.Context, runID int64) ([]Gate, error) {
	g, err := list(s.reader(ctx), scanGate, selectGate+` ORDER BY ordinal`, runID)
	return g, wrap("read", s.path, err)
}
