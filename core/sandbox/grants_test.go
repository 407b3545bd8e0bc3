package sandbox

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

func TestReadable(t *testing.T) {
	t.Parallel()
	home, elsewhere := t.TempDir(), t.TempDir()
	for _, file := range []string{
		"go/bin/tool", "go/pkg/mod/x", ".cargo/bin/cargo", ".cargo/credentials.toml", ".cargo/registry/x", ".local/bin/script", ".local/share/keyrings/x", ".local/lib/x",
		"venv/bin/python", "venv/lib/x", "bin/own", ".ssh/id_rsa",
	} {
		write(t, filepath.Join(home, file), "")
	}
	write(t, filepath.Join(elsewhere, "tool/bin/linked"), "")
	write(t, filepath.Join(elsewhere, "tool/lib/x"), "")
	if err := os.Symlink(filepath.Join(elsewhere, "tool/bin/linked"), filepath.Join(home, "bin/linked")); err != nil {
		t.Fatal(err)
	}
	operator := environment{"HOME": home, "GOPROXY": "file://" + elsewhere + "/proxy,https://proxy.example"}
	env := environment{
		"PATH":       filepath.Join(home, "go/bin") + ":" + filepath.Join(home, ".cargo/bin") + ":" + filepath.Join(home, ".local/bin") + ":" + filepath.Join(home, "venv/bin") + ":" + filepath.Join(home, "bin") + ":/usr/bin",
		"GOMODCACHE": filepath.Join(home, "go/pkg/mod"),
	}
	paths := readable(env, operator, elsewhere)
	for path, want := range map[string]bool{
		home: false, filepath.Join(home, ".ssh/id_rsa"): false, filepath.Join(home, ".cargo/credentials.toml"): false,
		filepath.Join(home, ".local/share/keyrings/x"): false, filepath.Join(home, "go/bin/tool"): true, filepath.Join(home, "go/pkg/mod/x"): true,
		filepath.Join(home, ".cargo/bin/cargo"): true, filepath.Join(home, ".cargo/registry/x"): true, filepath.Join(home, ".local/bin/script"): true,
		filepath.Join(home, "venv/lib/x"): true, filepath.Join(home, "bin/own"): true, filepath.Join(elsewhere, "tool/lib/x"): true,
		filepath.Join(elsewhere, "other"): false, filepath.Join(elsewhere, "proxy/x"): true, "/usr/bin/env": true, "/var/lib": false, "/root": false,
	} {
		if got := coveredBy(paths, path); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
	if slices.Contains(readable(environment{"PATH": "/"}, environment{}, "/"), "/") {
		t.Error("the root directory is granted")
	}
}

// What lies in a private place is not granted, whatever names it.
func TestPrivateIsNotGranted(t *testing.T) {
	t.Parallel()
	private := t.TempDir()
	write(t, filepath.Join(private, "bin/tool"), "")
	r, err := NewRunner(Options{
		Env: []string{"PATH=" + filepath.Join(private, "bin") + ":/usr/bin"}, State: filepath.Join(private, "runs/1"), Workspace: t.TempDir(), Private: []string{private},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range r.confine.Grants {
		if beneath(g.Path, private) && !g.Write {
			t.Errorf("granted: %+v", g)
		}
	}
	if !slices.Contains(r.confine.Hide, private) {
		t.Errorf("hidden: %q", r.confine.Hide)
	}
}

// A linked worktree shows its repository; a file that only claims to be one shows nothing.
func TestGitDirs(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	main, linked, planted := filepath.Join(dir, "main"), filepath.Join(dir, "linked"), filepath.Join(dir, "planted")
	for _, args := range [][]string{
		{"init", "-q", main},
		{"-C", main, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "--allow-empty", "-m", "first"},
		{"-C", main, "worktree", "add", "-q", linked},
	} {
		if text, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	if got := gitDirs(linked); !slices.Equal(got, []string{filepath.Join(main, ".git")}) {
		t.Errorf("%q", got)
	}
	pointer, err := os.ReadFile(filepath.Join(linked, ".git"))
	if err = errors.Join(err, os.Mkdir(planted, 0o700)); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(planted, ".git"), string(pointer))
	write(t, filepath.Join(dir, "lonely/.git"), "gitdir: "+filepath.Join(dir, "main")+"\n")
	for _, workspace := range []string{planted, filepath.Join(dir, "lonely"), main, dir} {
		if got := gitDirs(workspace); got != nil {
			t.Errorf("%s: %q", workspace, got)
		}
	}
}
