package cli

import (
	"fmt"
	"net/url"
	"strings"

	"tillerman/core"
	"tillerman/core/provider"
	"tillerman/core/provider/fallback"
)

// fallbackForm is how a fallback is written.
const fallbackForm = "PROVIDER[:MODEL][@BASEURL]"

// noFallback is what --fallback says to leave out those of the configuration.
const noFallback = "none"

// parseFallback reads PROVIDER[:MODEL][@BASEURL]. A model may hold colons and @: the address begins at the first @ that
// http:// or https:// follows. where names the flag or setting for an error, which never quotes the address: it may hold
// what is no business of a screen.
func parseFallback(where, text string) (core.Source, error) {
	spec, base := text, ""
	for _, scheme := range []string{"@http://", "@https://"} {
		if i := strings.Index(text, scheme); i >= 0 && i < len(spec) {
			spec, base = text[:i], text[i+1:]
		}
	}
	kind, model, named := strings.Cut(spec, ":")
	v, known := vendors[kind]
	wrong := func(format string, args ...any) (core.Source, error) {
		return core.Source{}, &usageError{where + ": " + fmt.Sprintf(format, args...) + "; write " + fallbackForm}
	}
	switch {
	case strings.ContainsRune(kind, '@'):
		return wrong("the address of a fallback must begin with http:// or https://")
	case !known:
		return wrong("there is no provider %q; use one of %s", kind, providerNames)
	case named && model == "":
		return wrong("the model after %q is missing", kind+":")
	case base == "" && v.base == "":
		return wrong("provider %s needs an address, such as %s:MODEL@http://localhost:11434/v1", kind, kind)
	}
	return core.Source{Kind: kind, Model: model, BaseURL: base}, nil
}

// fallbacks completes what the flags, or else the configuration, say about who is asked when the first provider cannot
// answer. Those of the configuration stand behind its own provider: with another named on the command line nobody is asked
// whom the command line does not name. A fallback of the first one's kind that names no model is asked for the same.
func (a *app) fallbacks(f runFlags, c core.Contract) ([]core.Source, error) {
	where, specs := "--fallback", f.fallback
	configured := len(f.fallback) == 0
	if configured {
		where, specs = "fallback in the configuration", a.conf.Fallback
	}
	if configured && (f.source.Kind != "" || f.source.BaseURL != "") {
		return nil, nil
	}
	if len(specs) == 1 && specs[0] == noFallback {
		return nil, nil
	}
	taken := map[string]bool{c.Provider.Kind: true}
	var all []core.Source
	for _, text := range specs {
		src, err := parseFallback(where, text)
		if err != nil {
			return nil, err
		}
		switch v := vendors[src.Kind]; {
		case src.Model != "":
		case src.Kind == c.Provider.Kind:
			src.Model = c.Model
		default:
			if src.Model = a.Getenv(v.model); src.Model == "" {
				return nil, &usageError{fmt.Sprintf("%s: no model for %s; write %s:MODEL or set %s", where, src.Kind, src.Kind, v.model)}
			}
		}
		if sameAddress(src, c.Provider) && src.Model == c.Model {
			if configured { // --model chose it
				continue
			}
			return nil, &usageError{fmt.Sprintf("%s: %s with model %s at this address is asked first anyway; name another model or address", where, src.Kind, src.Model)}
		}
		for _, other := range all {
			if sameAddress(src, other) && src.Model == other.Model {
				return nil, &usageError{fmt.Sprintf("%s: %s with model %s at this address stands twice; leave one out", where, src.Kind, src.Model)}
			}
		}
		src.Name = freeName(src, taken)
		all = append(all, src)
	}
	return all, nil
}

// sameAddress says whether two sources are the same server's same API.
func sameAddress(a, b core.Source) bool { return a.Kind == b.Kind && address(a) == address(b) }

func address(s core.Source) string {
	if s.BaseURL == "" {
		return vendors[s.Kind].base
	}
	return strings.TrimRight(s.BaseURL, "/")
}

// freeName is the shortest name of a source that no other of the chain has: its kind, else with its model or its host.
// "" stands for the kind.
func freeName(s core.Source, taken map[string]bool) string {
	host := ""
	if u, err := url.Parse(address(s)); err == nil {
		host = "@" + u.Host
	}
	model := ":" + s.Model
	names := []string{s.Kind, s.Kind + host, s.Kind + model, s.Kind + model + host}
	if s.BaseURL == "" {
		names = []string{s.Kind, s.Kind + model}
	}
	for n := 2; ; n++ {
		for _, name := range names {
			if !taken[name] {
				taken[name] = true
				if name == s.Kind {
					return ""
				}
				return name
			}
		}
		names = []string{fmt.Sprintf("%s%s%s#%d", s.Kind, model, host, n)} // the same host and model below two paths
	}
}

// chain makes the provider that a contract names, with its fallbacks. Each is given its own key, if any. fast leaves out a
// script's pauses.
func (a *app) chain(c core.Contract, fast bool) (provider.Provider, error) {
	first, err := a.provider(c.Provider, fast)
	if err != nil {
		return nil, err
	}
	if c.Provider.Kind == "script" || c.Provider.Kind == "replay" { // nothing that could be unwell
		return first, nil
	}
	members := []fallback.Member{{Provider: first}}
	for _, s := range c.Fallback {
		p, err := a.provider(s, fast)
		if err != nil {
			return nil, fmt.Errorf("fallback: %w", err)
		}
		members = append(members, fallback.Member{Provider: p, Model: s.Model})
	}
	// The system's clock and not a.Now: that one may stand still.
	return fallback.New(nil, members...)
}
