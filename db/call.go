package db

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"tillerman/observer"
)

// CallState is how far a tool call came.
type CallState string

// A call moves forward only: given → judged → (asked → decided) → begun → ended. A refused call ends when it is judged.
const (
	CallGiven   CallState = "given"
	CallJudged  CallState = "judged"
	CallAsked   CallState = "asked"
	CallDecided CallState = "decided"
	CallBegun   CallState = "begun"
	CallEnded   CallState = "ended"
)

// Call is one tool call of an answer.
type Call struct {
	Step, Position int // position counts from 1 in the answer's order
	CallID         string
	Name           string
	Arguments      string // as given
	State          CallState
	Safety, Reach  string
	Key            string
	Act, Target    string
	Effect         string // allow, ask, deny; "" when it could not be judged
	Rule, Layer    *string
	Repeatable     bool
	Digest         string
	ChangedArgs    string // as changed by the operator
	Listing        string // content digest of the workspace listing before a command
	Begun          int    // times
	Decision       string
	Result         string
	Whole          string // content digest of the whole result where the model sees less
	Failed         bool
	Changed        bool
	ExitCode       *int
	LeftRunning    string // JSON
	DurationMS     *int64
}

// AddCalls stores the calls of an answer, all given.
func (tx *Tx) AddCalls(calls []Call) error {
	for _, c := range calls {
		if _, err := tx.exec(`INSERT INTO calls (run_id, step, position, call_id, name, arguments, state) VALUES (?,?,?,?,?,?,'given')`,
			tx.lease.RunID, c.Step, c.Position, c.CallID, c.Name, c.Arguments); err != nil {
			return err
		}
	}
	return nil
}

// SetCall stores everything of c but what was given.
func (tx *Tx) SetCall(c Call) error {
	_, err := tx.exec(`UPDATE calls SET state=?, safety=?, reach=?, key=?, act=?, target=?, effect=?, rule=?, layer=?, repeatable=?, digest=?,
 changed_args=?, listing=?, begun=?, decision=?, result=?, whole=?, failed=?, changed=?, exit_code=?, left_running=?, duration_ms=?
 WHERE run_id=? AND step=? AND position=?`,
		c.State, c.Safety, c.Reach, c.Key, c.Act, c.Target, c.Effect, c.Rule, c.Layer, c.Repeatable, c.Digest,
		null(c.ChangedArgs), null(c.Listing), c.Begun, c.Decision, c.Result, null(c.Whole), c.Failed, c.Changed, c.ExitCode, null(c.LeftRunning), c.DurationMS,
		tx.lease.RunID, c.Step, c.Position)
	return err
}

const selectCall = `SELECT step, position, call_id, name, arguments, state, safety, reach, key, act, target, effect, rule, layer, repeatable, digest,
 coalesce(changed_args,''), coalesce(listing,''), begun, decision, coalesce(result,''), coalesce(whole,''), failed, changed, exit_code,
 coalesce(left_running,''), duration_ms FROM calls WHERE run_id = ?`

func scanCall(r *sql.Rows) (Call, error) {
	var c Call
	err := r.Scan(&c.Step, &c.Position, &c.CallID, &c.Name, &c.Arguments, &c.State, &c.Safety, &c.Reach, &c.Key, &c.Act, &c.Target, &c.Effect,
		&c.Rule, &c.Layer, &c.Repeatable, &c.Digest, &c.ChangedArgs, &c.Listing, &c.Begun, &c.Decision, &c.Result, &c.Whole, &c.Failed, &c.Changed,
		&c.ExitCode, &c.LeftRunning, &c.DurationMS)
	return c, err
}

// Calls lists a run's tool calls in order.
func (s *Store) Calls(ctx context.Context, runID int64) ([]Call, error) {
	c, err := list(s.reader(ctx), scanCall, selectCall+` ORDER BY step, position`, runID)
	return c, wrap("read", s.path, err)
}

// StepCalls lists the tool calls of one step in order.
func (s *Store) StepCalls(ctx context.Context, runID int64, step int) ([]Call, error) {
	c, err := list(s.reader(ctx), scanCall, selectCall+` AND step = ? ORDER BY position`, runID, step)
	return c, wrap("read", s.path, err)
}

// Effect is the journal entry of a call that must not happen twice.
type Effect struct {
	Key            string
	Step, Position int
	State          string // open, ended, resolved
	Result         string
	Resolution     string // done, retry, fail
	Reason         string
	ResolvedBy     string // JSON actor
	At             int64
}

// OpenEffect journals that the call with this key begins. An entry that was resolved as retry is opened again.
func (tx *Tx) OpenEffect(key string, step, position int) error {
	_, err := tx.exec(`INSERT INTO effects (key, run_id, step, position, state, at) VALUES (?,?,?,?,'open',?)
 ON CONFLICT (key) DO UPDATE SET state='open', at=excluded.at WHERE resolution='retry'`, key, tx.lease.RunID, step, position, tx.at)
	return err
}

// EndEffect journals that the call with this key has ended.
func (tx *Tx) EndEffect(key, result string) error {
	_, err := tx.exec(`UPDATE effects SET state='ended', result=? WHERE key=?`, result, key)
	return err
}

