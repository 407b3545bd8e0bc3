package policy

import "slices"

// OpensNetwork reports whether the policy lets an agent connect anywhere without asking: by the default of net, or by an
// allow rule of a layer that may allow. The hosts of the model's provider do not count: those are the engine's. Commands
// get all of the network by it or none, because what keeps them from it does not know hosts.
func (b *Boundary) OpensNetwork() bool {
	if b.policy.Defaults.Of(Net) == Allow {
		return true
	}
	return slices.ContainsFunc(b.policy.Layers, func(l Layer) bool {
		return l.Name != ProviderLayer && !l.OnlyNarrows && slices.ContainsFunc(l.Rules, func(r Rule) bool {
			return r.Act == Net && r.Effect == Allow
		})
	})
}
