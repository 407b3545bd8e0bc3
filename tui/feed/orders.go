package feed

import (
	"context"
	"strings"

	"tillerman/core"
	"tillerman/db"
	"tillerman/observer"
)

// Limits are the ceilings in force; 0 is none. The names say who set one while the run was going, "" for nobody.
type Limits struct {
	Steps                              int
	TimeMS, Tokens, MoneyMicros        int64
	StepsBy, TimeBy, TokensBy, MoneyBy string
}

// contractLimits are the ceilings of a contract: those in force.
func contractLimits(c core.Contract) Limits {
	return Limits{Steps: c.MaxSteps, TimeMS: c.Time.Milliseconds(), Tokens: c.Tokens, MoneyMicros: c.Money}
}

// by notes who set the ceilings of a budget control, as far as they are still the ones in force.
func (l *Limits) by(b db.Budget, who string) {
	if b.MaxSteps != nil && *b.MaxSteps == l.Steps {
		l.StepsBy = who
	}
	if b.TimeMS != nil && *b.TimeMS == l.TimeMS {
		l.TimeBy = who
	}
	if b.Tokens != nil && *b.Tokens == l.Tokens {
		l.TokensBy = who
	}
	if b.MoneyMicros != nil && *b.MoneyMicros == l.MoneyMicros {
		l.MoneyBy = who
	}
}

// Told is one message to the agent.
type Told struct {
	Text   string
	By     string
	ReadAt int64  // wall clock, ms; 0 while it waits to be read
	Point  string // where it was read: "step 8"
}

// Stuck is a call that began, and of which nobody can know whether it happened.
type Stuck struct {
	Call    db.Call
	BegunAt int64 // wall clock, ms
}

// orders reads what operators asked of the run.
func (l *loader) orders(ctx context.Context, s *Snapshot) error {
	controls, err := l.store.Controls(ctx, l.runID)
	if err != nil {
		return err
	}
	for i := range controls {
		c := &controls[i]
		switch c.Kind {
		case "cancel", "kill":
			pending := c.StoppedAt == nil && c.Point != db.TooLate && s.Driven
			if pending && (s.Cancel == nil || c.Kind == "kill" && s.Cancel.Kind != "kill") {
				s.Cancel = c
			}
		case "pause":
			s.Pause = c
		case "continue":
			s.Pause = nil
		case "tell":
			s.Told = append(s.Told, l.told(c))
		case "budget":
			s.Budget = nil
			if c.ObservedAt == nil {
				s.Budget = c
				continue
			}
			if b, err := db.ParseBudget(c.Body); err == nil {
				s.Limits.by(b, c.By.Who(l.self))
			}
		}
	}
	if s.Summary != nil {
		s.Pause, s.Budget = nil, nil
	}
	return nil
}

func (l *loader) told(c *db.Control) Told {
	t := Told{Text: c.Body, By: c.By.Who(l.self)}
	if c.ObservedAt != nil {
		t.ReadAt, t.Point = *c.ObservedAt, strings.TrimPrefix(c.Point, "request of ")
	}
	return t
}

// stuck finds the interrupted call of a run that waits for a person's word about it.
func (l *loader) stuck(ctx context.Context, s *Snapshot) error {
	if s.Run.Status != db.Paused || s.Run.Outcome != string(observer.OutcomeNeedsOperator) {
		return nil
	}
	effects, err := l.store.Effects(ctx, l.runID)
	if err != nil {
		return err
	}
	for _, e := range effects {
		if e.State != "open" {
			continue
		}
		calls, err := l.store.StepCalls(ctx, l.runID, e.Step)
		if err != nil {
			return err
		}
		for _, c := range calls {
			if c.Position == e.Position {
				s.Stuck = &Stuck{Call: c, BegunAt: e.At}
				return nil
			}
		}
	}
	return nil
}

// now finds what is under way: the newest open span of the drive that lasts.
func (l *loader) now(ctx context.Context, s *Snapshot) error {
	if s.Run.Status != db.Running || !s.Driven {
		return nil
	}
	spans, err := l.store.RecentSpans(ctx, l.runID, 8)
	if err != nil {
		return err
	}
	for _, sp := range spans {
		if sp.DurationMS != nil || sp.Drive != s.Run.Drive || sp.Kind == "run" || sp.Kind == "step" {
			continue
		}
		s.Now = Activity{Kind: sp.Kind, Name: sp.Name, Step: sp.Step, Since: sp.StartedAt}
		switch {
		case sp.Kind == "retry":
			return l.waits(ctx, s)
		case sp.Kind == "call" && sp.Position != nil:
			return l.acts(ctx, s, *sp.Position)
		}
		return nil
	}
	return nil
}

// waits says until when, and for what, a run waits before it asks a model again.
func (l *loader) waits(ctx context.Context, s *Snapshot) error {
	attempts, err := l.store.StepAttempts(ctx, l.runID, s.Now.Step)
	if err != nil {
		return err
	}
	failures := 0
	for _, a := range attempts {
		if a.State != db.AttemptFailed || a.Inner {
			continue
		}
		failures++
		if a.DelayMS == nil { // asked again at once
			continue
		}
		s.Now.Retry = &Retry{
			Until: s.Now.Since + *a.DelayMS, Kind: s.Now.Name, Next: failures + 1, Of: l.contract.MaxRetries + 1,
			Hinted: a.HintMS != nil && *a.HintMS == *a.DelayMS,
		}
	}
	return nil
}

// acts says what the call under way is about and how it can be stopped.
func (l *loader) acts(ctx context.Context, s *Snapshot, position int) error {
	calls, err := l.store.StepCalls(ctx, l.runID, s.Now.Step)
	if err != nil {
		return err
	}
	for _, c := range calls {
		if c.Position == position {
			s.Now.Target, s.Now.Reach = c.Target, c.Reach
		}
	}
	return nil
}
