package db

import (
	"context"
	"database/sql"
	"encoding/json"
)

// AttemptState is how far a model call came.
type AttemptState string

// An attempt that is open when a new drive starts becomes lost.
const (
	AttemptOpen     AttemptState = "open"
	AttemptAnswered AttemptState = "answered"
	AttemptFailed   AttemptState = "failed"
	AttemptLost     AttemptState = "lost"
)

// Attempt is one model call. Token fields are nil when the endpoint did not report them.
type Attempt struct {
	Attempt       int
	Step          int
	Drive         int
	Inner         bool // failed inside a fallback chain, which then asked the next provider: no try of the engine's own
	Provider      string
	Model         string
	MaxOutput     int
	System        string   // content digest
	Tools         string   // content digest
	Keep          int      // messages kept from the request before
	Append        []string // content digests of the messages that are new
	RequestDigest string   // as the engine asked, whichever model of a chain was then asked
	Estimate      int64    // input tokens
	Hold          int64    // tokens reserved
	State         AttemptState

	Kind     string // failure
	Status   int
	Message  string
	HintMS   *int64
	DelayMS  *int64 // the wait after it, nil when none followed
	Replayed bool

	Answer        string // content digest of the assistant message
	Stop          string
	Finish        string
	Served        string
	AnsweredModel string

	Input, Output, CacheRead, CacheWrite, Reasoning *int64
	CostMicros                                      *int64
	FirstMS, TotalMS                                *int64
	StartedAt                                       int64
}

// Measured says whether the endpoint reported what the call consumed.
func (a Attempt) Measured() bool { return a.Input != nil && a.Output != nil }

// Tokens is what the call consumed as reported: input, both cache kinds and output. 0 when nothing was reported.
func (a Attempt) Tokens() int64 {
	var total int64
	for _, n := range []*int64{a.Input, a.Output, a.CacheRead, a.CacheWrite} {
		if n != nil {
			total += *n
		}
	}
	return total
}

// Billed is what a budget counts for the call: what was reported; for an answer without a report the estimate of what
// was sent and got; for an open call its hold. A call that failed or was lost without a report counts nothing.
func (a Attempt) Billed() int64 {
	switch {
	case a.Inner && !a.Measured():
		return 0
	case a.Measured():
		return a.Tokens()
	case a.State == AttemptOpen:
		return a.Hold
	case a.State == AttemptAnswered:
		return a.Estimate + a.Hold // Hold is lowered to the answer's estimate when it settles
	}
	return 0
}

// AddAttempt begins a model call and returns its number, dense per run.
func (tx *Tx) AddAttempt(a Attempt) (int, error) {
	var n int
	appended, err := json.Marshal(a.Append)
	if err != nil {
		return 0, err
	}
	if a.Append == nil {
		appended = []byte("[]")
	}
	err = tx.row(`INSERT INTO attempts (run_id, attempt, step, drive, inner, provider, model, max_output, system, tools, keep, append,
 request_digest, estimate, hold, state, started_at)
 VALUES (?1, (SELECT coalesce(max(attempt),0)+1 FROM attempts WHERE run_id = ?1), ?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) RETURNING attempt`,
		tx.lease.RunID, a.Step, tx.lease.Drive, a.Inner, a.Provider, a.Model, a.MaxOutput, a.System, a.Tools, a.Keep, string(appended),
		a.RequestDigest, a.Estimate, a.Hold, AttemptOpen, tx.at).Scan(&n)
	return n, err
}

// EndAttempt stores how the call with a.Attempt ended: everything but its beginning.
func (tx *Tx) EndAttempt(a Attempt) error {
	_, err := tx.exec(`UPDATE attempts SET state=?, inner=?, hold=?, provider=?, kind=?, status=?, message=?, hint_ms=?, delay_ms=?, replayed=?, answer=?, stop=?, finish=?,
 served=?, answered_model=?, input=?, output=?, cache_read=?, cache_write=?, reasoning=?, cost_micros=?, first_ms=?, total_ms=?
 WHERE run_id=? AND attempt=?`,
		a.State, a.Inner, a.Hold, a.Provider, null(a.Kind), nullID(int64(a.Status)), null(a.Message), a.HintMS, a.DelayMS, a.Replayed, null(a.Answer), null(a.Stop), null(a.Finish),
		null(a.Served), null(a.AnsweredModel), a.Input, a.Output, a.CacheRead, a.CacheWrite, a.Reasoning, a.CostMicros, a.FirstMS, a.TotalMS,
		tx.lease.RunID, a.Attempt)
	return err
}

// LoseAttempts marks calls that were open when their driver died: their hold is released, their usage is not known.
func (tx *Tx) LoseAttempts() error {
	_, err := tx.exec(`UPDATE attempts SET state='lost', hold=0 WHERE run_id=? AND state='open'`, tx.lease.RunID)
	return err
}

// Abandoned says, by index, which of a run's attempts, given in order, came to nothing because their driver went away: lost
// ones, those that nothing is known of yet, and what failed inside a call that was lost.
func Abandoned(attempts []Attempt) []bool {
	out := make([]bool, len(attempts))
	var call Attempt // the one whose inner failures come before it
	lost := true
	for i := len(attempts) - 1; i >= 0; i-- {
		a := attempts[i]
		if !a.Inner {
			call, lost = a, a.State == AttemptLost || a.State == AttemptOpen
		}
		out[i] = lost || a.Step != call.Step || a.Drive != call.Drive
	}
	return out
}

const selectAttempt = `SELECT attempt, step, drive, inner, provider, model, max_output, system, tools, keep, append, request_digest,
 estimate, hold, state, coalesce(kind,''), coalesce(status,0), coalesce(message,''), hint_ms, delay_ms, replayed, coalesce(answer,''),
 coalesce(stop,''), coalesce(finish,''), coalesce(served,''), coalesce(answered_model,''), input, output, cache_read, cache_write,
 reasoning, cost_micros, first_ms, total_ms, started_at FROM attempts WHERE run_id = ?`

func scanAttempt(r *sql.Rows) (Attempt, error) {
	var a Attempt
	var appended string
	err := r.Scan(&a.Attempt, &a.Step, &a.Drive, &a.Inner, &a.Provider, &a.Model, &a.MaxOutput, &a.System, &a.Tools, &a.Keep, &appended,
		&a.RequestDigest, &a.Estimate, &a.Hold, &a.State, &a.Kind, &a.Status, &a.Message, &a.HintMS, &a.DelayMS, &a.Replayed, &a.Answer,
		&a.Stop, &a.Finish, &a.Served, &a.AnsweredModel, &a.Input, &a.Output, &a.CacheRead, &a.CacheWrite,
		&a.Reasoning, &a.CostMicros, &a.FirstMS, &a.TotalMS, &a.StartedAt)
	if err != nil {
		return a, err
	}
	return a, json.Unmarshal([]byte(appended), &a.Append)
}

// Attempts lists a run's model calls in order.
func (s *Store) Attempts(ctx context.Context, runID int64) ([]Attempt, error) {
	a, err := list(s.reader(ctx), scanAttempt, selectAttempt+` ORDER BY attempt`, runID)
	return a, wrap("read", s.path, err)
}

// StepAttempts lists the model calls of one step in order.
func (s *Store) StepAttempts(ctx context.Context, runID int64, step int) ([]Attempt, error) {
	a, err := list(s.reader(ctx), scanAttempt, selectAttempt+` AND step BETWEEN ?2 AND ?2 ORDER BY step, attempt`, runID, step) // so that the index of steps is used
	return a, wrap("read", s.path, err)
}
