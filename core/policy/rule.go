package policy

import "strings"

// Policy is what an operator wrote or chose: defaults and layers of rules. It is plain data; New makes a Boundary of it.
// Policies are compared by Digest.
type Policy struct {
	Defaults Defaults
	Layers   []Layer
	// Bare leaves the built-in layer out. No policy file can ask for it; see Permissive.
	Bare bool
}

// Defaults holds the effect of each act for which no rule speaks. The empty effect stands for the usual one.
type Defaults struct {
	Read  Effect `json:"read"`
	Write Effect `json:"write"`
	Exec  Effect `json:"exec"`
	Net   Effect `json:"net"`
}

// Layer is a named group of rules. The name is for people: it says where a verdict comes from.
type Layer struct {
	Name  string `json:"name"`
	Rules []Rule `json:"rules"`
	// OnlyNarrows is set for layers of somebody who may only narrow a policy (see Narrow): their asks make an allow an ask
	// and never open what a default denies. No policy file can set it.
	OnlyNarrows bool `json:"only_narrows,omitempty"`
}

// Rule gives an effect to what it matches.
type Rule struct {
	Act    Act    `json:"act"`
	Effect Effect `json:"effect"`
	// Match holds the words of one command for exec (a single word with spaces is split at them), and patterns, any of
	// which may match, for the other acts.
	Match []string `json:"match"`
	// Repeat is Safe when a command may run again after a crash, without a person's word; exec only.
	Repeat string `json:"repeat,omitempty"`

	line int // where it stands in the file it was read from; 0 when it was not
}

// Safe is the one value Rule.Repeat can have beside "".
const Safe = "safe"

var standard = Defaults{Read: Allow, Write: Ask, Exec: Ask, Net: Deny}

// Of returns the default effect of an act. What is no act is denied.
func (d Defaults) Of(act Act) Effect {
	var own, usual Effect
	switch act {
	case Read:
		own, usual = d.Read, standard.Read
	case Write:
		own, usual = d.Write, standard.Write
	case Exec:
		own, usual = d.Exec, standard.Exec
	case Net:
		own, usual = d.Net, standard.Net
	default:
		return Deny
	}
	if own == "" {
		return usual
	}
	return own
}

func (d *Defaults) set(act Act, effect Effect) {
	switch act {
	case Read:
		d.Read = effect
	case Write:
		d.Write = effect
	case Exec:
		d.Exec = effect
	case Net:
		d.Net = effect
	}
}

// filled returns the defaults with every effect written out.
func (d Defaults) filled() Defaults {
	return Defaults{Read: d.Of(Read), Write: d.Of(Write), Exec: d.Of(Exec), Net: d.Of(Net)}
}

// normal returns a copy of the rule in the one form that is stored and compared: a command's words apart.
func (r Rule) normal() Rule {
	match := append([]string{}, r.Match...)
	if r.Act == Exec && len(match) == 1 {
		match = splitWords(match[0])
	}
	r.Match = match
	return r
}

// text is the rule's match for people.
func (r Rule) text() string {
	if r.Act == Exec {
		return strings.Join(r.Match, " ")
	}
	return strings.Join(r.Match, ", ")
}

// normal returns a deep copy in canonical form.
func (p *Policy) normal() *Policy {
	out := &Policy{Defaults: p.Defaults.filled(), Layers: make([]Layer, 0, len(p.Layers)), Bare: p.Bare}
	for _, layer := range p.Layers {
		out.Layers = append(out.Layers, layer.normal())
	}
	return out
}

func (l Layer) normal() Layer {
	rules := make([]Rule, 0, len(l.Rules))
	for _, rule := range l.Rules {
		rules = append(rules, rule.normal())
	}
	return Layer{Name: l.Name, Rules: rules, OnlyNarrows: l.OnlyNarrows}
}
