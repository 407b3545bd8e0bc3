package policy

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Bounds of a script that is parsed; beyond them it is in doubt. The parser recurses, so what opens something is counted.
const (
	maxScript  = 64 << 10 // bytes
	maxOpeners = 2000     // ( { and backquotes
)

// shell reads the arguments of a shell of the Bourne family and goes on with the script after -c. A shell without one
// runs a file or its standard input, of which nothing is known.
func (r *reader) shell(argv []string) {
	code := false
	i := 1
	for ; i < len(argv); i++ {
		word := argv[i]
		if word == "--" || word == "-" {
			i++
			break
		}
		if len(word) < 2 || word[0] != '-' && word[0] != '+' {
			break
		}
		switch {
		case word == "--rcfile" || word == "--init-file" || word == "--emulate":
			r.doubts(word)
			i++
		case strings.HasPrefix(word, "--"):
			if strings.Contains(word, "=") {
				r.doubts(word)
			}
		default:
			code = code || word[0] == '-' && strings.ContainsRune(word, 'c')
			i += strings.Count(word[1:], "o") + strings.Count(word[1:], "O")
		}
	}
	switch {
	case i >= len(argv):
		r.doubts(argv[0])
	case !code:
		r.doubts(argv[i])
	default:
		r.script(argv[i])
		if r.doubt != "" {
			r.loose(argv[i+1:]) // what $0, $1 and so on hold
		}
	}
}

// script parses a shell script and takes each simple command and each redirection in it.
func (r *reader) script(source string) {
	if r.spend(1 + len(source)/64) {
		r.doubts("more than can be read")
		return
	}
	openers := strings.Count(source, "(") + strings.Count(source, "{") + strings.Count(source, "`")
	if len(source) > maxScript || openers > maxOpeners {
		r.doubts("a script too large to read")
		r.text(source)
		return
	}
	file, ok := parseScript(source)
	if !ok {
		r.doubts("a script that is no shell script")
		r.text(source)
		return
	}
	s := &scriptReader{reader: r, source: source}
	s.lookForMoves(file)
	syntax.Walk(file, s.visit)
	if !s.found {
		r.doubts("an empty script")
	}
	// Where bash expects the name of a variable it runs substitutions in a subscript, quoted or not: test -v 'a[$(x)]'.
	for _, subscript := range []string{"[$(", "[`"} {
		if strings.Contains(source, subscript) {
			r.doubts(subscript)
			r.text(source)
		}
	}
}

// parseScript parses with the grammar of bash, in which all other shells of the family write what it has in common with
// them; what is different there is an error or an expansion here.
func parseScript(source string) (file *syntax.File, ok bool) {
	defer func() {
		if recover() != nil {
			file, ok = nil, false
		}
	}()
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(source), "")
	return file, err == nil && file != nil
}

// builtin reads words of a shell that run, rename or set something.
func (r *reader) builtin(name string, argv []string) {
	if name == "set" && harmlessSet(argv[1:]) {
		return
	}
	if movers[name] {
		return // script has seen it
	}
	r.doubts(argv[0])
	switch name {
	case "eval":
		r.script(strings.Join(argv[1:], " "))
	case "alias":
		for _, word := range argv[1:] {
			if _, value, ok := strings.Cut(word, "="); ok {
				r.script(value)
			}
		}
	case "trap":
		if len(argv) > 2 {
			r.script(argv[1])
		}
	default:
		for _, word := range argv[1:] {
			r.text(word)
		}
	}
}

// movers change a shell's working directory.
var movers = set("cd", "pushd", "popd", "chdir")

// harmlessSet reports whether the arguments of set are options only, as in set -euo pipefail.
func harmlessSet(args []string) bool {
	for i := 0; i < len(args); i++ {
		word := args[i]
		if len(word) < 2 || word[0] != '-' && word[0] != '+' || word[1] == '-' {
			return false
		}
		if strings.HasSuffix(word, "o") {
			i++
		}
	}
	return true
}
