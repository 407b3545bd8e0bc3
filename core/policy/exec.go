package policy

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
)

// command is a command to judge.
type command struct {
	argv    []string
	dir     string // relative to the workspace
	input   string // what it reads
	program program
}

// exec judges a command or a registered tool.
func (b *Boundary) exec(a Action) Verdict {
	if problem := malformed(a.Argv); problem != "" {
		return Verdict{Effect: Deny, Layer: CommandLayer, Part: problem}
	}
	if a.Tool {
		c := command{argv: a.Argv, program: program{given: a.Argv[0], tool: true}}
		v := b.plain(c)
		v.Repeat = b.repeats(c, v)
		return v
	}
	forms, out := b.locate("", a.Dir)
	if out != nil {
		return Verdict{Effect: Deny, Layer: WorkspaceLayer, Part: out.part}
	}
	c := command{argv: a.Argv, dir: forms[0], input: a.Input, program: b.findProgram(forms[0], a.Argv[0])}
	v := b.plain(c)
	v.Repeat = b.repeats(c, v)
	return b.lookThrough(v, c)
}

// malformed says why words are no command.
func malformed(argv []string) string {
	if len(argv) == 0 || argv[0] == "" {
		return "no program is named"
	}
	if i := slices.IndexFunc(argv, func(s string) bool { return strings.ContainsRune(s, 0) }); i >= 0 {
		return fmt.Sprintf("word %d holds a NUL byte", i+1)
	}
	return ""
}

// plain judges a command by its own words.
func (b *Boundary) plain(c command) Verdict {
	names := c.program.names()
	return b.decide(Exec, func(r *rule) (string, string, bool) {
		if r.effect == Allow {
			return r.text, "", r.command.allows(c.program, c.argv[1:], b.lookup)
		}
		return r.text, "", r.command.stops(names, c.argv[1:], b.folds)
	})
}

// repeats reports whether a rule that is not a deny says that the command may run again. An ask that holds because its
// words lie scattered in the command does not: it was written with another command in mind.
func (b *Boundary) repeats(c command, v Verdict) bool {
	return v.Effect != Deny && slices.ContainsFunc(b.rules, func(r *rule) bool {
		return r.repeat && r.effect != Deny && r.act == Exec && r.command.allows(c.program, c.argv[1:], b.lookup)
	})
}

// lookThrough makes a verdict as strict as what the command runs besides itself asks for. The operator's own command,
// allowed by the contract's layer, is stopped by a rule only.
func (b *Boundary) lookThrough(v Verdict, c command) Verdict {
	if v.Effect == Deny {
		return v
	}
	contract := false
	if v.Effect == Allow && c.input == "" { // which a check has none of
		if text, ok := b.contracted(c); ok {
			contract, v.Rule, v.Layer = true, text, ContractLayer
		}
	}
	found := readCommand(c.argv, c.input, func(word string) string {
		if real := b.findProgram(c.dir, word).real; real != "" {
			return path.Base(real)
		}
		return ""
	})
	for _, p := range found.parts {
		inner := b.part(c.dir, p)
		if inner.Effect == Allow || contract && inner.Rule == "" {
			continue
		}
		if inner.Part != "" {
			inner.Part = p.text() + " (" + inner.Part + ")"
		} else {
			inner.Part = p.text()
		}
		v = stricter(v, inner)
	}
	if contract {
		return v
	}
	if found.wrapper != "" {
		v.Repeat = false // the rule cannot have known what this runs
	}
	word := b.reason(found, c, v)
	switch {
	case word == "":
	case v.Effect == Allow:
		return Verdict{Effect: Ask, Layer: CommandLayer, Part: word}
	case v.Effect == Ask && v.Rule == "" && v.Part == "":
		v.Part = word
	}
	return v
}

