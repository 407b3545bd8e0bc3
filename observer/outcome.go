package observer

import "slices"

// Outcome is the word a run ended with, or the word it pauses with. It is what the store and the wire hold.
type Outcome string

// How a run ends.
const (
	OutcomeSuccess              Outcome = "success"
	OutcomeStepCapReached       Outcome = "step_cap_reached"
	OutcomeTimeBudgetExceeded   Outcome = "time_budget_exceeded"
	OutcomeCostBudgetExceeded   Outcome = "cost_budget_exceeded"
	OutcomeDenied               Outcome = "denied"
	OutcomeStalled              Outcome = "stalled"
	OutcomeEscalatedRetryable   Outcome = "escalated_retryable"
	OutcomeEscalatedTerminal    Outcome = "escalated_terminal"
	OutcomeBudgetCeilingReached Outcome = "budget_ceiling_reached"
	OutcomeRefused              Outcome = "refused"
	OutcomeCancelled            Outcome = "cancelled"
	OutcomeKilled               Outcome = "killed"
)

// How a run pauses: it has not ended, and a person makes it go on.
const (
	OutcomeAwaitingApproval Outcome = "awaiting_approval"
	OutcomeAwaitingBudget   Outcome = "awaiting_budget"
	OutcomeNeedsOperator    Outcome = "needs_operator"
	OutcomePausedByOperator Outcome = "paused_by_operator"
)

// Statuses that an outcome leaves a run in.
const (
	StatusCompleted = "completed"
	StatusPaused    = "paused"
)

// OutcomeRow is what follows from an outcome.
type OutcomeRow struct {
	Outcome Outcome
	Status  string // StatusCompleted or StatusPaused
	Success bool   // the task was done; true for one outcome only
	// Exit is the exit code of a command that drove the run: 0 done, 1 ended otherwise, 3 waits for a person, 130
	// stopped by one (128 + SIGINT, as shells report it).
	Exit int
	// Words is for people.
	Words string
	// Continues names the budget that, made larger, lets an ended run go on; "" when none does. A paused run goes on by
	// an answer instead.
	Continues string
}

var outcomes = [...]OutcomeRow{
	{OutcomeSuccess, StatusCompleted, true, 0, "done", ""},
	{OutcomeStepCapReached, StatusCompleted, false, 1, "step limit reached", "steps"},
	{OutcomeTimeBudgetExceeded, StatusCompleted, false, 1, "time budget used up", "time"},
	{OutcomeCostBudgetExceeded, StatusCompleted, false, 1, "token or money budget used up", "tokens or money"},
	{OutcomeDenied, StatusCompleted, false, 1, "stopped by a denial", ""},
	{OutcomeStalled, StatusCompleted, false, 1, "no progress", ""},
	{OutcomeEscalatedRetryable, StatusCompleted, false, 1, "provider failed, may work later", ""},
	{OutcomeEscalatedTerminal, StatusCompleted, false, 1, "provider failed, will fail again", ""},
	{OutcomeBudgetCeilingReached, StatusCompleted, false, 1, "budget of the tree used up", "tree"},
	{OutcomeRefused, StatusCompleted, false, 1, "host denied or model refused", ""},
	{OutcomeCancelled, StatusCompleted, false, 130, "cancelled", ""},
	{OutcomeKilled, StatusCompleted, false, 130, "killed", ""},
	{OutcomeAwaitingApproval, StatusPaused, false, 3, "waits for an approval", ""},
	{OutcomeAwaitingBudget, StatusPaused, false, 3, "waits for a larger budget", ""},
	{OutcomeNeedsOperator, StatusPaused, false, 3, "waits for a word on an interrupted call", ""},
	{OutcomePausedByOperator, StatusPaused, false, 3, "paused by the operator", ""},
}

// Outcomes returns the table of every outcome. The slice is the caller's.
func Outcomes() []OutcomeRow { return slices.Clone(outcomes[:]) }

// Row returns the outcome's row, false for a word that is no outcome.
func (o Outcome) Row() (OutcomeRow, bool) {
	for _, row := range outcomes {
		if row.Outcome == o {
			return row, true
		}
	}
	return OutcomeRow{}, false
}
