package price_test

import (
	"strings"
	"sync"
	"testing"

	"tillerman/core/provider/price"
)

func table(t *testing.T, user map[string]price.Entry) *price.Table {
	t.Helper()
	table, err := price.New(user)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestCatalog(t *testing.T) {
	prices := table(t, nil)
	for _, c := range []struct {
		kind, name string
		entry      string // "" for no price
		want       price.Price
	}{
		{"anthropic", "claude-sonnet-4-20250514", "claude-sonnet-4-20250514", price.Price{Input: 3_000_000, Output: 15_000_000, CacheRead: 300_000, CacheWrite: 3_750_000}},
		{"anthropic", "claude-sonnet-4", "claude-sonnet-4-20250514", price.Price{Input: 3_000_000, Output: 15_000_000, CacheRead: 300_000, CacheWrite: 3_750_000}},
		{"anthropic", "anthropic/claude-sonnet-4", "claude-sonnet-4-20250514", price.Price{Input: 3_000_000, Output: 15_000_000, CacheRead: 300_000, CacheWrite: 3_750_000}},
		{"anthropic", "claude-opus-4.5", "claude-opus-4-5-20251101", price.Price{Input: 5_000_000, Output: 25_000_000, CacheRead: 500_000, CacheWrite: 6_250_000}},
		{"anthropic", "claude-opus-4-1", "claude-opus-4-1-20250805", price.Price{Input: 15_000_000, Output: 75_000_000, CacheRead: 1_500_000, CacheWrite: 18_750_000}},
		{"openrouter", "anthropic/claude-haiku-4.5", "anthropic/claude-haiku-4.5", price.Price{Input: 1_000_000, Output: 5_000_000, CacheRead: 100_000, CacheWrite: 1_250_000}},
		{"openrouter", "anthropic/claude-4.5-haiku-20251001", "anthropic/claude-haiku-4.5", price.Price{Input: 1_000_000, Output: 5_000_000, CacheRead: 100_000, CacheWrite: 1_250_000}},
		{"openai", "gpt-4o-2024-08-06", "gpt-4o", price.Price{Input: 2_500_000, Output: 10_000_000, CacheRead: 1_250_000, CacheWrite: 2_500_000}},
		{"openai", "gpt-5-2025-08-07", "gpt-5", price.Price{Input: 1_250_000, Output: 10_000_000, CacheRead: 125_000, CacheWrite: 1_250_000}},
		{"openai", "gpt-4-1-mini", "gpt-4.1-mini", price.Price{Input: 400_000, Output: 1_600_000, CacheRead: 100_000, CacheWrite: 400_000}},
		{"groq", "moonshotai/kimi-k2-instruct-0905", "moonshotai/kimi-k2-instruct-0905", price.Price{Input: 1_000_000, Output: 3_000_000, CacheRead: 500_000, CacheWrite: 1_000_000}},
		{"openai", "acme-9.9", "", price.Price{}},
		{"openai", "", "", price.Price{}},
		{"openai", "gpt-4o-nano", "", price.Price{}},
		{"openai", "gpt-4o-2024-99-99", "", price.Price{}},
		{"openai", "claude-sonnet-4", "", price.Price{}},
		{"anthropic", "claude-sonnet", "", price.Price{}},
		{"compatible", "gpt-4o", "", price.Price{}},
		{"", "gpt-4o", "", price.Price{}},
		{"copilot", "claude-haiku-4.5", "", price.Price{}}, // listed with zeros: paid otherwise, not free
	} {
		got, ok := prices.Price(c.kind, c.name)
		if c.entry != "" {
			c.want.Model, c.want.Source = c.entry, price.Catalog
		}
		if ok != (c.entry != "") || got != c.want {
			t.Errorf("%s %s: %+v, %v, want %+v", c.kind, c.name, got, ok, c.want)
		}
	}
	if p, ok := prices.Price("openrouter", "google/gemma-4-31b-it:free"); !ok || p.Input != 0 || p.Output != 0 || p.Source != price.Catalog {
		t.Errorf("a model that is free by name: %+v, %v", p, ok)
	}
}

func TestUserPrices(t *testing.T) {
	prices := table(t, map[string]price.Entry{
		"acme-9.9":         {Input: some(1), Output: some(2), CacheRead: some(3), CacheWrite: some(4)},
		"local":            {Input: some(0), Output: some(0)},
		"half":             {Input: some(7)},
		"other half":       {Output: some(7)},
		"gpt-4o":           {Input: some(7)},
		"claude-sonnet-4":  {Input: some(5), Output: some(6)},
		"twin-1-20250101":  {Input: some(1), Output: some(1)},
		"twin-1-20250202":  {Input: some(1), Output: some(1)},
		"rival-1-20250101": {Input: some(1), Output: some(1)},
		"rival-1-20250202": {Input: some(2), Output: some(1)},
	})
	for _, c := range []struct {
		kind, name string
		ok         bool
		want       price.Price
	}{
		{"compatible", "acme-9.9", true, price.Price{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4, Model: "acme-9.9"}},
		{"compatible", "acme-9-9", true, price.Price{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4, Model: "acme-9.9"}},
		{"compatible", "acme/acme-9.9-20260101", true, price.Price{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4, Model: "acme-9.9"}},
		{"compatible", "acme-9.8", false, price.Price{}},
		{"compatible", "local", true, price.Price{Model: "local"}},
		{"compatible", "half", false, price.Price{}},
		{"compatible", "other half", false, price.Price{}},
		{"openai", "gpt-4o", false, price.Price{}}, // the user's half price hides the catalog's whole one
		{"openai", "gpt-4o-2024-08-06", false, price.Price{}},
		{"openai", "gpt-4o-mini", true, price.Price{Input: 150_000, Output: 600_000, CacheRead: 75_000, CacheWrite: 150_000, Model: "gpt-4o-mini", Source: price.Catalog}},
		{"anthropic", "claude-sonnet-4-20250514", true, price.Price{Input: 5, Output: 6, CacheRead: 5, CacheWrite: 5, Model: "claude-sonnet-4"}},
		{"compatible", "twin-1", true, price.Price{Input: 1, Output: 1, CacheRead: 1, CacheWrite: 1, Model: "twin-1-20250101"}},
		{"compatible", "rival-1", false, price.Price{}},
		{"compatible", "rival-1-20250202", true, price.Price{Input: 2, Output: 1, CacheRead: 2, CacheWrite: 2, Model: "rival-1-20250202"}},
	} {
		if c.ok && c.want.Source == "" {
			c.want.Source = price.Settings
		}
		got, ok := prices.Price(c.kind, c.name)
		if ok != c.ok || got != c.want {
			t.Errorf("%s %s: %+v, %v, want %+v, %v", c.kind, c.name, got, ok, c.want, c.ok)
		}
	}
}

func TestNegativePrices(t *testing.T) {
	for field, entry := range map[string]price.Entry{
		"input":       {Input: some(-1), Output: some(1)},
		"output":      {Input: some(1), Output: some(-1)},
		"cache read":  {Input: some(1), Output: some(1), CacheRead: some(-1)},
		"cache write": {Input: some(1), Output: some(1), CacheWrite: some(-1)},
	} {
		_, err := price.New(map[string]price.Entry{"fine": {Input: some(1), Output: some(1)}, "acme-9.9": entry})
		if err == nil || !strings.Contains(err.Error(), `"acme-9.9"`) || !strings.Contains(err.Error(), field+" is negative") {
			t.Errorf("%s: %v", field, err)
		}
	}
}

func TestWindow(t *testing.T) {
	prices := table(t, map[string]price.Entry{"gpt-4o": {Input: some(1), Output: some(1)}})
	for _, c := range []struct {
		kind, name string
		want       int64
	}{
		{"openai", "gpt-4o", 128_000},
		{"anthropic", "claude-sonnet-4", 200_000},
		{"copilot", "claude-haiku-4.5", 200_000},
		{"openai", "acme-9.9", 0},
		{"compatible", "gpt-4o", 0},
	} {
		got, ok := prices.Window(c.kind, c.name)
		if got != c.want || ok != (c.want != 0) {
			t.Errorf("%s %s: %d, %v, want %d", c.kind, c.name, got, ok, c.want)
		}
	}
}

// What the catalog says today must make sense whoever reads it: no price is negative, reading from a cache never costs
// more than reading afresh, writing to one never less.
func TestCatalogMakesSense(t *testing.T) {
	prices := table(t, nil)
	for _, c := range []struct{ kind, name string }{
		{"anthropic", "claude-haiku-4-5"},
		{"openai", "gpt-4o-mini"},
		{"openai", "o3"},
		{"openrouter", "google/gemini-2.5-pro"},
		{"gemini", "gemini-3.5-flash-lite"},
		{"opencode-zen", "claude-sonnet-4-5"},
		{"minimax", "MiniMax-M2"},
	} {
		p, ok := prices.Price(c.kind, c.name)
		if !ok || p.Input <= 0 || p.Output <= 0 || p.CacheRead <= 0 || p.CacheRead > p.Input || p.CacheWrite < p.Input {
			t.Errorf("%s %s: %+v, %v", c.kind, c.name, p, ok)
		}
	}
}

func TestTableIsSharedSafely(t *testing.T) {
	prices := table(t, nil)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if _, ok := prices.Price("anthropic", "claude-sonnet-4"); !ok {
				t.Error("not found")
			}
		})
	}
	wg.Wait()
}
