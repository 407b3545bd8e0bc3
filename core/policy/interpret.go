package policy

import (
	"regexp"
	"slices"
	"strings"
)

// interpreter says how a language's interpreter is given code on its command line.
type interpreter struct {
	always bool     // its first operand is code
	code   string   // one-letter options that are followed by code
	values string   // one-letter options that take another value
	long   []string // words that are followed by code
	module string   // a one-letter option that names installed code, after which everything is arguments
	plus   bool     // a word that begins with + is code
}

var interpreters = map[string]interpreter{
	"python": {code: "c", values: "WX", module: "m"}, "pypy": {code: "c", values: "WX", module: "m"},
	"perl": {code: "eE", values: "I"}, "ruby": {code: "e", values: "ICErxW"}, "jruby": {code: "e", values: "ICEr"},
	"node":   {code: "ep", values: "rC", long: []string{"--eval", "--print"}},
	"nodejs": {code: "ep", values: "rC", long: []string{"--eval", "--print"}},
	"deno":   {long: []string{"eval", "repl"}}, "bun": {code: "ep", long: []string{"--eval", "--print"}},
	"php": {code: "rBRE", values: "dczS", long: []string{"--run"}}, "lua": {code: "e", values: "l"}, "luajit": {code: "e", values: "l"},
	"rscript": {code: "e"}, "r": {code: "e"}, "julia": {code: "eE", long: []string{"--eval", "--print"}},
	"tclsh": {}, "wish": {}, "groovy": {code: "e"}, "scala": {code: "e"}, "ghc": {code: "e"}, "swipl": {code: "g"},
	"osascript": {always: true}, "awk": {always: true}, "gawk": {always: true}, "mawk": {always: true}, "nawk": {always: true},
	"vim": vimCode, "vi": vimCode, "nvim": vimCode, "view": vimCode, "gvim": vimCode, "ex": {always: true}, "ed": {always: true},
	"emacs": {long: []string{"--eval", "-eval", "--execute", "-l", "--load", "-f", "--funcall"}},
}

// vimCode is how editors of the family are given commands.
var vimCode = interpreter{code: "cSsu", long: []string{"--cmd"}, plus: true}

// runModules lists modules that run the code they are given as arguments.
var runModules = set("timeit", "pdb", "cProfile", "profile", "trace", "runpy", "code", "doctest", "idlelib", "pyrepl", "asyncio")

// moduleArguments looks at what follows the option that names installed code.
func (r *reader) moduleArguments(argv []string) {
	for i, word := range argv {
		if i == 0 && runModules[word] {
			r.doubts(word)
		}
		if strings.ContainsAny(word, " \t\n") {
			r.text(word)
		}
	}
}

// interpreter notes code on the command line, and code read from standard input.
func (r *reader) interpreter(argv []string, in interpreter) {
	if in.always {
		r.code(argv[0], argv[1:])
		return
	}
	operand := false
	for i := 1; i < len(argv) && !operand; i++ {
		word := argv[i]
		name, _, _ := strings.Cut(word, "=")
		switch {
		case slices.Contains(in.long, name):
			r.code(word, argv[i:])
			return
		case word == "-", in.plus && strings.HasPrefix(word, "+"):
			r.code(argv[0], argv[i:])
			return
		case word == "--" || !strings.HasPrefix(word, "-"):
			operand = true
		case strings.HasPrefix(word, "--"):
		default:
			letters := word[1:]
			at := strings.IndexAny(letters, in.code+in.values+in.module)
			if at < 0 {
				continue
			}
			if strings.IndexByte(in.code, letters[at]) >= 0 {
				r.code(word, argv[i:])
				return
			}
			if in.module != "" && letters[at] == in.module[0] {
				if attached := letters[at+1:]; attached != "" {
					r.moduleArguments(append([]string{attached}, argv[i+1:]...))
				} else {
					r.moduleArguments(argv[i+1:])
				}
				return
			}
			if at == len(letters)-1 {
				i++
			}
		}
	}
	if !operand && len(argv) == 1 {
		r.doubts(argv[0]) // the program comes from standard input
	}
}

// code notes that words hold a program nobody here reads; an ask or a deny still sees its words.
func (r *reader) code(word string, words []string) {
	r.doubts(word)
	for _, w := range words {
		if strings.ContainsAny(w, " \t\n(\"'`;") {
			r.text(w)
		}
	}
}

// harmlessSed is what sed is mostly used for: printing, deleting and substituting without running or writing anything.
var harmlessSed = regexp.MustCompile(`^\s*((\d+|\$|/[^/\\]*/)?(,\s*(\+?\d+|\$|/[^/\\]*/))?\s*!?\s*([pdq=lnNDPGHhgx]|s/[^/\\]*/[^/\\]*/[gpIi0-9]*|s\|[^|\\]*\|[^|\\]*\|[gpIi0-9]*|s#[^#\\]*#[^#\\]*#[gpIi0-9]*)\s*(;|$)\s*)*$`)

