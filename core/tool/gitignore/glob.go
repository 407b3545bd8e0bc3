package gitignore

import (
	"fmt"
	"regexp"
	"strings"
)

// matcher matches one pattern. Most patterns of real files are a plain name or "*.ext"; those need no expression.
type matcher struct {
	exact  string
	suffix string
	expr   *regexp.Regexp
}

func (m matcher) fits(subject string) bool {
	switch {
	case m.expr != nil:
		return m.expr.MatchString(spread(subject))
	case m.suffix != "":
		return strings.HasSuffix(subject, m.suffix)
	default:
		return subject == m.exact
	}
}

const special = `*?[\`

// compile turns a pattern without its "!", leading "/" and trailing "/" into a matcher. ok is false for a pattern that
// matches nothing.
func compile(pattern string) (m matcher, ok bool) {
	if !strings.ContainsAny(pattern, special) {
		return matcher{exact: pattern}, true
	}
	if tail, found := strings.CutPrefix(pattern, "*"); found && tail != "" && !strings.ContainsAny(tail, special+"/") {
		return matcher{suffix: tail}, true
	}
	text, ok := translate(pattern)
	if !ok {
		return matcher{}, false
	}
	expr, err := regexp.Compile(text)
	if err != nil {
		return matcher{}, false
	}
	return matcher{expr: expr}, true
}

// spread maps every byte to the rune of the same number, so that an expression over runes matches bytes: git's patterns
// know nothing of encodings, and file names need not be valid UTF-8.
func spread(s string) string {
	plain := true
	for i := 0; i < len(s); i++ {
		if s[i] >= 0x80 {
			plain = false
			break
		}
	}
	if plain {
		return s
	}
	var b strings.Builder
	b.Grow(2 * len(s))
	for i := 0; i < len(s); i++ {
		b.WriteRune(rune(s[i]))
	}
	return b.String()
}

// translate writes a wildcard pattern as an expression over spread text.
func translate(pattern string) (string, bool) {
	var b strings.Builder
	b.WriteString(`(?s)\A`)
	for i := 0; i < len(pattern); {
		switch c := pattern[i]; c {
		case '*':
			i += star(&b, pattern, i)
		case '?':
			b.WriteString(`[^/]`)
			i++
		case '[':
			class, n, ok := bracket(pattern[i:])
			if !ok {
				return "", false
			}
			b.WriteString(class)
			i += n
		case '\\':
			if i+1 == len(pattern) {
				return "", false
			}
			literal(&b, pattern[i+1])
			i += 2
		default:
			literal(&b, c)
			i++
		}
	}
	b.WriteString(`\z`)
	return b.String(), true
}

func literal(b *strings.Builder, c byte) {
	b.WriteString(regexp.QuoteMeta(spread(string([]byte{c}))))
}

// star writes the run of stars at i and returns how many bytes of the pattern it used. Two stars cross directories only
// where they stand for whole parts of a path: "**/" at the start or after a slash, "/**" at the end.
func star(b *strings.Builder, pattern string, i int) int {
	n := 1
	for i+n < len(pattern) && pattern[i+n] == '*' {
		n++
	}
	opens := i == 0 || pattern[i-1] == '/'
	rest := pattern[i+n:]
	switch {
	case n >= 2 && opens && (rest == "" || strings.HasPrefix(rest, `\/`)):
		b.WriteString(`.*`)
	case n >= 2 && opens && rest[0] == '/':
		b.WriteString(`(?:.*/)?`)
		n++
	default:
		b.WriteString(`[^/]*`)
	}
	return n
}

// classes are the named classes that a bracket may hold, over ASCII as in the C locale.
func classes(name string) (string, bool) {
	switch name {
	case "alnum", "alpha", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper", "xdigit":
		return "[:" + name + ":]", true
	}
	return "", false
}

// bracket reads a bracket expression at the start of s and returns its expression and length. A slash is matched by no
// bracket. ok is false when it has no end or holds an unknown class.
func bracket(s string) (class string, n int, ok bool) {
	var set strings.Builder
	i := 1
	negate := i < len(s) && (s[i] == '!' || s[i] == '^')
	if negate {
		i++
	}
	for first := true; ; first = false {
		if i >= len(s) {
			return "", 0, false
		}
		if s[i] == ']' && !first {
			return finish(set.String(), negate), i + 1, true
		}
		if strings.HasPrefix(s[i:], "[:") {
			end := strings.Index(s[i:], ":]")
			if end < 0 {
				return "", 0, false
			}
			named, known := classes(s[i+2 : i+end])
			if !known {
				return "", 0, false
			}
			set.WriteString(named)
			i += end + 2
			continue
		}
		low, used, valid := member(s[i:])
		if !valid {
			return "", 0, false
		}
		i += used
		span(&set, low, low) // also of a range that runs backwards
		if i+1 < len(s) && s[i] == '-' && s[i+1] != ']' {
			high, used, valid := member(s[i+1:])
			if !valid {
				return "", 0, false
			}
			span(&set, low, high)
			i += 1 + used
		}
	}
}

// member reads one character of a bracket, which a backslash may stand before.
func member(s string) (c byte, n int, ok bool) {
	if s[0] != '\\' {
		return s[0], 1, true
	}
	if len(s) < 2 {
		return 0, 0, false
	}
	return s[1], 2, true
}

// span adds low to high without the slash. A range that runs backwards is empty.
func span(set *strings.Builder, low, high byte) {
	for _, part := range [2][2]int{{int(low), min(int(high), '/'-1)}, {max(int(low), '/'+1), int(high)}} {
		if part[0] <= part[1] {
			fmt.Fprintf(set, `\x{%x}-\x{%x}`, part[0], part[1])
		}
	}
}

// finish closes a set, keeping the slash out of both kinds.
func finish(set string, negate bool) string {
	switch {
	case negate:
		return `[^/` + set + `]`
	case set == "":
		return `[^\x{0}-\x{10FFFF}]`
	default:
		return `[` + set + `]`
	}
}
