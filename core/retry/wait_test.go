package retry_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tillerman/core/retry"
)

func TestWaitBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := retry.Policy{
			Base: time.Duration(rapid.Int64Range(0, math.MaxInt64).Draw(t, "base")),
			Max:  time.Duration(rapid.Int64Range(0, math.MaxInt64).Draw(t, "max")),
		}
		at := retry.Attempt{
			Seed: rapid.Int64().Draw(t, "seed"),
			Step: rapid.IntRange(0, 1000).Draw(t, "step"),
			N:    rapid.IntRange(-1, 100).Draw(t, "attempt"),
		}
		base, ceiling := p.Base, p.Max
		if base <= 0 {
			base = retry.DefaultBase
		}
		if ceiling <= 0 {
			ceiling = retry.DefaultMax
		}
		if n := max(at.N, 1) - 1; n < 62 && base <= ceiling>>n {
			ceiling = base << n
		}
		wait := p.Wait(at)
		if wait < min(base/10, ceiling) || wait > ceiling {
			t.Fatalf("%+v, %+v: %s is not within %s and %s", p, at, wait, base/10, ceiling)
		}
		if again := p.Wait(at); again != wait {
			t.Fatalf("%s, then %s", wait, again)
		}
	})
}

// The figures are part of what a resumed run repeats: they must not change.
func TestWaitGolden(t *testing.T) {
	p := retry.Policy{Base: 500 * time.Millisecond, Max: 30 * time.Second}
	for at, want := range map[retry.Attempt]time.Duration{
		{Seed: 7, Step: 1, N: 1}:  344037889,
		{Seed: 7, Step: 1, N: 2}:  374499572,
		{Seed: 7, Step: 2, N: 1}:  188929683,
		{Seed: -8, Step: 1, N: 9}: 18821262177,
	} {
		if got := p.Wait(at); got != want {
			t.Errorf("%+v: %d, want %d", at, got, want)
		}
	}
}

// The draws fill the whole range evenly, or many runs would come back together.
func TestWaitSpread(t *testing.T) {
	p := retry.Policy{Base: time.Second, Max: time.Minute}
	const draws, bins = 10_000, 9
	var count [bins]int
	for seed := range int64(draws) {
		wait := p.Wait(retry.Attempt{Seed: seed, Step: 1, N: 1})
		count[min(int((wait-100*time.Millisecond)/(100*time.Millisecond)), bins-1)]++
	}
	for i, n := range count {
		if n < draws/bins*8/10 || n > draws/bins*12/10 {
			t.Errorf("bin %d has %d of %d draws: %v", i, n, draws, count)
		}
	}
}
