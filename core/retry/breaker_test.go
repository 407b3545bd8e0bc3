package retry_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tillerman/core/provider"
	"tillerman/core/retry"
)

// stood is a clock that moves only when told to.
type stood struct {
	mu  sync.Mutex
	now time.Time
}

func newStood() *stood { return &stood{now: time.Date(2026, time.October, 21, 7, 0, 0, 0, time.UTC)} }

func (s *stood) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

func (s *stood) advance(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = s.now.Add(d)
}

func failure(kind provider.Kind) error { return &provider.Error{Kind: kind, Message: "no"} }

func hinted(kind provider.Kind, hint time.Duration) error {
	return &provider.Error{Kind: kind, Hint: &hint}
}

// call makes one call that comes to err; false when it was not let through.
func call(b *retry.Breaker, err error) bool {
	pass, open := b.Enter()
	if open == nil {
		b.Settle(pass, err)
	}
	return open == nil
}

func TestBreakerOpensProbesAndCloses(t *testing.T) {
	clock := newStood()
	b := retry.NewBreaker(clock.Now)
	for i := range retry.BreakerFailures {
		pass, open := b.Enter()
		if open != nil {
			t.Fatalf("call %d was not let through", i+1)
		}
		opened := b.Settle(pass, failure(provider.Overloaded))
		if (opened != nil) != (i == retry.BreakerFailures-1) {
			t.Fatalf("failure %d: opened %+v", i+1, opened)
		}
		clock.advance(time.Second)
	}
	_, open := b.Enter()
	if open == nil || open.Failures != retry.BreakerFailures || open.Last != provider.Overloaded || open.Wait != retry.BreakerCooldown-time.Second {
		t.Fatalf("open %+v", open)
	}
	if b.Ready() != open.Wait {
		t.Errorf("ready in %s", b.Ready())
	}
	clock.advance(open.Wait)
	probe, open := b.Enter()
	if open != nil {
		t.Fatal("no probe after the cool-down")
	}
	if _, open := b.Enter(); open == nil || open.Wait != 0 {
		t.Fatalf("a second call beside the probe: %+v", open)
	}
	if again := b.Settle(probe, failure(provider.Timeout)); again == nil || again.Failures != retry.BreakerFailures+1 || again.Wait != retry.BreakerCooldown {
		t.Fatalf("a failed probe opens: %+v", again)
	}
	clock.advance(retry.BreakerCooldown)
	if !call(b, nil) {
		t.Fatal("no second probe")
	}
	for range retry.BreakerFailures - 1 { // it starts from nothing
		if !call(b, failure(provider.Server)) {
			t.Fatal("a closed breaker counts what was before")
		}
	}
	if !call(b, nil) || b.Ready() != 0 {
		t.Error("the breaker is not closed")
	}
}

func TestBreakerCountsWhatSaysThatTheProviderIsUnwell(t *testing.T) {
	for kind, counts := range map[provider.Kind]bool{
		provider.Transport: true, provider.Timeout: true, provider.Overloaded: true, provider.Server: true,
		provider.RateLimited: false, provider.Malformed: false, provider.Auth: false, provider.BadRequest: false,
		provider.ContextLength: false, provider.ModelRefused: false,
	} {
		b := retry.NewBreaker(newStood().Now)
		for range 2 * retry.BreakerFailures {
			call(b, failure(kind))
		}
		if _, open := b.Enter(); (open != nil) != counts {
			t.Errorf("%s: open %+v", kind, open)
		}
	}
}

func TestBreakerForgets(t *testing.T) {
	for name, between := range map[string]func(*stood, *retry.Breaker){
		"an answer in between":          func(_ *stood, b *retry.Breaker) { call(b, nil) },
		"a refused request in between":  func(_ *stood, b *retry.Breaker) { call(b, failure(provider.BadRequest)) },
		"the window passes":             func(c *stood, _ *retry.Breaker) { c.advance(retry.BreakerWindow + 1) },
		"too long between any two":      func(c *stood, _ *retry.Breaker) { c.advance(retry.BreakerWindow / 2) },
		"too long for five of them all": func(c *stood, _ *retry.Breaker) { c.advance(retry.BreakerWindow/4 + 1) },
	} {
		clock := newStood()
		b := retry.NewBreaker(clock.Now)
		for i := range 4 * retry.BreakerFailures {
			pass, open := b.Enter()
			if open != nil {
				t.Fatalf("%s: open after %d failures", name, i)
			}
			if opened := b.Settle(pass, failure(provider.Server)); opened != nil {
				t.Fatalf("%s: opened by failure %d: %+v", name, i+1, opened)
			}
			between(clock, b)
		}
	}
}

