package policy

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Warning is something in a policy that is valid and probably not what its author thinks.
type Warning struct {
	Line  int // of the rule in its file, 0 when unknown
	Layer string
	Rule  string // the rule's match
	Text  string // what is wrong
	// Example is an action that shows it, as `policy explain` takes it, and Gives is what the policy says to it. Both are
	// empty where nothing needs showing.
	Example string
	Action  Action // the same
	Gives   Effect
	Instead string // what to write
}

// String is the warning in one line.
func (w Warning) String() string {
	if w.Line > 0 {
		return fmt.Sprintf("line %d: %s", w.Line, w.Reason())
	}
	return w.Reason()
}

// Reason is the warning in one line without the place in its file.
func (w Warning) Reason() string {
	text := fmt.Sprintf("layer %s, rule %s: %s", quoted(w.Layer), quoted(w.Rule), w.Text)
	if w.Example != "" {
		text += fmt.Sprintf("; `%s` gives %s", visible(w.Example), w.Gives)
	}
	if w.Instead != "" {
		text += "; " + w.Instead
	}
	return text
}

// Lint looks for rules that protect or grant less, or more, than they seem to. Every example was tried: its verdict is
// Explain's. Programs are taken to be where PATH usually has them, so that the answer does not depend on what is
// installed, save for an allow whose program this machine does not have.
func (b *Boundary) Lint() []Warning {
	tried := *b
	tried.lookup = func(name string) (string, error) { return filepath.Join("/usr/bin", name), nil }
	var out []Warning
	for _, layer := range b.policy.Layers {
		for _, r := range layer.Rules {
			l := linter{b: &tried, find: b.lookup, layer: layer, rule: r}
			l.look()
			out = append(out, l.warnings...)
		}
	}
	return out
}

// linter looks at one rule.
type linter struct {
	b        *Boundary // with every program on PATH
	find     func(string) (string, error)
	layer    Layer
	rule     Rule
	warnings []Warning
}

// warn adds a warning without an example.
func (l *linter) warn(text, instead string) {
	l.warnings = append(l.warnings, Warning{Line: l.rule.line, Layer: l.layer.Name, Rule: l.rule.text(), Text: text, Instead: instead})
}

// show adds a warning that an action proves.
func (l *linter) show(a Action, v Verdict, text, instead string) {
	l.warn(text, instead)
	last := &l.warnings[len(l.warnings)-1]
	last.Example, last.Action, last.Gives = a.Text(), a, v.Effect
}

func (l *linter) look() {
	if l.rule.Repeat != "" && l.rule.Effect == Deny {
		l.warn("repeat says nothing here: what is denied does not run at all", "leave it out")
	}
	if l.shadowed() {
		return
	}
	switch {
	case l.rule.Act == Exec && l.rule.Effect == Allow:
		l.grantedCommand()
	case l.rule.Act == Exec:
		l.stoppedCommand()
	case l.rule.Effect == Allow:
		l.grantedPattern()
	case l.rule.Act == Net:
		l.stoppedHost()
	default:
		l.stoppedPath()
	}
}

// decides reports whether a verdict comes from this rule.
func (l *linter) decides(v Verdict) bool {
	return v.Layer == l.layer.Name && v.Effect == l.rule.Effect && (v.Rule == l.rule.text() || slices.Contains(l.rule.Match, v.Rule))
}

// shadowed reports whether something else decides every action the rule is about.
func (l *linter) shadowed() bool {
	examples := l.rule.examples()
	for i, a := range examples {
		v := l.b.Explain(a)
		ruled := v.Rule != "" && !l.decides(v)
		if l.rule.Repeat != "" && v.Effect == Allow || !ruled || v.Effect.rank() < l.rule.Effect.rank() {
			return false
		}
		if i < len(examples)-1 {
			continue
		}
		l.show(a, v, fmt.Sprintf("it never decides: the rule %s in the layer %s comes before it", quoted(v.Rule), quoted(v.Layer)),
			"leave it out, or change the other rule")
		return true
	}
	return false
}

