package policy

import (
	"fmt"
	"slices"
	"strconv"
)

// Narrow returns the policy for something that may do no more than its parent: a sub-agent, or a workspace with a
// configuration of its own. It is the parent's layers, the child's asks and denies, and the stricter default of each act.
// The child's allows are dropped, and so is its word that a command may run again; its asks never open what a default of
// the parent denies. A child's layer named like one of the parent's gets a number behind its name.
func Narrow(parent, child *Policy) *Policy {
	out := parent.normal()
	out.Bare = parent.Bare && child.Bare
	for _, act := range []Act{Read, Write, Exec, Net} {
		if effect := child.Defaults.Of(act); effect.rank() > out.Defaults.Of(act).rank() {
			out.Defaults.set(act, effect)
		}
	}
	for _, layer := range child.normal().Layers {
		layer.Rules = slices.DeleteFunc(layer.Rules, func(r Rule) bool { return r.Effect == Allow })
		for i := range layer.Rules {
			layer.Rules[i].Repeat = ""
		}
		if len(layer.Rules) == 0 {
			continue
		}
		layer.Name, layer.OnlyNarrows = out.freeName(layer.Name), true
		out.Layers = append(out.Layers, layer)
	}
	return out
}

// freeName returns a layer name that the policy does not use yet.
func (p *Policy) freeName(name string) string {
	taken := func(name string) bool {
		return slices.ContainsFunc(p.Layers, func(l Layer) bool { return l.Name == name })
	}
	if !taken(name) {
		return name
	}
	for i := 2; ; i++ {
		if numbered := name + " " + strconv.Itoa(i); !taken(numbered) {
			return numbered
		}
	}
}

// WideningError says what in a policy could loosen another one.
type WideningError struct {
	Layer string // "" for a default
	Rule  string // the rule's match, "" for a default
	Line  int    // 0 when unknown
	What  string // for people
}

func (e *WideningError) Error() string { return "policy: " + e.What }

// NonNarrowing checks a policy that may only narrow another one, such as that of a workspace's own configuration: every
// rule asks or denies, none says that a command may run again, and no default is looser than the usual one. The error
// is a *WideningError for the first thing that could loosen.
func NonNarrowing(p *Policy) error {
	for _, act := range []Act{Read, Write, Exec, Net} {
		if effect := p.Defaults.Of(act); effect.rank() < standard.Of(act).rank() {
			return &WideningError{What: fmt.Sprintf("the default %s = %q is looser than %q, and this policy may only narrow; leave it out", act, effect, standard.Of(act))}
		}
	}
	if p.Bare {
		return &WideningError{What: "it leaves the built-in layer out, and this policy may only narrow"}
	}
	for _, layer := range p.Layers {
		for _, r := range layer.Rules {
			problem := ""
			switch {
			case r.Effect == Allow:
				problem = "allows"
			case r.Repeat != "":
				problem = "lets a command run again"
			default:
				continue
			}
			where := ""
			if r.line > 0 {
				where = fmt.Sprintf("line %d: ", r.line)
			}
			return &WideningError{
				Layer: layer.Name, Rule: r.text(), Line: r.line,
				What: fmt.Sprintf("%sthe rule %s %s in layer %s %s, and this policy may only narrow; make it ask or deny, or move it to your own policy",
					where, r.Act, quoted(r.text()), quoted(layer.Name), problem),
			}
		}
	}
	return nil
}
