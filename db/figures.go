package db

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
)

// Figures computes the summary that the run would have if it ended now; nothing is stored. For gauges and live screens.
func (s *Store) Figures(ctx context.Context, runID int64) (Summary, error) {
	sum, err := summarise(s.reader(ctx), runID)
	return sum, wrap("read", s.path, err)
}

func (tx *Tx) summarise(e Ending) (Summary, error) {
	sum, err := summarise(tx, tx.lease.RunID)
	sum.Outcome, sum.Success, sum.FinishedAt = e.Outcome, e.Success, tx.at
	sum.StopReason, sum.Said, sum.Verified, sum.GateChanged, sum.Late = e.StopReason, e.Said, e.Verified, e.GateChanged, e.Late
	return sum, err
}

func summarise(q querier, runID int64) (Summary, error) {
	sum := Summary{RunID: runID}
	err := q.row(`SELECT coalesce(max(step),0), coalesce(`+whole("tokens")+`,0) FROM steps WHERE run_id=?`, runID).Scan(&sum.Steps, &sum.Tokens)
	if err != nil {
		return sum, err
	}
	parts := []func(querier, *Summary) error{addSpend, addTime, addDecisions, addFiles, addCancel}
	for _, part := range parts {
		if err := part(q, &sum); err != nil {
			return sum, err
		}
	}
	sum.SubtreeTokens, sum.SubtreeCost = sum.TokensBilled, sum.CostMicros
	return sum, nil
}

// measured is the SQL for a model call whose use was reported, as Attempt.Measured.
const measured = `(input IS NOT NULL AND output IS NOT NULL)`

// billed is the SQL for Attempt.Billed.
const billed = `CASE WHEN ` + measured + ` THEN input + output + coalesce(cache_read, 0) + coalesce(cache_write, 0)
 WHEN inner THEN 0 WHEN state = 'open' THEN hold WHEN state = 'answered' THEN estimate + hold ELSE 0 END`

// whole is the SQL for a sum that is NULL when nothing was added, and that does not overflow: what an endpoint reports
// may be anything, and must not keep a run from ending.
func whole(column string) string {
	return `CASE WHEN count(` + column + `) > 0 THEN CAST(min(total(` + column + `), 9e18) AS INTEGER) END`
}

func addSpend(q querier, sum *Summary) error {
	var unpriced int
	var total, cost *int64
	err := q.row(`SELECT count(*), count(*) FILTER (WHERE state = 'failed'), count(*) FILTER (WHERE NOT `+measured+` AND (state <> 'failed' OR kind IN ('model_refused', 'malformed', 'timeout'))),
 count(*) FILTER (WHERE `+measured+` AND cost_micros IS NULL), `+whole("CASE WHEN "+measured+" THEN cost_micros END")+`, `+whole(billed)+`,
 `+whole("input")+`, `+whole("output")+`, `+whole("cache_read")+`, `+whole("cache_write")+`, `+whole("reasoning")+` FROM attempts WHERE run_id = ?`, sum.RunID).
		Scan(&sum.Calls, &sum.Retries, &sum.Unmeasured, &unpriced, &cost, &total, &sum.Input, &sum.Output, &sum.CacheRead, &sum.CacheWrite, &sum.Reasoning)
	if err != nil {
		return err
	}
	if total != nil {
		sum.TokensBilled = *total
	}
	if sum.Unmeasured == 0 && unpriced == 0 {
		sum.CostMicros = cost // nil when no call took anything that is known
	}
	if sum.ModelsAsked, err = words(q, `SELECT DISTINCT model FROM attempts WHERE run_id = ? ORDER BY model`, sum.RunID); err != nil {
		return err
	}
	sum.ModelsServed, err = words(q, `SELECT DISTINCT answered_model FROM attempts WHERE run_id = ? AND answered_model IS NOT NULL ORDER BY answered_model`, sum.RunID)
	return err
}

// words reads a column of texts; none is an empty list.
func words(q querier, query string, args ...any) ([]string, error) {
	all, err := list(q, func(r *sql.Rows) (string, error) {
		var s string
		err := r.Scan(&s)
		return s, err
	}, query, args...)
	if all == nil {
		all = []string{}
	}
	return all, err
}

func addDecisions(q querier, sum *Summary) error {
	err := q.row(`SELECT count(*) FROM verdicts WHERE run_id=? AND effect='deny'`, sum.RunID).Scan(&sum.Refusals)
	if err != nil {
		return err
	}
	reqs, err := list(q, scanRequests, selectRequest+` WHERE r.run_id = ? AND r.decision IS NOT NULL ORDER BY r.id`, sum.RunID)
	if err != nil {
		return err
	}
	counts := map[[2]string]int{}
	var order [][2]string
	for _, r := range reqs {
		key := [2]string{r.by(), r.Decision}
		if counts[key] == 0 {
			order = append(order, key)
		}
		counts[key]++
	}
	sum.Approvals = []ApprovalCount{}
	for _, key := range order {
		sum.Approvals = append(sum.Approvals, ApprovalCount{By: key[0], Decision: key[1], Count: counts[key]})
	}
	return nil
}

func addFiles(q querier, sum *Summary) error {
	var err error
	sum.Files, err = words(q, `SELECT DISTINCT path FROM files WHERE run_id=? AND done=1 AND change <> 'none' ORDER BY path`, sum.RunID)
	return err
}

func addCancel(q querier, sum *Summary) error {
	var by string
	err := q.row(`SELECT latency_ms, requested_by FROM controls WHERE run_id=? AND kind IN ('cancel','kill') AND stopped_at IS NOT NULL ORDER BY id DESC LIMIT 1`, sum.RunID).
		Scan(&sum.CancelMS, &by)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	var who Actor
	if err := json.Unmarshal([]byte(by), &who); err != nil {
		return err
	}
	sum.CancelledBy = who.String()
	return nil
}
