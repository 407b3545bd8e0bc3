package policy

import (
	"path"
	"path/filepath"
	"strings"
)

// program is what the first word of a command stands for.
type program struct {
	given   string
	spelled bool   // as a path, not as a name for PATH
	ident   string // of a spelled one: ./ and the path from the workspace's root, or an absolute path
	file    string // the file that would run, absolute; "" when there is none
	real    string // the file with every link resolved
	inside  bool   // that file lies in the workspace
	tool    bool   // it is no program but a registered tool
}

// findProgram finds out what a word runs as a program in a directory of the workspace.
func (b *Boundary) findProgram(dir, word string) program {
	p := program{given: word, spelled: strings.Contains(word, "/")}
	switch {
	case !p.spelled:
		file, err := b.lookup(word)
		if err != nil || !filepath.IsAbs(file) {
			return p
		}
		p.file = filepath.Clean(file)
	case filepath.IsAbs(word):
		p.file = filepath.Clean(word)
	default:
		p.file = filepath.Join(b.root, dir, word)
	}
	rel, inside := b.within(p.file)
	if p.spelled {
		p.ident = p.file
		if inside {
			p.ident = "./" + rel
		}
	}
	p.inside = inside
	p.real = p.file
	if real, err := resolve("/", p.file); err == nil {
		p.real = real
		if _, in := below(b.realRoot, real); in {
			p.inside = true
		}
	}
	return p
}

// within returns an absolute path relative to the workspace when it lies in it, as spelled.
func (b *Boundary) within(file string) (string, bool) {
	if rel, ok := below(b.root, file); ok {
		return rel, true
	}
	return below(b.realRoot, file)
}

// names lists the texts by which an ask or a deny knows a program: every one it goes by.
func (p program) names() []string {
	names := []string{p.given}
	if p.tool {
		return names
	}
	names = append(names, path.Base(p.given))
	if name := strings.TrimPrefix(path.Base(p.given), "g"); gnuTools[name] {
		names = append(names, name)
	}
	if p.spelled {
		names = append(names, p.ident, path.Base(p.real))
	}
	if p.file != "" {
		names = append(names, p.file)
	}
	return names
}

// programWord is the first word of a command pattern.
type programWord struct {
	any    bool // a lone *: any program, wherever it is
	path   bool // it is spelled as a path
	glob   wordGlob
	folded wordGlob
}

// allows reports whether the word in an allow means this program. A name means what PATH gives, and only outside the
// workspace, where the agent could not have put it.
func (w programWord) allows(p program, lookup func(string) (string, error)) bool {
	switch {
	case w.any:
		return true
	case p.tool:
		return w.glob.match(p.given)
	case w.path && p.spelled:
		return w.glob.match(p.ident)
	case w.path:
		return p.file != "" && !p.inside && w.glob.match(p.file)
	case p.inside || p.file == "":
		return false
	case !p.spelled:
		return w.glob.match(p.given)
	}
	name := path.Base(p.file)
	if !filepath.IsAbs(p.given) || !w.glob.match(name) {
		return false
	}
	found, err := lookup(name)
	if err != nil || !filepath.IsAbs(found) {
		return false
	}
	real, err := resolve("/", found)
	return err == nil && real == p.real
}

// stops reports whether the word in an ask or deny means a program that goes by these names.
func (w programWord) stops(names []string, folds bool) bool {
	if w.any {
		return true
	}
	for _, name := range names {
		if w.glob.match(name) || folds && w.folded.match(fold(name)) {
			return true
		}
	}
	return false
}

// rootedProgram turns a program spelled as a path in a rule into the form program.ident has.
func rootedProgram(word string, roots ...string) string {
	if !strings.Contains(word, "/") || strings.HasPrefix(word, "*") {
		return word
	}
	if strings.HasPrefix(word, "/") {
		for _, root := range roots {
			for _, spelling := range []string{root, escapeWord(root)} {
				if rest, ok := strings.CutPrefix(word, spelling+"/"); ok {
					return "./" + rest
				}
			}
		}
		return word
	}
	for strings.HasPrefix(word, "./") {
		word = strings.TrimLeft(word[2:], "/")
	}
	return "./" + word
}
