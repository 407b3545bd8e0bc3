package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// commandEnvironment runs env and returns what it prints.
func commandEnvironment(t *testing.T, r *Runner, c Command) environment {
	t.Helper()
	c.Argv = []string{"env"}
	got, err := r.Run(t.Context(), c)
	if err != nil || got.Exit != 0 {
		t.Fatalf("%+v, %v", got, err)
	}
	env := environment{}
	env.add(strings.Split(string(got.Output), "\n")...)
	return env
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	home, state, workspace := t.TempDir(), t.TempDir(), t.TempDir()
	for _, dir := range []string{"go/pkg/mod", ".rustup"} {
		if err := os.MkdirAll(filepath.Join(home, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	r, err := NewRunner(Options{
		Env: []string{
			"PATH=" + os.Getenv("PATH") + ":.::relative", "HOME=" + home, "LANG=C.UTF-8", "LC_TIME=C", "LC_API_KEY=12345678", "TZ=UTC",
			"USER=canary-value", "TERM=xterm", "AWS_REGION=x", "SSH_AUTH_SOCK=/x", "OPENAI_API_KEY=sk-12345678", "EDITOR=vi", "BROKEN",
			"TMPDIR=/elsewhere", "LD_PRELOAD=/x.so",
		},
		Secrets: func(_, value string) bool { return value == "canary-value" },
		State:   state, Caches: t.TempDir(), Workspace: workspace,
	})
	if err != nil {
		t.Fatal(err)
	}
	env := commandEnvironment(t, r, Command{Env: []string{"TILLERMAN_CALL_KEY=run/1/2/3", "TZ=CET"}})
	for name, want := range map[string]string{
		"LANG": "C.UTF-8", "LC_TIME": "C", "TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0",
		"HOME": filepath.Join(state, "home"), "TMPDIR": filepath.Join(state, "tmp"), "PWD": workspace,
		"GOMODCACHE": filepath.Join(home, "go/pkg/mod"), "RUSTUP_HOME": filepath.Join(home, ".rustup"),
		"TILLERMAN_CALL_KEY": "run/1/2/3", "TZ": "CET",
	} {
		if env[name] != want {
			t.Errorf("%s is %q, want %q", name, env[name], want)
		}
	}
	for _, name := range []string{"LC_API_KEY", "USER", "AWS_REGION", "SSH_AUTH_SOCK", "OPENAI_API_KEY", "EDITOR", "LD_PRELOAD", "PYENV_ROOT"} {
		if value, ok := env[name]; ok {
			t.Errorf("%s is passed as %q", name, value)
		}
	}
	if strings.Contains(env["PATH"], "relative") || strings.Contains(env["PATH"], "::") || strings.HasSuffix(env["PATH"], ".") {
		t.Errorf("PATH is %q", env["PATH"])
	}
	names := r.EnvNames()
	if !slices.IsSorted(names) {
		t.Errorf("not ordered: %v", names)
	}
	for name := range env {
		if name != "TILLERMAN_CALL_KEY" && !slices.Contains(names, name) {
			t.Errorf("%s is set and not named", name)
		}
	}
	for _, name := range names {
		if _, ok := env[name]; !ok {
			t.Errorf("%s is named and not set", name)
		}
	}
}

func TestPrivateDirectories(t *testing.T) {
	t.Parallel()
	state := filepath.Join(t.TempDir(), "new")
	if _, err := NewRunner(Options{State: state, Workspace: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{state, filepath.Join(state, "home"), filepath.Join(state, "tmp")} {
		if info, err := os.Stat(dir); err != nil || info.Mode() != os.ModeDir|0o700 {
			t.Errorf("%s: %v, %v", dir, info.Mode(), err)
		}
	}
	linked := t.TempDir()
	if err := os.Symlink(t.TempDir(), filepath.Join(linked, "home")); err != nil {
		t.Fatal(err)
	}
	if _, err := NewRunner(Options{State: linked, Workspace: t.TempDir()}); err == nil {
		t.Error("a link was taken for a home")
	}
	for _, o := range []Options{{State: "relative", Workspace: "/"}, {State: state}, {Workspace: state}, {State: state, Workspace: "/", Caches: "x"}} {
		if _, err := NewRunner(o); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
}

func TestCachesAreKeptForAWorkspace(t *testing.T) {
	t.Parallel()
	caches := t.TempDir()
	cache := func(workspace string) string {
		r, err := NewRunner(Options{State: t.TempDir(), Caches: caches, Workspace: workspace})
		if err != nil {
			t.Fatal(err)
		}
		env := commandEnvironment(t, r, Command{Dir: "/"})
		for _, name := range []string{"GOCACHE", "XDG_CACHE_HOME", "NPM_CONFIG_CACHE", "PIP_CACHE_DIR", "GOMODCACHE"} {
			if !strings.HasPrefix(env[name], caches+"/") {
				t.Errorf("%s is %q", name, env[name])
			}
		}
		return env["GOCACHE"]
	}
	first, again, other := cache("/a/project"), cache("/a/project"), cache("/b/project")
	if first != again || first == other {
		t.Errorf("%q, %q, %q", first, again, other)
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	r := newTestRunner(t)
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"tool": 0o700, "data": 0o600} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		command Command
		want    string
	}{
		{Command{Argv: []string{"./tool"}, Dir: dir}, filepath.Join(dir, "tool")},
		{Command{Argv: []string{"tool"}, Env: []string{"PATH=/nowhere:" + dir}}, filepath.Join(dir, "tool")},
		{Command{Argv: []string{"tool"}, Dir: dir}, ""},
		{Command{Argv: []string{"data"}, Env: []string{"PATH=" + dir}}, ""},
		{Command{}, ""},
	} {
		got, err := r.Resolve(tc.command)
		if got != tc.want && tc.want != "" || (err == nil) != (tc.want != "") {
			t.Errorf("%q: %q, %v", tc.command.Argv, got, err)
		}
	}
}