// reason returns the word for which an allow is not enough, "" when it is. Where every command is allowed by default the
// only question is whether something a rule speaks of could hide in this one.
func (b *Boundary) reason(found reading, c command, v Verdict) string {
	if b.unrestricted() {
		return ""
	}
	if c.program.real != "" && c.program.real == b.binary {
		return c.argv[0] // the program itself runs commands under another policy
	}
	settings := b.settings(found, c)
	if b.policy.Defaults.Of(Exec) == Allow {
		if found.doubt != "" {
			return found.doubt
		}
		return cmp.Or(settings, b.protectedArgument(c))
	}
	switch {
	case c.program.inside && !c.program.spelled:
		return c.program.file // PATH leads into the workspace
	case settings != "":
		return settings
	case found.doubt != "":
		return found.doubt
	case found.wrapper != "":
		return found.wrapper
	case v.Effect == Allow && c.input != "":
		return inputPart // a script, a patch, names of files: no rule knows it
	case v.Effect == Allow:
		return b.strayArgument(c)
	}
	return ""
}

// inputPart is what a verdict calls what a command reads.
const inputPart = "its input"

// settings says what in the workspace's own repository or the home of commands makes a command, or one that it runs,
// start more than it names.
func (b *Boundary) settings(found reading, c command) string {
	commands := [][]string{c.argv}
	for _, p := range found.parts {
		if p.path == "" {
			commands = append(commands, p.argv)
		}
	}
	for _, argv := range commands {
		if dir, ok := b.stamps(c.dir, argv); ok {
			if why := b.gitSettings(dir, []string{"git", "status"}); why != "" {
				return why
			}
		}
		if slices.ContainsFunc(argv, func(word string) bool { return isGo(path.Base(word)) }) {
			if why := b.goSettings(); why != "" {
				return why
			}
		}
		at := slices.IndexFunc(argv, func(word string) bool { return path.Base(word) == "git" })
		if at < 0 {
			continue
		}
		if why := b.gitSettings(c.dir, argv[at:]); why != "" {
			return why
		}
	}
	return ""
}

// contracted returns the rule by which the contract's layer allows a command, whichever other layers do.
func (b *Boundary) contracted(c command) (string, bool) {
	for _, r := range b.rules {
		if r.layer == ContractLayer && r.act == Exec && r.effect == Allow && r.command.allows(c.program, c.argv[1:], b.lookup) {
			return r.text, true
		}
	}
	return "", false
}

// part judges something a command runs or opens besides itself.
func (b *Boundary) part(dir string, p part) Verdict {
	switch {
	case p.path != "":
		return b.path(p.act, dir, p.path)
	case p.loose:
		return b.anywhere(p.argv)
	}
	return b.plain(command{argv: p.argv, dir: dir, program: b.findProgram(dir, p.argv[0])})
}

// anywhere judges words of which any may be a program: only an ask or a deny says something about them.
func (b *Boundary) anywhere(words []string) Verdict {
	fits := func(r *rule) (string, string, bool) {
		// The first word that can be the program leaves the most words for the rest of the rule.
		for i, word := range words {
			names := []string{word, path.Base(word)}
			if r.command.program.stops(names, b.folds) {
				return r.text, "", r.command.stops(names, words[i+1:], b.folds)
			}
		}
		return "", "", false
	}
	v, ok := b.ruled(Exec, Deny, false, fits)
	for _, narrows := range []bool{false, true} {
		if !ok {
			v, ok = b.ruled(Exec, Ask, narrows, fits)
		}
	}
	if !ok {
		return Verdict{Effect: Allow}
	}
	return v
}

// strayArgument returns the argument that names a place outside the workspace, or something that the policy denies to
// read or the built-in layer to write. An argument that begins with ~ or a variable may be such a place.
func (b *Boundary) strayArgument(c command) string {
	code := scriptWords(c.argv)
	for i, arg := range c.argv[1:] {
		if slices.Contains(code, i+1) {
			continue
		}
		for _, candidate := range pathsIn(arg) {
			if b.strays(c.dir, candidate) {
				return arg
			}
		}
	}
	return ""
}

// scriptWords lists the words of a command that are scripts of sed, which open no file: /from/,/to/p is no path.
func scriptWords(argv []string) []int {
	if programName(argv[0]) != "sed" {
		return nil
	}
	scripts, _ := sedScripts(argv)
	var words []int
	for _, script := range scripts {
		if harmlessSed.MatchString(script.text) {
			words = append(words, script.at)
		}
	}
	return words
}

