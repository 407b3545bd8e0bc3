package policy

import (
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"golang.org/x/text/unicode/norm"
)

// Bounds for one pattern, so that no policy file can make a match slow: alternatives multiply.
const (
	maxPattern      = 1024 // bytes
	maxAlternatives = 8    // opening braces
)

// pathGlob is a compiled pattern of a read or write rule.
type pathGlob struct {
	text   string // as written
	all    bool   // it is everything
	name   bool   // it also matches a base name at any depth
	raw    spelling
	nfc    spelling
	folded spelling
}

// spelling is a pattern in one of the forms in which it is compared. Most patterns are plain names, below some directory
// or any, and a search asks for every file: those are compared as text.
type spelling struct {
	pattern string
	plain   string // what the pattern is apart from a leading **/, when nothing in it is special; else ""
	deep    bool   // a leading **/ was there
}

func newSpelling(pattern string) spelling {
	s := spelling{pattern: pattern}
	rest, deep := strings.CutPrefix(pattern, "**/")
	if !strings.ContainsAny(rest, `*?[{\`) {
		s.plain, s.deep = rest, deep
	}
	return s
}

// match matches one path; literal says whether the pattern's own text fits too.
func (s *spelling) match(rel string, literal bool) bool {
	if s.plain == "" {
		return literal && s.pattern == rel || doublestar.MatchUnvalidated(s.pattern, rel)
	}
	if rel == s.plain {
		return true
	}
	above, ok := strings.CutSuffix(rel, s.plain)
	return ok && s.deep && strings.HasSuffix(above, "/")
}

// compilePath reads a pattern. Its error is a flaw.
func compilePath(text string) (*pathGlob, error) {
	g := &pathGlob{text: text}
	switch {
	case text == "":
		return g, flaw{"the pattern is empty", "write * for everything"}
	case len(text) > maxPattern || strings.Count(text, "{") > maxAlternatives:
		return g, flaw{"the pattern is too long or has too many alternatives", "split it into several"}
	case strings.ContainsRune(text, 0):
		return g, flaw{"no path holds a NUL byte", "leave it out"}
	case !doublestar.ValidatePattern(text):
		return g, flaw{"it is not a valid pattern", "close every [ and {, and write a backslash before a special character that stands for itself"}
	case strings.HasPrefix(text, "/"):
		return g, flaw{"it escapes the workspace, outside of which everything is denied", "write a path relative to the workspace (./x for the one in its root)"}
	}
	var elements []string
	for _, element := range strings.Split(text, "/") {
		switch element {
		case "", ".":
		case "..":
			return g, flaw{"it escapes the workspace or goes a way no path is written", "write it without .."}
		default:
			elements = append(elements, element)
		}
	}
	raw := strings.Join(elements, "/")
	switch {
	case raw == "":
		raw = "."
	case strings.HasSuffix(text, "/"):
		raw += "/**"
	}
	g.all = raw == "*" && text == "*" || raw == "**"
	g.name = !strings.Contains(text, "/")
	g.raw, g.nfc, g.folded = newSpelling(raw), newSpelling(norm.NFC.String(raw)), newSpelling(fold(raw))
	return g, nil
}

// subject is a path that rules are asked about: relative to the workspace, clean, slash-separated, "." for its root.
type subject struct {
	raw    string
	nfc    string
	folded string // "" where the file system tells case apart
}

// newSubject prepares a path; folds says whether its file system is case-blind.
func newSubject(rel string, folds bool) *subject {
	s := &subject{raw: rel, nfc: norm.NFC.String(rel)}
	if folds {
		s.folded = fold(rel)
	}
	return s
}

// allows reports whether the pattern of an allow fits the path itself, as it is spelled. Where the file system is
// case-blind it does not tell NFC and NFD apart either, and neither does the pattern.
func (g *pathGlob) allows(s *subject) bool {
	literal := !strings.Contains(g.raw.pattern, `\`) // with an escape in it, the pattern means what it says
	return g.all || g.fits(&g.raw, s.raw, literal) || s.folded != "" && g.fits(&g.nfc, s.nfc, literal)
}

// stops reports whether the pattern of an ask or deny fits the path or a directory above it, which it then returns.
func (g *pathGlob) stops(s *subject) (string, bool) {
	if g.all {
		return "", true
	}
	if at, ok := g.above(&g.raw, s.raw); ok {
		return at, true
	}
	if g.nfc.pattern != g.raw.pattern || s.nfc != s.raw {
		if at, ok := g.above(&g.nfc, s.nfc); ok {
			return at, true
		}
	}
	if s.folded == "" {
		return "", false
	}
	return g.above(&g.folded, s.folded)
}

// above looks for the pattern at the path and at every directory above it.
func (g *pathGlob) above(pattern *spelling, rel string) (string, bool) {
	for at := rel; ; {
		if g.fits(pattern, at, true) {
			if at == rel {
				at = ""
			}
			return at, true
		}
		slash := strings.LastIndexByte(at, '/')
		if slash < 0 {
			return ".", rel != "." && g.fits(pattern, ".", true)
		}
		at = at[:slash]
	}
}

// fits matches one path. A pattern without a slash is asked about the last element alone.
func (g *pathGlob) fits(pattern *spelling, rel string, literal bool) bool {
	if rel == "." { // the root has no name that a star could stand for
		return pattern.pattern == "."
	}
	if g.name {
		rel = rel[strings.LastIndexByte(rel, '/')+1:]
	}
	return pattern.match(rel, literal)
}
