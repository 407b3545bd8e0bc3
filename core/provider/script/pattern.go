package script

import (
	"fmt"
	"slices"
	"strings"
)

// Outcomes of a call as patterns name them.
const (
	ok          = "ok"
	failed      = "failed"
	changed     = "changed"
	refused     = "refused"
	denied      = "denied"
	cancelled   = "cancelled"
	interrupted = "interrupted"
	killed      = "killed"
	fileChanged = "file_changed"
	notRun      = "not_run"
	unknown     = "unknown"
)

// outcomes is what a word in a pattern stands for; nil for a word that stands for nothing.
func outcomes(word string) []string {
	switch word {
	case ok, failed, changed, refused, denied, cancelled, interrupted, killed, fileChanged, notRun, unknown:
		return []string{word}
	case "done":
		return []string{ok, changed}
	case "barred":
		return []string{refused, denied}
	case "settled":
		return []string{ok, changed, refused, denied, failed}
	case "broken":
		return []string{cancelled, interrupted, killed, fileChanged, notRun, unknown}
	}
	return nil
}

// pattern describes calls.
type pattern struct {
	outcomes []string // nil is any
	calls    []made   // exactly one of these; nil is by tool and target
	tool     string   // with *
	target   string   // with *; "*" is any
}

func parsePattern(text string, named map[string][]made) (pattern, error) {
	p := pattern{target: "*"}
	rest := text
	if before, after, found := strings.Cut(text, ": "); found && !strings.Contains(before, " ") {
		for word := range strings.SplitSeq(before, "|") {
			which := outcomes(word)
			if which == nil {
				return p, fmt.Errorf("%q: no outcome is called %q", text, word)
			}
			p.outcomes = append(p.outcomes, which...)
		}
		rest = after
	}
	if name, byName := strings.CutPrefix(rest, "@"); byName {
		if p.calls = named[name]; len(p.calls) == 0 {
			return p, fmt.Errorf("%q: no turn called %q makes a call", text, name)
		}
		return p, nil
	}
	tool, target, found := strings.Cut(rest, " ")
	if tool == "" {
		return p, fmt.Errorf("%q names no call", text)
	}
	if p.tool = tool; found {
		p.target = target
	}
	return p, nil
}

func (p *pattern) fits(c *call) bool {
	if p.outcomes != nil && !slices.Contains(p.outcomes, c.outcome) {
		return false
	}
	if p.calls != nil {
		return slices.Contains(p.calls, c.made)
	}
	return glob(p.tool, c.tool) && glob(p.target, c.target)
}

// glob matches a whole text, * being anything.
func glob(pattern, text string) bool {
	pieces := strings.Split(pattern, "*")
	first, last := pieces[0], pieces[len(pieces)-1]
	if len(pieces) == 1 {
		return pattern == text
	}
	if !strings.HasPrefix(text, first) {
		return false
	}
	text = text[len(first):]
	for _, piece := range pieces[1 : len(pieces)-1] {
		i := strings.Index(text, piece)
		if i < 0 {
			return false
		}
		text = text[i+len(piece):]
	}
	return strings.HasSuffix(text, last)
}
