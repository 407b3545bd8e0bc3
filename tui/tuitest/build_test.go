package tuitest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestBuildBuildsTheModulesRoot(t *testing.T) {
	root := t.TempDir()
	t.Setenv("TMPDIR", t.TempDir())
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module example\n\ngo 1.26\n")
	write("main.go", "package main\n\nfunc main() { print(\"one\") }\n")
	write("deep/down/empty.go", "package down\n")
	t.Chdir(filepath.Join(root, "deep", "down"))
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	runs := func(want string) {
		t.Helper()
		if out, err := exec.Command(path).CombinedOutput(); err != nil || string(out) != want {
			t.Errorf("%s prints %q, %v, not %q", path, out, err, want)
		}
	}
	runs("one")
	write("main.go", "package main\n\nfunc main() { print(\"two\") }\n")
	if again, err := build(); err != nil || again != path {
		t.Errorf("built at %s, %v", again, err)
	}
	runs("two")
	write("main.go", "package main\n\nfunc main() { wrong }\n")
	if _, err := build(); err == nil || !strings.Contains(err.Error(), "undefined: wrong") {
		t.Errorf("a program that does not compile: %v", err)
	}
	if err := os.Chmod(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := build(); err == nil || !strings.Contains(err.Error(), "not a directory of this user alone") {
		t.Errorf("a directory that others can write to: %v", err)
	}
	t.Chdir("/")
	if _, err := build(); err == nil || !strings.Contains(err.Error(), "no go.mod") {
		t.Errorf("outside of a module: %v", err)
	}
}
