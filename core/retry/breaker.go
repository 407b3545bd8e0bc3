package retry

import (
	"fmt"
	"sync"
	"time"

	"tillerman/core/provider"
)

// When a Breaker opens, and for how long.
const (
	// BreakerFailures in a row open it. A step with the default of two retries makes three calls: one unlucky step does
	// not open it, two do.
	BreakerFailures = 5
	// BreakerWindow is the time within which they must lie. Waits between the tries of two steps add up to less than
	// this, while failures of different outages do not add up at all.
	BreakerWindow = 2 * time.Minute
	// BreakerCooldown is how long it stays open before one probe. It is the longest drawn wait: an open breaker never
	// holds a run back for longer than its own retries would.
	BreakerCooldown = DefaultMax
)

// Breaker keeps calls from a provider that is unwell. It opens after BreakerFailures in a row within BreakerWindow; after
// BreakerCooldown it lets one call through, the probe. A probe that the provider answers, be it with a refusal, closes it;
// one that fails opens it again. It is safe for concurrent use, and it lives as long as its process: a run that is taken
// up elsewhere starts with a closed one.
type Breaker struct {
	now func() time.Time

	mu       sync.Mutex
	failures []time.Time // in a row, the newest BreakerFailures of them
	count    int         // failures in a row, for people
	last     provider.Kind
	until    time.Time // open until then; zero while closed
	probing  bool
	rest     time.Time // the provider asked not to be asked before
	resting  time.Time // until then that is done
}

// NewBreaker makes a closed breaker. now is the clock, nil for the system's.
func NewBreaker(now func() time.Time) *Breaker {
	if now == nil {
		now = time.Now
	}
	return &Breaker{now: now}
}

// Open says why a provider is not asked now. It is an error, and the cause of failures that a breaker makes.
type Open struct {
	Failures int           // in a row
	Last     provider.Kind // of the newest
	Wait     time.Duration // to the next probe; 0 while a probe is under way
}

func (o *Open) Error() string {
	next := "a probe is under way"
	if o.Wait > 0 {
		next = "next probe in " + Words(o.Wait)
	}
	return fmt.Sprintf("circuit open after %d failures, %s", o.Failures, next)
}

// Words is a wait for people: whole seconds, rounded up, or milliseconds below one.
func Words(d time.Duration) string {
	if d < time.Second {
		return d.Round(time.Millisecond).String()
	}
	return (d + time.Second - 1).Truncate(time.Second).String()
}

// Pass is leave to make one call. Its outcome goes to Settle.
type Pass struct{ probe bool }

// Enter asks for leave to call. Open is not nil when there is none.
func (b *Breaker) Enter() (Pass, *Open) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.until.IsZero() {
		return Pass{}, nil
	}
	wait := b.until.Sub(b.now())
	if wait <= 0 && !b.probing {
		b.probing = true
		return Pass{probe: true}, nil
	}
	return Pass{}, &Open{Failures: b.count, Last: b.last, Wait: max(wait, 0)}
}

// Settle takes the outcome of a call. What is no *provider.Error, such as a caller that went away, says nothing about the
// provider. What it returns is nil unless this outcome opened the breaker.
func (b *Breaker) Settle(p Pass, err error) *Open {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p.probe {
		b.probing = false
	}
	failed, ok := provider.As(err)
	if err != nil && !ok {
		return nil
	}
	now := b.now()
	b.rest, b.resting = time.Time{}, time.Time{}
	if failed != nil && failed.Hint != nil {
		b.rest, b.resting = now.Add(*failed.Hint), now.Add(min(*failed.Hint, MaxHint))
	}
	if failed == nil || !unwell(failed.Kind) {
		b.failures, b.count, b.until = nil, 0, time.Time{}
		return nil
	}
	if len(b.failures) > 0 && now.Sub(b.failures[len(b.failures)-1]) > BreakerWindow {
		b.failures, b.count = nil, 0 // another outage
	}
	b.failures = append(b.failures, now)
	if over := len(b.failures) - BreakerFailures; over > 0 {
		b.failures = append(b.failures[:0], b.failures[over:]...)
	}
	b.count++
	b.last = failed.Kind
	switch {
	case p.probe:
	case !b.until.IsZero(): // a call that had begun before the breaker opened
		return nil
	case len(b.failures) < BreakerFailures || now.Sub(b.failures[0]) > BreakerWindow:
		return nil
	}
	b.until = now.Add(BreakerCooldown)
	return &Open{Failures: b.count, Last: b.last, Wait: BreakerCooldown}
}

// Ready is how long the provider should be left alone: until the next probe, and as long as it asked for. 0 is no time.
func (b *Breaker) Ready() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	return max(b.until.Sub(now), b.rest.Sub(now), 0)
}

// Resting is how long the provider still has to be left alone because it asked for that, at most MaxHint from when it
// asked: a longer time is as often a mistake as meant, and asking once in a while does no harm. 0 is no time.
func (b *Breaker) Resting() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return max(b.resting.Sub(b.now()), 0)
}

// unwell says whether a failure of this kind says that the provider is. One that limits a rate is well and says how long
// to leave it alone; one that gives a malformed answer has answered, and the next answer may be fine; the kinds that asking
// again cannot help are about the request.
func unwell(k provider.Kind) bool {
	switch k {
	case provider.Transport, provider.Timeout, provider.Overloaded, provider.Server:
		return true
	}
	return false
}
