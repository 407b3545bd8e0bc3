package core

import (
	"time"

	"tillerman/db"
	"tillerman/observer"
)

// Limits are budgets set anew: absolute ceilings, up or down. A nil field stays as it is; zero is no ceiling, but for
// steps, which always have one.
type Limits struct {
	MaxSteps *int
	Time     *time.Duration // driven, waiting for people left out
	Tokens   *int64
	Money    *int64 // micro-units
}

func limitsOf(b db.Budget) Limits {
	l := Limits{MaxSteps: b.MaxSteps, Tokens: b.Tokens, Money: b.MoneyMicros}
	if b.TimeMS != nil {
		l.Time = ptr(time.Duration(*b.TimeMS) * time.Millisecond)
	}
	return l
}

// Budget is the limits as a control's body.
func (l Limits) Budget() db.Budget {
	b := db.Budget{MaxSteps: l.MaxSteps, Tokens: l.Tokens, MoneyMicros: l.Money}
	if l.Time != nil {
		b.TimeMS = ptr(l.Time.Milliseconds())
		if *l.Time > 0 && *b.TimeMS == 0 { // 0 is no ceiling, which nobody who names a time means
			b.TimeMS = ptr(int64(1))
		}
	}
	return b
}

// none says that nothing is set.
func (l Limits) none() bool { return l == Limits{} }

// Apply puts the limits into a contract that has not started.
func (l Limits) Apply(c *Contract) { l.set(c) }

// set puts the limits into a contract and says what changed.
func (l Limits) set(c *Contract) []observer.BudgetChanged {
	var changed []observer.BudgetChanged
	note := func(budget string, limit int64) {
		ev := observer.BudgetChanged{Budget: budget}
		if limit > 0 {
			ev.Limit = &limit
		}
		changed = append(changed, ev)
	}
	if l.MaxSteps != nil && *l.MaxSteps > 0 {
		c.MaxSteps = *l.MaxSteps
		note("steps", int64(c.MaxSteps))
	}
	if l.Time != nil {
		c.Time = *l.Time
		note("time", c.Time.Milliseconds())
	}
	if l.Tokens != nil {
		c.Tokens = *l.Tokens
		note("tokens", c.Tokens)
	}
	if l.Money != nil {
		c.Money = *l.Money
		note("money", c.Money)
	}
	return changed
}

// grown says whether a run that ended because of a budget may go on under the new contract: that budget is larger than
// it was when the run ended.
func grown(run db.Run, was, now Contract) bool {
	row, _ := observer.Outcome(run.Outcome).Row()
	larger := func(was, now int64) bool { return was > 0 && (now == 0 || now > was) }
	switch row.Continues {
	case "steps":
		return now.MaxSteps > run.Sealed
	case "time":
		return larger(int64(was.Time), int64(now.Time))
	case "tokens or money":
		return larger(was.Tokens, now.Tokens) || larger(was.Money, now.Money)
	}
	return false
}
