package core

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"tillerman/core/provider"
	"tillerman/db"
	"tillerman/observer"
)

// modelCallUnderWay is a call that a wrapper may pass on from one provider to the next. Each that is asked is an attempt
// of its own, begun before it is asked; what one reported is settled before the next begins.
type modelCallUnderWay struct {
	ctx     context.Context // of the call: the callback brings none
	d       *driver
	attempt db.Attempt // of whoever is asked now
	began   time.Time
	fell    bool    // somebody failed before the one that is asked now
	end     *ending // why nobody else was asked
	err     error   // of storing; nobody else was asked either
}

// errStopped ends a call whose next provider is not asked.
var errStopped = errors.New("no other provider is asked")

// passOn stores the failure of the provider that was asked, looks at controls and budgets as between two tries, and begins
// the attempt with the next.
func (m *modelCallUnderWay) passOn(f *provider.Error, next provider.Asked) error {
	d, a := m.d, &m.attempt
	a.Inner, a.TotalMS = true, ptr(max(0, d.e.now().Sub(m.began).Milliseconds()))
	hold, model := int64(0), a.Model
	d.fillFailure(a, f)
	m.err = d.commit(func(tx *db.Tx) error {
		if err := tx.EndAttempt(*a); err != nil {
			return err
		}
		if _, err := tx.CloseSpan(d.modelSpan, "failed: "+a.Kind); err != nil {
			return err
		}
		return tx.Event(a.Step, 0, modelCall(*a))
	})
	if m.err != nil {
		return m.err
	}
	if next.Model != "" {
		model = next.Model
	}
	if m.end, m.err = d.safePoint(m.ctx, atProvider); m.end == nil && m.err == nil {
		m.end, m.err = d.boundary(m.ctx, a.Step)
	}
	if m.end == nil && m.err == nil {
		hold, m.end = d.hold(a.Estimate, next.Provider, model)
	}
	if m.end != nil || m.err != nil {
		return errors.Join(errStopped, m.err)
	}
	m.attempt = db.Attempt{
		Step: a.Step, Drive: a.Drive, Provider: next.Provider, Model: model, MaxOutput: a.MaxOutput,
		RequestDigest: a.RequestDigest, Estimate: a.Estimate, Hold: hold,
	}
	m.fell = true
	m.err = d.beginAttempt(&m.attempt)
	m.began = d.e.now()
	return m.err
}

// fellBack is the event of an answer that another than the first provider gave.
func fellBack(tx *db.Tx, a db.Attempt) error {
	return tx.Event(a.Step, 0, observer.FellBackTo{Provider: a.Served})
}

// called is what the provider is called where a run names it.
func (s Source) called() string {
	if s.Name != "" {
		return s.Name
	}
	return s.Kind
}

// askedFirst is who of a chain is asked first; a provider that is none is called name.
func (c Contract) askedFirst(name string) string {
	if len(c.Fallback) > 0 {
		return c.Provider.called()
	}
	return name
}

// priceKind is the kind that the prices of the provider called name are listed under. A replay's names are those of the
// recorded run.
func (c Contract) priceKind(name string) string {
	for _, s := range c.Fallback {
		if s.called() == name {
			return s.Kind
		}
	}
	if i := strings.IndexAny(name, ":@"); c.Provider.Kind == "replay" && i > 0 {
		return name[:i]
	} else if c.Provider.Kind == "replay" {
		return name
	}
	return c.Provider.Kind
}

// checkFallback wants a model and a name of its own for every fallback.
func (c Contract) checkFallback() error {
	names := map[string]bool{c.Provider.called(): true}
	for _, s := range c.Fallback {
		switch name := s.called(); {
		case s.Model == "":
			return &ContractError{"fallback", fmt.Sprintf("%q has no model; name one", name)}
		case names[name]:
			return &ContractError{"fallback", fmt.Sprintf("%q stands twice in the chain; leave one out", name)}
		default:
			names[name] = true
		}
	}
	return nil
}
