package policy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A repository's own settings can make any command of Git's run a program. The operator's rule cannot have meant that.
func TestSettingsOfARepositoryAsk(t *testing.T) {
	for config, part := range map[string]string{
		"": "",
		"[core]\n\trepositoryformatversion = 0\n\tbare = false\n[remote \"origin\"]\n\turl = https://host.example/x\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"main\"]\n\tremote = origin\n[user]\n\tname = x\n": "",
		"[core]\n\tfsmonitor = true\n":                           "",
		"[core]\n\tfsmonitor = touch PWN\n":                      "core.fsmonitor",
		"[CORE]\n\tFsMonitor = touch PWN\n":                      "core.fsmonitor",
		"[core] fsmonitor = touch PWN\n":                         "core.fsmonitor",
		"[core]\n# x\n;y\n\tpager=touch PWN\n":                   "core.pager",
		"[core]\n\tsshCommand=touch PWN\n":                       "core.sshcommand",
		"[pager]\n\tlog = touch PWN\n":                           "pager.log",
		"[pager]\n\tlog = false\n":                               "",
		"[alias]\n\tst = \"!touch PWN\"\n":                       "",
		"[alias]\n\tstatus = \"!touch PWN\"\n":                   "alias.status",
		"[alias \"status\"]\n\tcommand = !touch PWN\n":           "alias.status.command",
		"[alias \"st\"]\n\tcommand = !touch PWN\n":               "",
		"[diff \"a.b\"]\n\ttextconv = touch PWN\n":               "diff.a.b.textconv",
		"[diff]\n\texternal = touch PWN\n":                       "diff.external",
		"[filter \"x\"]\n\tclean = touch PWN\n":                  "filter.x.clean",
		"[credential \"https://h\"]\n\thelper = !touch PWN\n":    "credential.https://h.helper",
		"[include]\n\tpath = ../evil\n":                          "include.path",
		"[includeIf \"gitdir:/\"]\n\tpath = ../evil\n":           "includeif.gitdir:/.path",
		"[submodule \"x\"]\n\tupdate = checkout\n":               "",
		"[submodule \"x\"]\n\tupdate = !touch PWN\n":             "submodule.x.update",
		"[core\n\tfsmonitor = x\n":                               "it cannot be read",
		"[x][core]\n\tfsmonitor = touch PWN\n":                   "core.fsmonitor",
		"[core] fsmonitor = \"touch PWN #]\"\n":                  "core.fsmonitor",
		"[core]\n\tx = 1\\\n[foo]\n\tfsmonitor = touch PWN\n":    "core.fsmonitor",
		"[core]\n\tx = 1\\\r\n[foo]\n\tfsmonitor = touch PWN\n":  "core.fsmonitor",
		"[foo \"[core]\"]\n\tfsmonitor = x\n":                    "",
		"[core]\n\tx = 1 ; \\\n[foo]\n\tfsmonitor = x\n":         "",
		"[core]\n\tx = \"[core]\n":                               "it cannot be read",
		"[core]\n\thooksPath = ~/hooks\n":                        "core.hookspath",
		"[tar \"x\"]\n\tcommand = touch PWN\n":                   "tar.x.command",
		"[gpg \"ssh\"]\n\tdefaultKeyCommand = touch PWN\n":       "gpg.ssh.defaultkeycommand",
		"[hook \"x\"]\n\tcommand = touch PWN\n":                  "hook.x.command",
		"[x]\n\ta = " + strings.Repeat("y", maxGitConfig) + "\n": "it cannot be read",
	} {
		root := workspace(t)
		write(t, filepath.Join(root, ".git/config"))
		if err := os.WriteFile(filepath.Join(root, ".git/config"), []byte(config), 0o644); err != nil {
			t.Fatal(err)
		}
		b := boundary(t, root, "allow exec git *\nallow exec ls *")
		want := Allow
		if part != "" {
			want = Ask
		}
		for _, line := range []string{"exec git status", "exec /nonexistent/bin/git status"} {
			v := wantEffect(t, b, line, want)
			if part != "" && v.Part != ".git/config: "+part {
				t.Errorf("%.60q: %s: %+v", config, line, v)
			}
		}
		if v := b.Explain(Action{Act: Exec, Argv: []string{"git", "status"}, Dir: "src/deep"}); v.Effect != want {
			t.Errorf("%.60q below: %+v", config, v)
		}
		wantEffect(t, b, "exec ls", Allow)
		wantEffect(t, boundary(t, root, "default exec allow\ndeny exec rm *"), "exec git status", want)
		wantEffect(t, boundary(t, root, "default exec allow"), "exec git status", want)
	}
}

