package card

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"tillerman/core"
	"tillerman/db"
	"tillerman/tui/keys"
)

// About is what is known about a question beside its row.
type About struct {
	Before    string // what was decided about the same before, in words
	Arguments string // of the call as it stands, JSON; "" when the question is about no call
	Asked     string // the arguments as the model gave them, when an operator changed them; else ""
	Choices   int    // answers that the agent offers
	Rules     bool   // a rule for the rest of the run can be given
}

// Card is one question on the screen. It is bound to the request's id and digest when it is made; a decision made on it
// can be about nothing else. It is for one goroutine.
type Card struct {
	Request db.Request
	About   About
	// Clean takes secrets out of what a person makes of a call before it is shown and stored; nil takes nothing out.
	Clean func(string) string

	pane         // of the payload
	hidden *bool // the payload holds what does not show, nil while nobody looked
	guard  Guard
	reason *Field // for a deny's reason, nil when it is not open
	stop   bool   // the deny ends the run too
	sent   bool
	draft  string  // what was written and could not be stored
	answer *Field  // to a question of the agent
	rule   *rule   // for the rest of the run, on its way
	change *change // of the call, on its way
}

// New shows a request at now.
func New(r db.Request, now time.Time) *Card { return &Card{Request: r, guard: NewGuard(now)} }

// Armed says whether a decision key would count now.
func (c *Card) Armed(now time.Time) bool { return c.guards().Armed(now) }

// Arming is how long it still takes until a decision key counts.
func (c *Card) Arming(now time.Time) time.Duration { return c.guards().Left(now) }

// guards is the guard of what has the keys.
func (c *Card) guards() *Guard {
	switch {
	case c.rule != nil:
		return &c.rule.guard
	case c.change != nil:
		return &c.change.guard
	}
	return &c.guard
}

// Rearm makes the question arm anew from now: something else had the keys until now.
func (c *Card) Rearm(now time.Time) { *c.guards() = NewGuard(now) }

// Field says that something is open that takes all keys.
func (c *Card) Field() bool {
	return c.reason != nil || c.answer != nil || c.rule != nil || c.change != nil
}

// Place is where keys are to be looked up.
func (c *Card) Place() keys.Place {
	switch {
	case c.reason != nil:
		return keys.InReason
	case c.answer != nil:
		return keys.InAnswer
	case c.rule != nil && c.rule.editor != nil:
		return keys.InRule
	case c.rule != nil:
		return keys.OnRule
	case c.change != nil && c.change.comparing():
		return keys.OnChange
	case c.change != nil:
		return keys.InChange
	case c.Request.Act == db.QuestionAct:
		return keys.OnAsk
	}
	return keys.OnCard
}

// Takes says whether the question can be answered by an action.
func (c *Card) Takes(a keys.Action) bool {
	switch a {
	case keys.Approve, keys.DenyStop:
		return c.Request.Act != db.BudgetAct && c.Request.Act != db.QuestionAct
	case keys.Defer:
		return c.Request.Act != db.BudgetAct
	case keys.Allow:
		return c.Takes(keys.Approve) && c.About.Rules
	case keys.Change:
		return c.Takes(keys.Approve) && c.About.Arguments != "" && !c.TooLong()
	case keys.Choose:
		return c.Request.Act == db.QuestionAct && c.About.Choices > 0
	case keys.Write:
		return c.Request.Act == db.QuestionAct
	case keys.Deny:
		return true
	}
	return false
}

// TooLong says that the call's arguments are more than can be changed here.
func (c *Card) TooLong() bool { return len(c.About.Arguments) > editorLimit }

// Press handles a key. handled says that the card took it; settle that Settle has to be called after Alone.
func (c *Card) Press(now time.Time, msg tea.KeyPressMsg, b keys.Binding) (handled, settle bool) {
	switch {
	case c.reason != nil:
		return c.write(c.reason, now, msg, b), false
	case c.answer != nil:
		return c.write(c.answer, now, msg, b), false
	case c.rule != nil:
		closed, settle := c.rule.press(now, msg, b)
		return true, !c.closes(closed, now) && settle
	case c.change != nil:
		closed, settle := c.change.press(now, msg, b)
		return true, !c.closes(closed, now) && settle
	}
	what := Noise
	switch {
	case c.positive(b.Action) && c.Takes(b.Action) && !c.seenEnd:
		what = Harmless
	case b.Action == keys.Choose && c.choice(msg) == 0:
	case c.Takes(b.Action):
		what = Decision
	case b.Action == keys.PageDown, b.Action == keys.PageUp, b.Action == keys.Copy:
		what = Harmless
	}
	pressed := string(b.Action)
	if b.Action == keys.Choose {
		pressed = choosing + fmt.Sprint(c.choice(msg))
	}
	ready := c.guard.Press(now, pressed, what)
	switch {
	case b.Action == keys.PageDown:
		c.page(1)
		return true, false
	case b.Action == keys.PageUp:
		c.page(-1)
		return true, false
	case c.Takes(b.Action):
		return true, ready
	}
	return false, false
}

// positive says that an action lets something happen, or begins to: it is off until the end of the payload was seen.
func (c *Card) positive(a keys.Action) bool {
	switch a {
	case keys.Approve, keys.Allow, keys.Change, keys.Choose, keys.Write:
		return true
	}
	return false
}

// choosing stands before the number of a choice.
const choosing = "choice "

