package policy

import "unicode/utf8"

var (
	errOpenClass = flaw{"the [ has no ]", "close it, or write \\[ for the character itself"}
	errClass     = flaw{"the […] holds nothing, or a range that runs backwards", "write characters, or low-high"}
	errBackslash = flaw{"nothing follows the backslash", "write \\\\ for the character itself"}
)

// token is one element of a word pattern.
type token struct {
	kind  byte // 'c' the byte c, '?' one character, '*' any run, '[' a set
	c     byte
	not   bool
	pairs []rune // of a set: low and high of each range
}

// wordGlob is a compiled pattern for one word of a command.
type wordGlob []token

// compileWord reads a pattern of the grammar for words.
func compileWord(pattern string) (wordGlob, error) {
	if pattern == emptyWord {
		return wordGlob{}, nil
	}
	var out wordGlob
	for i := 0; i < len(pattern); {
		switch c := pattern[i]; c {
		case '*', '?':
			if c != '*' || len(out) == 0 || out[len(out)-1].kind != '*' {
				out = append(out, token{kind: c})
			}
			i++
		case '[':
			set, n, err := compileSet(pattern[i:])
			if err != nil {
				return nil, err
			}
			out = append(out, set)
			i += n
		case '\\':
			if i+1 == len(pattern) {
				return nil, errBackslash
			}
			out = append(out, token{kind: 'c', c: pattern[i+1]})
			i += 2
		default:
			out = append(out, token{kind: 'c', c: c})
			i++
		}
	}
	return out, nil
}

// compileSet reads a set from its opening bracket on and returns its length in bytes.
func compileSet(pattern string) (token, int, error) {
	set := token{kind: '['}
	i := 1
	if i < len(pattern) && (pattern[i] == '!' || pattern[i] == '^') {
		set.not = true
		i++
	}
	next := func() (rune, error) {
		if i < len(pattern) && pattern[i] == '\\' {
			i++
		}
		if i >= len(pattern) {
			return 0, errOpenClass
		}
		r, n := utf8.DecodeRuneInString(pattern[i:])
		i += n
		return r, nil
	}
	for i < len(pattern) && pattern[i] != ']' {
		low, err := next()
		if err != nil {
			return set, 0, err
		}
		high := low
		if i+1 < len(pattern) && pattern[i] == '-' && pattern[i+1] != ']' {
			i++
			if high, err = next(); err != nil {
				return set, 0, err
			}
		}
		if high < low {
			return set, 0, errClass
		}
		set.pairs = append(set.pairs, low, high)
	}
	if i >= len(pattern) {
		return set, 0, errOpenClass
	}
	if len(set.pairs) == 0 {
		return set, 0, errClass
	}
	return set, i + 1, nil
}

// match reports whether the pattern fits the whole word. Its time is bounded by the product of both lengths.
func (g wordGlob) match(word string) bool {
	t, i := 0, 0
	star, from := -1, 0
	for i < len(word) {
		if t < len(g) {
			if g[t].kind == '*' {
				star, from = t, i
				t++
				continue
			}
			if n := g[t].step(word[i:]); n > 0 {
				t++
				i += n
				continue
			}
		}
		if star < 0 {
			return false
		}
		_, n := utf8.DecodeRuneInString(word[from:])
		from += n
		t, i = star+1, from
	}
	for t < len(g) && g[t].kind == '*' {
		t++
	}
	return t == len(g)
}

// step returns how many bytes at the start of rest the token takes, 0 for none.
func (t token) step(rest string) int {
	if t.kind == 'c' {
		if rest[0] == t.c {
			return 1
		}
		return 0
	}
	r, n := utf8.DecodeRuneInString(rest)
	if t.kind == '?' {
		return n
	}
	in := false
	for i := 0; i < len(t.pairs); i += 2 {
		in = in || t.pairs[i] <= r && r <= t.pairs[i+1]
	}
	if in == t.not {
		return 0
	}
	return n
}
