package cli

import (
	"fmt"
	"strings"

	"tillerman/core"
	"tillerman/core/provider"
	"tillerman/core/provider/anthropic"
	"tillerman/core/provider/chat"
	"tillerman/core/provider/endpoint"
	"tillerman/core/provider/price"
	"tillerman/core/provider/replay"
	"tillerman/core/provider/script"
	"tillerman/recordings"
)

// vendor is a kind of provider: where it lives, which variables hold its key and model.
type vendor struct {
	base, key, model string
}

var vendors = map[string]vendor{
	"anthropic":  {anthropic.DefaultBase, "ANTHROPIC_API_KEY", "ANTHROPIC_MODEL"},
	"openai":     {chat.OpenAIBase, "OPENAI_API_KEY", "OPENAI_MODEL"},
	"openrouter": {chat.OpenRouterBase, "OPENROUTER_API_KEY", "OPENROUTER_MODEL"},
	"compatible": {"", "TILLERMAN_COMPATIBLE_KEY", "TILLERMAN_COMPATIBLE_MODEL"},
}

const providerNames = "anthropic, openai, openrouter, compatible"

// compatibleKey is the key for a server that is not a vendor's own: a vendor's key goes nowhere else.
const compatibleKey = "TILLERMAN_COMPATIBLE_KEY"

// source completes what the flags and the configuration say about the provider.
func (a *app) source(src core.Source, model string) (core.Source, string, error) {
	if src.Kind == "" {
		src.Kind = a.conf.Provider
	}
	if src.BaseURL == "" {
		src.BaseURL = a.conf.BaseURL
	}
	if model == "" {
		model = a.conf.Model
	}
	if src.Kind == "" {
		if src.BaseURL == "" {
			return src, "", &usageError{"no provider is set; use --provider with one of " + providerNames + ", or --base-url for a compatible server"}
		}
		src.Kind = "compatible"
	}
	v, ok := vendors[src.Kind]
	if !ok {
		return src, "", &usageError{fmt.Sprintf("there is no provider %q; use one of %s", src.Kind, providerNames)}
	}
	if model == "" {
		model = a.Getenv(v.model)
	}
	if model == "" {
		return src, "", &usageError{fmt.Sprintf("no model is set; use --model, model in the configuration, or %s", v.model)}
	}
	if src.BaseURL == "" && v.base == "" {
		return src, "", &usageError{"provider compatible needs --base-url, such as http://localhost:11434/v1"}
	}
	return src, model, nil
}

// provider makes the provider that a source names. fast leaves out a script's pauses.
func (a *app) provider(src core.Source, fast bool) (provider.Provider, error) {
	switch src.Kind {
	case "script":
		if src.Ref != "demo" {
			return nil, &usageError{fmt.Sprintf("there is no script %q", src.Ref)}
		}
		demo, err := recordings.Demo()
		if err != nil {
			return nil, err
		}
		s, err := script.Parse(demo.Script)
		if err != nil {
			return nil, err
		}
		return script.New(s, script.Options{Fast: fast}), nil
	case "replay":
		return replay.Load(src.Ref, core.Version)
	}
	v, ok := vendors[src.Kind]
	if !ok {
		return nil, &usageError{fmt.Sprintf("there is no provider %q; use one of %s", src.Kind, providerNames)}
	}
	conf := endpoint.Config{Name: src.Kind, BaseURL: src.BaseURL, Key: a.Getenv(compatibleKey)}
	if src.BaseURL == "" || strings.TrimSuffix(src.BaseURL, "/") == v.base {
		conf.BaseURL, conf.Key = v.base, a.Getenv(v.key)
		if conf.Key == "" && src.Kind != "compatible" {
			return nil, &usageError{fmt.Sprintf("no key for %s; set %s", src.Kind, v.key)}
		}
	}
	if src.Name != "" { // beside another of its kind
		conf.Name = src.Name
	}
	if src.Kind == "anthropic" {
		return anthropic.New(conf)
	}
	limit := chat.MaxTokens
	if src.Kind == "openai" {
		limit = chat.MaxCompletionTokens
	}
	return chat.New(chat.Config{Config: conf, Limit: limit})
}

// prices is the table that costs are estimated with.
func (a *app) prices() (*price.Table, error) {
	user := map[string]price.Entry{}
	for model, p := range a.conf.Prices {
		var e price.Entry
		for _, kind := range []struct {
			set *float64
			to  **int64
		}{{p.Input, &e.Input}, {p.Output, &e.Output}, {p.CacheRead, &e.CacheRead}, {p.CacheWrite, &e.CacheWrite}} {
			if kind.set == nil {
				continue
			}
			n, err := price.PerToken(*kind.set)
			if err != nil {
				return nil, &usageError{fmt.Sprintf("prices.%s: %v", model, err)}
			}
			*kind.to = &n
		}
		user[model] = e
	}
	t, err := price.New(user)
	if err != nil {
		return nil, &usageError{err.Error()}
	}
	return t, nil
}
