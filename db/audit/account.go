package audit

import (
	"fmt"
	"strings"
)

// Account says who let one act happen, from the rows of the audit trail alone: the model that asked for it, the version
// of the program that did it, the run, the policy and rule it was judged by, and the person who answers for it.
type Account struct {
	Act    Entry // what was done, or the approval of it
	Start  Entry // the row with which its run began
	Drive  Entry // the row with which the drive began in which it happened; Start itself in the first
	Policy Entry // the row that put the policy in force: Start, or a later change
	// Asked and Answered are the question and the approval, nil where the policy allowed the act.
	Asked, Answered *Entry
	// Remembered is the row of the rule for this run that allowed it, nil where none did.
	Remembered *Entry
	// Person is the row whose user answers for the act: Answered, Remembered, Policy, or Start for a check of the contract.
	Person Entry
}

// BrokenError says that an act cannot be traced back to a person, and which link is missing.
type BrokenError struct {
	Seq  int64  // of the act's row
	Link string // model, version, run, policy, rule, request, decision, person
	Msg  string
}

func (e *BrokenError) Error() string {
	return fmt.Sprintf("audit row %d: the %s is not accounted for: %s", e.Seq, e.Link, e.Msg)
}

// Ledger follows the rows of one run, or of a whole log, and accounts for each act when it comes. It holds what an act
// may still point back to: one start, drive and policy row a run, and the questions of runs that have not ended. The
// zero value is ready; it is for one goroutine.
type Ledger struct {
	runs map[int64]*standing
}

// standing is what is known of a run so far.
type standing struct {
	start, drive, policy Entry
	asked, approved      map[int64]Entry // by request
	rules                map[string]Entry
}

// Add takes the next row. It returns the account of an act or an approval, and nil for every other row. An error is a
// *BrokenError.
func (l *Ledger) Add(e Entry) (*Account, error) {
	if e.Action == Start {
		if l.runs == nil {
			l.runs = map[int64]*standing{}
		}
		l.runs[e.RunID] = &standing{start: e, drive: e, policy: e, asked: map[int64]Entry{}, approved: map[int64]Entry{}, rules: map[string]Entry{}}
	}
	s := l.runs[e.RunID]
	approval := e.Action == Decision && e.Decision == "approve"
	if !Acts(e.Action) && !approval {
		s.note(e)
		return nil, nil
	}
	if s == nil || e.RunID == 0 {
		return nil, &BrokenError{e.Seq, "run", fmt.Sprintf("no row says how run %d began", e.RunID)}
	}
	if e.Action == Endpoint && e.Decision != "allow" {
		return nil, nil // a refusal; or asked about, and then the approval is what counts
	}
	a, err := s.account(e)
	if approval {
		s.approved[e.RequestID] = e
	}
	if err != nil {
		return nil, err
	}
	return a, nil
}

// note keeps what later acts point back to.
func (s *standing) note(e Entry) {
	if s == nil {
		return
	}
	switch e.Action {
	case Resume:
		s.drive = e
	case Policy:
		s.policy = e
	case Request:
		s.asked[e.RequestID] = e
	case Rule:
		if e.Decision == "allow" {
			s.rules[ruleKey(e)] = e
		}
	case End:
		clear(s.asked)
		clear(s.approved)
	}
}

// ruleKey is what a rule for the rest of a run and an act that it allows have in common. A person may write a rule's words
// and patterns with other gaps than the policy names it with.
func ruleKey(e Entry) string {
	return e.Act + "\x00" + strings.Join(strings.Fields(strings.ReplaceAll(e.Rule, ", ", " ")), " ")
}

