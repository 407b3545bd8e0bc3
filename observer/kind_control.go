package observer

// Kinds of a CancelRequested.
const (
	StopCancel = "cancel" // at the next safe point
	StopKill   = "kill"   // now, with every process of the run
)

// CancelRequested is a request to stop the run. It has not stopped yet.
type CancelRequested struct {
	Kind    string `json:"kind"`    // StopCancel or StopKill
	By      string `json:"by"`      // who asked
	Through string `json:"through"` // by what means: an observer, a command, the console
}

// Paused is an operator's pause that took hold.
type Paused struct {
	By     string `json:"by"`
	Reason string `json:"reason"`
}

// Continued is a pause that was lifted.
type Continued struct {
	By string `json:"by"`
}

// Told is an operator's message to the agent.
type Told struct {
	By   string `json:"by"`
	Text string `json:"text"`
}

// BudgetChanged is a ceiling that an operator set anew.
type BudgetChanged struct {
	By     string `json:"by"`
	Budget string `json:"budget"` // which ceiling
	Limit  *int64 `json:"limit"`  // in the unit of that budget, nil for none
}

// Tag returns "cancel_requested".
func (CancelRequested) Tag() string { return "cancel_requested" }

// Tag returns "paused".
func (Paused) Tag() string { return "paused" }

// Tag returns "continued".
func (Continued) Tag() string { return "continued" }

// Tag returns "told".
func (Told) Tag() string { return "told" }

// Tag returns "budget_changed".
func (BudgetChanged) Tag() string { return "budget_changed" }

func (CancelRequested) kind() {}
func (Paused) kind()          {}
func (Continued) kind()       {}
func (Told) kind()            {}
func (BudgetChanged) kind()   {}
