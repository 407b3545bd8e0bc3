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
	"python": {code: "ci", values: "WX", module: "m"}, "pypy": {code: "ci", values: "WX", module: "m"},
	"perl": {code: "eEMmdF", values: "I"}, "ruby": {code: "e", values: "ICErxW"}, "jruby": {code: "e", values: "ICEr"},
	"node": nodeCode, "nodejs": nodeCode, "tsx": nodeCode, "ts-node": nodeCode,
	"deno": {long: []string{"eval", "repl"}}, "bun": {code: "ep", long: []string{"--eval", "--print", "exec"}},
	"php": {code: "rBREFad", values: "czS", long: []string{"--run", "--define", "--process-begin", "--process-code", "--process-end", "--process-file", "--interactive"}},
	"lua": {code: "ei", values: "l"}, "luajit": {code: "ei", values: "l"},
	"rscript": {code: "e"}, "r": {code: "e"}, "julia": {code: "eE", values: "tpLJHC", long: []string{"--eval", "--print"}},
	"tclsh": {}, "wish": {}, "groovy": {code: "e"}, "scala": {code: "e"}, "ghc": {code: "e"}, "swipl": {code: "g"},
	"osascript": {always: true}, "awk": {always: true}, "gawk": {always: true}, "mawk": {always: true}, "nawk": {always: true}, "original-awk": {always: true}, "goawk": {always: true},
	"vim": vimCode, "vi": vimCode, "nvim": vimCode, "view": vimCode, "gvim": vimCode, "rvim": vimCode, "rview": vimCode, "vimdiff": vimCode, "vim.basic": vimCode, "vim.tiny": vimCode, "vim.nox": vimCode, "ex": {always: true}, "ed": {always: true},
	"guile": {code: "c"}, "elixir": {code: "e", values: "r", long: []string{"--eval"}}, "erl": {long: []string{"-eval", "-run", "-s"}}, "raku": {code: "eM"},
	"octave": {long: []string{"--eval"}}, "gnuplot": {code: "e"}, "ocaml": {code: "e"}, "racket": {code: "e", values: "ltpI"}, "ipython": {code: "c"},
	"pry": {code: "e"}, "iex": {code: "e", long: []string{"--eval"}}, "rake": {code: "eEp", long: []string{"--execute", "--execute-print", "--execute-continue"}},
	"clojure": {long: []string{"-e", "--eval"}}, "clj": {long: []string{"-e", "--eval"}}, "bb": {code: "e"}, "janet": {code: "e"}, "crystal": {long: []string{"eval"}}, "kotlin": {long: []string{"-e", "-expression"}},
	"irb": {}, "jshell": {}, "mongosh": {long: []string{"--eval"}},
	"sbcl": {long: []string{"--eval", "--load"}}, "dc": {always: true}, "m4": {}, "emacsclient": {code: "e", long: []string{"--eval"}},
	"emacs": {long: []string{"--eval", "-eval", "--execute", "-l", "--load", "-f", "--funcall"}},
}

// nodeCode is how Node and what is built on it is given code.
var nodeCode = interpreter{code: "epi", values: "rCPOID", long: []string{"--eval", "--print", "--interactive"}}