func (s *standing) account(e Entry) (*Account, error) {
	a := &Account{Act: e, Start: s.start, Drive: s.drive, Policy: s.policy}
	broken := func(link, format string, args ...any) (*Account, error) {
		return nil, &BrokenError{e.Seq, link, fmt.Sprintf(format, args...)}
	}
	switch {
	case e.Position > 0 && e.Model == "":
		return broken("model", "no model is named")
	case e.Version == "":
		return broken("version", "no version is named")
	case e.PolicyDigest == "":
		return broken("policy", "no policy is named")
	case e.PolicyDigest != s.policy.PolicyDigest:
		return broken("policy", "no row put policy %s in force", short(e.PolicyDigest))
	case e.Rule == "" && e.Layer == "":
		return broken("rule", "neither a rule nor the default is named")
	}
	if link, msg := a.person(s); link != "" {
		return broken(link, "%s", msg)
	}
	if a.Person.User == "" {
		return broken("person", "row %d names nobody", a.Person.Seq)
	}
	return a, nil
}

// person finds who answers for the act. link names what is missing.
func (a *Account) person(s *standing) (link, msg string) {
	e := a.Act
	switch {
	case e.Action == Gate:
		a.Person = s.start // who wrote the contract
		return "", ""
	case e.Action != Decision && e.Decision == "allow":
		a.Person = s.policy
		if e.Layer == Remembered {
			r, ok := s.rules[ruleKey(e)]
			if !ok {
				return "rule", fmt.Sprintf("no row gives the rule %q for this run", e.Rule)
			}
			a.Remembered, a.Person = &r, r
		}
		return "", ""
	}
	asked, ok := s.asked[e.RequestID]
	if !ok || !sameCall(asked, e) {
		return "request", fmt.Sprintf("no row asks for it (request %d)", e.RequestID)
	}
	answered := e
	if e.Action != Decision {
		if answered, ok = s.approved[e.RequestID]; !ok || !sameCall(answered, e) {
			return "decision", fmt.Sprintf("no row approves request %d", e.RequestID)
		}
	}
	a.Asked, a.Answered, a.Person = &asked, &answered, answered
	return "", ""
}

// sameCall says whether a question is about an act: the same call and, unless it is begun a second time, the same content.
func sameCall(q, act Entry) bool {
	return q.Agent == act.Agent && q.Step == act.Step && q.Position == act.Position && q.Act == act.Act && (q.Digest == act.Digest || act.Note == Again)
}

// Again is the note of an act that is begun once more after a crash.
const Again = "again"

// Words is the chain for people, one link a line. They hold text from outside: clean it before it is shown.
func (a *Account) Words() []string {
	e := a.Act
	model := "by the engine for the contract"
	if e.Position > 0 {
		model = "asked by model " + e.Model
	}
	out := []string{
		fmt.Sprintf("%s; done by tillerman %s", model, e.Version),
		fmt.Sprintf("run %d, started by %s", e.RunID, who(a.Start)),
	}
	if a.Drive.Seq != a.Start.Seq {
		out[1] += fmt.Sprintf("; resumed by %s", who(a.Drive))
	}
	rule := "no rule: the policy's default"
	if e.Rule != "" {
		rule = fmt.Sprintf("rule %q of layer %q", e.Rule, e.Layer)
	} else if e.Layer != NoRule {
		rule = fmt.Sprintf("layer %q", e.Layer)
	}
	out = append(out, fmt.Sprintf("policy %s, set by %s; %s", short(e.PolicyDigest), who(a.Policy), rule))
	switch {
	case a.Answered != nil:
		last := fmt.Sprintf("request %d, approved by %s", a.Answered.RequestID, who(*a.Answered))
		if a.Answered.Reason != "" {
			last += ": " + a.Answered.Reason
		}
		out = append(out, last)
	case a.Remembered != nil:
		out = append(out, "allowed by a rule for the rest of the run, given by "+who(*a.Remembered))
	case e.Action == Gate:
		out = append(out, "allowed by whoever wrote the check: "+who(a.Person))
	default:
		out = append(out, "allowed by the policy of "+who(a.Person))
	}
	return out
}

// who is an actor in words: user, surface, terminal, host and process.
func who(e Entry) string {
	s := fmt.Sprintf("%s (%s", e.User, e.Surface)
	if e.Terminal != "" {
		s += " on " + e.Terminal
	}
	return s + fmt.Sprintf(", %s, process %d)", e.Host, e.PID)
}

func short(digest string) string {
	if len(digest) > 12 {
		return digest[:12]
	}
	return digest
}
