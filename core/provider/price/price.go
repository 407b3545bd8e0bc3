// Package price knows what models cost and how much they can hold. Money is an estimate in integer micro-units: the
// vendor's bill is the truth, and a model that is not in the table costs an unknown amount, never nothing.
package price

import (
	"fmt"
	"math"
	"math/bits"

	"tillerman/core/provider"
)

// Price is what a model's tokens cost, in micro-units (millionths of the currency's unit) per million tokens. A price
// of $0.15 per million tokens is 150000.
type Price struct {
	Input, Output, CacheRead, CacheWrite int64

	// Model is the entry that the price was found under, and Source the table it is from: what a trace names.
	Model  string
	Source Source
}

// Source says who set a price.
type Source string

// The sources.
const (
	Settings Source = "settings" // the user's own entry
	Catalog  Source = "catalog"  // the list that came with the program
)

// Entry is a user's price for one model, in micro-units per million tokens. Zero means free; nil means not set.
// Without Input or without Output the model has no price. CacheRead and CacheWrite fall back to Input: with most
// vendors reading costs less.
type Entry struct {
	Input, Output, CacheRead, CacheWrite *int64
}

// million is the tokens that a price is for.
const million = 1_000_000

// Cost is what a call cost in micro-units, rounded half up once. Reasoning is part of Output and not counted again.
// A cost beyond an int64 is the largest int64.
func Cost(u provider.Usage, p Price) int64 {
	parts := [...]struct{ tokens, price int64 }{
		{u.Input, p.Input},
		{u.Output, p.Output},
		{count(u.CacheRead), p.CacheRead},
		{count(u.CacheWrite), p.CacheWrite},
	}
	// 128 bits: four products of two int63 fit.
	var hi, lo uint64 = 0, million / 2
	for _, part := range parts {
		h, l := bits.Mul64(uint64(max(part.tokens, 0)), uint64(max(part.price, 0)))
		var carry uint64
		lo, carry = bits.Add64(lo, l, 0)
		hi, _ = bits.Add64(hi, h, carry)
	}
	if hi >= million {
		return math.MaxInt64
	}
	cost, _ := bits.Div64(hi, lo, million)
	return int64(min(cost, math.MaxInt64))
}

func count(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}

// PerToken turns a price in micro-units per token, as settings write it ($3 per million tokens is 3), into one per
// million tokens. It refuses what is negative, not a number or out of range.
func PerToken(price float64) (int64, error) {
	perMillion := math.Round(price * million)
	if math.IsNaN(price) || price < 0 || perMillion > math.MaxInt64/2 {
		return 0, fmt.Errorf("price %v is not a possible price per token", price)
	}
	return int64(perMillion), nil
}