// vimCode is how editors of the family are given commands.
var vimCode = interpreter{code: "cSsu", long: []string{"--cmd", "--remote-send", "--remote-expr"}, plus: true}

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
		name, value, _ := strings.Cut(word, "=")
		switch {
		case strings.HasPrefix(word, "data:") || strings.HasPrefix(value, "data:"): // a module that is its own address
			r.code(word, argv[i:])
			return
		case slices.Contains(in.long, name):
			r.code(word, argv[i:])
			return
		case word == "-", in.plus && strings.HasPrefix(word, "+"):
			r.code(argv[0], argv[i:])
			return
		case word == "--", !strings.HasPrefix(word, "-"):
			// Behind a long option it may be the value of that. Where it is the program's file, options of the program are
			// then taken for the interpreter's: too many rather than too few. Editors take options behind their files.
			last := argv[i-1]
			isValue := i > 1 && strings.HasPrefix(last, "--") && !strings.Contains(last, "=")
			operand = word == "--" || !in.plus && !isValue
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
var harmlessSed = func() *regexp.Regexp {
	// Whether a mark in brackets ends a pattern is told differently by different programs.
	between := func(mark string) string {
		return `([^[` + mark + `\\\n]|\\[^\n]|\[[^]` + mark + `\\\n]+\])*` + mark
	}
	address := `(\d+|\$|/` + between("/") + `)`
	substitute := `s(/` + between("/") + between("/") + `|\|` + between(`\|`) + between(`\|`) + `|#` + between("#") + between("#") + `)[gpIi0-9]*`
	return regexp.MustCompile(`^\s*(` + address + `?(,\s*(\+?\d+|` + address + `))?\s*!?\s*([pdq=lnNDPGHhgx]|` + substitute + `)\s*(;|\n|$)\s*)*$`)
}()

// sed reads scripts of sed, which can run commands (e) and write files (w).
func (r *reader) sed(argv []string) {
	scripts, file := sedScripts(argv)
	if file != "" {
		r.doubts(file)
	}
	for _, script := range scripts {
		if !harmlessSed.MatchString(script.text) {
			r.code(script.text, []string{script.text})
		}
	}
}

// sedScript is a script on the command line of sed.
type sedScript struct {
	text string
	at   int // the word that it is, -1 where it is joined to its option
}

// sedScripts returns the scripts among the words of sed, and the word that names a file of more.
func sedScripts(argv []string) (scripts []sedScript, file string) {
	var operands []sedScript
	edits, ended := false, false
	for i := 1; i < len(argv); i++ {
		word := argv[i]
		name, value, has := strings.Cut(word, "=")
		switch {
		case ended || len(word) < 2 || word[0] != '-':
			operands = append(operands, sedScript{word, i})
			continue
		case word == "--":
			ended = true
			continue
		case len(name) > 2 && strings.HasPrefix("--expression", name):
		case len(name) > 2 && strings.HasPrefix("--file", name):
			file = word
			continue
		case len(name) > 2 && strings.HasPrefix("--line-length", name):
			if !has {
				i++
			}
			continue
		case strings.HasPrefix(word, "--"):
			continue
		default:
			at := strings.IndexAny(word, "efil")
			if at < 0 {
				continue
			}
			switch word[at] {
			case 'f':
				file = word
				continue
			case 'i': // what is joined to it is a suffix
				edits = true
				continue
			case 'l':
				if at == len(word)-1 {
					i++
				}
				continue
			}
			value, has = word[at+1:], at+1 < len(word)
		}
		script := sedScript{value, -1}
		if !has {
			if i++; i == len(argv) {
				break
			}
			script = sedScript{argv[i], i}
		}
		scripts = append(scripts, script)
	}
	if len(scripts) == 0 && len(operands) > 0 {
		scripts = operands[:1]
		if edits && len(operands) > 1 && operands[0].text == "" {
			scripts = operands[:2] // -i '' of BSD takes a suffix as a word of its own
		}
	}
	return scripts, file
}

// client says how a database's client is told what to do.
type client struct {
	values  string         // one-letter options that take a value
	given   string         // one-letter options by which it does not read its input
	long    []string       // words for the same
	loads   []string       // options that read more of its commands, or run a program
	takes   []string       // other words that take the next one
	operand int            // how many operands say it all; 0 when none do
	escapes *regexp.Regexp // what in a statement runs a command, loads code or opens a file
}

// databases are clients whose scripts can run commands of a shell (from the manuals of sqlite3, psql and mysql).
var databases = map[string]client{
	"sqlite3": {
		operand: 2, loads: []string{"init"}, escapes: regexp.MustCompile(`(?i)\b(edit|load_extension|writefile|readfile)\s*\(|\||\\!`),
		takes: []string{"separator", "newline", "nullvalue", "maxsize", "mmap", "heap", "vfs", "escape", "zip"},
	},
	"duckdb": {
		operand: 2, long: []string{"c", "s"}, loads: []string{"init"}, takes: []string{"separator", "newline", "nullvalue"},
		escapes: regexp.MustCompile(`(?i)\b(edit|load|install|shellfs)\b|\|`),
	},
	"psql": {
		values: "cdfFhLopPRTUv", given: "lV?", long: []string{"command", "list", "version", "help"}, loads: []string{"file"},
		escapes: regexp.MustCompile(`(?i)\bprogram\b|[\\|]`),
	},
	"mysql":   mysqlClient,
	"mariadb": mysqlClient,
}

var mysqlClient = client{
	values: "ehDPSup", given: "V?", long: []string{"execute", "version", "help"}, loads: []string{"pager", "defaults-", "init-command", "plugin-dir"},
	escapes: regexp.MustCompile(`(?i)(^|;)\s*(system|pager|source)\s|[\\|]`),
}

// harmlessDot is what the commands of sqlite3 are mostly used for.
var harmlessDot = regexp.MustCompile(`^\.(tables?|schema|mode|headers?|dump|index(es)?|indices|databases|quit|exit|timeout|width|separator|nullvalue|` +
	`stats|timer|echo|bail|changes|fullschema|show|help|version|dbinfo|eqp|explain|lint|limit)\b[^|]*$`)

// database looks for the escapes to a shell in what a client is given, and for input that may hold some.
func (r *reader) database(argv []string, c client) {
	given, operands := false, 0
	begins := func(name string) func(string) bool {
		return func(option string) bool {
			return len(name) > 2 && strings.HasPrefix(option, name) || strings.HasPrefix(name, option)
		}
	}
	for i := 1; i < len(argv); i++ {
		word := argv[i]
		if c.escaped(word) {
			r.doubts(word)
			r.text(word)
		}
		if len(word) < 2 || word[0] != '-' {
			operands++
			continue
		}
		name, _, has := strings.Cut(strings.TrimLeft(word, "-"), "=")
		cluster := c.values != "" && word[1] != '-'
		at := strings.IndexAny(name, c.values+c.given)
		switch {
		case !cluster && slices.ContainsFunc(c.loads, begins(name)):
			r.doubts(word)
			r.text(strings.Join(argv[i:], " "))
		case !cluster && slices.ContainsFunc(c.long, begins(name)):
			given = true
		case !cluster && !has && slices.Contains(c.takes, name):
			i++
		case cluster && at >= 0 && name[at] == 'f':
			r.doubts(word)
		case cluster && at >= 0:
			if joined := name[at+1:]; c.escaped(joined) {
				r.doubts(word)
				r.text(joined)
			}
			given = given || strings.IndexByte("ce"+c.given, name[at]) >= 0
			if at == len(name)-1 && strings.IndexByte(c.values, name[at]) >= 0 && name[at] != 'p' && i+1 < len(argv) {
				i++
				if c.escaped(argv[i]) {
					r.doubts(argv[i])
					r.text(argv[i])
				}
			}
		}
	}
	if !given && (c.operand == 0 || operands < c.operand) {
		r.doubts(argv[0])
	}
}

// escaped reports whether a word holds an escape of a client.
func (c client) escaped(word string) bool {
	return c.escapes.MatchString(word) || slices.ContainsFunc(strings.Split(word, "\n"), func(line string) bool {
		line = strings.TrimSpace(line)
		return c.operand > 0 && len(line) > 1 && line[0] == '.' && isLetter(line[1]) && !harmlessDot.MatchString(line)
	})
}

// runnerOptions are options by which a program otherwise harmless runs a command.
type runnerOptions struct {
	letters  string   // one-letter options, in clusters too
	dashless bool     // the first argument is a cluster even without a dash
	long     []string // options as words, with their dashes; abbreviations count where two dashes begin them
	inside   string   // a text in any argument that names a program; "" for none
	starts   []string // what options begin with to whose names the value is joined
}

// compilerOptions run a program around the compiler, or load code into it.
var compilerOptions = runnerOptions{
	long:   []string{"-wrapper", "-fplugin", "-specs", "--specs", "-Xclang", "-fpass-plugin", "-fuse-ld", "--ld-path"},
	starts: []string{"-B", "@", "-Wl,-plugin", "-Wl,--plugin", "-Wl,@"},
}

// texOptions let a document run commands.
var texOptions = runnerOptions{long: []string{"-shell-escape", "--shell-escape", "-enable-write18", "--enable-write18"}}

// packageOptions hold settings of apt, which name programs.
var packageOptions = runnerOptions{letters: "oc", long: []string{"--option", "--config-file"}}

var runners = map[string]runnerOptions{
	"go":     {long: []string{"-exec", "--exec", "-toolexec", "--toolexec", "-vettool", "--vettool", "-gccgoflags", "--gccgoflags", "-overlay", "--overlay", "-fixtool", "--fixtool", "-w", "--w"}, inside: "extld"},
	"cargo":  {long: []string{"--config"}},
	"tar":    {letters: "IF", dashless: true, long: []string{"--to-command", "--checkpoint-action", "--use-compress-program", "--info-script", "--new-volume-script", "--rsh-command", "--rmt-command"}},
	"bsdtar": {long: []string{"--use-compress-program"}},
	"rsync":  {letters: "e", long: []string{"--rsh", "--rsync-path"}}, "scp": {letters: "SoFD"}, "sftp": {letters: "SoFDb"}, "ssh-keygen": {letters: "D"},
	"sort": {long: []string{"--compress-program"}}, "split": {long: []string{"--filter"}},
	"rg": {long: []string{"--pre", "--hostname-bin"}}, "ag": {long: []string{"--pager"}}, "fd": {letters: "xX", long: []string{"--exec", "--exec-batch"}}, "fdfind": {letters: "xX", long: []string{"--exec", "--exec-batch"}},
	"man": {letters: "PHC", long: []string{"--pager", "--html", "--config-file"}}, "zip": {letters: "T", long: []string{"--unzip-command"}},
	"sqlite3": {long: []string{"-cmd", "--cmd"}}, "npm": {long: []string{"--script-shell"}},
	"gcc": compilerOptions, "g++": compilerOptions, "cc": compilerOptions, "c++": compilerOptions, "clang": compilerOptions, "clang++": compilerOptions,
	"ld": {long: []string{"-plugin", "--plugin"}, starts: []string{"@"}}, "openssl": {long: []string{"-engine", "-provider", "-provider-path"}},
	"tex": texOptions, "latex": texOptions, "pdftex": texOptions, "pdflatex": texOptions, "xelatex": texOptions, "lualatex": texOptions, "luatex": texOptions,
	"latexmk": {long: []string{"-e", "-r", "-latex", "-pdflatex", "-xelatex", "-lualatex", "-shell-escape"}}, "groff": {letters: "U"}, "troff": {letters: "U"}, "pic": {letters: "U"},
	"pandoc": {letters: "FLd", long: []string{"--filter", "--lua-filter", "--pdf-engine", "--defaults"}},
	"cpio":   {long: []string{"--rsh-command"}}, "tcpdump": {letters: "z"}, "rpm": {letters: "E", long: []string{"--eval", "--define", "--pipe"}},
	"apt": packageOptions, "apt-get": packageOptions, "apt-cache": packageOptions, "aptitude": packageOptions,
	"aria2c": {starts: []string{"--on-"}}, "yt-dlp": {starts: []string{"--exec"}, long: []string{"--downloader", "--external-downloader", "--netrc-cmd", "--config-locations", "--plugin-dirs"}},
	"deno": {starts: []string{"data:"}}, "ack": {long: []string{"--pager"}}, "ugrep": {long: []string{"--pager", "--filter", "--view"}}, "exiftool": {long: []string{"-if", "-p", "-config", "-userparam"}},
	"pip": {long: []string{"--python"}}, "pylint": {long: []string{"--init-hook", "--load-plugins"}}, "ctest": {letters: "S", long: []string{"--script", "--build-and-test"}},
	"wget": {letters: "e", long: []string{"--use-askpass", "--execute", "--config"}}, "rustc": {inside: "linker="},
	"hg": {long: []string{"--config"}}, "svn": {long: []string{"--config-option", "--config-dir", "--diff-cmd", "--diff3-cmd", "--editor-cmd"}},
	"jj": {long: []string{"--config", "--config-file"}}, "helm": {long: []string{"--post-renderer"}}, "protoc": {long: []string{"--plugin"}},
	"bazel": {long: []string{"--run_under"}}, "just": {letters: "c", long: []string{"--command", "--shell"}},
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
		found = found || slices.ContainsFunc(options.starts, func(start string) bool { return strings.HasPrefix(word, start) })
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
