package policy

import (
	"slices"
	"strings"
)

// wrapped reads a wrapper's own options and goes on with the command behind them. An option that the table does not
// know could take a value or not: then the command may begin anywhere.
func (r *reader) wrapped(argv []string, w wrapper) {
	if w.appends {
		r.doubts(argv[0])
	}
	r.moves = r.moves || w.moves != "" && slices.ContainsFunc(argv[1:], func(word string) bool {
		return strings.HasPrefix(word, "-") && strings.ContainsAny(word, w.moves) || strings.HasPrefix(word, "--ch")
	})
	i := 1
options:
	for ; i < len(argv); i++ {
		word := argv[i]
		switch {
		case word == "--":
			i++
			break options
		case word == "-" || len(word) == 0 || word[0] != '-':
			break options
		case slices.Contains(w.flags, word):
		case slices.Contains(w.long, word):
			i++
		case strings.HasPrefix(word, "--"):
			name, value, _ := strings.Cut(word, "=")
			if !slices.Contains(w.long, name) {
				r.doubts(word)
				r.loose(append([]string{value}, argv[i+1:]...))
				return
			}
		default:
			takes, known := w.cluster(word[1:])
			if !known {
				r.doubts(word)
				r.loose(append([]string{word[2:]}, argv[i+1:]...))
				return
			}
			if takes {
				i++
			}
		}
	}
	if i < len(argv) && argv[i] == "-" { // env - is env -i
		i++
	}
	for w.assigns && i < len(argv) && strings.Contains(argv[i], "=") {
		r.doubts(argv[i]) // PATH=…, LD_PRELOAD=…, GIT_PAGER=…: a variable can decide what runs
		if _, value, _ := strings.Cut(argv[i], "="); strings.ContainsAny(value, " \t\n;|&") {
			r.script(value)
		}
		i++
	}
	if i += w.operands; i < len(argv) {
		r.command(argv[i:])
	} else if w.shell {
		r.doubts(argv[0])
	}
}

// cluster reads one-letter options and says whether the last one takes the next word, and whether all are known.
func (w wrapper) cluster(letters string) (takesNext, known bool) {
	for i, letter := range letters {
		switch {
		case strings.ContainsRune(w.values, letter):
			return i == len(letters)-1, true
		case !strings.ContainsRune(w.letters, letter):
			return false, false
		}
	}
	return false, true
}

// carrier looks for asks and denies in what docker run and its like are given, by themselves or as the value of an option
// like --entrypoint.
func (r *reader) carrier(argv, subcommands []string) {
	var words []string
	for _, word := range argv {
		if option, value, has := strings.Cut(word, "="); has && strings.HasPrefix(word, "--") {
			words = append(words, option, value)
			continue
		}
		words = append(words, word)
	}
	argv = words
	for i, word := range argv[1:] {
		if strings.HasPrefix(word, "-") {
			continue
		}
		wrapper := r.wrapper
		switch {
		case subcommands == nil:
			r.loose(argv[i+1:])
		case slices.Contains(subcommands, word):
			r.loose(argv[i+2:])
		default:
			continue // the value of an option, or another subcommand
		}
		if r.doubt == "" {
			r.wrapper = wrapper
		}
		return
	}
}

// find reads the actions of find that run or delete.
func (r *reader) find(argv []string) {
	for i := 1; i < len(argv); i++ {
		switch word := argv[i]; word {
		case "-exec", "-execdir", "-ok", "-okdir":
			r.wraps(word)
			r.moves = r.moves || strings.HasSuffix(word, "dir")
			end := i + 1
			for end < len(argv) && argv[end] != ";" && (argv[end] != "+" || argv[end-1] != "{}") {
				end++
			}
			if i+1 < end && strings.Contains(argv[i+1], "{}") {
				r.doubts(argv[i+1])
			}
			r.command(argv[i+1 : end])
			for k := i + 2; k < end; k++ {
				if argv[k] == "+" { // find of BusyBox ends the command here
					r.find(argv[k:end])
					break
				}
			}
			i = end
		case "-delete":
			r.wraps(word)
		case "-fprint", "-fprint0", "-fprintf", "-fls":
			r.wraps(word)
			if i++; i < len(argv) {
				r.parts = append(r.parts, part{act: Write, path: argv[i], mark: word + " "})
			}
		}
	}
}

// make reads the variables and options of make that choose what runs the recipes, or hold what they run.
func (r *reader) make(argv []string) {
	for i := 1; i < len(argv); i++ {
		word := argv[i]
		following := ""
		if i+1 < len(argv) {
			following = argv[i+1]
		}
		name, value, has := strings.Cut(word, "=")
		switch {
		case strings.HasPrefix(word, "--"):
			if !has {
				value = following
			}
			switch long := func(option string) bool { return len(name) > 3 && strings.HasPrefix(option, name) }; {
			case long("--eval"):
				r.doubts(word)
				r.text(value)
			case value == "-" && (long("--file") || long("--makefile")):
				r.doubts(word)
			}
		case strings.HasPrefix(word, "-"):
			r.makeLetters(word, following)
		case has:
			r.makeVariable(word, name, value)
		}
	}
}

// makeLetters reads one-letter options of make: code, and a makefile from its input.
func (r *reader) makeLetters(word, following string) {
	at := strings.IndexAny(word, "ECfIoWjlO")
	if at < 0 {
		return
	}
	value := word[at+1:]
	if value == "" {
		value = following
	}
	switch {
	case word[at] == 'E':
		r.doubts(word)
		r.text(value)
	case word[at] == 'f' && value == "-":
		r.doubts(word)
	}
}

// makeVariable reads a variable that make is given: recipes run what it holds.
func (r *reader) makeVariable(word, name, value string) {
	shell := strings.HasSuffix(name, "!") // its value is a command
	switch strings.TrimSpace(strings.TrimRight(name, ":+?!")) {
	case "SHELL", ".SHELLFLAGS", "MAKE", "MAKEFLAGS", "GNUMAKEFLAGS", "MAKEFILES":
		shell = true
	}
	if !shell && !strings.ContainsAny(value, " \t\n;|&<>$`/") {
		return
	}
	r.doubts(word)
	r.text(value)
}
