// Package gitignore reads .gitignore files and says which paths they leave out, by the rules that git documents in
// gitignore(5): nested files, negation, directory-only and anchored patterns, and matching byte by byte.
//
// It knows nothing of git's index: a tracked file that a pattern names is ignored all the same.
package gitignore

import (
	"bytes"
	"strings"
)

// Patterns are the rules of one .gitignore file. They are immutable.
type Patterns struct {
	rules []rule
}

// rule is one line of a file.
type rule struct {
	negate  bool // the line began with "!": what it matches is not ignored
	dirOnly bool // the line ended with "/": it matches directories
	base    bool // no slash in the line: it matches the last part of a path, at any depth
	match   matcher
}

// What one file may ask for. Real files stay far below; a hostile one must not eat the memory.
const (
	maxLine  = 4096 // longer lines match nothing: no path is as long
	maxExprs = 4096 // lines with wildcards, other than "*.ext"; those beyond match nothing
)

// Parse reads the text of one .gitignore file. It never fails: a line that is no pattern matches nothing, as in git.
func Parse(text []byte) *Patterns {
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	p := &Patterns{}
	exprs := 0
	for line := range strings.SplitSeq(string(text), "\n") {
		if len(line) > maxLine {
			continue
		}
		r, ok := parseLine(strings.TrimSuffix(line, "\r"))
		if r.match.expr != nil {
			exprs++
		}
		if ok && (r.match.expr == nil || exprs <= maxExprs) {
			p.rules = append(p.rules, r)
		}
	}
	return p
}

func parseLine(line string) (rule, bool) {
	if strings.HasPrefix(line, "#") {
		return rule{}, false
	}
	line = trimSpaces(line)
	var r rule
	if strings.HasPrefix(line, "!") {
		r.negate, line = true, line[1:]
	}
	if strings.HasSuffix(line, "/") {
		r.dirOnly, line = true, line[:len(line)-1]
	}
	if line == "" {
		return rule{}, false
	}
	r.base = !strings.Contains(line, "/")
	m, ok := compile(strings.TrimPrefix(line, "/"))
	if !ok {
		return rule{}, false
	}
	r.match = m
	return r, true
}

// trimSpaces drops spaces at the end of a line, save those that a backslash keeps.
func trimSpaces(line string) string {
	end := 0
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case ' ':
		case '\\':
			i++
			end = min(i+1, len(line))
		default:
			end = i + 1
		}
	}
	return line[:end]
}

// verdict is what one file says of a path.
type verdict int

const (
	silent verdict = iota
	ignored
	included
)

// judge gives the word of the last rule that matches rel, a path relative to the file's own directory.
func (p *Patterns) judge(rel string, dir bool) verdict {
	name := rel[strings.LastIndexByte(rel, '/')+1:]
	for i := len(p.rules) - 1; i >= 0; i-- {
		r := &p.rules[i]
		if r.dirOnly && !dir {
			continue
		}
		subject := rel
		if r.base {
			subject = name
		}
		if !r.match.fits(subject) {
			continue
		}
		if r.negate {
			return included
		}
		return ignored
	}
	return silent
}

// Stack holds the files that count at one place of a tree, from its top down. The zero value ignores nothing.
// A Stack is immutable: With returns a new one, so siblings can share their parents' rules.
type Stack struct {
	levels []level
}

type level struct {
	dir      string // the file's directory, slash-separated from the top of the tree, "" for the top
	patterns *Patterns
}

// With returns the stack that counts inside dir, whose own .gitignore holds p. A nil or empty p adds nothing.
func (s Stack) With(dir string, p *Patterns) Stack {
	if p == nil || len(p.rules) == 0 {
		return s
	}
	return Stack{levels: append(s.levels[:len(s.levels):len(s.levels)], level{dir: dir, patterns: p})}
}

// Ignored says whether path, slash-separated from the top of the tree, is left out. The deepest file that says anything
// decides. It judges this path alone: a caller does not descend into an ignored directory, so nothing below one can be
// included again.
func (s Stack) Ignored(path string, dir bool) bool {
	for i := len(s.levels) - 1; i >= 0; i-- {
		l := s.levels[i]
		rel := path
		if l.dir != "" {
			var below bool
			if rel, below = strings.CutPrefix(path, l.dir+"/"); !below {
				continue
			}
		}
		switch l.patterns.judge(rel, dir) {
		case ignored:
			return true
		case included:
			return false
		}
	}
	return false
}
