package audit

// NoRule stands in a row's layer when no rule decided: the policy's default for the act did, or what the engine never
// lets a policy decide.
const NoRule = "default"

// Remembered stands in a row's layer where a rule decided that a person gave for the rest of the run.
const Remembered = "remembered"

// The actions of rows, and what each records.
const (
	Start     = "start"     // a run begins
	Resume    = "resume"    // a later drive takes a run up
	Wait      = "wait"      // a drive ends and the run waits for a person
	End       = "end"       // a run ends
	Request   = "request"   // a person is asked
	Decision  = "decision"  // somebody, or what stands in for one, answers
	Denial    = "denial"    // the policy denies a call
	Endpoint  = "endpoint"  // a host of the model's provider is judged, once a drive
	Gate      = "gate"      // a check of the contract begins
	Recovery  = "recovery"  // a person says what became of a call that a crash interrupted
	Policy    = "policy"    // another policy comes into force
	Rule      = "rule"      // a rule for the rest of a run is remembered
	Retention = "retention" // traces of finished runs are removed
	Key       = "key"       // the chain is keyed from this row on, by another key than before

	Cancel   = "cancel"
	Kill     = "kill"
	Pause    = "pause"
	Continue = "continue"
	Tell     = "tell"
	Budget   = "budget"

	Read  = "read" // of a call that is not pure
	Write = "write"
	Exec  = "exec"
	Net   = "net"
)

// Verdict is a row's decision for people: of a call that acts, ask means that it was asked about and approved.
func (e Entry) Verdict() string {
	if e.Decision == "ask" && Acts(e.Action) && e.Action != Endpoint {
		return "approved"
	}
	return e.Decision
}

// Acts says whether a row of this action lets something happen outside the engine.
func Acts(action string) bool {
	switch action {
	case Read, Write, Exec, Net, Gate, Endpoint:
		return true
	}
	return false
}
