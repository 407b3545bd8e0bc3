// Package redact replaces secrets in text before anybody sees it: known values in any common encoding, and what has
// the shape of a credential.
package redact

import (
	"slices"
	"strings"
	"unicode"
)

// Redactor knows a fixed set of secrets. It is immutable: any number of goroutines may use it.
type Redactor struct {
	index *index
	marks []string // what stands in a text in place of a secret: known ones first, then one for each rule
	rules []rule
	// known is how many marks belong to known values.
	known int
	// heads are the rules by the first byte of what they begin with.
	heads [256][]int
}

// passes bounds how often a text is searched again because a mark and what stands beside it spell another secret.
const passes = 8

// New makes a redactor. Values under 8 bytes are ignored, white space around a value does not count, and the first of
// equal values gives the name. A name that holds a secret, and one that would not print on a line, is shown as
// "secret". A value that is part of the text of a mark itself, like "redacted", cannot be hidden and is ignored.
func New(secrets []Secret) *Redactor {
	r := &Redactor{rules: rules()}
	secrets = usable(secrets, r.rules)
	r.index = newIndex(nil)
	var patterns []pattern
	for i, s := range secrets {
		patterns = append(patterns, patternsOf(s.Value, i)...)
		for _, line := range keyLines(s.Value) {
			patterns = append(patterns, patternsOf(line, i)...)
		}
	}
	r.index = newIndex(patterns)
	for _, s := range secrets {
		name := s.Name
		if !printable(name) || r.Holds(mark(name)) {
			name = anonymous
		}
		r.marks = append(r.marks, mark(name))
	}
	r.known = len(r.marks)
	for i, rule := range r.rules {
		r.marks = append(r.marks, mark(rule.name))
		r.index.admit(rule.head)
		r.heads[rule.head[0]] = append(r.heads[rule.head[0]], i)
	}
	return r
}

// shortestLine is how long a line of a secret must be to be looked for by itself.
const shortestLine = 16

// keyLines are the lines of a secret of several lines, like a private key, that are key and nothing else: a search shows
// single lines, with their numbers. What holds white space is a heading, or text that stands elsewhere too.
func keyLines(value string) []string {
	var list []string
	for line := range strings.Lines(value) {
		line = strings.TrimSpace(line)
		if len(line) >= shortestLine && len(line) < len(value) && !strings.ContainsFunc(line, unicode.IsSpace) {
			list = append(list, line)
		}
	}
	return list
}

// anonymous is the name of a secret whose own name cannot be shown.
const anonymous = "secret"

func mark(name string) string { return "[redacted " + name + "]" }

func printable(name string) bool {
	return name != "" && len(name) <= 64 && !strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsPrint(r) || r == '[' || r == ']' || r == unicode.ReplacementChar
	})
}

// usable drops what is too short, seen before or part of a mark that is always there.
func usable(secrets []Secret, rules []rule) []Secret {
	fixed := []string{mark(anonymous)}
	for _, rule := range rules {
		fixed = append(fixed, mark(rule.name))
	}
	seen := make(map[string]bool)
	var kept []Secret
	for _, s := range secrets {
		s.Value = strings.TrimSpace(s.Value)
		inMark := slices.ContainsFunc(fixed, func(m string) bool { return strings.Contains(m, s.Value) })
		if len(s.Value) < shortest || seen[s.Value] || inMark {
			continue
		}
		seen[s.Value] = true
		kept = append(kept, s)
	}
	return kept
}

// String returns s with every secret replaced by [redacted NAME], and how many were. Applied to its own result it
// changes nothing.
func (r *Redactor) String(s string) (string, int) {
	count := 0
	for range passes {
		spans := merge(r.scan(s, query{rules: true}).spans)
		if len(spans) == 0 {
			return s, count
		}
		s = r.replace(s, spans)
		count += len(spans)
	}
	// Secrets made to spell each other through marks: nothing of such a text is worth keeping.
	return mark(anonymous), count + 1
}

// Bytes is String for bytes. It returns b itself when nothing was replaced.
func (r *Redactor) Bytes(b []byte) ([]byte, int) {
	s, count := r.String(string(b))
	if count == 0 {
		return b, 0
	}
	return []byte(s), count
}

// Holds reports whether s contains a known value, in any encoding. Rules do not count.
func (r *Redactor) Holds(s string) bool {
	return len(r.scan(s, query{first: true}).spans) > 0
}

func (r *Redactor) replace(s string, spans []span) string {
	var b strings.Builder
	b.Grow(len(s))
	at := 0
	for _, m := range spans {
		b.WriteString(s[at:m.from])
		b.WriteString(r.marks[m.mark])
		at = m.to
	}
	b.WriteString(s[at:])
	return b.String()
}