func TestHooksOfARepositoryAsk(t *testing.T) {
	root := workspace(t)
	hook := func(name string, mode os.FileMode) {
		write(t, filepath.Join(root, name))
		if err := os.Chmod(filepath.Join(root, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(root, ".git/config"))
	hook(".git/hooks/pre-commit.sample", 0o755)
	hook(".git/hooks/pre-push", 0o644)
	b := boundary(t, root, "allow exec git *")
	wantEffect(t, b, "exec git commit -m x", Allow)
	hook(".git/hooks/pre-commit", 0o755)
	if v := wantEffect(t, b, "exec git commit -m x", Ask); v.Part != ".git/hooks/pre-commit" {
		t.Errorf("%+v", v)
	}
	wantEffect(t, b, "exec git status", Allow)
	wantEffect(t, b, "exec git --no-pager log", Allow)
	for _, name := range []string{"post-index-change", "reference-transaction", "pre-auto-gc"} {
		hook(".git/hooks/"+name, 0o755)
		for _, line := range []string{"exec git status", "exec git branch x", "exec git tag v1", "exec git remote update"} {
			if v := wantEffect(t, b, line, Ask); v.Part != ".git/hooks/"+name {
				t.Errorf("%s: %+v", line, v)
			}
		}
		if err := os.Remove(filepath.Join(root, ".git/hooks", name)); err != nil {
			t.Fatal(err)
		}
	}
	wantEffect(t, b, "exec git branch x", Allow)

	// Hooks elsewhere, and a work tree whose .git is a file.
	other := workspace(t)
	write(t, filepath.Join(other, "real/config"))
	if err := os.WriteFile(filepath.Join(other, ".git"), []byte("gitdir: real\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	b = boundary(t, other, "allow exec git *")
	wantEffect(t, b, "exec git commit", Allow)
	if err := os.WriteFile(filepath.Join(other, "real/config"), []byte("[core]\n\thooksPath = .husky\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	wantEffect(t, b, "exec git commit", Allow)
	root = other
	hook(".husky/commit-msg", 0o755)
	for _, spelling := range []string{"hooksPath = .husky ; x", `hooksPath = ".hu"sky`, `hooksPath = "./.husky" # x`} {
		if err := os.WriteFile(filepath.Join(other, "real/config"), []byte("[x][core] "+spelling+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if v := wantEffect(t, b, "exec git commit", Ask); v.Part != ".husky/commit-msg" {
			t.Errorf("%s: %+v", spelling, v)
		}
	}
	if v := wantEffect(t, b, "exec git commit", Ask); v.Part != ".husky/commit-msg" {
		t.Errorf("%+v", v)
	}
	wantEffect(t, b, "exec git diff", Allow)
	// Git goes past a .git that is no repository.
	if err := os.MkdirAll(filepath.Join(other, "src/.git"), 0o755); err != nil {
		t.Fatal(err)
	}
	if v := b.Explain(Action{Act: Exec, Argv: []string{"git", "commit"}, Dir: "src"}); v.Effect != Ask || v.Part != ".husky/commit-msg" {
		t.Errorf("%+v", v)
	}
	// A bare repository that lies among the files is one to Git as well.
	for _, name := range []string{"bare/HEAD", "bare/objects/x"} {
		write(t, filepath.Join(root, name))
	}
	if err := os.WriteFile(filepath.Join(root, "bare/config"), []byte("[core]\n\tfsmonitor = touch PWN\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if v := b.Explain(Action{Act: Exec, Argv: []string{"git", "status"}, Dir: "bare"}); v.Effect != Ask || v.Part != "bare/config: core.fsmonitor" {
		t.Errorf("%+v", v)
	}
}

// The paths that lead Git to a repository lead here to the same one.
func TestARepositoryIsFoundWhereGitFindsIt(t *testing.T) {
	const harmless, evil = "[core]\n\tbare = false\n", "[core]\n\tfsmonitor = touch PWN\n"
	for name, set := range map[string]struct{ pointer, path, real string }{
		"a name that ends with a space":    {".git", "gitdir: gg \n", "gg "},
		"a name that begins with a space":  {".git", "gitdir:  gg\r\n\n", " gg"},
		"text behind a NUL":                {".git", "gitdir: gg\x00z\n", "gg"},
		".. behind a link":                 {".git", "gitdir: link/../gg\n", "src/gg"},
		"a shared one, and a space":        {".git/commondir", "../gg \n", "gg "},
		"a shared one, text behind a NUL":  {".git/commondir", "../gg\x00z", "gg"},
		"a shared one, and .. behind link": {".git/commondir", "../link/../gg", "src/gg"},
	} {
		root := workspace(t)
		put := func(name, text string) {
			write(t, filepath.Join(root, name))
			if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		link(t, "src/deep", filepath.Join(root, "link"))
		for _, decoy := range []string{"gg", "gg ", " gg", "src/gg"} {
			put(decoy+"/config", harmless)
		}
		put(set.pointer, set.path)
		b := boundary(t, root, "allow exec git *")
		wantEffect(t, b, "exec git status", Allow)
		put(set.real+"/config", evil)
		if v := b.Explain(Action{Act: Exec, Argv: []string{"git", "status"}}); v.Effect != Ask || v.Part != set.real+"/config: core.fsmonitor" {
			t.Errorf("%s: %+v", name, v)
		}
	}

	root := workspace(t)
	write(t, filepath.Join(root, "src/hooks/post-index-change"))
	write(t, filepath.Join(root, "hooks/x.sample"))
	if err := os.Chmod(filepath.Join(root, "src/hooks/post-index-change"), 0o755); err != nil {
		t.Fatal(err)
	}
	link(t, "src/deep", filepath.Join(root, "link"))
	write(t, filepath.Join(root, ".git/config"))
	if err := os.WriteFile(filepath.Join(root, ".git/config"), []byte("[core]\n\thooksPath = link/../hooks\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if v := wantEffect(t, boundary(t, root, "allow exec git *"), "exec git status", Ask); v.Part != "src/hooks/post-index-change" {
		t.Errorf("%+v", v)
	}

	// A directory that is a repository itself: before its first commit HEAD may be a link that leads nowhere, and what it
	// shares may lie elsewhere.
	root = workspace(t)
	for _, name := range []string{"one/objects/x", "one/config", "two/HEAD", "two/commondir"} {
		write(t, filepath.Join(root, name))
	}
	link(t, "refs/heads/main", filepath.Join(root, "one/HEAD"))
	for name, text := range map[string]string{"one/config": evil, "two/commondir": "../one\n"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"one", "two"} {
		v := boundary(t, root, "allow exec git *").Explain(Action{Act: Exec, Argv: []string{"git", "status"}, Dir: dir})
		if v.Effect != Ask || v.Part != "one/config: core.fsmonitor" {
			t.Errorf("%s: %+v", dir, v)
		}
	}
}

// gitIndex is an index of Git's with some files; an @ before a name makes it a submodule.
func gitIndex(version byte, names ...string) string {
	const file, link = "\x81\xa4", "\xe0\x00"
	text := "DIRC\x00\x00\x00" + string(version) + "\x00\x00\x00" + string(byte(len(names)))
	for _, name := range names {
		mode := file
		if strings.HasPrefix(name, "@") {
			mode, name = link, name[1:]
		}
		entry := strings.Repeat("\x01", 24) + "\x00\x00" + mode + strings.Repeat("\x01", 34)
		if version == 4 {
			text += entry + "\x00" + name + "\x00"
			continue
		}
		entry += name + "\x00"
		text += entry + strings.Repeat("\x00", -len(entry)&7)
	}
	return text
}

// Git runs itself in the submodules of a repository to see whether they are changed, by their settings.
func TestSettingsOfSubmodulesAsk(t *testing.T) {
	root := workspace(t)
	put := func(name, text string) {
		write(t, filepath.Join(root, name))
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const harmless, evil = "[core]\n\tbare = false\n", "[core]\n\tfsmonitor = touch PWN\n"
	put(".git/config", harmless)
	put("sub/deep/.git/config", evil)
	b := boundary(t, root, "allow exec git *")
	ask := func(part string) {
		t.Helper()
		for _, line := range []string{"exec git status", "exec git diff", "exec git commit -m x"} {
			if v := wantEffect(t, b, line, Ask); v.Part != part {
				t.Errorf("%s: %+v", line, v)
			}
		}
	}
	// A repository that the index does not name is none that Git looks into.
	wantEffect(t, b, "exec git status", Allow)
	put(".git/index", gitIndex(2, "a", "sub/deep"))
	wantEffect(t, b, "exec git status", Allow)
	for _, text := range []string{gitIndex(2, "a.go", "@sub/deep"), gitIndex(3, "main.go", "@sub/deep", "x"), gitIndex(4, "@sub/deep")} {
		put(".git/index", text)
		ask("sub/deep/.git/config: core.fsmonitor")
	}
	for _, text := range []string{"DIRX" + gitIndex(2, "@x")[4:], gitIndex(2, "@"), gitIndex(4, "@x", "@y")[:100], gitIndex(2, "@"+strings.Repeat("x", 5000)), "\x00\x00\xe0\x00"} {
		put(".git/index", text)
		ask(".git/index: its submodules cannot be found out")
	}
	put(".git/index", gitIndex(2, "@sub/deep", "@none"))
	put("sub/deep/.git/config", harmless)
	wantEffect(t, b, "exec git status", Allow)
	put("sub/deep/.git/index", gitIndex(2, "@within"))
	put("sub/deep/within/.git/config", evil)
	ask("sub/deep/within/.git/config: core.fsmonitor")

	put(".git/index", gitIndex(2, "x"))
	put(".git/sharedindex.0", gitIndex(2, "@other"))
	put("other/.git", "gitdir: ../.git/modules/a/b")
	put(".git/modules/a/b/config", evil)
	ask(".git/modules/a/b/config: core.fsmonitor")
	if err := os.Remove(filepath.Join(root, "other/.git")); err != nil { // as before git submodule update
		t.Fatal(err)
	}
	ask(".git/modules/a/b/config: core.fsmonitor")
	put(".git/modules/a/b/config", harmless)
	wantEffect(t, b, "exec git status", Allow)
}

// go build asks Git for the state of the repository, by the repository's settings.
func TestSettingsOfARepositoryAskForGoBuild(t *testing.T) {
	root := workspace(t)
	for _, name := range []string{"", "src"} {
		write(t, filepath.Join(root, name, ".git/config"))
		if err := os.WriteFile(filepath.Join(root, name, ".git/config"), []byte("[core]\n\tbare = false\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b := boundary(t, root, "allow exec go *")
	wantEffect(t, b, "exec go build -C src .", Allow)
	if err := os.WriteFile(filepath.Join(root, "src/.git/config"), []byte("[core]\n\tfsmonitor = touch PWN\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"go build -C src .", "go -C=src install x", "go list -C ./src -buildvcs=false -buildvcs=auto", "go build --C src --buildvcs .", "go build -C " + root + "/src ."} {
		if v := wantEffect(t, b, "exec "+line, Ask); v.Part != "src/.git/config: core.fsmonitor" {
			t.Errorf("%s: %+v", line, v)
		}
		wantEffect(t, boundary(t, root, "default exec allow\ndeny exec rm *"), "sh "+line, Ask)
	}
	if v := b.Explain(Action{Act: Exec, Argv: []string{"go", "build"}, Dir: "src"}); v.Effect != Ask {
		t.Errorf("%+v", v)
	}
	for _, line := range []string{"go build .", "go build -C src -buildvcs=false .", "go test -C src ./...", "go vet -C src ."} {
		wantEffect(t, b, "exec "+line, Allow)
	}
}

// What an earlier command left in the home of commands are settings of every later one.
func TestSettingsAtHomeAsk(t *testing.T) {
	root, home := workspace(t), t.TempDir()
	write(t, filepath.Join(root, ".git/config"))
	put := func(name, text string) {
		t.Helper()
		write(t, filepath.Join(home, name))
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b := boundary(t, root, "allow exec git *\nallow exec go *")
	at := b.CommandHome(home)
	wantEffect(t, at, "exec git status", Allow)
	put(".gitconfig", "[user]\n\tname = x\n[pull]\n\trebase = true\n")
	put(".config/go/env", "")
	wantEffect(t, at, "exec git status", Allow)
	wantEffect(t, at, "exec go test ./...", Allow)
	for _, name := range []string{".gitconfig", ".config/git/config"} {
		put(name, "[core]\n\tfsmonitor = touch PWN\n")
		for _, line := range []string{"exec git status", "exec git diff --no-index a b", "exec go build ."} {
			if v := wantEffect(t, at, line, Ask); v.Part != "~/"+name+": core.fsmonitor" {
				t.Errorf("%s: %+v", line, v)
			}
		}
		put(name, "")
	}
	put(".config/git/config", "[core]\n\thooksPath = hooks\n")
	wantEffect(t, at, "exec git status", Allow)
	write(t, filepath.Join(root, "hooks/post-index-change"))
	if err := os.Chmod(filepath.Join(root, "hooks/post-index-change"), 0o755); err != nil {
		t.Fatal(err)
	}
	wantEffect(t, at, "exec git status", Ask)
	put(".config/go/env", "GOFLAGS=-toolexec=/x\n")
	if v := wantEffect(t, at, "exec go vet ./...", Ask); v.Part != "~/.config/go/env" {
		t.Errorf("%+v", v)
	}
	wantEffect(t, b, "exec go vet ./...", Allow)
	wantEffect(t, at, "exec git -C x status", Ask)
	more, err := at.With(Layer{Name: "more"})
	if err != nil {
		t.Fatal(err)
	}
	wantEffect(t, more, "exec go vet ./...", Ask)
}

// A workspace that is a folder of a repository: Git reads that one's settings where nothing keeps it from there.
func TestSettingsAroundTheWorkspaceAsk(t *testing.T) {
	outer := workspace(t)
	write(t, filepath.Join(outer, ".git/config"))
	if err := os.WriteFile(filepath.Join(outer, ".git/config"), []byte("[core]\n\tfsmonitor = touch PWN\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	b := boundary(t, filepath.Join(outer, "src"), "allow exec git *")
	wantEffect(t, b, "exec git status", Allow)
	if v := wantEffect(t, b.Unconfined(), "exec git status", Ask); !strings.HasSuffix(v.Part, "/.git/config: core.fsmonitor") {
		t.Errorf("%+v", v)
	}
}
