// Package fallback asks several providers in order: when one cannot answer now, the next is asked in the same attempt. A
// circuit breaker keeps calls from each of them that is unwell; with one provider that is all it does.
package fallback

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"tillerman/core/provider"
	"tillerman/core/retry"
)

// Member is one provider of a chain.
type Member struct {
	Provider provider.Provider
	// Model is asked of it in place of the request's; "" asks the request's own.
	Model string
}

// Chain is a provider made of others. A failure that may pass (provider.Kind.Retryable) falls over to the next at once,
// whatever it says about waiting; any other failure is the chain's own, and nobody else is asked. Every provider that
// failed or was passed over is told of through the call before the next is asked. A provider that said how long to
// leave it alone is passed over for that time, at most retry.MaxHint. It is safe for concurrent use.
type Chain struct {
	members []*member
	served  atomic.Pointer[string]
}

type member struct {
	Member
	breaker *retry.Breaker
}

// New makes a chain of at least one member. now is the clock of the breakers, nil for the system's; it must run.
func New(now func() time.Time, members ...Member) (*Chain, error) {
	if len(members) == 0 {
		return nil, errors.New("a fallback chain needs a provider")
	}
	c := &Chain{}
	for _, m := range members {
		c.members = append(c.members, &member{Member: m, breaker: retry.NewBreaker(now)})
	}
	return c, nil
}

// Complete gives the first answer. When nobody answers, the error is the last one's, with the wait after which the first
// of them may be asked again as its hint.
func (c *Chain) Complete(ctx context.Context, req provider.Request, call provider.Call) (provider.Answer, error) {
	c.serve("")
	var failed *provider.Error
	for i, m := range c.members {
		if i > 0 {
			if ctx.Err() != nil {
				return provider.Answer{}, context.Cause(ctx)
			}
			if call.Failed != nil {
				if err := call.Failed(failed, m.asked(req)); err != nil {
					return provider.Answer{}, err
				}
			}
		}
		answer, err := c.ask(ctx, m, req, call)
		if err == nil {
			c.serve(answer.Served)
			return answer, nil
		}
		var ok bool
		if failed, ok = provider.As(err); !ok || !failed.Kind.Retryable() {
			return provider.Answer{}, err
		}
	}
	return provider.Answer{}, c.last(failed)
}

// ask asks one member, unless its breaker is open or it asked to be left alone and there are others. A failure is a copy
// of the member's own, with the model that was asked.
func (c *Chain) ask(ctx context.Context, m *member, req provider.Request, call provider.Call) (provider.Answer, error) {
	asked := ""
	if m.Model != "" && m.Model != req.Model {
		asked, req.Model = m.Model, m.Model
	}
	if wait := m.breaker.Resting(); wait > 0 && len(c.members) > 1 {
		return provider.Answer{}, &provider.Error{
			Kind: provider.RateLimited, Provider: m.Provider.Name(), Asked: asked, Hint: &wait,
			Message: "not asked: it wants no request for " + retry.Words(wait),
		}
	}
	pass, open := m.breaker.Enter()
	if open != nil {
		return provider.Answer{}, passedOver(m, asked, open)
	}
	answer, err := m.Provider.Complete(ctx, req, call)
	opened := m.breaker.Settle(pass, err)
	if err == nil {
		if answer.Asked == "" {
			answer.Asked = asked
		}
		return answer, nil
	}
	own, ok := provider.As(err)
	if !ok {
		return provider.Answer{}, err
	}
	failed := *own
	if failed.Asked == "" {
		failed.Asked = asked
	}
	if opened != nil {
		failed.Message = strings.TrimPrefix(failed.Message+"; "+opened.Error(), "; ")
		if failed.Hint == nil || *failed.Hint < opened.Wait {
			failed.Hint, failed.Err = &opened.Wait, errors.Join(failed.Err, opened)
		}
	}
	return provider.Answer{}, &failed
}

// passedOver is the failure of a member whose breaker is open. Its kind is overloaded: it was not asked, and may be later.
func passedOver(m *member, asked string, open *retry.Open) *provider.Error {
	e := &provider.Error{
		Kind: provider.Overloaded, Provider: m.Provider.Name(), Asked: asked, Err: open,
		Message: fmt.Sprintf("not asked: %s (last: %s)", open, open.Last),
	}
	if open.Wait > 0 {
		e.Hint = &open.Wait
	}
	return e
}

// last is the failure of the whole chain: the last member's. Its hint is when the first member may be asked again, which
// may be before the last one may: what that one said is then kept in the text.
func (c *Chain) last(failed *provider.Error) *provider.Error {
	if failed.Hint == nil {
		return failed
	}
	ready := *failed.Hint
	for _, m := range c.members[:len(c.members)-1] {
		ready = min(ready, m.breaker.Ready())
	}
	if ready == *failed.Hint {
		return failed
	}
	failed.Message += fmt.Sprintf(" (it wants no request for %s; another may be asked before)", retry.Words(*failed.Hint))
	failed.Hint = nil
	if ready > 0 {
		failed.Hint = &ready
	}
	return failed
}

func (m *member) asked(req provider.Request) provider.Asked {
	a := provider.Asked{Provider: m.Provider.Name(), Model: m.Model}
	if a.Model == "" {
		a.Model = req.Model
	}
	return a
}

func (c *Chain) serve(name string) { c.served.Store(&name) }

// Name is the members' names, as in "anthropic -> openai".
func (c *Chain) Name() string {
	names := make([]string, len(c.members))
	for i, m := range c.members {
		names[i] = m.Provider.Name()
	}
	return strings.Join(names, " -> ")
}

// Endpoints is every host that any member may dial, each once.
func (c *Chain) Endpoints() []string {
	var all []string
	for _, m := range c.members {
		for _, host := range m.Provider.Endpoints() {
			if !slices.Contains(all, host) {
				all = append(all, host)
			}
		}
	}
	return all
}

// LastServed is the member that gave the most recent answer, "" before the first and after a failure.
func (c *Chain) LastServed() string {
	if name := c.served.Load(); name != nil {
		return *name
	}
	return ""
}

// AcceptsImages says whether every member does: any of them may be the one that is asked.
func (c *Chain) AcceptsImages() bool {
	return !slices.ContainsFunc(c.members, func(m *member) bool { return !m.Provider.AcceptsImages() })
}