// Effects lists a run's journal.
func (s *Store) Effects(ctx context.Context, runID int64) ([]Effect, error) {
	e, err := list(s.reader(ctx), func(r *sql.Rows) (Effect, error) {
		var e Effect
		err := r.Scan(&e.Key, &e.Step, &e.Position, &e.State, &e.Result, &e.Resolution, &e.Reason, &e.ResolvedBy, &e.At)
		return e, err
	}, `SELECT key, step, position, state, coalesce(result,''), coalesce(resolution,''), coalesce(reason,''), coalesce(resolved_by,''), at
 FROM effects WHERE run_id = ? ORDER BY step, position`, runID)
	return e, wrap("read", s.path, err)
}

// OpenEffects lists the runs that have not ended and have a call of which it is not known whether it happened, newest
// first, at most limit.
func (s *Store) OpenEffects(ctx context.Context, limit int) ([]int64, error) {
	runs, err := numbers(s.reader(ctx), `SELECT id FROM runs r WHERE status IN ('running', 'paused')
 AND EXISTS (SELECT 1 FROM effects WHERE run_id = r.id AND state = 'open') ORDER BY id DESC LIMIT ?`, limit)
	return runs, wrap("read", s.path, err)
}

// Resolution is what a person says became of a call that must not happen twice.
type Resolution struct {
	Answer string // done, retry, fail
	Reason string // required: what was found
	// Key and Begun name the call that is meant as it was seen, in the words of its Effect; without them it is whichever
	// waits.
	Key   string
	Begun int64
}

// ResolvedError says that somebody else has said already what became of an interrupted call.
type ResolvedError struct{ Effect Effect }

func (e *ResolvedError) Error() string {
	by := "somebody"
	var who Actor
	if json.Unmarshal([]byte(e.Effect.ResolvedBy), &who) == nil {
		by = who.String()
	}
	return fmt.Sprintf("the interrupted call of step %d was already resolved: %s by %s", e.Effect.Step, e.Effect.Resolution, by)
}

// Resolve stores what became of the interrupted call of a run that waits for a person, with its audit row and event.
// *ResolvedError when somebody was first and the run has not gone on since, else ErrNotFound when no call waits.
func (s *Store) Resolve(ctx context.Context, runID int64, r Resolution, who Actor) (Effect, error) {
	var e Effect
	if r.Answer != "done" && r.Answer != "retry" && r.Answer != "fail" {
		return e, fmt.Errorf("resolution %q is none of done, retry, fail", r.Answer)
	}
	if strings.TrimSpace(r.Reason) == "" {
		return e, errors.New("a reason is required: say what you found")
	}
	r.Reason = s.opts.Clean(r.Reason)
	_, err := s.outside(ctx, runID, func(tx *Tx) error {
		err := tx.row(`SELECT key, step, position, at FROM effects WHERE run_id=? AND state='open' ORDER BY step, position LIMIT 1`, runID).Scan(&e.Key, &e.Step, &e.Position, &e.At)
		if errors.Is(err, sql.ErrNoRows) {
			return tx.resolved(runID)
		}
		if err != nil {
			return err
		}
		if r.Key != "" && (r.Key != e.Key || r.Begun != e.At) { // what was found is about another one
			return noRows(sql.ErrNoRows, "this interrupted call of run %d", runID)
		}
		if _, err := tx.exec(`UPDATE effects SET state='resolved', resolution=?, reason=?, resolved_by=?, at=? WHERE key=?`, r.Answer, r.Reason, encode(who), tx.at, e.Key); err != nil {
			return err
		}
		e.State, e.Resolution, e.Reason, e.ResolvedBy, e.At = "resolved", r.Answer, r.Reason, encode(who), tx.at
		calls, err := list(tx, scanCall, selectCall+` AND step = ? AND position = ?`, runID, e.Step, e.Position)
		if err == nil && len(calls) != 1 {
			err = fmt.Errorf("the call of step %d is missing", e.Step)
		}
		if err != nil {
			return err
		}
		c := calls[0]
		if err := tx.Event(e.Step, 0, observer.Recovery{Name: c.Name, Target: c.Target, Key: e.Key, Decision: r.Answer}); err != nil {
			return err
		}
		return tx.Audit(AuditRow{Action: "recovery", Actor: who, Step: e.Step, Position: &e.Position, Act: c.Act, Target: c.Target, Rule: c.Rule, Layer: c.Layer, Digest: c.Digest, Decision: r.Answer, Reason: r.Reason})
	})
	return e, err
}

// resolved is why no interrupted call of a run waits.
func (tx *Tx) resolved(runID int64) error {
	late := &ResolvedError{}
	e := &late.Effect
	err := tx.row(`SELECT e.key, e.step, e.position, e.state, e.resolution, coalesce(e.reason,''), coalesce(e.resolved_by,''), e.at FROM effects e
 JOIN calls c ON c.run_id = e.run_id AND c.step = e.step AND c.position = e.position
 WHERE e.run_id = ? AND e.state = 'resolved' AND c.state = 'begun' ORDER BY e.step DESC, e.position DESC LIMIT 1`, runID).
		Scan(&e.Key, &e.Step, &e.Position, &e.State, &e.Resolution, &e.Reason, &e.ResolvedBy, &e.At)
	if err != nil {
		return noRows(err, "an interrupted call of run %d", runID)
	}
	return late
}
