package price_test

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"tillerman/core/provider"
	"tillerman/core/provider/price"
)

func some(n int64) *int64 { return &n }

// The usages are those that clients make of what endpoints report: cached tokens are not in Input, reasoning is in
// Output.
func TestCostGolden(t *testing.T) {
	sonnet := price.Price{Input: 3_000_000, Output: 15_000_000, CacheRead: 300_000, CacheWrite: 3_750_000}
	gpt := price.Price{Input: 2_500_000, Output: 10_000_000, CacheRead: 1_250_000, CacheWrite: 2_500_000}
	for _, c := range []struct {
		name  string
		usage provider.Usage
		price price.Price
		want  int64 // micro-units
	}{
		{"1000 asked, 800 of them cached", provider.Usage{Input: 200, CacheRead: some(800)}, gpt, 1_500},
		{"19 asked, 30000 read, 9000 written", provider.Usage{Input: 19, CacheRead: some(30_000), CacheWrite: some(9_000)}, sonnet, 42_807},
		{"the same with an answer", provider.Usage{Input: 19, Output: 77, CacheRead: some(30_000), CacheWrite: some(9_000)}, sonnet, 43_962},
		{"reasoning is not counted again", provider.Usage{Input: 10, Output: 90, Reasoning: some(40)}, gpt, 925},
		{"nothing", provider.Usage{}, sonnet, 0},
		{"a free model", provider.Usage{Input: 1_000_000, Output: 1_000_000}, price.Price{}, 0},
		{"half a micro-unit goes up", provider.Usage{Input: 1}, price.Price{Input: 500_000}, 1},
		{"less goes down", provider.Usage{Input: 1}, price.Price{Input: 499_999}, 0},
		{"rounded once, not by part", provider.Usage{Input: 1, Output: 1, CacheRead: some(1)}, price.Price{Input: 400_000, Output: 400_000, CacheRead: 400_000}, 1},
		{"negative counts cost nothing", provider.Usage{Input: -5, Output: 2, CacheRead: some(-9)}, sonnet, 30},
		{"beyond what fits", provider.Usage{Input: math.MaxInt64, Output: math.MaxInt64}, price.Price{Input: math.MaxInt64, Output: math.MaxInt64}, math.MaxInt64},
	} {
		if got := price.Cost(c.usage, c.price); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

func TestCostIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(0, math.MaxInt64)
		u := provider.Usage{Input: n.Draw(t, "input"), Output: n.Draw(t, "output"), CacheRead: some(n.Draw(t, "read")), CacheWrite: some(n.Draw(t, "write"))}
		p := price.Price{Input: n.Draw(t, "p"), Output: n.Draw(t, "p"), CacheRead: n.Draw(t, "p"), CacheWrite: n.Draw(t, "p")}
		sum := big.NewInt(500_000)
		for _, part := range [][2]int64{{u.Input, p.Input}, {u.Output, p.Output}, {*u.CacheRead, p.CacheRead}, {*u.CacheWrite, p.CacheWrite}} {
			sum.Add(sum, new(big.Int).Mul(big.NewInt(part[0]), big.NewInt(part[1])))
		}
		sum.Div(sum, big.NewInt(1_000_000))
		want := int64(math.MaxInt64)
		if sum.IsInt64() {
			want = sum.Int64()
		}
		if got := price.Cost(u, p); got != want {
			t.Fatalf("%d, want %d", got, want)
		}
	})
}

// Ten thousand small calls add up to what they cost, to the last unit.
func TestCostAddsUp(t *testing.T) {
	var sum int64
	for range 10_000 {
		sum += price.Cost(provider.Usage{Input: 100}, price.Price{Input: 1_000_000})
	}
	if sum != 1_000_000 {
		t.Errorf("%d micro-units, want 1000000", sum)
	}
}

func TestPerToken(t *testing.T) {
	for in, want := range map[float64]int64{0: 0, 3: 3_000_000, 0.15: 150_000, 0.000001: 1, 18.75: 18_750_000} {
		if got, err := price.PerToken(in); err != nil || got != want {
			t.Errorf("%v: %d, %v", in, got, err)
		}
	}
	for _, in := range []float64{-1, -0.0000001, math.NaN(), math.Inf(1), 1e18} {
		if got, err := price.PerToken(in); err == nil {
			t.Errorf("%v: %d", in, got)
		}
	}
}
