package policy

import (
	"cmp"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// gitReads lists subcommands that run no hook but those of readHooks: most only read, but branch, tag, remote and reflog
// also change references, and a remote is fetched from by its update.
var gitReads = set("status", "log", "diff", "show", "rev-parse", "rev-list", "ls-files", "ls-tree", "blame", "annotate", "describe",
	"shortlog", "grep", "cat-file", "show-ref", "for-each-ref", "branch", "tag", "remote", "reflog", "merge-base", "name-rev", "diff-tree",
	"diff-index", "diff-files", "check-ignore", "check-attr", "var", "version", "help", "count-objects", "whatchanged", "range-diff", "cherry")

// readHooks are the hooks that a subcommand of gitReads can run.
var readHooks = set("post-index-change", "reference-transaction", "pre-auto-gc")

// gitPrograms lists settings of a repository by which Git runs a program, or reads settings from elsewhere; a star is any
// subsection. From git-config(1), gitattributes(5) and gitcredentials(7).
var gitPrograms = []string{
	"core.fsmonitor", "core.pager", "core.editor", "core.sshcommand", "core.gitproxy", "core.askpass", "core.alternaterefscommand",
	"core.attributesfile", "core.worktree", "sequence.editor", "gpg.program", "gpg.*.program", "diff.external", "diff.*.command", "diff.*.textconv",
	"filter.*.clean", "filter.*.smudge", "filter.*.process", "merge.*.driver", "pager.*", "credential.helper", "credential.*.helper",
	"include.path", "includeif.*.path", "remote.*.uploadpack", "remote.*.receivepack", "remote.*.vcs", "remote.*.proxy", "protocol.allow", "protocol.*.allow",
	"interactive.difffilter", "difftool.*.cmd", "difftool.*.path", "mergetool.*.cmd", "mergetool.*.path", "submodule.*.update",
	"tar.*.command", "guitool.*.cmd", "imap.tunnel", "gpg.*.defaultkeycommand", "hook.*.command", "gc.recentobjectshook",
	"lfs.*.path", "lfs.*.clean", "lfs.*.smudge", "uploadpack.packobjectshook", "trailer.*.command", "trailer.*.cmd", "browser.*.cmd", "browser.*.path", "man.*.cmd", "man.*.path",
}

// gitSettings says what in the repository of a directory makes Git run something that the command does not name: a
// setting of the repository or a hook of it, or a setting that an earlier command left at home. It is "" for nothing.
// Whoever made the workspace made its .git.
func (b *Boundary) gitSettings(dir string, argv []string) string {
	hooks := "" // as the home of commands names them
	for _, file := range b.homeFiles(".gitconfig", ".config/git/config") {
		setting, path := gitSetting(file, argv)
		if setting != "" {
			return b.gitShown(file) + ": " + setting
		}
		hooks = cmp.Or(hooks, path) // of the two files the first one counts
	}
	for _, place := range b.gitPlaces(dir) {
		if why := b.gitSettingsOf(place, argv, hooks); why != "" {
			return why
		}
		modules, ok := gitModules(place)
		if !ok {
			return b.gitShown(filepath.Join(place.repository, "index")) + ": its submodules cannot be found out"
		}
		for _, module := range modules {
			if why := b.gitSettingsOf(module, argv, hooks); why != "" {
				return why
			}
		}
	}
	return ""
}

// gitSettingsOf is gitSettings for one repository and its work tree. named is where hooks are without a word of its own, ""
// for the usual place.
func (b *Boundary) gitSettingsOf(place gitPlace, argv []string, named string) string {
	common := place.common()
	hooks := filepath.Join(common, "hooks")
	if named != "" {
		hooks = inDir(place.at, named)
	}
	for _, file := range []string{filepath.Join(common, "config"), filepath.Join(place.repository, "config.worktree")} {
		setting, path := gitSetting(file, argv)
		if setting != "" {
			return b.gitShown(file) + ": " + setting
		}
		if path != "" {
			hooks = inDir(place.at, path)
		}
	}
	if name := gitHook(hooks, gitReads[subcommandOf(argv)]); name != "" {
		return b.gitShown(filepath.Join(hooks, name))
	}
	return ""
}

// gitShown is a file for people.
func (b *Boundary) gitShown(file string) string {
	if rel, ok := below(b.realRoot, file); ok {
		return rel
	}
	if rel, ok := below(b.commands, file); ok && b.commands != "" {
		return "~/" + rel
	}
	return file
}

// homeFiles are files in the home of commands.
func (b *Boundary) homeFiles(names ...string) []string {
	var files []string
	for _, name := range names {
		if b.commands != "" {
			files = append(files, filepath.Join(b.commands, name))
		}
	}
	return files
}

// goSettings says that an earlier command has left settings for go, which can name programs and flags that run them.
func (b *Boundary) goSettings() string {
	for _, file := range b.homeFiles(".config/go/env") {
		if info, err := os.Stat(file); err == nil && (!info.Mode().IsRegular() || info.Size() > 0) {
			return b.gitShown(file)
		}
	}
	return ""
}

// inDir is where a path leads from a directory, links followed: behind a link, .. is not the directory it stands in.
func inDir(dir, path string) string {
	if !filepath.IsAbs(path) {
		path = dir + "/" + path
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return filepath.Clean(path)
}

// gitPlace is a directory of the workspace that Git could take for a work tree, and its .git.
type gitPlace struct{ at, repository string }

// common is the directory that the worktrees of a repository share.
func (p gitPlace) common() string {
	if path, ok := readGitPath(filepath.Join(p.repository, "commondir")); ok {
		return inDir(p.repository, path)
	}
	return p.repository
}

// placeAt returns the repository that a directory's .git is or names.
func placeAt(at string) (gitPlace, bool) {
	name := filepath.Join(at, ".git")
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return gitPlace{at, name}, true
	}
	if text, ok := readGitPath(name); ok {
		if path, ok := strings.CutPrefix(text, "gitdir: "); ok {
			return gitPlace{at, inDir(at, path)}, true
		}
	}
	return gitPlace{}, false
}

// readGitPath reads a file that holds a path, as Git does: without line ends behind it and up to a NUL, but with the
// spaces that a directory's name may begin or end with.
func readGitPath(name string) (string, bool) {
	text, ok := readSmall(name)
	text, _, _ = strings.Cut(text, "\x00")
	return strings.TrimRight(text, "\r\n"), ok
}

// gitPlaces lists the repositories at a directory of the workspace and above it, as far as commands see, the nearest first. Git goes on to the
// next one where it does not like what it finds, so all of them count.
func (b *Boundary) gitPlaces(dir string) []gitPlace {
	var places []gitPlace
	for at := filepath.Join(b.realRoot, dir); ; at = filepath.Dir(at) {
		if place, ok := placeAt(at); ok {
			places = append(places, place)
		}
		if isBare(at) {
			places = append(places, gitPlace{at, at})
		}
		if at == b.realRoot && !b.beyond || at == filepath.Dir(at) {
			return places
		}
	}
}

// isBare reports whether Git could take a directory itself for a repository, without a .git. Its HEAD may be a link to a
// branch that has no commit yet, and its objects may lie in the directory that it says it shares.
func isBare(at string) bool {
	if _, err := os.Lstat(filepath.Join(at, "HEAD")); err != nil {
		return false
	}
	info, err := os.Stat(filepath.Join(gitPlace{at, at}.common(), "objects"))
	return err == nil && info.IsDir()
}

// readSmall reads a regular file of at most 64 KiB.
func readSmall(name string) (string, bool) {
	file, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", false
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", false
	}
	text, err := io.ReadAll(io.LimitReader(file, 64<<10))
	return string(text), err == nil
}

