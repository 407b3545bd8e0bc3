package policy

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// runsCode lists programs beside interpreters that run what files of the workspace say, which an agent can write.
var runsCode = set("make", "gmake", "ninja", "npm", "pnpm", "yarn", "npx", "bunx", "uvx", "go", "cargo", "just", "rake", "ant", "gradle", "mvn")

// grantedCommand looks at an allow of a command.
func (l *linter) grantedCommand() {
	match := l.rule.Match
	first := match[0]
	rest := len(match) > 1 && match[len(match)-1] == "*"
	name := programName(first)
	_, interprets := interpreters[name]
	a := Action{Act: Exec, Argv: exampleWords(match)}
	if a.Argv == nil || l.tool() {
		return
	}
	v := l.b.Explain(a)
	runs := readCommand(a.Argv, a.Input, nil)
	switch {
	case first == "*":
		l.wide(Action{Act: Exec, Argv: []string{"curl", "-T", "main.go", "https://host.example"}}, "it allows every command that does not run another one", "name the commands")
	case v.Effect == Ask && runs.wrapper != "":
		l.show(a, v, fmt.Sprintf("%s runs what it is given, so this allow asks nevertheless", quoted(first)), "allow the commands themselves")
	case interprets && (rest || len(match) == 1):
		a.Argv = []string{a.Argv[0], "script"}
		l.wide(a, fmt.Sprintf("%s runs the code of any file, and an agent can write files", quoted(first)), "write the script into the rule, and deny writing it")
	case runsCode[name] && len(match) == 2 && rest:
		l.wide(a, fmt.Sprintf("%s runs what files of the workspace say, and an agent can write files", quoted(first)), "allow the subcommands that the task needs")
	case strings.ContainsAny(first, "*?["):
		l.wideProgram(first)
	case strings.Contains(first, "/") && strings.HasPrefix(rootedProgram(first, l.b.root, l.b.realRoot), "./"):
		file := strings.TrimPrefix(rootedProgram(first, l.b.root, l.b.realRoot), "./")
		l.wide(Action{Act: Write, Path: file}, "the agent may change the program that this runs", "deny writing it: act = \"write\", match = "+quoted("./"+file))
	}
	if last := match[len(match)-1]; len(match) > 1 && len(last) > 1 && strings.HasSuffix(last, "*") && !strings.HasSuffix(last, `\*`) {
		a := Action{Act: Exec, Argv: append(exampleWords(match), "more")}
		if v := l.b.Explain(a); v.Effect != Allow {
			l.show(a, v, quoted(last)+" covers one word", "write a * by itself behind it to allow what follows")
		}
	}
	if first == "*" || strings.ContainsAny(first, `/*?[\`) {
		return
	}
	if file, err := l.find(first); err != nil {
		l.warn("no program of that name is on PATH here, so it allows nothing here", "correct the name, or write the program's path")
	} else if rel, inside := l.b.within(file); inside {
		l.warn(fmt.Sprintf("PATH finds it in the workspace (%s), so it allows nothing", quoted(rel)), "write it as the path "+quoted("./"+rel))
	}
}

// tool reports whether the rule is about a tool of an MCP server.
func (l *linter) tool() bool { return strings.HasPrefix(l.rule.Match[0], "mcp__") }

// wideProgram tries an allow whose program is a pattern with another program.
func (l *linter) wideProgram(first string) {
	argv := exampleWords(l.rule.Match)
	if glob, err := compileWord(first); err == nil && glob.match(argv[0]+"-other") {
		argv[0] += "-other"
	}
	l.wide(Action{Act: Exec, Argv: argv}, "it allows every program with such a name", "write the program's name")
}

// stoppedCommand looks for spellings of a command that an ask or a deny does not know.
func (l *linter) stoppedCommand() {
	argv := exampleWords(l.rule.Match)
	if argv == nil || l.tool() {
		return
	}
	if v := l.b.Explain(Action{Act: Exec, Argv: argv}); v.Effect.rank() < l.rule.Effect.rank() {
		return // it is about words that no command like this has
	}
	seen := map[string]bool{}
	for _, s := range spellingsOf(l.rule.Match, argv) {
		a := Action{Act: Exec, Argv: s.argv}
		v := l.b.Explain(a)
		if seen[s.kind] || v.Effect.rank() >= l.rule.Effect.rank() || s.always && (v.Effect != Allow || len(seen) > 0) {
			continue
		}
		seen[s.kind] = true
		l.show(a, v, s.text, s.instead)
	}
	if len(seen) > 0 {
		return
	}
	var bound []string
	for i, word := range argv[1:] {
		isWord := len(word) > 2 && slices.Contains(singleDash, path.Base(argv[0])) // such a program has one name for it
		if strings.HasPrefix(word, "-") && word != "-" && word != "--" && !isWord && !wellKnown(readFlag(l.rule.Match[i+1])) && namesOf(argv, word) == nil {
			bound = append(bound, quoted(l.rule.Match[i+1]))
		}
	}
	if len(bound) > 0 {
		l.warn(fmt.Sprintf("it knows %s in this spelling only; other names that %s may have for it are not known here",
			strings.Join(bound, ", "), quoted(path.Base(argv[0]))), "add a rule for each other name, or stop the subcommand whatever its options")
	}
}

// variant is another way to write a command that a rule is about.
type variant struct {
	argv    []string
	kind    string // one warning for each
	text    string // what the rule misses
	instead string
	always  bool // every rule misses it, which only matters where it is allowed
}

// spellingsOf lists other ways to write a command: argv is the example for match.
func spellingsOf(match, argv []string) []variant {
	var out []variant
	add := func(kind, text, instead string, words ...string) {
		out = append(out, variant{argv: words, kind: kind, text: text, instead: instead})
	}
	words := slices.Contains(singleDash, path.Base(argv[0]))
	program := path.Base(argv[0])
	for i := 1; i < len(argv); i++ {
		with := func(words ...string) []string { return slices.Concat(argv[:i], words, argv[i+1:]) }
		word := argv[i]
		for _, other := range namesOf(argv, word) {
			add("name", fmt.Sprintf("it does not know %s, which means the same as %s or worse", quoted(other), quoted(word)),
				"add a rule for each such name, or stop the subcommand whatever its options", with(strings.Fields(other)...)...)
		}
		if len(word) < 2 || word[0] != '-' || word == "--" {
			continue
		}
		text := quoted(word) + " is known in this spelling only"
		name, value, has := strings.Cut(word, "=")
		switch {
		case has:
			add("option", text, "leave the value out: "+quoted(name), with(name, value)...)
		case strings.HasPrefix(word, "--"):
			add("option", text, "write the option without a value", with(word+"=x")...)
		case words:
			add("option", text, "write the option without a value", with("-"+word)...)
			add("option", text, "write the option without a value", with(word+"=x")...)
		default:
			letters := strings.Split(word[1:], "")
			apart := make([]string, len(letters))
			for k, letter := range letters {
				apart[k] = "-" + letter
			}
			slices.Reverse(letters)
			add("option", text, "write its letters as one option without a value", with("-"+strings.Join(letters, ""))...)
			add("option", text, "write its letters as one option without a value", with(apart...)...)
			add("option", text, "write its letters as one option without a value", with(word+"x")...)
		}
		add("order", "it does not know the option behind the other arguments", "write the option as a word of its own",
			slices.Concat(argv[:i], argv[i+1:], []string{word})...)
	}
	if strings.Contains(match[0], "/") {
		add("path", "it knows the program by this path only", "write "+quoted(program), slices.Concat([]string{"/opt/bin/" + program}, argv[1:])...)
	}
	out = append(out, variant{
		argv: slices.Concat([]string{"./copy-of-" + program}, argv[1:]), always: true, kind: "copy",
		text: fmt.Sprintf("a copy of %s or a script goes by another name, and nobody is asked", quoted(program)), instead: "let commands ask by default",
	})
	return out
}

// namesOf lists the words that mean the same as a word of a command.
func namesOf(argv []string, word string) []string {
	program := path.Base(argv[0])
	names := otherNames[program][word]
	if len(argv) > 1 {
		names = slices.Concat(names, otherNames[program+" "+argv[1]][word])
	}
	return names
}

// otherNames lists, by program or program and subcommand, and by word, words that mean the same or worse and that no
// table of letters tells.
var otherNames = map[string]map[string][]string{
	"git branch": {"-D": {"--delete --force"}, "-d": {"--delete"}},
	"git push":   {"--force": {"--force-with-lease", "origin +main"}, "-f": {"--force-with-lease", "origin +main"}, "-d": {"--delete", "origin :main"}, "--delete": {"-d", "origin :main"}},
	"git commit": {"-n": {"--no-verify"}, "--no-verify": {"-n"}, "-a": {"--all"}},
	"curl":       {"-o": {"--output"}, "-O": {"--remote-name"}, "-d": {"--data"}, "-T": {"--upload-file"}, "-k": {"--insecure"}, "-X": {"--request"}, "--data": {"-d"}},
	"wget":       {"-O": {"--output-document"}, "--post-file": {"--body-file"}},
	"kill":       {"-9": {"-KILL", "-s KILL"}, "-KILL": {"-9"}},
	"pkill":      {"-9": {"-KILL", "--signal KILL"}},
	"chmod":      {"777": {"0777", "a+rwx"}},
	"npm":        {"-g": {"--global", "--location=global"}, "--global": {"-g"}, "install": {"i", "add"}, "publish": {"publ"}, "uninstall": {"rm"}, "exec": {"x"}, "run": {"run-script"}},
	"pnpm":       {"install": {"i"}, "exec": {"x"}},
	"pip":        {"-U": {"--upgrade"}},
	"cargo":      {"run": {"r"}, "build": {"b"}, "test": {"t"}},
	"docker":     {"-v": {"--volume", "--mount"}, "-e": {"--env"}, "--privileged": {"--cap-add=ALL"}},
	"podman":     {"-v": {"--volume", "--mount"}, "--privileged": {"--cap-add=ALL"}},
	"kubectl":    {"-n": {"--namespace"}},
	"sed":        {"-i": {"--in-place"}},
	"tar":        {"-x": {"--extract", "--get"}, "-C": {"--directory"}},
	"find":       {"-delete": {"-exec unlink {} ;"}},
	"sysctl":     {"-w": {"--write"}},
	"systemctl":  {"stop": {"kill"}},
}

// wellKnown reports whether every spelling of an option is known.
func wellKnown(f *flagWord) bool {
	if f == nil {
		return false
	}
	if f.long != "" {
		return f.long == "--recursive" || f.long == "--force"
	}
	return strings.Trim(f.letters, "rRf") == ""
}
