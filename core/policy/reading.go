package policy

import (
	"slices"
	"strings"
)

// reading is what a command turns out to run and open besides itself. It depends on the words and on what they resolve
// to, never on rules: a rule cannot change what is looked at.
type reading struct {
	parts   []part
	wrapper string // the first word that makes the command run another one
	doubt   string // the first word behind which something unknown runs
}

// part is one thing that a command runs or opens.
type part struct {
	argv  []string // a command
	loose bool     // it may begin at any of the words, so only asks and denies say something about it
	path  string   // not a command, but the target of a redirection
	act   Act      // what is done to the path
	mark  string   // how the redirection is written
}

// maxWords bounds how many words are read for commands inside one command, a word that is read twice counted twice and a
// script by its length; what is left beyond it is in doubt.
const maxWords = 20000

// text is the part for people, cut where it is long.
func (p part) text() string {
	text := p.mark + p.path
	if p.path == "" {
		text = commandText(p.argv[:min(len(p.argv), 100)])
	}
	const longest = 200
	if runes := []rune(text); len(runes) > longest {
		text = string(runes[:longest]) + "…"
	}
	return text
}

// reader reads commands within commands.
type reader struct {
	reading
	resolve func(word string) string // the base name of the file that a program word runs
	left    int                      // words that may still be read
	moves   bool                     // the working directory may be another one than the command's
}

// readCommand looks for what a command runs besides itself, and for what it reads as its input where that may be code.
func readCommand(argv []string, input string, resolve func(word string) string) reading {
	r := &reader{resolve: resolve, left: maxWords}
	r.inside(argv)
	if input != "" && readsCode(argv) {
		if slices.ContainsFunc(argv, func(word string) bool { return shells[programName(word)] }) {
			r.script(input)
		} else {
			r.text(input)
		}
		r.doubts(inputPart)
	}
	return r.reading
}

// spend takes words off what may still be read and reports whether that is used up.
func (r *reader) spend(words int) bool {
	r.left -= words
	return r.left < 0
}

// wraps notes that a word makes an allow insufficient.
func (r *reader) wraps(word string) {
	if r.wrapper == "" {
		r.wrapper = word
	}
}

// doubts notes that something unknown runs.
func (r *reader) doubts(word string) {
	r.wraps(word)
	if r.doubt == "" {
		r.doubt = word
	}
}

// command takes words for a command, and looks into it.
func (r *reader) command(argv []string) {
	if len(argv) == 0 {
		return
	}
	if argv[0] == "" {
		r.doubts(`""`)
		return
	}
	r.parts = append(r.parts, part{argv: argv})
	r.inside(argv)
}

// loose takes words among which a command begins somewhere, and looks into each that could be one.
func (r *reader) loose(words []string) {
	if len(words) == 0 {
		return
	}
	r.parts = append(r.parts, part{argv: words, loose: true})
	for i, word := range words {
		if name := programName(word); word != "" && isKnown(name) && !builtins[name] && !strings.HasPrefix(word, "--") {
			r.inside(words[i:])
		}
		if !strings.ContainsAny(word, " \t\n;|&") {
			continue
		}
		r.text(word) // the shell of another program: shell rm x, spawn rm x
		r.values(word)
	}
}

// values takes a word and every value in it for a script: ProxyCommand=…, --checkpoint-action=exec=…, EXEC:….
func (r *reader) values(word string) {
	for {
		r.script(word)
		at := strings.IndexAny(word, "=:")
		if at < 0 || !strings.ContainsAny(word[at+1:], " \t\n;|&") {
			return
		}
		word = word[at+1:]
	}
}

// text takes what no parser here reads for words between marks of any kind.
func (r *reader) text(source string) {
	if r.spend(1 + len(source)/64) {
		r.doubts("more than can be read")
		return
	}
	words := strings.FieldsFunc(source, func(c rune) bool {
		return strings.ContainsRune(" \t\r\n;|&<>(){}\"'`,!", c)
	})
	if len(words) > 0 {
		r.parts = append(r.parts, part{argv: words, loose: true})
	}
}

// inside looks into a command.
func (r *reader) inside(argv []string) {
	if r.spend(len(argv)) {
		r.doubts("more than can be read")
		return
	}
	name := programName(argv[0])
	if !isKnown(name) && r.resolve != nil {
		if real := programName(r.resolve(argv[0])); isKnown(real) && !multicall[real] {
			name = real
		}
	}
	if subcommand, ok := strings.CutPrefix(name, "git-"); ok { // a program of Git's own, by its own name
		words := slices.Concat([]string{"git", subcommand}, argv[1:])
		r.parts = append(r.parts, part{argv: words, loose: true})
		r.git(words)
	}
	switch {
	case shells[name]:
		r.wraps(argv[0])
		r.shell(argv)
	case otherShells[name]:
		r.doubts(argv[0])
		for _, word := range argv[1:] {
			r.text(word)
		}
	case builtins[name]:
		r.builtin(name, argv)
	case multicall[name]:
		r.wraps(argv[0])
		words := slices.Clone(argv[1:])
		if len(words) > 0 && strings.HasPrefix(words[0], "--coreutils-prog") {
			_, words[0], _ = strings.Cut(words[0], "=")
		}
		r.command(words)
	case name == "find":
		r.find(argv)
	case name == "git":
		r.git(argv)
	case name == "make":
		r.make(argv)
	case name == "sed":
		r.sed(argv)
	}
	if w, ok := wrappers[name]; ok {
		r.wraps(argv[0])
		r.wrapped(argv, w)
	}
	if looseWrappers[name] || strings.HasPrefix(name, "ld") && strings.Contains(name, ".so") {
		r.doubts(argv[0])
		r.moves = true
		r.loose(argv[1:])
	}
	if c, ok := databases[name]; ok {
		r.database(argv, c)
	}
	if in, ok := interpreters[name]; ok {
		r.interpreter(argv, in)
	}
	if subcommands, ok := carriers[name]; ok {
		r.carrier(argv, subcommands)
	}
	if options, ok := runners[name]; ok {
		r.runner(argv, options)
	}
}
