package db

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"

	"tillerman/observer"
)

// Request is one question to a person. It is stored before anybody is asked.
type Request struct {
	ID          int64
	RunID       int64
	Step        int
	Position    *int // nil: not about a call
	Agent       string
	Act, Target string
	Payload     string // all of what would happen
	Digest      string // of what would happen
	Covers      string // what the digest cannot cover
	Said        string // the model's own words beside the call
	Rule, Layer *string
	Part        string
	Sandbox     string
	Model       string // the model that asked
	State       string // open, decided, superseded
	Decision    string // approve, deny, defer; "" while open
	Reason      string
	Stop        bool
	ChangedArgs string
	Deferred    bool // put off at least once
	DecidedBy   *Actor
	AskedAt     int64
	DecidedAt   int64
	Goal        string // of the run, for lists
}

// Decision is an answer to a request.
type Decision struct {
	Answer      string // approve, deny, defer
	Digest      string // of what the person saw; must be the request's
	Reason      string // deny: the model reads it
	Stop        bool   // deny: end the run too
	ChangedArgs string // approve: the arguments as changed, "" for as asked
	// Rule, for an approve, allows what it matches for the rest of the run: the words of a command, or patterns.
	Rule []string
}

// DecidedError says that a decision came too late, and who won.
type DecidedError struct{ Request Request }

func (e *DecidedError) Error() string {
	r := e.Request
	if r.State == "superseded" {
		return fmt.Sprintf("request %d was withdrawn: what it asked about has changed or ended", r.ID)
	}
	return fmt.Sprintf("request %d was already decided: %s by %s", r.ID, r.Decision, r.by())
}

// by is who decided, in words.
func (r Request) by() string {
	if r.DecidedBy == nil {
		return "somebody"
	}
	return r.DecidedBy.String()
}

// DigestError says that what the person saw is not what is asked.
type DigestError struct {
	ID          int64
	Shown, Asks string
}

func (e *DigestError) Error() string {
	return fmt.Sprintf("request %d asks about something else than what was shown; look at it again", e.ID)
}

// BudgetAct is the act of a question about a budget that is used up. A larger budget answers it, or a deny; it cannot be
// approved.
const BudgetAct = "budget"

// QuestionAct is the act of a question that the agent itself asks. The reason of an approve is the answer, and there has
// to be one; an answer is never a permission.
const QuestionAct = "question"

// AnswerError says that a question was approved without an answer.
type AnswerError struct{ ID, RunID int64 }

func (e *AnswerError) Error() string {
	return fmt.Sprintf("request %d is a question: answer it with tillerman answer %d TEXT, or deny it", e.ID, e.RunID)
}

// RaiseError says that a question about a budget was approved: how much more it may be is not said.
type RaiseError struct{ ID, RunID int64 }

func (e *RaiseError) Error() string {
	return fmt.Sprintf("request %d asks for a larger budget; raise it with tillerman budget %d, or deny it to end the run", e.ID, e.RunID)
}

// Ask stores a question and returns its id.
func (tx *Tx) Ask(r Request) (int64, error) {
	var id int64
	err := tx.row(`INSERT INTO requests (run_id, step, position, agent, act, target, payload, digest, covers, said, rule, layer, part, sandbox, model, state, asked_at)
 VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,'open',?) RETURNING id`,
		tx.lease.RunID, r.Step, r.Position, tx.lease.Agent, r.Act, r.Target, r.Payload, r.Digest, r.Covers, r.Said, r.Rule, r.Layer, r.Part, r.Sandbox, r.Model, tx.at).Scan(&id)
	return id, err
}

// Supersede withdraws an open question of this run.
func (tx *Tx) Supersede(id int64) error {
	_, err := tx.exec(`UPDATE requests SET state='superseded', decided_at=? WHERE id=? AND run_id=? AND state='open'`, tx.at, id, tx.lease.RunID)
	return err
}

// SupersedeBudget withdraws the open question about a budget, because a budget was set.
func (tx *Tx) SupersedeBudget() error {
	_, err := tx.exec(`UPDATE requests SET state='superseded', decided_at=? WHERE run_id=? AND act=? AND state='open'`, tx.at, tx.lease.RunID, BudgetAct)
	return err
}

// ApprovedRequest is the newest approved question about a call of this run, 0 for none.
func (tx *Tx) ApprovedRequest(step, position int) (int64, error) {
	var id int64
	err := tx.row(`SELECT coalesce(max(id), 0) FROM requests WHERE run_id=? AND step=? AND position=? AND state='decided' AND decision='approve'`,
		tx.lease.RunID, step, position).Scan(&id)
	return id, err
}

