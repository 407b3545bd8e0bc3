package core

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"tillerman/core/approval"
	"tillerman/core/policy"
	"tillerman/core/provider"
	"tillerman/core/provider/price"
	"tillerman/db"
	"tillerman/observer"
)

// reached is what follows when a budget is used up: the end of the run, or, with a person at hand, a question that a
// larger budget answers. It returns nothing when the budget was raised: the caller looks again.
func (d *driver) reached(ctx context.Context, end *ending) (*ending, error) {
	open, err := d.openBudgetQuestion(ctx)
	if err != nil {
		return nil, err
	}
	if !approval.Attended(d.e.approver) {
		if open != nil && open.State == "open" {
			return awaitingBudget(end), nil
		}
		if open == nil {
			return end, nil
		}
	}
	name := end.budget
	usedUp := "the " + strings.TrimSuffix(name, "s") + " budget is used up"
	got, asked, err := d.ask(ctx, question{
		act: db.BudgetAct, target: name, payload: usedUp + ": " + end.message,
		digest: db.Digest(fmt.Appendf(nil, "%s %s %d %d %d %d", db.BudgetAct, name, d.c.MaxSteps, d.c.Time, d.c.Tokens, d.c.Money)),
		step:   d.sealed, verdict: policy.Verdict{Part: usedUp}, open: open,
	})
	if asked != nil || err != nil {
		if asked != nil && asked.outcome == observer.OutcomeAwaitingApproval {
			asked = awaitingBudget(end)
		}
		return asked, err
	}
	word := "raised"
	if got.State == "decided" {
		word = got.Decision
		if got.Reason != "" {
			end.message += "; the operator ended it: " + got.Reason
		}
	}
	if err := d.commit(func(tx *db.Tx) error { return d.closeWait(tx, word) }); err != nil {
		return nil, err
	}
	if got.State == "decided" {
		return end, nil
	}
	return nil, nil
}

// openBudgetQuestion is the newest question about a budget that still stands, nil for none.
func (d *driver) openBudgetQuestion(ctx context.Context) (*db.Request, error) {
	reqs, err := d.e.store.Requests(ctx, d.lease.RunID)
	if err != nil {
		return nil, goneOr(ctx, err)
	}
	for i := len(reqs) - 1; i >= 0; i-- {
		if r := reqs[i]; r.Act == db.BudgetAct && r.Step == d.sealed {
			if r.State == "superseded" {
				return nil, nil
			}
			return &r, nil
		}
	}
	return nil, nil
}

func awaitingBudget(end *ending) *ending {
	return &ending{outcome: observer.OutcomeAwaitingBudget, message: end.message + "; raise it with tillerman budget, then resume"}
}

func (d *driver) outOfTime() *ending {
	return &ending{outcome: observer.OutcomeTimeBudgetExceeded, budget: "time", message: fmt.Sprintf("%s of %s are used up", d.driven().Round(time.Millisecond), d.c.Time)}
}

func (d *driver) outOfTokens() *ending {
	return &ending{outcome: observer.OutcomeCostBudgetExceeded, budget: "tokens", message: fmt.Sprintf("%d of %d tokens are used up", d.billed, d.c.Tokens)}
}

func (d *driver) outOfMoney() *ending {
	return &ending{outcome: observer.OutcomeCostBudgetExceeded, budget: "money", message: fmt.Sprintf("%s of %s are used up (estimated)", units(d.spent), units(d.c.Money))}
}

func (d *driver) capReached() *ending {
	return &ending{outcome: observer.OutcomeStepCapReached, budget: "steps", message: fmt.Sprintf("all %d steps are used up", d.c.MaxSteps)}
}

// units is an amount of money in whole units, exactly.
func units(micros int64) string { return fmt.Sprintf("%d.%06d", micros/1e6, micros%1e6) }

// usedUp is the budget that keeps another step from starting, nil for none.
func (d *driver) usedUp(step int) *ending {
	switch {
	case step > d.c.MaxSteps:
		return d.capReached()
	case d.c.Time > 0 && d.driven() >= d.c.Time:
		return d.outOfTime()
	case d.c.Tokens > 0 && d.billed >= d.c.Tokens:
		return d.outOfTokens()
	case d.c.Money > 0 && d.spent >= d.c.Money:
		return d.outOfMoney()
	}
	return nil
}

// overspent is the budget that the step just sealed went beyond, nil for none.
func (d *driver) overspent() *ending {
	switch {
	case d.c.Tokens > 0 && d.billed > d.c.Tokens:
		return d.outOfTokens()
	case d.c.Money > 0 && d.spent > d.c.Money:
		return d.outOfMoney()
	}
	return nil
}