// choice is the number of the choice that a key stands for, 0 for none.
func (c *Card) choice(msg tea.KeyPressMsg) int {
	n, err := strconv.Atoi(msg.String())
	if err != nil || n < 1 || n > c.About.Choices {
		return 0
	}
	return n
}

// write gives a key to an open field.
func (c *Card) write(f *Field, now time.Time, msg tea.KeyPressMsg, b keys.Binding) bool {
	switch b.Action {
	case keys.Send, keys.Answer: // Enter, space and Esc never decide
		c.sent = !f.full
	case keys.Discard, keys.Close:
		c.closes(true, now)
	default:
		f.Press(now, msg)
	}
	return true
}

// closes goes back to the question, undecided.
func (c *Card) closes(closed bool, now time.Time) bool {
	if closed {
		c.reason, c.answer, c.rule, c.change, c.sent = nil, nil, nil, nil, false
		c.Rearm(now)
		c.lines = nil
	}
	return closed
}

// Disturb notes a paste, or other input that was not pressed key by key. What is being typed takes it as text.
func (c *Card) Disturb(now time.Time, pasted string) {
	switch {
	case c.reason != nil:
		c.reason.Insert(pasted)
	case c.answer != nil:
		c.answer.Insert(pasted)
	case c.rule != nil && c.rule.editor != nil:
		c.rule.insert(pasted)
	case c.change != nil && !c.change.comparing():
		c.change.editor.Insert(pasted)
		c.change.lines, c.change.err = nil, nil
	default:
		c.guards().Disturb(now)
	}
}

// Settle returns the decision that stands by now, nil when there is none. A deny opens the reason field first and is
// made by Confirm; a rule and a change open what they have to be seen in first.
func (c *Card) Settle(now time.Time) *db.Decision {
	switch {
	case c.rule != nil:
		if match := c.rule.match(now); match != nil {
			return &db.Decision{Answer: "approve", Digest: c.Request.Digest, Rule: match}
		}
		return nil
	case c.change != nil:
		if args := c.change.arguments(now); args != "" {
			return &db.Decision{Answer: "approve", Digest: c.Request.Digest, ChangedArgs: args}
		}
		return nil
	}
	key := c.guard.Settle(now)
	if n, ok := strings.CutPrefix(key, choosing); ok {
		return &db.Decision{Answer: "approve", Digest: c.Request.Digest, Reason: n}
	}
	switch keys.Action(key) {
	case keys.Approve:
		return &db.Decision{Answer: "approve", Digest: c.Request.Digest}
	case keys.Defer:
		return &db.Decision{Answer: "defer", Digest: c.Request.Digest}
	case keys.Allow:
		c.rule = newRule(now)
	case keys.Change:
		c.change = newChange(c.About.Arguments, c.Clean, now)
	case keys.Write:
		c.answer, c.sent = c.field("your answer: "), false
	case keys.Deny:
		c.reason, c.stop, c.sent = c.field(c.why()), false, false
	case keys.DenyStop:
		c.reason, c.stop, c.sent = c.field("why deny and stop? "), true, false
	}
	return nil
}

// field opens a field on what was written and could not be stored.
func (c *Card) field(prompt string) *Field {
	f := NewField(prompt)
	f.Insert(c.draft)
	return f
}

// Unstored takes back what was written for a decision that could not be stored: the next field begins with it.
func (c *Card) Unstored(d db.Decision) {
	if d.Answer == "deny" || c.Request.Act == db.QuestionAct {
		c.draft = d.Reason
	}
}

// why is what the field for a deny asks.
func (c *Card) why() string {
	switch c.Request.Act {
	case db.BudgetAct:
		return "why end? "
	case db.QuestionAct:
		return "why decline? "
	}
	return "why deny? "
}

// Confirm returns what an open field was sent with: a deny, or an answer. nil when it was not.
func (c *Card) Confirm() *db.Decision {
	sent := c.sent
	c.sent = false
	switch {
	case !sent:
	case c.answer != nil:
		words := strings.TrimSpace(c.answer.Value())
		if words == "" {
			return nil
		}
		c.answer = nil
		return &db.Decision{Answer: "approve", Digest: c.Request.Digest, Reason: words}
	case c.reason != nil:
		d := &db.Decision{Answer: "deny", Digest: c.Request.Digest, Reason: strings.TrimSpace(c.reason.Value()), Stop: c.stop}
		c.reason = nil
		return d
	}
	return nil
}

// Trial is the rule that is to be tried now, nil for none. Its result goes to Tried.
func (c *Card) Trial() *Trial {
	if c.rule == nil {
		return nil
	}
	return c.rule.wants()
}

// Tried takes what a trial showed. One of a rule that was left is dropped.
func (c *Card) Tried(now time.Time, t *Trial, p core.RuleProposal, err error) {
	if c.rule != nil && c.rule.flying == t {
		c.rule.took(now, t, p, err)
	}
}

// Changing is the text of a call's arguments that is being changed, false while none is.
func (c *Card) Changing() (string, bool) {
	if c.change == nil || c.change.comparing() {
		return "", false
	}
	return c.change.editor.Value(), true
}

// Changed takes the text as the person's own editor left it, false when none is being changed any more.
func (c *Card) Changed(now time.Time, value string, err error) bool {
	if c.change == nil || c.change.comparing() {
		return false
	}
	c.change.edited(now, value, err)
	return true
}
