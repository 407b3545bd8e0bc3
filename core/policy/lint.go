package policy

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Warning is something in a policy that is valid and probably not what its author thinks.
type Warning struct {
	Line  int // of the rule in its file, 0 when unknown
	Layer string
	Rule  string // the rule's match
	Text  string
}

// String is the warning in one line.
func (w Warning) String() string {
	where := ""
	if w.Line > 0 {
		where = fmt.Sprintf("line %d: ", w.Line)
	}
	return fmt.Sprintf("%slayer %s, rule %s: %s", where, quoted(w.Layer), quoted(w.Rule), w.Text)
}

// Lint looks for rules that protect or grant less than they seem to. The policy must be valid.
func Lint(p *Policy) []Warning {
	var out []Warning
	n := p.normal()
	for _, layer := range n.Layers {
		for _, r := range layer.Rules {
			for _, text := range n.doubtful(r) {
				out = append(out, Warning{Line: r.line, Layer: layer.Name, Rule: r.text(), Text: text})
			}
		}
	}
	return out
}

// doubtful returns what is to be said about one rule.
func (p *Policy) doubtful(r Rule) []string {
	var out []string
	if r.Effect == Allow && p.overruled(r) {
		out = append(out, "another rule asks or denies the same, so this allow never decides")
	}
	if r.Repeat != "" && r.Effect == Deny {
		out = append(out, "repeat says nothing here: what is denied does not run at all")
	}
	switch {
	case r.Act == Exec && r.Effect == Allow:
		out = append(out, doubtfulGrant(r.Match)...)
	case r.Act == Exec:
		out = append(out, doubtfulStop(r.Match)...)
	case r.Act == Net && r.Effect != Allow:
		for _, host := range r.Match {
			if name, ok := strings.CutPrefix(host, "*."); ok && !slices.Contains(r.Match, name) {
				out = append(out, fmt.Sprintf("%s covers subdomains only; add %s for the domain itself", quoted(host), quoted(name)))
			}
		}
	case r.Effect == Allow && !p.Bare:
		for _, pattern := range r.Match {
			if slices.Contains(secrets(), strings.TrimPrefix(pattern, "**/")) {
				out = append(out, quoted(pattern)+" is denied by the built-in layer, so this allow never decides")
			}
		}
	}
	return out
}

// overruled reports whether a stricter rule has the same act and match.
func (p *Policy) overruled(allow Rule) bool {
	for _, layer := range p.Layers {
		for _, r := range layer.Rules {
			if r.Effect != Allow && r.Act == allow.Act && slices.Equal(r.Match, allow.Match) {
				return true
			}
		}
	}
	return false
}

// doubtfulGrant looks at the words of an allow.
func doubtfulGrant(match []string) []string {
	var out []string
	name := programName(match[0])
	_, wraps := wrappers[name]
	switch {
	case match[0] == "*":
		out = append(out, "it allows every command that does not run another one")
	case shells[name] || otherShells[name] || multicall[name] || looseWrappers[name] || wraps:
		out = append(out, fmt.Sprintf("%s runs whatever it is given, so this allow asks nevertheless; allow the commands themselves", quoted(match[0])))
	}
	if last := match[len(match)-1]; len(match) > 1 && len(last) > 1 && strings.HasSuffix(last, "*") && !strings.HasSuffix(last, `\*`) {
		out = append(out, fmt.Sprintf("%s covers one word; write a * by itself behind it to allow what follows", quoted(last)))
	}
	return out
}

// doubtfulStop looks at the words of an ask or a deny for options that go by other spellings.
func doubtfulStop(match []string) []string {
	var bound []string
	for _, word := range match[1:] {
		if strings.HasPrefix(word, "-") && word != "-" && word != "--" && !wellKnown(readFlag(word)) {
			bound = append(bound, quoted(word))
		}
	}
	if len(bound) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("it knows %s in this spelling only: another name that %s has for it is not covered",
		strings.Join(bound, ", "), quoted(path.Base(match[0])))}
}

// wellKnown reports whether every spelling of an option is known.
func wellKnown(f *flagWord) bool {
	if f == nil {
		return false
	}
	if f.long != "" {
		return f.long == "--recursive" || f.long == "--force"
	}
	return strings.Trim(f.letters, "rRf") == ""
}
