package policy

import "fmt"

// rule is a compiled rule. Which of the patterns is set depends on its act.
type rule struct {
	act     Act
	effect  Effect
	layer   string
	text    string
	repeat  bool
	narrows bool // its layer only narrows
	paths   []*pathGlob
	hosts   []hostGlob
	command commandGlob
}

// compileRule compiles a rule that is in normal form.
func (b *Boundary) compileRule(layer Layer, r Rule) (*rule, error) {
	out := &rule{act: r.Act, effect: r.Effect, layer: layer.Name, narrows: layer.OnlyNarrows, text: r.text(), repeat: r.Repeat == Safe}
	if r.Act == Exec {
		var err error
		out.command, err = compileCommand(r.Match, b.root, b.realRoot)
		return out, err
	}
	for _, text := range r.Match {
		switch r.Act {
		case Read, Write:
			glob, err := compilePath(text)
			if err != nil {
				return nil, err
			}
			out.paths = append(out.paths, glob)
			out.paths = append(out.paths, b.atHome(glob)...)
		case Net:
			glob, err := compileHost(text)
			if err != nil {
				return nil, err
			}
			out.hosts = append(out.hosts, glob)
		}
	}
	return out, nil
}

// Explain says what the policy makes of an action and why. It is also what enforces: there is no second way to a
// verdict. It looks at the file system as it is now, so the act itself must not follow links made later.
func (b *Boundary) Explain(a Action) Verdict {
	switch a.Act {
	case Read, Write:
		return b.path(a.Act, "", a.Path)
	case Exec:
		return b.exec(a)
	case Net:
		return b.net(a.Host)
	}
	return Verdict{Effect: Deny, Part: fmt.Sprintf("%q is no act", a.Act)}
}

// matcher tells whether a rule fits an action: the pattern that fits, and what of the action it fits if that needs saying.
type matcher func(*rule) (text, part string, ok bool)

// decide is the order of effects: any deny, else any ask, else any allow, else the default. Asks of layers that only
// narrow come last, so that they find an allow to narrow.
func (b *Boundary) decide(act Act, fits matcher) Verdict {
	v := Verdict{Effect: b.policy.Defaults.Of(act)}
	for _, effect := range []Effect{Deny, Ask, Allow} {
		if ruled, ok := b.ruled(act, effect, false, fits); ok {
			v = ruled
			break
		}
	}
	if v.Effect == Allow || v.Effect == Ask && v.Rule == "" {
		if ruled, ok := b.ruled(act, Ask, true, fits); ok {
			return ruled
		}
	}
	return v
}

// ruled returns the verdict of the first rule with an effect that fits. Only asks are told apart by whether their layer
// only narrows.
func (b *Boundary) ruled(act Act, effect Effect, narrows bool, fits matcher) (Verdict, bool) {
	for _, r := range b.rules {
		if r.act != act || r.effect != effect || effect == Ask && r.narrows != narrows {
			continue
		}
		if text, part, ok := fits(r); ok {
			return Verdict{Effect: effect, Rule: text, Layer: r.layer, Part: part}, true
		}
	}
	return Verdict{}, false
}
