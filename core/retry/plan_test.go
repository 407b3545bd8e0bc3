package retry_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"tillerman/core/provider"
	"tillerman/core/retry"
)

func TestPlan(t *testing.T) {
	p := retry.Policy{Base: time.Second, Max: time.Second}
	at := retry.Attempt{Seed: 1, Step: 1, N: 1}
	hint := func(d time.Duration) error {
		return fmt.Errorf("step 1: %w", &provider.Error{Kind: provider.RateLimited, Hint: &d})
	}
	plain := &provider.Error{Kind: provider.Transport}
	drawn := p.Wait(at)
	for _, c := range []struct {
		name  string
		err   error
		left  time.Duration
		want  time.Duration
		asked time.Duration // of a TooLongError
		limit time.Duration
	}{
		{"drawn", plain, retry.Unlimited, drawn, 0, 0},
		{"drawn, budget just enough", plain, drawn, drawn, 0, 0},
		{"drawn, budget too small", plain, drawn - 1, 0, drawn, drawn - 1},
		{"drawn, budget overdrawn", plain, -time.Second, 0, drawn, 0},
		{"hint", hint(3 * time.Second), retry.Unlimited, 3 * time.Second, 0, 0},
		{"hint above the policy's ceiling", hint(time.Minute), retry.Unlimited, time.Minute, 0, 0},
		{"hint at the cap", hint(10 * time.Minute), retry.Unlimited, 10 * time.Minute, 0, 0},
		{"hint above the cap", hint(10*time.Minute + 1), retry.Unlimited, 0, 10*time.Minute + 1, 10 * time.Minute},
		{"hint of years", hint(1e9 * time.Second), retry.Unlimited, 0, 1e9 * time.Second, 10 * time.Minute},
		{"hint above the budget", hint(time.Minute), time.Second, 0, time.Minute, time.Second},
		{"hint of nothing", hint(0), retry.Unlimited, drawn, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := p.Plan(c.err, at, c.left)
			var long *retry.TooLongError
			if c.asked != 0 {
				if !errors.As(err, &long) || long.Asked != c.asked || long.Limit != c.limit {
					t.Fatalf("got %s, %v", got, err)
				}
				return
			}
			if err != nil || got != c.want {
				t.Fatalf("got %s, %v, want %s", got, err, c.want)
			}
		})
	}
}

func TestPlanOnlyWhereItHelps(t *testing.T) {
	kinds := map[provider.Kind]bool{
		provider.Transport: true, provider.Timeout: true, provider.RateLimited: true, provider.Overloaded: true,
		provider.Server: true, provider.Malformed: true,
		provider.Auth: false, provider.BadRequest: false, provider.ContextLength: false, provider.ModelRefused: false,
	}
	for kind, again := range kinds {
		err := error(&provider.Error{Kind: kind})
		_, got := retry.Policy{}.Plan(err, retry.Attempt{N: 1}, retry.Unlimited)
		if again && got != nil || !again && got != err {
			t.Errorf("%s: %v", kind, got)
		}
	}
	if _, err := (retry.Policy{}).Plan(context.Canceled, retry.Attempt{N: 1}, retry.Unlimited); err != context.Canceled {
		t.Errorf("a cancelled call: %v", err)
	}
}

func TestTooLongNamesTheTime(t *testing.T) {
	day := 24 * time.Hour
	_, err := retry.Policy{}.Plan(&provider.Error{Kind: provider.RateLimited, Hint: &day}, retry.Attempt{N: 1}, retry.Unlimited)
	if err == nil || err.Error() != "the server asks to wait 1 d 0 h, longer than 10m0s" {
		t.Error(err)
	}
}
