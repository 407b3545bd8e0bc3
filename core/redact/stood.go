package redact

import "strings"

// Stood says that a secret, known or found by its shape, stood in s and was replaced: s holds its mark. A text with a mark
// must not be put where the secret was, because the mark would take its place.
func (r *Redactor) Stood(s string) bool {
	for _, m := range r.marks {
		if strings.Contains(s, m) {
			return true
		}
	}
	return false
}

// Head is a text that was cut off, without what may be the beginning of a secret at its end: half of one is not known
// any more, and tells as much as the whole.
func (r *Redactor) Head(s string) string {
	return s[:r.scan(s, query{rules: true, more: true}).hold]
}