// grantedPattern looks at an allow of paths or hosts.
func (l *linter) grantedPattern() {
	for _, text := range l.rule.Match {
		one := Rule{Act: l.rule.Act, Effect: Allow, Match: []string{text}}
		for _, a := range one.examples() {
			if v := l.b.Explain(a); v.Effect == Deny && v.Layer == BuiltinLayer && len(l.rule.Match) > 1 {
				l.show(a, v, fmt.Sprintf("%s is denied by the built-in layer, so this allow never decides", quoted(text)), "leave it out")
			}
		}
		switch l.rule.Act {
		case Write:
			if text == "*" || text == "**" {
				l.wide(Action{Act: Write, Path: "Makefile"}, "it allows changing every file, those that decide what later runs included", "name the directories that the task is about, as in src/**")
			}
		case Net:
			host, _, _ := strings.Cut(text, ":")
			if suffix, ok := strings.CutPrefix(host, "*."); host == "*" || ok && !strings.Contains(suffix, ".") {
				a := Action{Act: Net, Host: exampleHost(text)}
				l.wide(a, "it allows hosts that anybody can have, to which anything read here can be sent", "name the hosts")
			}
		}
	}
}

// wide warns of an allow that covers too much, when it does.
func (l *linter) wide(a Action, text, instead string) {
	if v := l.b.Explain(a); v.Effect == Allow {
		l.show(a, v, text, instead)
	}
}

// stoppedHost looks at an ask or a deny of hosts.
func (l *linter) stoppedHost() {
	for _, text := range l.rule.Match {
		host, port := text, ""
		if e, err := compileHost(text); err == nil && e.port != 0 {
			at := strings.LastIndexByte(text, ':')
			host, port = text[:at], text[at+1:]
		}
		if name, ok := strings.CutPrefix(host, "*."); ok {
			l.around(Action{Act: Net, Host: name}, quoted(text)+" covers subdomains only, not the domain itself", "add "+quoted(name))
		}
		if port == "" {
			continue
		}
		other := "8443"
		if port == other {
			other = "443"
		}
		l.around(Action{Act: Net, Host: strings.Replace(host, "*", "host.example", 1) + ":" + other},
			quoted(text)+" covers that port only", "leave the port out: "+quoted(host))
	}
}

// around warns when an action that the rule seems to stop gets a looser verdict.
func (l *linter) around(a Action, text, instead string) bool {
	v := l.b.Explain(a)
	if v.Effect.rank() >= l.rule.Effect.rank() {
		return false
	}
	l.show(a, v, text, instead)
	return true
}

// walkers are commands that open whatever lies below a directory without naming it.
var walkers = [][]string{{"grep", "-r", "x", "."}, {"rg", "x"}, {"tar", "-cf", "x.tar", "."}, {"cp", "-r", ".", "x"}, {"find", ".", "-type", "f"}}

// stoppedPath looks at an ask or a deny of paths.
func (l *linter) stoppedPath() {
	for _, text := range l.rule.Match {
		name := examplePath(text)
		dir, file := filepath.Split(name)
		inner := strings.Contains(strings.TrimPrefix(text, "./"), "/") && !strings.Contains(text, "**")
		if inner && strings.ContainsAny(text[strings.LastIndexByte(text, '/')+1:], "*?") && dir != "" {
			at := strings.LastIndexByte(text, '/')
			l.around(Action{Act: l.rule.Act, Path: dir + "deeper/" + file}, quoted(text)+" stays in one directory",
				"write "+quoted(text[:at]+"/**"+text[at:]))
		}
		if name == "" || strings.HasPrefix(text, "~") {
			continue
		}
		l.byCommand(text, name)
	}
}

// byCommand looks for a command that does to a path what the rule is about, with nobody asked.
func (l *linter) byCommand(text, name string) {
	commands := walkers
	if l.rule.Act == Write {
		commands = [][]string{{"cp", "x", name}, {"mv", "x", name}, {"tee", name}, {"sed", "-i", "s/a/b/", name}, {"rm", name}, {"touch", name}}
	}
	for _, argv := range commands {
		a := Action{Act: Exec, Argv: argv}
		if v := l.b.Explain(a); v.Effect == Allow {
			l.show(a, v, fmt.Sprintf("rules for paths do not cover what a command opens, and %s can be reached by one that runs unasked", quoted(text)),
				"let such commands ask")
			return
		}
	}
}
