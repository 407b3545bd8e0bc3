package feed

import (
	"context"
	"encoding/json"

	"tillerman/db"
)

// Asks is what is known about an open question beside its row.
type Asks struct {
	RequestID int64
	Before    db.Before // what people decided about the same before
	Arguments string    // of the call as it stands, JSON; "" when the question is about no call
	Asked     string    // the arguments as the model gave them, when an operator changed them; else ""
	Choices   int       // answers that a question of the agent offers
}

// about reads what is known about the oldest open question, once: none of it changes while the question stands.
func (l *loader) about(ctx context.Context, s *Snapshot) error {
	if len(s.Open) == 0 {
		return nil
	}
	r := s.Open[0]
	if l.asks.RequestID == r.ID {
		s.Asks = l.asks
		return nil
	}
	a := Asks{RequestID: r.ID}
	var err error
	if a.Before, err = l.store.Before(ctx, r); err != nil {
		return err
	}
	if r.Position != nil {
		calls, err := l.store.StepCalls(ctx, r.RunID, r.Step)
		if err != nil {
			return err
		}
		for _, c := range calls {
			if c.Position == *r.Position {
				a.call(r, c)
			}
		}
	}
	l.asks, s.Asks = a, a
	return nil
}

// call notes what the call is that a question is about.
func (a *Asks) call(r db.Request, c db.Call) {
	if a.Arguments = c.Arguments; c.ChangedArgs != "" {
		a.Arguments, a.Asked = c.ChangedArgs, c.Arguments
	}
	if r.Act == db.QuestionAct {
		var args struct {
			Choices []string `json:"choices"`
		}
		if json.Unmarshal([]byte(a.Arguments), &args) == nil {
			a.Choices = len(args.Choices)
		}
	}
}
