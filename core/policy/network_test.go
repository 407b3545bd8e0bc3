package policy

import "testing"

func TestOpensNetwork(t *testing.T) {
	allow := func(host string) []Rule { return []Rule{{Act: Net, Effect: Allow, Match: []string{host}}} }
	for _, tc := range []struct {
		name   string
		policy Policy
		want   bool
	}{
		{"standard", Policy{Defaults: standard}, false},
		{"default allow", Policy{Defaults: Defaults{Net: Allow}}, true},
		{"default ask", Policy{Defaults: Defaults{Net: Ask}}, false},
		{"a host", Policy{Layers: []Layer{{Name: "mine", Rules: allow("proxy.example")}}}, true},
		{"a host that is asked about", Policy{Layers: []Layer{{Name: "mine", Rules: []Rule{{Act: Net, Effect: Ask, Match: []string{"*"}}}}}}, false},
		{"the provider's host", Policy{Layers: []Layer{{Name: ProviderLayer, Rules: allow("api.example")}}}, false},
		{"another act", Policy{Layers: []Layer{{Name: "mine", Rules: []Rule{{Act: Read, Effect: Allow, Match: []string{"x"}}}}}}, false},
		{"a layer that only narrows", Policy{Layers: []Layer{{Name: "repository", OnlyNarrows: true, Rules: allow("evil.example")}}}, false},
		{"permissive", *Permissive(), true},
	} {
		b := &Boundary{policy: tc.policy.normal()}
		if got := b.OpensNetwork(); got != tc.want {
			t.Errorf("%s: %v", tc.name, got)
		}
	}
}