// readGitFile reads a file of Git's, nothing of one that cannot be opened: Git reads nothing of it either. It is false for
// what is no regular file, larger than the limit or not to be read to its end.
func readGitFile(name string, limit int64) ([]byte, bool) {
	file, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, true
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > limit {
		return nil, false
	}
	data, err := io.ReadAll(file)
	return data, err == nil
}

// maxGitConfig is the largest settings file that is read; what is larger is taken to run something.
const maxGitConfig = 1 << 20

// gitSetting returns the first setting of a file that runs a program, and the directory of hooks that it names.
func gitSetting(name string, argv []string) (setting, hooks string) {
	text, ok := readGitFile(name, maxGitConfig)
	if !ok {
		return "it cannot be read", ""
	}
	entries, ok := gitEntries(string(text))
	if !ok {
		return "it cannot be read", ""
	}
	for _, e := range entries {
		if e.key == "core.hookspath" {
			if strings.HasPrefix(e.value, "~") || strings.HasPrefix(e.value, "%(") {
				return e.key, "" // a home of its own is where the command runs
			}
			hooks = e.value
			continue
		}
		if gitRuns(e.key, e.value, argv) {
			return e.key, hooks
		}
	}
	return "", hooks
}

// gitRuns reports whether a setting makes Git run a program.
func gitRuns(key, value string, argv []string) bool {
	if name, ok := strings.CutPrefix(key, "alias."); ok {
		name = strings.TrimSuffix(name, ".command") // newer versions name an alias by a subsection
		return slices.ContainsFunc(argv, func(word string) bool { return strings.EqualFold(word, name) })
	}
	harmless := strings.ToLower(value)
	if key == "core.fsmonitor" || strings.HasPrefix(key, "pager.") {
		switch harmless {
		case "true", "false", "1", "0", "yes", "no", "on", "off":
			return false // Git's own
		}
	}
	if strings.HasSuffix(key, ".update") && !strings.HasPrefix(value, "!") {
		return false
	}
	first, last, rest := strings.IndexByte(key, '.'), strings.LastIndexByte(key, '.'), ""
	if first < 0 {
		return false
	}
	rest = key[:first] + key[last:]
	if first != last {
		rest = key[:first] + ".*" + key[last:]
	}
	return slices.Contains(gitPrograms, rest) || slices.Contains(gitPrograms, key[:first]+".*")
}

// gitHook returns a hook that would run; a command of gitReads runs but few.
func gitHook(dir string, reads bool) string {
	names, err := os.ReadDir(dir)
	if err != nil {
		return ""
	}
	for _, entry := range names {
		if strings.HasSuffix(entry.Name(), ".sample") || reads && !readHooks[entry.Name()] {
			continue
		}
		if info, err := os.Stat(filepath.Join(dir, entry.Name())); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return entry.Name()
		}
	}
	return ""
}

// subcommandOf is the first word behind Git's options.
func subcommandOf(argv []string) string {
	for i := 1; i < len(argv); i++ {
		if !strings.HasPrefix(argv[i], "-") {
			return argv[i]
		}
		if name, _, has := strings.Cut(argv[i], "="); !has && gitValues[name] {
			i++
		}
	}
	return ""
}
