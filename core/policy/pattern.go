package policy

import (
	"path"
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
	raw    string // relative, without ./ and final slash
	nfc    string
	folded string
}

// compilePath reads a pattern. Its error is a flaw.
func compilePath(text string) (pathGlob, error) {
	g := pathGlob{text: text}
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
	g.raw = strings.Join(elements, "/")
	switch {
	case g.raw == "":
		g.raw = "."
	case strings.HasSuffix(text, "/"):
		g.raw += "/**"
	}
	g.all = g.raw == "*" && text == "*" || g.raw == "**"
	g.name = !strings.Contains(text, "/")
	g.nfc = norm.NFC.String(g.raw)
	g.folded = fold(g.raw)
	return g, nil
}

// subject is a path that rules are asked about: relative to the workspace, clean, slash-separated, "." for its root.
type subject struct {
	raw    string
	nfc    string
	folded string // "" where the file system tells case apart
}

// newSubject prepares a path; folds says whether its file system is case-blind.
func newSubject(rel string, folds bool) subject {
	s := subject{raw: rel, nfc: norm.NFC.String(rel)}
	if folds {
		s.folded = fold(rel)
	}
	return s
}

// allows reports whether the pattern of an allow fits the path itself, as it is spelled. Where the file system is
// case-blind it does not tell NFC and NFD apart either, and neither does the pattern.
func (g pathGlob) allows(s subject) bool {
	literal := !strings.Contains(g.raw, `\`) // with an escape in it, the pattern means what it says
	return g.all || g.fits(g.raw, s.raw, literal) || s.folded != "" && g.fits(g.nfc, s.nfc, literal)
}

// stops reports whether the pattern of an ask or deny fits the path or a directory above it, which it then returns.
func (g pathGlob) stops(s subject) (string, bool) {
	if g.all {
		return "", true
	}
	if at, ok := g.above(g.raw, s.raw); ok {
		return at, true
	}
	if g.nfc != g.raw || s.nfc != s.raw {
		if at, ok := g.above(g.nfc, s.nfc); ok {
			return at, true
		}
	}
	if s.folded == "" {
		return "", false
	}
	return g.above(g.folded, s.folded)
}

// above looks for the pattern at the path and at every directory above it.
func (g pathGlob) above(pattern, rel string) (string, bool) {
	for at := rel; ; at = path.Dir(at) {
		if g.fits(pattern, at, true) {
			if at == rel {
				at = ""
			}
			return at, true
		}
		if at == "." || at == "/" {
			return "", false
		}
	}
}

// fits matches one path; literal says whether the pattern's own text fits too.
func (g pathGlob) fits(pattern, rel string, literal bool) bool {
	if literal && pattern == rel || doublestar.MatchUnvalidated(pattern, rel) {
		return true
	}
	if !g.name {
		return false
	}
	base := path.Base(rel)
	return literal && pattern == base || doublestar.MatchUnvalidated(pattern, base)
}