func TestBreakerAndACallerThatWentAway(t *testing.T) {
	clock := newStood()
	b := retry.NewBreaker(clock.Now)
	gone := errors.New("the caller went away")
	for range 2 * retry.BreakerFailures {
		call(b, gone)
	}
	for range retry.BreakerFailures {
		if !call(b, failure(provider.Transport)) {
			t.Fatal("calls that were given up count")
		}
	}
	clock.advance(retry.BreakerCooldown)
	if !call(b, gone) || !call(b, nil) {
		t.Error("a probe that was given up is not made again")
	}
}

func TestBreakerLeavesAloneWhoAsksForIt(t *testing.T) {
	clock := newStood()
	b := retry.NewBreaker(clock.Now)
	call(b, hinted(provider.RateLimited, 3*time.Second))
	if b.Resting() != 3*time.Second || b.Ready() != 3*time.Second {
		t.Errorf("resting %s, ready in %s", b.Resting(), b.Ready())
	}
	clock.advance(3 * time.Second)
	if b.Resting() != 0 || b.Ready() != 0 {
		t.Error("the time is over and it still rests")
	}
	call(b, hinted(provider.Overloaded, 277403*time.Second))
	if b.Resting() != retry.MaxHint || b.Ready() != 277403*time.Second {
		t.Errorf("resting %s, ready in %s", b.Resting(), b.Ready())
	}
	call(b, nil)
	if b.Resting() != 0 {
		t.Error("it answered and still rests")
	}
}

// Whatever comes in which order: a breaker never stays shut for longer than the cool-down, and lets one probe through.
func TestBreakerProperties(t *testing.T) {
	kinds := []error{nil, failure(provider.Server), failure(provider.Timeout), failure(provider.RateLimited), failure(provider.Auth), errors.New("gone")}
	rapid.Check(t, func(t *rapid.T) {
		clock := newStood()
		b := retry.NewBreaker(clock.Now)
		var under []retry.Pass
		for range rapid.IntRange(1, 60).Draw(t, "length") {
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0, 1:
				pass, open := b.Enter()
				if open == nil {
					under = append(under, pass)
				} else if open.Wait > retry.BreakerCooldown || open.Failures < retry.BreakerFailures || open.Wait == 0 && len(under) == 0 {
					t.Fatalf("open %+v with %d calls under way", open, len(under))
				}
			case 2:
				if len(under) > 0 {
					i := rapid.IntRange(0, len(under)-1).Draw(t, "which")
					b.Settle(under[i], rapid.SampledFrom(kinds).Draw(t, "outcome"))
					under = append(under[:i], under[i+1:]...)
				}
			case 3:
				clock.advance(time.Duration(rapid.Int64Range(0, int64(time.Minute)).Draw(t, "time")))
			}
		}
		for _, pass := range under {
			b.Settle(pass, errors.New("gone"))
		}
		clock.advance(retry.BreakerCooldown)
		if _, open := b.Enter(); open != nil {
			t.Fatalf("shut after the cool-down: %+v", open)
		}
	})
}

// A wait that a breaker makes is not told as the server's.
func TestAnOpenBreakersWaitIsItsOwn(t *testing.T) {
	open := &retry.Open{Failures: 5, Last: provider.Server, Wait: 29500 * time.Millisecond}
	if open.Error() != "circuit open after 5 failures, next probe in 30s" {
		t.Errorf("%q", open.Error())
	}
	err := &provider.Error{Kind: provider.Overloaded, Hint: &open.Wait, Err: open}
	_, planned := retry.Policy{}.Plan(err, retry.Attempt{N: 1}, time.Second)
	if planned == nil || planned.Error() != "the next attempt would wait 29.5s, longer than 1s" {
		t.Errorf("%v", planned)
	}
	if wait, planned := (retry.Policy{}).Plan(err, retry.Attempt{N: 1}, time.Minute); planned != nil || wait != open.Wait {
		t.Errorf("%s, %v", wait, planned)
	}
}