// sed reads scripts of sed, which can run commands (e) and write files (w).
func (r *reader) sed(argv []string) {
	var scripts, operands []string
	for i := 1; i < len(argv); i++ {
		word := argv[i]
		name, value, has := strings.Cut(word, "=")
		at := -1
		switch {
		case len(name) > 2 && strings.HasPrefix("--expression", name):
		case len(name) > 2 && strings.HasPrefix("--file", name):
			r.doubts(word)
			continue
		case strings.HasPrefix(word, "--"):
			continue
		case len(word) > 1 && word[0] == '-':
			if at = strings.IndexAny(word, "ef"); at < 0 {
				continue
			}
			if word[at] == 'f' {
				r.doubts(word)
				continue
			}
			value, has = word[at+1:], at+1 < len(word)
		default:
			operands = append(operands, word)
			continue
		}
		if !has {
			if i++; i == len(argv) {
				break
			}
			value = argv[i]
		}
		scripts = append(scripts, value)
	}
	if len(scripts) == 0 && len(operands) > 0 {
		scripts = operands[:1]
	}
	for _, script := range scripts {
		if !harmlessSed.MatchString(script) {
			r.code(script, []string{script})
		}
	}
}

// database looks for the escapes to a shell in what a client is given: .shell and .system, and \!.
func (r *reader) database(argv []string) {
	for _, word := range argv[1:] {
		trimmed := strings.TrimSpace(word)
		if strings.Contains(word, `\!`) || strings.Contains(word, "system ") || strings.Contains(trimmed, ".sh") || strings.HasPrefix(trimmed, ".sy") || strings.HasPrefix(trimmed, ".import") || strings.Contains(word, "|") {
			r.doubts(word)
			r.text(word)
		}
	}
}

// runnerOptions are options by which a program otherwise harmless runs a command.
type runnerOptions struct {
	letters  string   // one-letter options, in clusters too
	dashless bool     // the first argument is a cluster even without a dash
	long     []string // options as words, with their dashes; abbreviations count where two dashes begin them
	inside   string   // a text in any argument that names a program; "" for none
}

// compilerOptions run a program around the compiler, or load code into it.
var compilerOptions = []string{"-wrapper", "-fplugin", "-specs", "--specs"}

var runners = map[string]runnerOptions{
	"go":     {long: []string{"-exec", "--exec", "-toolexec", "--toolexec", "-vettool", "--vettool", "-overlay", "--overlay"}, inside: "extld"},
	"cargo":  {long: []string{"--config"}},
	"tar":    {letters: "IF", dashless: true, long: []string{"--to-command", "--checkpoint-action", "--use-compress-program", "--info-script", "--new-volume-script", "--rsh-command", "--rmt-command"}},
	"bsdtar": {long: []string{"--use-compress-program"}}, "gtar": {letters: "IF", dashless: true, long: []string{"--to-command", "--checkpoint-action", "--use-compress-program"}},
	"rsync": {letters: "e", long: []string{"--rsh", "--rsync-path"}}, "scp": {letters: "So"}, "sftp": {letters: "So"},
	"sort": {long: []string{"--compress-program"}}, "split": {long: []string{"--filter"}},
	"rg": {long: []string{"--pre", "--hostname-bin"}}, "ag": {long: []string{"--pager"}}, "fd": {letters: "xX", long: []string{"--exec", "--exec-batch"}}, "fdfind": {letters: "xX", long: []string{"--exec", "--exec-batch"}},
	"man": {letters: "PH", long: []string{"--pager", "--html"}}, "zip": {letters: "T", long: []string{"--unzip-command"}},
	"sqlite3": {long: []string{"-cmd", "--cmd"}}, "npm": {long: []string{"--script-shell"}},
	"gcc": {long: compilerOptions}, "g++": {long: compilerOptions}, "cc": {long: compilerOptions}, "c++": {long: compilerOptions}, "clang": {long: compilerOptions}, "clang++": {long: compilerOptions},
	"wget": {long: []string{"--use-askpass"}}, "rustc": {inside: "linker="},
	"cmake": {long: []string{"-E", "-P"}}, "nc": {letters: "ec", long: []string{"--exec", "--sh-exec"}},
}

// runner notes an option by which a program runs a command, and looks for it behind the option.
func (r *reader) runner(argv []string, options runnerOptions) {
	for i := 1; i < len(argv); i++ {
		word := argv[i]
		if word == "--" {
			return
		}
		name, value, has := strings.Cut(word, "=")
		found := slices.ContainsFunc(options.long, func(long string) bool {
			return name == long || len(name) > 3 && strings.HasPrefix(long, "--") && strings.HasPrefix(long, name)
		})
		cluster := len(word) > 1 && word[0] == '-' && word[1] != '-' || options.dashless && i == 1 && !strings.HasPrefix(word, "-")
		if at := strings.IndexAny(word, options.letters); cluster && at >= 0 {
			r.text(word[at+1:]) // a value may be joined to it
		}
		if cluster && strings.ContainsAny(word, options.letters) || options.inside != "" && strings.Contains(word, options.inside) {
			found = true
			r.text(word)
		}
		if !found {
			continue
		}
		r.doubts(word)
		if has {
			r.text(value)
		}
		r.loose(argv[i+1:])
		return
	}
}
