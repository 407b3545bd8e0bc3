package policy

import (
	"path"
	"slices"
	"strings"
)

// gitHarmless lists the options before Git's subcommand that neither move the repository nor run anything. All others
// (-c, --config-env, -C, --git-dir, --work-tree, --exec-path, -p, --paginate, --namespace …) make an allow insufficient.
var gitHarmless = set("--version", "-v", "--help", "-h", "--html-path", "--man-path", "--info-path", "--no-pager", "-P",
	"--no-replace-objects", "--no-lazy-fetch", "--no-optional-locks", "--no-advice", "--literal-pathspecs",
	"--glob-pathspecs", "--noglob-pathspecs", "--icase-pathspecs")

// gitValues lists the options before the subcommand that take the next word.
var gitValues = set("-c", "-C", "--git-dir", "--work-tree", "--namespace", "--config-env", "--exec-path", "--super-prefix",
	"--attr-source", "--list-cmds")

// gitOptions lists the long options of subcommands that run a program or write where they say. Git takes abbreviations.
var gitOptions = []string{
	"--output", "--ext-diff", "--exec", "--upload-pack", "--receive-pack", "--open-files-in-pager", "--extcmd", "--tool",
	"--config", "--template", "--output-directory", "--smtp-server", "--sendmail-cmd", "--editor", "--gpg-program", "--web",
}

// gitLetters lists the one-letter options of the same kind; their meaning depends on the subcommand.
var gitLetters = map[string]string{
	"grep": "O", "rebase": "x", "difftool": "xt", "mergetool": "t", "clone": "uc", "archive": "o", "format-patch": "o", "help": "w",
}

// gitRunners lists subcommands that run what their arguments or the configuration hold.
var gitRunners = set("filter-branch", "difftool", "mergetool", "for-each-repo", "credential", "daemon", "instaweb",
	"send-email", "shell", "hook", "config", "upload-pack", "receive-pack", "upload-archive", "http-backend", "citool", "gui",
	"svn", "p4", "cvsserver", "remote-ext", "remote-fd", "web--browse", "merge-index", "maintenance", "imap-send", "filter-repo",
	"credential-store", "credential-cache", "difftool--helper", "cvsimport", "cvsexportcommit", "archimport", "quiltimport")

// git reads Git's command line.
func (r *reader) git(argv []string) {
	i := 1
	for ; i < len(argv) && strings.HasPrefix(argv[i], "-"); i++ {
		word := argv[i]
		if gitHarmless[word] {
			continue
		}
		r.wraps(word)
		name, value, has := strings.Cut(word, "=")
		r.moves = true
		if !has && gitValues[name] {
			if i++; i == len(argv) {
				return
			}
			value = argv[i]
		}
		switch name {
		case "-c":
			r.gitConfig(value, argv[i+1:])
		case "--config-env", "--exec-path":
			r.doubts(word)
		}
	}
	if i < len(argv) {
		r.gitSubcommand(argv[i], argv[i+1:])
	}
}

// gitConfig reads key=value of -c: nearly any value can name a program, and an alias is a command.
func (r *reader) gitConfig(setting string, rest []string) {
	r.doubts(setting)
	key, value, _ := strings.Cut(setting, "=")
	name, isAlias := strings.CutPrefix(strings.ToLower(key), "alias.")
	script, isShell := strings.CutPrefix(value, "!")
	switch {
	case isAlias && isShell:
		r.script(script)
	case isAlias && len(rest) > 0 && strings.EqualFold(rest[0], name):
		r.command(slices.Concat([]string{"git"}, splitWords(value), rest[1:]))
	default:
		r.text(value)
	}
}

// gitSubcommand reads a subcommand's options.
func (r *reader) gitSubcommand(name string, args []string) {
	operand, behind := "", 0
	for behind < len(args) && operand == "" {
		if !strings.HasPrefix(args[behind], "-") {
			operand = args[behind]
		}
		behind++
	}
	switch {
	case gitRunners[name]:
		r.doubts(name)
		for _, arg := range args {
			if strings.ContainsAny(arg, " \t\n") {
				r.text(arg)
			}
		}
	case name == "bisect" && operand == "run", name == "submodule" && operand == "foreach":
		r.doubts(name + " " + operand)
		r.loose(args[behind:])
	}
	for i, arg := range args {
		if arg == "--" {
			return
		}
		option, value, has := strings.Cut(arg, "=")
		long := len(option) > 2 && strings.HasPrefix(option, "--") && slices.ContainsFunc(gitOptions, func(o string) bool {
			return strings.HasPrefix(o, option)
		})
		letter := len(arg) > 1 && arg[0] == '-' && arg[1] != '-' && strings.ContainsAny(arg[1:], gitLetters[name])
		switch {
		case long || letter:
			r.wraps(arg)
			if has {
				r.text(value)
			}
			if letter {
				r.text(arg[2:]) // a value may be joined to it
			}
			if i+1 < len(args) {
				r.text(args[i+1])
			}
		case strings.Contains(arg, "ext::"):
			r.doubts(arg)
			r.text(arg[strings.Index(arg, "ext::")+len("ext::"):])
		}
	}
}

// isGo reports whether a program of this name is go's command.
func isGo(name string) bool { return name == "go" || strings.HasPrefix(name, "go1.") }

// stamps reports whether a command is one of go's that runs git status and git log, to write down in the program what it
// was built from, and in which directory.
func (b *Boundary) stamps(dir string, argv []string) (string, bool) {
	if !isGo(path.Base(argv[0])) {
		return "", false
	}
	subcommand, stamped := "", true
	for i := 1; i < len(argv); i++ {
		name, value, has := strings.Cut(argv[i], "=")
		switch name {
		case "-C", "--C":
			if !has && i+1 < len(argv) {
				i++
				value = argv[i]
			}
			if rel, inside := b.within(value); inside {
				dir, value = "", rel
			}
			dir = path.Join(dir, value)
		case "-buildvcs", "--buildvcs":
			stamped = value != "false"
		default:
			if subcommand == "" {
				subcommand = argv[i]
			}
		}
	}
	return dir, stamped && (subcommand == "build" || subcommand == "install" || subcommand == "list")
}
