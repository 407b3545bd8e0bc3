package db

import (
	"context"
	"database/sql"
	"encoding/json"
	"strings"

	"tillerman/db/audit"
)

// Rule is an allow rule that a person gave for the rest of one run, with a decision.
type Rule struct {
	ID        int64
	RunID     int64
	RequestID int64 // the question that it came with
	Act       string
	Match     []string
	MadeBy    Actor
	MadeAt    int64
	RevokedBy *Actor
	RevokedAt int64 // 0 while it holds
}

// Text is the rule's match in one line.
func (r Rule) Text() string { return strings.Join(r.Match, " ") }

// addRule stores a rule in the transaction of the decision that it comes with: siblings that wait are judged anew by it.
func (tx *Tx) addRule(req Request, match []string, who Actor) error {
	if _, err := tx.exec(`INSERT INTO rules (run_id, request_id, act, match, made_by, made_at) VALUES (?,?,?,?,?,?)`,
		req.RunID, req.ID, req.Act, encode(match), encode(who), tx.at); err != nil {
		return err
	}
	rule, layer := strings.Join(match, " "), audit.Remembered
	return tx.Audit(AuditRow{
		Action: audit.Rule, Actor: who, Step: req.Step, Position: req.Position, Act: req.Act, Target: req.Target, Rule: &rule, Layer: &layer,
		Model: req.Model, Digest: req.Digest, Decision: "allow", RequestID: req.ID, Note: "for the rest of this run",
	})
}

// Rules lists the rules that people gave for a run, in order, revoked ones included.
func (s *Store) Rules(ctx context.Context, runID int64) ([]Rule, error) {
	r, err := list(s.reader(ctx), scanRule, selectRule+` WHERE run_id = ? ORDER BY id`, runID)
	return r, wrap("read", s.path, err)
}

const selectRule = `SELECT id, run_id, request_id, act, match, made_by, made_at, revoked_by, coalesce(revoked_at, 0) FROM rules`

func scanRule(r *sql.Rows) (Rule, error) {
	var rule Rule
	var match, by string
	var revoked sql.NullString
	if err := r.Scan(&rule.ID, &rule.RunID, &rule.RequestID, &rule.Act, &match, &by, &rule.MadeAt, &revoked, &rule.RevokedAt); err != nil {
		return rule, err
	}
	if err := json.Unmarshal([]byte(match), &rule.Match); err != nil {
		return rule, err
	}
	if revoked.Valid {
		rule.RevokedBy = &Actor{}
		if err := json.Unmarshal([]byte(revoked.String), rule.RevokedBy); err != nil {
			return rule, err
		}
	}
	return rule, json.Unmarshal([]byte(by), &rule.MadeBy)
}

// RevokeRule takes back a rule of a run, for every call that is judged from then on. ErrNotFound when the run has no such
// rule, or it is revoked already.
func (s *Store) RevokeRule(ctx context.Context, runID, id int64, who Actor) (Rule, error) {
	var rule Rule
	_, err := s.outside(ctx, runID, func(tx *Tx) error {
		found, err := list(tx, scanRule, selectRule+` WHERE run_id = ? AND id = ? AND revoked_at IS NULL`, runID, id)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return noRows(sql.ErrNoRows, "rule %d of run %d", id, runID)
		}
		rule = found[0]
		if _, err := tx.exec(`UPDATE rules SET revoked_by = ?, revoked_at = ? WHERE id = ?`, encode(who), tx.at, id); err != nil {
			return err
		}
		step, err := tx.currentStep()
		if err != nil {
			return err
		}
		text, layer := rule.Text(), audit.Remembered
		return tx.Audit(AuditRow{Action: audit.Rule, Actor: who, Step: step, Act: rule.Act, Rule: &text, Layer: &layer, Decision: "revoke", RequestID: rule.RequestID})
	})
	return rule, err
}

// Before is what people decided earlier about the same act and target, in any run of the store.
type Before struct {
	Approved, Denied int
	// Same is how many of them were asked with the same payload: the same change of a file, the same input of a command.
	Same int
	// Last is the newest of these decisions, nil for none.
	Last *Request
}

// Before looks at the decisions about what a request asks, the request itself left out.
func (s *Store) Before(ctx context.Context, r Request) (Before, error) {
	var b Before
	decided, err := list(s.reader(ctx), scanRequests, selectRequest+` INDEXED BY requests_target WHERE r.act = ? AND r.target = ? AND r.state = 'decided' AND r.id <> ?
 ORDER BY r.id DESC LIMIT 100`, r.Act, r.Target, r.ID)
	for i := range decided {
		if decided[i].Decision == "approve" {
			b.Approved++
		} else {
			b.Denied++
		}
		if decided[i].Payload == r.Payload {
			b.Same++
		}
	}
	if len(decided) > 0 {
		b.Last = &decided[0]
	}
	return b, wrap("read", s.path, err)
}

// DecidedCall is a call that people decided about.
type DecidedCall struct {
	Name, Arguments string
	Act, Target     string
	Decision        string // approve, deny
}

// DecidedCalls lists the newest decisions about calls with an act, newest first, at most limit: what a rule is tried on.
func (s *Store) DecidedCalls(ctx context.Context, act string, limit int) ([]DecidedCall, error) {
	c, err := list(s.reader(ctx), func(r *sql.Rows) (DecidedCall, error) {
		var c DecidedCall
		err := r.Scan(&c.Name, &c.Arguments, &c.Act, &c.Target, &c.Decision)
		return c, err
	}, `SELECT c.name, coalesce(c.changed_args, c.arguments), r.act, r.target, r.decision FROM requests r INDEXED BY requests_act
 JOIN calls c ON c.run_id = r.run_id AND c.step = r.step AND c.position = r.position
 WHERE r.act = ? AND r.state = 'decided' ORDER BY r.id DESC LIMIT ?`, act, limit)
	return c, wrap("read", s.path, err)
}