// hold is what a call reserves in tokens: its estimated input and the smaller of what it may answer and what is left
// after that. end says that not even its input fits.
func (d *driver) hold(estimate int64, asked, model string) (tokens int64, end *ending) {
	tokens = estimate + int64(d.c.MaxOutput)
	if d.c.Tokens > 0 {
		if d.billed+estimate > d.c.Tokens {
			end = d.outOfTokens()
			end.message = fmt.Sprintf("%d of %d tokens are used up, and the next call sends about %d", d.billed, d.c.Tokens, estimate)
			return 0, end
		}
		tokens = min(tokens, d.c.Tokens-d.billed)
	}
	if d.c.Money > 0 {
		p, _ := d.e.prices.Price(d.c.priceKind(asked), model)
		if add(d.spent, price.Cost(provider.Usage{Input: estimate}, p)) > d.c.Money {
			return 0, d.outOfMoney()
		}
	}
	return tokens, nil
}

// CheckMoney refuses a money budget for a model whose price is not known: every limit would hold for ever.
func CheckMoney(prices *price.Table, c Contract) error {
	if c.Money <= 0 {
		return nil
	}
	for _, s := range append([]Source{{Kind: c.Provider.Kind, Model: c.Model}}, c.Fallback...) {
		if _, ok := prices.Price(s.Kind, s.Model); !ok {
			return &ContractError{"money", fmt.Sprintf("the price of model %q is not known; set it as prices.%q in the configuration, or leave the limit out", s.Model, s.Model)}
		}
	}
	return nil
}

// settle counts an attempt that has ended against the budgets.
func (d *driver) settle(a db.Attempt) {
	d.billed = add(d.billed, a.Billed())
	d.spent = add(d.spent, d.cost(a))
}

// cost is what a money budget counts for an attempt: its cost, or, where that is not known, an estimate at the asked
// model's price.
func (d *driver) cost(a db.Attempt) int64 {
	if a.CostMicros != nil {
		return *a.CostMicros
	}
	p, ok := d.e.prices.Price(d.c.priceKind(a.Provider), a.Model)
	if !ok {
		return 0 // a money budget with an unpriced model is refused at the start
	}
	if a.Measured() {
		return price.Cost(provider.Usage{Input: *a.Input, Output: *a.Output, CacheRead: a.CacheRead, CacheWrite: a.CacheWrite}, p)
	}
	return price.Cost(provider.Usage{Input: min(a.Estimate, a.Billed()), Output: max(0, a.Billed()-a.Estimate)}, p)
}

// add adds two amounts that are not negative, and stops at the largest.
func add(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// applyBudgets sets the ceilings that operators asked for since.
func (d *driver) applyBudgets(point string) error {
	controls, err := d.e.store.PendingControls(context.Background(), d.lease.RunID)
	if err != nil || first(controls, "budget") == nil {
		return err
	}
	c := d.c
	err = d.commit(func(tx *db.Tx) error { return applyBudgets(tx, &c, controls, point, d.sealed) })
	if err != nil {
		return err
	}
	d.c = c
	return d.catchUp()
}

// applyBudgets sets in c what the budget controls ask for and stores it; a question about a budget is over with it.
func applyBudgets(tx *db.Tx, c *Contract, controls []db.Control, point string, step int) error {
	changed := false
	for _, ctl := range controls {
		if ctl.Kind != "budget" {
			continue
		}
		changed = true
		b, err := db.ParseBudget(ctl.Body)
		if err != nil {
			return err
		}
		if err := tx.ObserveControl(ctl.ID, point); err != nil {
			return err
		}
		for _, set := range limitsOf(b).set(c) {
			set.By = ctl.By.User
			if err := tx.Event(step, 0, set); err != nil {
				return err
			}
		}
	}
	if !changed {
		return nil
	}
	body, _, err := c.encode()
	if err != nil {
		return err
	}
	if err := tx.SupersedeBudget(); err != nil {
		return err
	}
	return tx.SetContract(body)
}

// budgetSet stores that this resume set budgets, as the control it is: asked and acted on in one commit.
func (d *driver) budgetSet(tx *db.Tx, l Limits) error {
	c, err := tx.AddControl(db.Control{Kind: "budget", Body: l.Budget().Encode(), By: d.actor()})
	if err != nil {
		return err
	}
	return tx.ObserveControl(c.ID, "resume")
}
