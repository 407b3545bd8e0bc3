package script

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"tillerman/core/provider"
)

// Clock is where a scripted model takes its time from.
type Clock interface {
	Now() time.Time
	// Sleep returns after d, or earlier with context.Cause(ctx) when ctx ends.
	Sleep(ctx context.Context, d time.Duration) error
}

// Options change how a script is played, not what it answers.
type Options struct {
	// Fast answers at once, whatever the script's pace.
	Fast bool
	// Clock is the system's when nil.
	Clock Clock
}

// New plays a script. The provider reaches no endpoint and is safe for concurrent use.
//
// An answer's usage is worked out from sizes, with provider.Estimate, so that it is the same every time: the request
// before this one, being the start of this one, counts as read from a cache, the rest as input, the answer as output.
func New(s *Script, opts Options) provider.Provider {
	clock := opts.Clock
	if clock == nil {
		clock = systemClock{}
	}
	return &player{script: s, fast: opts.Fast, clock: clock}
}

type player struct {
	script *Script
	fast   bool
	clock  Clock
	served atomic.Bool // the most recent call was answered
}

// Complete answers with the first turn that fits. No turn fitting is a *provider.Error of kind BadRequest.
func (p *player) Complete(ctx context.Context, req provider.Request, call provider.Call) (provider.Answer, error) {
	p.served.Store(false)
	if ctx.Err() != nil {
		return provider.Answer{}, fmt.Errorf("script: %w", context.Cause(ctx))
	}
	sc := read(req.Messages)
	t := p.script.choose(sc)
	if t == nil {
		return provider.Answer{}, &provider.Error{Kind: provider.BadRequest, Provider: p.Name(), Message: unforeseen(sc, call)}
	}
	a := p.script.answer(t, sc, req)
	if err := p.speak(ctx, t, &a, call); err != nil {
		return provider.Answer{}, fmt.Errorf("script: %w", err)
	}
	p.served.Store(true)
	return a, nil
}

// unforeseen says where the script has a hole.
func unforeseen(sc *scene, call provider.Call) string {
	where := fmt.Sprintf("step %d: the script has no turn for this conversation", call.Step)
	newest := sc.newest()
	if newest == nil {
		return where + ", before any call"
	}
	about := newest.tool + " " + newest.target
	if len(about) > 80 {
		about = about[:80]
	}
	return fmt.Sprintf("%s; the newest call is %s, %s", where, strconv.Quote(about), newest.outcome)
}

// speak takes the turn's time and passes the text on as it comes: half the time before the first word, the other half
// while it speaks.
func (p *player) speak(ctx context.Context, t *turn, a *provider.Answer, call provider.Call) error {
	pace := t.pace
	if p.fast {
		pace = 0
	}
	started := p.clock.Now()
	if err := p.wait(ctx, pace/2); err != nil {
		return err
	}
	a.FirstMillis = p.clock.Now().Sub(started).Milliseconds()
	pieces := split(a.Text())
	for _, piece := range pieces {
		if call.Delta != nil && piece != "" {
			call.Delta(provider.PartText, piece)
		}
		if err := p.wait(ctx, (pace-pace/2)/time.Duration(len(pieces))); err != nil {
			return err
		}
	}
	a.TotalMillis = p.clock.Now().Sub(started).Milliseconds()
	return nil
}

func (p *player) wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	return p.clock.Sleep(ctx, d)
}

// split cuts a text after spaces into at most 20 pieces.
func split(text string) []string {
	words := strings.SplitAfter(text, " ")
	each := (len(words) + 19) / 20
	var pieces []string
	for len(words) > 0 {
		n := min(each, len(words))
		pieces = append(pieces, strings.Join(words[:n], ""))
		words = words[n:]
	}
	return pieces
}

// Name is the script's.
func (p *player) Name() string { return p.script.name }

// Endpoints is empty: there is nothing to dial.
func (p *player) Endpoints() []string { return nil }

// LastServed is the script's name after an answer.
func (p *player) LastServed() string {
	if p.served.Load() {
		return p.Name()
	}
	return ""
}

// AcceptsImages is false.
func (p *player) AcceptsImages() bool { return false }

// systemClock is the real time.
type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

func (systemClock) Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
