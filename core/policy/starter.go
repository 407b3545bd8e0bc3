package policy

// Starters lists the names Starter knows.
func Starters() []string { return []string{"standard", "strict", "trusting"} }

// Starter returns a policy by name: standard is the defaults and the built-in layer without a rule, strict the same with
// commands denied, trusting the same with writes allowed in the workspace. What the contract guards (the files its gates
// name) asks under trusting as well, since an ask wins over an allow.
func Starter(name string) (*Policy, bool) {
	switch name {
	case "standard":
		return &Policy{Defaults: standard}, true
	case "strict":
		p := &Policy{Defaults: standard}
		p.Defaults.Exec = Deny
		return p, true
	case "trusting":
		return &Policy{
			Defaults: standard,
			Layers:   []Layer{{Name: "trusting", Rules: []Rule{{Act: Write, Effect: Allow, Match: []string{"*"}}}}},
		}, true
	}
	return nil, false
}

// Permissive allows everything and has no built-in layer. It is for programs that embed the engine and keep an agent
// apart by other means; no command line offers it. Paths outside the workspace stay denied.
func Permissive() *Policy {
	return &Policy{Defaults: Defaults{Read: Allow, Write: Allow, Exec: Allow, Net: Allow}, Bare: true}
}
