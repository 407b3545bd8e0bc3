package db

import (
	"context"
	"encoding/json"
	"fmt"

	"tillerman/observer"
)

// Summary is one finished run in one row. The first seven fields are its core; the rest says where time and money went.
// A nil figure was not measured.
type Summary struct {
	RunID      int64  `json:"run_id"`
	Outcome    string `json:"outcome"`
	Success    bool   `json:"success"`
	Steps      int    `json:"steps"`
	Tokens     int64  `json:"tokens"`      // of sealed steps, as measured
	DurationMS int64  `json:"duration_ms"` // from start to end, times without a driver included
	FinishedAt int64  `json:"finished_at"` // ms since the epoch
	SummaryDetail
}

// SummaryDetail is stored as JSON, so that a later figure needs no migration.
type SummaryDetail struct {
	StopReason    string          `json:"stop_reason"`
	Said          string          `json:"said"`
	Verified      *bool           `json:"verified"` // nil: the run has no gates
	GateChanged   bool            `json:"gate_changed"`
	Input         *int64          `json:"input"`
	Output        *int64          `json:"output"`
	CacheRead     *int64          `json:"cache_read"`
	CacheWrite    *int64          `json:"cache_write"`
	Reasoning     *int64          `json:"reasoning"`
	TokensBilled  int64           `json:"tokens_billed"` // every call, failed ones included
	Calls         int             `json:"calls"`         // model calls
	Unmeasured    int             `json:"unmeasured"`    // model calls whose usage is not known
	CostMicros    *int64          `json:"cost_micros"`   // nil: not known, for want of a figure or of a price
	SubtreeTokens int64           `json:"subtree_tokens"`
	SubtreeCost   *int64          `json:"subtree_cost_micros"`
	Time          Split           `json:"time"`
	Refusals      int             `json:"refusals"`
	Approvals     []ApprovalCount `json:"approvals"`
	Files         []string        `json:"files"`
	ModelsAsked   []string        `json:"models_asked"`
	ModelsServed  []string        `json:"models_answered"`
	Retries       int             `json:"retries"`
	CancelMS      *int64          `json:"cancel_latency_ms"`
	CancelledBy   string          `json:"cancelled_by"`
	Late          string          `json:"late"` // a cancel that came too late to change the ending
}

// ApprovalCount says who decided what, how often.
type ApprovalCount struct {
	By       string `json:"by"`
	Decision string `json:"decision"`
	Count    int    `json:"count"`
}

// Summary reads the row of a finished run. ErrNotFound for a run that has none: still running, interrupted, paused.
func (s *Store) Summary(ctx context.Context, runID int64) (Summary, error) {
	sum, err := scanSummary(s.reader(ctx).row(selectSummary+` WHERE run_id = ?`, runID))
	return sum, wrap("read", s.path, noRows(err, "summary of run %d", runID))
}

const selectSummary = `SELECT run_id, outcome, success, steps, tokens, duration_ms, finished_at, detail FROM summaries`

func scanSummary(row interface{ Scan(...any) error }) (Summary, error) {
	var s Summary
	var detail string
	if err := row.Scan(&s.RunID, &s.Outcome, &s.Success, &s.Steps, &s.Tokens, &s.DurationMS, &s.FinishedAt, &detail); err != nil {
		return s, err
	}
	return s, json.Unmarshal([]byte(detail), &s.SummaryDetail)
}

// Ending is how a drive ends for its run.
type Ending struct {
	Outcome     string
	Status      Status
	Success     bool
	StopReason  string
	Said        string
	Verified    *bool
	GateChanged bool
	Late        string // names a cancel that was asked too late
}

// Finish ends the run or pauses it: status, outcome, summary (for an ending only; a later one replaces it), the drive's
// end and the release of the lease. With an ending, questions that are still open are withdrawn, and a cancel or kill
// that did not stop the run is noted as too late. The caller adds the last event and the audit row in the same
// transaction.
func (tx *Tx) Finish(e Ending) (Summary, error) {
	id := tx.lease.RunID
	finished := any(nil)
	if e.Status == Completed {
		finished = tx.at
		if err := tx.settle(&e); err != nil {
			return Summary{}, err
		}
	}
	if _, err := tx.exec(`UPDATE runs SET status=?, outcome=?, stop_reason=?, said=?, finished_at=? WHERE id=?`,
		e.Status, e.Outcome, null(e.StopReason), null(e.Said), finished, id); err != nil {
		return Summary{}, err
	}
	if _, err := tx.exec(`UPDATE drives SET ended=?, elapsed_ms=max(elapsed_ms, ?) WHERE run_id=? AND drive=?`, e.Outcome, tx.since, id, tx.lease.Drive); err != nil {
		return Summary{}, err
	}
	if _, err := tx.exec(`DELETE FROM leases WHERE run_id=? AND fence=?`, id, tx.lease.Fence); err != nil {
		return Summary{}, err
	}
	sum, err := tx.summarise(e)
	if err != nil || e.Status != Completed {
		return sum, err
	}
	detail, err := json.Marshal(sum.SummaryDetail)
	if err != nil {
		return sum, err
	}
	_, err = tx.exec(`INSERT OR REPLACE INTO summaries (run_id, outcome, success, steps, tokens, duration_ms, finished_at, detail) VALUES (?,?,?,?,?,?,?,?)`,
		id, sum.Outcome, sum.Success, sum.Steps, sum.Tokens, sum.DurationMS, sum.FinishedAt, string(detail))
	return sum, err
}

// settle answers whatever still waits for a run that ends.
func (tx *Tx) settle(e *Ending) error {
	id := tx.lease.RunID
	if _, err := tx.exec(`UPDATE requests SET state='superseded', decided_at=? WHERE run_id=? AND state='open'`, tx.at, id); err != nil {
		return err
	}
	waiting, err := list(tx, scanControl, selectControl+` WHERE run_id = ? AND `+unstopped+` ORDER BY id`, id)
	if err != nil || len(waiting) == 0 {
		return err
	}
	stopped := e.Outcome == string(observer.OutcomeCancelled) || e.Outcome == string(observer.OutcomeKilled)
	if e.Late == "" && !stopped {
		e.Late = fmt.Sprintf("%s asked by %s, too late: the run was ending", waiting[0].Kind, waiting[0].By)
	}
	_, err = tx.exec(`UPDATE controls SET observed_at=coalesce(observed_at, ?), point=? WHERE run_id=? AND `+unstopped, tx.at, TooLate, id)
	return err
}