// Decide is the one way a decision comes into being, for every surface: the console, a command, a timeout, the API. It
// compares and sets inside one transaction: the first decision wins, a later one gets *DecidedError. A defer leaves the
// request open and only notes that it was put off. The decision, its audit row and its event are one commit.
func (s *Store) Decide(ctx context.Context, id int64, d Decision, who Actor) (Request, error) {
	var req Request
	if d.Answer != "approve" && d.Answer != "deny" && d.Answer != "defer" {
		return req, fmt.Errorf("decision %q is none of approve, deny, defer", d.Answer)
	}
	d.Reason, d.ChangedArgs = s.opts.Clean(d.Reason), s.opts.Clean(d.ChangedArgs)
	var runID int64
	if err := s.reader(ctx).row(`SELECT run_id FROM requests WHERE id = ?`, id).Scan(&runID); err != nil {
		return req, wrap("read", s.path, noRows(err, "request %d", id))
	}
	_, err := s.outside(ctx, runID, func(tx *Tx) error {
		var err error
		if req, err = scanRequest(tx.row(selectRequest+` WHERE r.id = ?`, id)); err != nil {
			return err
		}
		switch {
		case req.State != "open":
			return &DecidedError{Request: req}
		case d.Digest != "" && d.Digest != req.Digest:
			return &DigestError{ID: id, Shown: d.Digest, Asks: req.Digest}
		case d.Answer == "approve" && req.Act == BudgetAct:
			return &RaiseError{ID: id, RunID: req.RunID}
		case d.Answer == "approve" && req.Act == QuestionAct && strings.TrimSpace(d.Reason) == "":
			return &AnswerError{ID: id, RunID: req.RunID}
		}
		state := "decided"
		if d.Answer == "defer" {
			state = "open"
		}
		if _, err := tx.exec(`UPDATE requests SET state=?, decision=?, reason=?, stop=?, changed_args=?, deferred=(deferred OR ?), decided_by=?, decided_at=? WHERE id=?`,
			state, d.Answer, d.Reason, d.Stop, null(d.ChangedArgs), d.Answer == "defer", encode(who), tx.at, id); err != nil {
			return err
		}
		if err := tx.Event(req.Step, id, observer.ApprovalDecided{Act: req.Act, Target: req.Target, Decision: d.Answer}); err != nil {
			return err
		}
		if err := tx.Audit(AuditRow{
			Action: "decision", Actor: who, Step: req.Step, Position: req.Position, Act: req.Act, Target: req.Target, Rule: req.Rule, Layer: req.Layer,
			Model: req.Model, Digest: req.Digest, Decision: d.Answer, Reason: d.Reason, RequestID: id,
		}); err != nil {
			return err
		}
		if d.Answer == "approve" && len(d.Rule) > 0 {
			if err := tx.addRule(req, d.Rule, who); err != nil {
				return err
			}
		}
		req, err = scanRequest(tx.row(selectRequest+` WHERE r.id = ?`, id))
		return err
	})
	return req, err
}

const selectRequest = `SELECT r.id, r.run_id, r.step, r.position, r.agent, r.act, r.target, r.payload, r.digest, r.covers, r.said, r.rule, r.layer, r.part, r.sandbox,
 r.model, r.state, coalesce(r.decision,''), r.reason, r.stop, coalesce(r.changed_args,''), r.deferred, r.decided_by, r.asked_at, coalesce(r.decided_at,0),
 (SELECT goal FROM runs WHERE id = r.run_id) FROM requests r`

func scanRequest(row interface{ Scan(...any) error }) (Request, error) {
	var r Request
	var by sql.NullString
	err := row.Scan(&r.ID, &r.RunID, &r.Step, &r.Position, &r.Agent, &r.Act, &r.Target, &r.Payload, &r.Digest, &r.Covers, &r.Said, &r.Rule, &r.Layer, &r.Part, &r.Sandbox,
		&r.Model, &r.State, &r.Decision, &r.Reason, &r.Stop, &r.ChangedArgs, &r.Deferred, &by, &r.AskedAt, &r.DecidedAt, &r.Goal)
	if err == nil && by.Valid {
		r.DecidedBy = &Actor{}
		err = json.Unmarshal([]byte(by.String), r.DecidedBy)
	}
	return r, err
}

func scanRequests(r *sql.Rows) (Request, error) { return scanRequest(r) }

// Request reads one question.
func (s *Store) Request(ctx context.Context, id int64) (Request, error) {
	r, err := scanRequest(s.reader(ctx).row(selectRequest+` WHERE r.id = ?`, id))
	return r, wrap("read", s.path, noRows(err, "request %d", id))
}

// Inbox lists every open question of every run, oldest first.
func (s *Store) Inbox(ctx context.Context) ([]Request, error) {
	r, err := list(s.reader(ctx), scanRequests, selectRequest+` INDEXED BY requests_open WHERE r.state = 'open' ORDER BY r.id`)
	return r, wrap("read", s.path, err)
}

// Requests lists a run's questions in order.
func (s *Store) Requests(ctx context.Context, runID int64) ([]Request, error) {
	r, err := list(s.reader(ctx), scanRequests, selectRequest+` WHERE r.run_id = ? ORDER BY r.id`, runID)
	return r, wrap("read", s.path, err)
}
