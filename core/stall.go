package core

import (
	"context"
	"fmt"

	"tillerman/core/provider"
	"tillerman/core/wording"
	"tillerman/db"
	"tillerman/observer"
)

// noProgress is what a run is told once before it is ended for going in circles.
const noProgress = "your last steps changed nothing and repeated themselves. Try something else, or say in a final message what keeps you from going on."

// stallState notices a run that goes in circles. It is a function of the sealed steps alone, so that a resumed run
// stalls where an uninterrupted one would.
type stallState struct {
	policy       Stall
	unproductive int
	seen         map[string]bool
	replans      int
	replanAt     []int // steps after which the run was told
	stalledAt    int
	newest       lastStep
}

// lastStep is what the newest sealed step was.
type lastStep struct {
	step    int
	final   bool // a final message: text, no call, nothing cut
	changed bool
	said    string
}

func (s *stallState) last() lastStep { return s.newest }

// add counts a sealed step. A step without calls repeats as the empty call.
func (s *stallState) add(st db.Step) {
	s.newest = lastStep{step: st.Step, final: st.ToolCall == "" && st.Decision == "final message", changed: st.Changed, said: st.Said}
	if s.policy.Window <= 0 {
		return
	}
	if st.Changed {
		s.unproductive, s.seen = 0, nil
		return
	}
	if s.seen == nil {
		s.seen = map[string]bool{}
	}
	repeated := s.seen[st.ToolCall]
	s.seen[st.ToolCall] = true
	s.unproductive++
	if s.unproductive < s.policy.Window || !repeated {
		return
	}
	s.unproductive, s.seen = 0, nil
	if s.replans < s.policy.MaxReplans {
		s.replans++
		s.replanAt = append(s.replanAt, st.Step)
		return
	}
	s.stalledAt = st.Step
}

// checkStall acts on what the newest step came to. What it stores it stores once.
func (d *driver) checkStall(step int) (*ending, error) {
	if d.steps.stalledAt == step {
		if err := d.noteLate("the run had already stalled"); err != nil {
			return nil, err
		}
		if known, err := d.known(step, "stalled"); known || err != nil {
			return stalled(), err
		}
		return stalled(), d.commit(func(tx *db.Tx) error {
			if err := tx.AddContextFact(step, "stalled", fmt.Sprint(d.c.Stall.Window)); err != nil {
				return err
			}
			return tx.Event(step, 0, observer.Stalled{})
		})
	}
	for _, at := range d.steps.replanAt {
		if at != step {
			continue
		}
		d.hist.Add(provider.Say(provider.RoleUser, wording.Tag(wording.NoProgress, noProgress)))
		if known, err := d.known(step, "replan"); known || err != nil {
			return nil, err
		}
		return nil, d.commit(func(tx *db.Tx) error {
			if err := tx.AddContextFact(step, "replan", fmt.Sprint(d.c.Stall.Window)); err != nil {
				return err
			}
			return tx.Event(step, 0, observer.Replan{Window: d.c.Stall.Window})
		})
	}
	return nil, nil
}

func stalled() *ending {
	return &ending{outcome: observer.OutcomeStalled, message: "the run went in circles without changing anything"}
}

// known says whether a context fact is stored already, by a drive that died after it.
func (d *driver) known(step int, kind string) (bool, error) {
	all, err := d.e.store.ContextFacts(context.Background(), d.lease.RunID)
	if err != nil {
		return false, err
	}
	for _, f := range all {
		if f.Step == step && f.Kind == kind {
			return true, nil
		}
	}
	return false, nil
}
