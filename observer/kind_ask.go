package observer

// Refused is an action that the policy denied. It did not happen.
type Refused struct {
	Act    string  `json:"act"` // "read", "write", "exec" or "net"
	Target string  `json:"target"`
	Rule   *string `json:"rule"`  // the rule that denied it, nil when a default did
	Layer  *string `json:"layer"` // the policy layer of that rule
}

// ApprovalRequested is an action that waits for a person.
type ApprovalRequested struct {
	Act    string `json:"act"`
	Target string `json:"target"`
}

// ApprovalDecided is the person's answer.
type ApprovalDecided struct {
	Act      string `json:"act"`
	Target   string `json:"target"`
	Decision string `json:"decision"` // "approve", "deny" or "defer"
}

// Tag returns "refused".
func (Refused) Tag() string { return "refused" }

// Tag returns "approval_requested".
func (ApprovalRequested) Tag() string { return "approval_requested" }

// Tag returns "approval_decided".
func (ApprovalDecided) Tag() string { return "approval_decided" }

func (Refused) kind()           {}
func (ApprovalRequested) kind() {}
func (ApprovalDecided) kind()   {}