// protectedArgument returns the argument that names something in the workspace that a rule denies to read or the built-in
// layer to write. Where every command is allowed by default, places outside are what the operator wanted.
func (b *Boundary) protectedArgument(c command) string {
	for _, arg := range c.argv[1:] {
		for _, candidate := range pathsIn(arg) {
			if len(candidate) > pathMax || strings.IndexByte("~$", candidate[0]) >= 0 {
				continue
			}
			if v := b.path(Read, c.dir, candidate); v.Effect == Deny && v.Layer != "" && v.Layer != WorkspaceLayer {
				return arg
			}
			if v := b.path(Write, c.dir, candidate); v.Effect == Deny && v.Layer == BuiltinLayer {
				return arg
			}
		}
	}
	return ""
}

// pathMax is the length of the longest path (PATH_MAX of Linux): what is longer is text.
const pathMax = 4096

func (b *Boundary) strays(dir, candidate string) bool {
	switch {
	case candidate == "/dev/null":
		return false
	case candidate[0] == '~':
		return true
	case candidate[0] == '$' && len(candidate) > 1:
		c := candidate[1]
		return c == '{' || c == '(' || c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
	case len(candidate) > pathMax:
		return false
	}
	if v := b.path(Read, dir, candidate); v.Effect == Deny && v.Layer != "" {
		return true
	}
	v := b.path(Write, dir, candidate)
	return v.Effect == Deny && v.Layer == BuiltinLayer
}

// pathsIn returns what in an argument could be a path: itself, the value of an option, what stands behind =, : or @ or
// before a :, and what begins like an absolute one or one that climbs behind any of the marks that part values.
func pathsIn(arg string) []string {
	out := []string{arg}
	if strings.HasPrefix(arg, "-") {
		out = nil
		// -o/x, -xf/x: letters, and a value behind them
		at := 1
		for at < len(arg) && (arg[at]|0x20 >= 'a' && arg[at]|0x20 <= 'z' || arg[at] >= '0' && arg[at] <= '9') {
			at++
		}
		if at > 1 && at < len(arg) && strings.IndexByte("/~.$", arg[at]) >= 0 {
			out = append(out, arg[at:])
		}
	}
	if _, value, ok := strings.Cut(arg, "="); ok {
		out = append(out, value)
	}
	if name, value, ok := strings.Cut(arg, ":"); ok && !strings.HasPrefix(value, "//") {
		out = append(out, value)
		if !strings.HasPrefix(arg, "-") {
			out = append(out, name) // FILE:PASSWORD, FILE:LINE
		}
	}
	// -d@FILE, NAME=<FILE and NAME@FILE of curl; what reads one does not expand it.
	for _, mark := range []string{"@", "=<"} {
		_, value, ok := strings.Cut(arg, mark)
		if ok && value != "" && strings.IndexByte("~$", value[0]) < 0 && !strings.ContainsAny(arg, " \t\n") {
			out = append(out, value)
		}
	}
	colons := 0
	for i := 1; i < len(arg); i++ {
		rest := arg[i:]
		if strings.IndexByte("=,:;", arg[i-1]) < 0 || strings.HasPrefix(rest, "//") {
			continue
		}
		if arg[i-1] == ':' && colons < 4 && !strings.ContainsAny(arg, " \t\n") { // :0:file, of Git's index
			colons++
			out = append(out, rest)
		}
		if strings.IndexByte("/~$", rest[0]) < 0 && !strings.HasPrefix(rest, "..") {
			continue
		}
		rest = rest[:min(len(rest), pathMax+1)]
		if end := strings.IndexAny(rest, ",;:"); end > 0 {
			rest = rest[:end]
		}
		out = append(out, rest)
	}
	for _, prefix := range []string{"@", "file://"} {
		for _, s := range slices.Clone(out) {
			if len(s) > len(prefix) && strings.EqualFold(s[:len(prefix)], prefix) {
				out = append(out, s[len(prefix):])
			}
		}
	}
	return slices.DeleteFunc(out, func(s string) bool { return s == "" })
}
