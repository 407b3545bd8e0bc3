package policy

import (
	"slices"
	"strings"
)

// examples returns an action for each pattern of a rule in normal form that the pattern is about: stars are x, a choice
// is its first. A pattern for which no example can be made up has none.
func (r Rule) examples() []Action {
	if r.Act == Exec {
		if argv := exampleWords(r.Match); argv != nil {
			return []Action{{Act: Exec, Argv: argv}}
		}
		return nil
	}
	var out []Action
	for _, text := range r.Match {
		switch {
		case r.Act == Net:
			if host := exampleHost(text); host != "" {
				out = append(out, Action{Act: Net, Host: host})
			}
		default:
			if name := examplePath(text); name != "" {
				out = append(out, Action{Act: r.Act, Path: name})
			}
		}
	}
	return out
}

// Examples returns actions that a rule is about, one for each of its patterns; see examples.
func (r Rule) Examples() []Action { return r.normal().examples() }

// Line is where the rule stands in the file it was read from, from 1; 0 when it was not read from a file.
func (r Rule) Line() int { return r.line }

// Text is the rule's match for people.
func (r Rule) Text() string { return r.normal().text() }

// Text is the action as `policy explain` takes it: the act, and a path, a host or quoted words.
func (a Action) Text() string {
	switch a.Act {
	case Exec:
		words := make([]string, len(a.Argv))
		for i, word := range a.Argv {
			words[i] = shellWord(word)
		}
		return string(a.Act) + " " + strings.Join(words, " ")
	case Net:
		return string(a.Act) + " " + shellWord(a.Host)
	}
	return string(a.Act) + " " + shellWord(a.Path)
}

// shellWord quotes a word where a shell would make something else of it.
func shellWord(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=@%+,", r) || r > 0x7f
	}
	if word != "" && !strings.ContainsFunc(word, func(r rune) bool { return !plain(r) }) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// exampleWords makes up a command for the words of an exec rule.
func exampleWords(match []string) []string {
	argv := make([]string, len(match))
	for i, text := range match {
		glob, err := compileWord(text)
		if err != nil {
			return nil
		}
		word, ok := glob.example()
		if !ok || word == "" && i == 0 {
			return nil
		}
		argv[i] = word
	}
	return argv
}

// example makes up a word that a pattern fits.
func (g wordGlob) example() (string, bool) {
	if len(g) == 1 && g[0].kind == '*' {
		return "x", true
	}
	var b strings.Builder
	for _, t := range g {
		switch t.kind {
		case 'c':
			b.WriteByte(t.c)
		case '?':
			b.WriteByte('x')
		case '[':
			// A set that takes none of these takes its own first one.
			candidates := []rune("xyz019AZ")
			if len(t.pairs) > 0 {
				candidates = append(candidates, t.pairs[0])
			}
			at := slices.IndexFunc(candidates, func(r rune) bool { return t.step(string(r)) > 0 })
			if at < 0 {
				return "", false
			}
			b.WriteRune(candidates[at])
		}
	}
	word := b.String()
	return word, g.match(word)
}

// examplePath makes up a path that a pattern of a read or write rule fits, "" for none.
func examplePath(text string) string {
	glob, err := compilePath(text)
	if err != nil {
		return ""
	}
	pattern := glob.raw.pattern
	for strings.Contains(pattern, "{") { // an alternative is its first
		from := strings.LastIndexByte(pattern, '{')
		to := strings.IndexByte(pattern[from:], '}')
		if to < 0 {
			return ""
		}
		first, _, _ := strings.Cut(pattern[from+1:from+to], ",")
		pattern = pattern[:from] + first + pattern[from+to+1:]
	}
	elements := strings.Split(strings.ReplaceAll(pattern, "**/", ""), "/")
	for i, element := range elements {
		if element == "**" || element == "*" {
			elements[i] = "x"
			continue
		}
		word, err := compileWord(element)
		if err != nil {
			return ""
		}
		name, ok := word.example()
		if full := "x" + name; ok && element[0] == '*' && word.match(full) {
			name = full // x.txt rather than .txt
		}
		if !ok {
			return ""
		}
		elements[i] = name
	}
	name := strings.Join(elements, "/")
	if strings.HasPrefix(text, "~/") {
		return name
	}
	if _, fits := glob.stops(newSubject(name, false)); !fits {
		return ""
	}
	return name
}

// exampleHost makes up a host that a pattern of a net rule fits.
func exampleHost(text string) string {
	host, port := text, ""
	if rest, ok := strings.CutSuffix(host, ":*"); ok {
		host = rest
	}
	switch {
	case host == "*":
		return "host.example"
	case strings.HasPrefix(host, "*:"):
		port = host[1:]
		return "host.example" + port
	case strings.HasPrefix(host, "*."):
		return "x" + host[1:]
	}
	return host
}
