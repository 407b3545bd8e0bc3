package cli

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tillerman/core"
)

func TestParseFallback(t *testing.T) {
	for text, want := range map[string]core.Source{
		"openai":                             {Kind: "openai"},
		"openai:gpt-4o-mini":                 {Kind: "openai", Model: "gpt-4o-mini"},
		"openrouter:x/y:free":                {Kind: "openrouter", Model: "x/y:free"},
		"anthropic:claude@2025":              {Kind: "anthropic", Model: "claude@2025"},
		"anthropic@https://gate.test/api":    {Kind: "anthropic", BaseURL: "https://gate.test/api"},
		"compatible:m:8b@http://h:1/v1@http": {Kind: "compatible", Model: "m:8b", BaseURL: "http://h:1/v1@http"},
		"compatible:m@v@https://h@http://x":  {Kind: "compatible", Model: "m@v", BaseURL: "https://h@http://x"},
	} {
		if got, err := parseFallback("x", text); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
}

// Whatever is written is understood in the one way that writes it, or refused in one line that does not quote an address.
func TestParseFallbackProperties(t *testing.T) {
	piece := rapid.SampledFrom([]string{"openai", "compatible", "acme", ":", "@", "http://", "https://", "m", "CANARY", "\n", "/", ""})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(piece, 0, 8).Draw(t, "pieces"), "")
		got, err := parseFallback("x", text)
		if err == nil {
			again := got.Kind
			if got.Model != "" {
				again += ":" + got.Model
			}
			if got.BaseURL != "" {
				again += "@" + got.BaseURL
			}
			if again != text {
				t.Fatalf("%q was read as %q", text, again)
			}
			return
		}
		before, _, _ := strings.Cut(text, "@")
		before, _, _ = strings.Cut(before, ":")
		if strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "CANARY") && !strings.Contains(before, "CANARY") {
			t.Fatalf("%q: %v", text, err)
		}
	})
}
