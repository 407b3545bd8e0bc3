package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxMarks is how many nonspacing and enclosing marks a cluster keeps. More
// would be drawn over the rows above and below. No orthography stacks more than
// four or five.
const maxMarks = 8

// maxRunes is how many code points a cluster keeps. The longest emoji that
// Unicode recommends for interchange, a kiss with two skin tones, has ten.
const maxRunes = 16

// tagFlags are the emoji tag sequences that Unicode recommends for interchange,
// without the black flag in front: England, Scotland and Wales. Any other run
// of tags is text that nobody sees.
var tagFlags = []string{
	"\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
	"\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
	"\U000e0067\U000e0062\U000e0077\U000e006c\U000e0073\U000e007f",
}

// keep gives how many bytes at the start of s may be drawn as they are, at most
// one grapheme cluster, and how long that cluster is. Zero means that the first
// code point may not be drawn. What is kept stands alone: nothing that a program
// draws beside it, a border, a space, a letter, joins it. The exact form keeps
// nothing that does not show.
func keep(s string, form Form) (n, size int) {
	first, w := utf8.DecodeRuneInString(s)
	if second, _ := utf8.DecodeRuneInString(s[w:]); solitary(first) && (second < utf8.RuneSelf || solitary(second)) {
		return w, w
	}
	exact := form == Exact
	if first == utf8.RuneError && w <= 1 || !graphic(first) || exact && blank(first) ||
		isJamoTail(first) || joinsBack(first) {
		return 0, w
	}
	size = clusterLen(s)
	if isRegional(first) {
		// A lone one would make a flag with the next text that starts with one.
		if second, _ := utf8.DecodeRuneInString(s[w:]); size == w || !isRegional(second) {
			return 0, w
		}
	}
	k := keeper{s: s, size: size, exact: exact, pos: w, n: w, prev: first, base: first, runes: 1}
	for k.pos < size && k.runes < maxRunes && k.step() {
	}
	return withoutPrepends(s[:k.n]), size
}

// withoutPrepends gives the length of s up to the letters at its end that would
// join what comes next.
func withoutPrepends(s string) int {
	for s != "" {
		last, w := utf8.DecodeLastRuneInString(s)
		if !isPrepend(last) {
			break
		}
		s = s[:len(s)-w]
	}
	return len(s)
}

// keeper walks through one grapheme cluster.
type keeper struct {
	s     string // from the cluster's start to the text's end
	size  int    // bytes in the cluster
	exact bool
	pos   int // bytes looked at
	n     int // bytes that may be drawn
	prev  rune
	base  rune // the latest code point that is no mark
	runes int
	marks int
}

// step takes one more code point; false ends the walk before it.
func (k *keeper) step() bool {
	r, w := utf8.DecodeRuneInString(k.s[k.pos:])
	switch {
	case r == utf8.RuneError && w <= 1:
		return false
	case r == zwj, r == zwnj:
		return k.joiner(r, w)
	case r == vs15, r == vs16:
		if !k.selects(w) {
			return false
		}
	case isModifier(r):
		if k.prev != vs16 && !pictographic(k.prev) {
			return false
		}
	case k.prev == blackFlag && r>>8 == 0xe00:
		return k.tags()
	case !graphic(r):
		return false
	case isMark(r):
		if !unicode.Is(unicode.Mc, r) {
			k.marks++
		}
		if k.marks > maxMarks {
			return false
		}
	default:
		k.base = r
	}
	k.take(r, w)
	k.n = k.pos
	return true
}

func (k *keeper) take(r rune, w int) {
	k.pos += w
	k.prev = r
	k.runes++
}

// joiner takes a joiner where it holds an emoji or a conjunct together, or
// stands between two letters of a script that is spelled with joiners. One with
// its partner in the same cluster is kept only together with it.
func (k *keeper) joiner(r rune, w int) bool {
	after := k.pos + w
	next, _ := utf8.DecodeRuneInString(k.s[after:])
	if k.exact || !graphic(next) || isMark(next) || isModifier(next) || isPrepend(next) {
		return false
	}
	inside := after < k.size
	spelled := unicode.IsLetter(next) && unicode.In(next, joining...) && unicode.In(k.base, joining...)
	if !spelled && (r != zwj || !inside) {
		return false
	}
	k.take(r, w)
	if !inside {
		k.n = k.pos
	}
	return true
}

// selects reports whether a variation selector of w bytes may follow: after a
// pictograph, or as the middle of a keycap.
func (k *keeper) selects(w int) bool {
	if k.exact {
		return false
	}
	if r := k.prev; r >= '0' && r <= '9' || r == '#' || r == '*' {
		return strings.HasPrefix(k.s[k.pos+w:], string(keycap))
	}
	return pictographic(k.prev)
}

func (k *keeper) tags() bool {
	if k.exact {
		return false
	}
	for _, flag := range tagFlags {
		if strings.HasPrefix(k.s[k.pos:], flag) {
			k.pos += len(flag)
			k.n = k.pos
			k.runes += utf8.RuneCountInString(flag)
			k.prev = '\U000e007f'
			return true
		}
	}
	return false
}
