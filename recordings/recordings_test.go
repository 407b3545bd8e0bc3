package recordings_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tillerman/core/provider/script"
	"tillerman/recordings"
)

func demo(t testing.TB) recordings.Task {
	t.Helper()
	task, err := recordings.Demo()
	if err != nil {
		t.Fatal(err)
	}
	return task
}

func TestTheTaskIsComplete(t *testing.T) {
	task := demo(t)
	if task.Goal == "" || len(task.Constraints) == 0 || strings.Join(task.Check, " ") != "sh check.sh" {
		t.Errorf("%+v", task)
	}
	if len(task.Repeatable) != 1 || strings.Join(task.Repeatable[0], " ") != "sh check.sh" {
		t.Errorf("repeatable: %v", task.Repeatable)
	}
	if _, err := script.Parse(task.Script); err != nil {
		t.Error(err)
	}
}

func TestTheWorkspaceIsCopiedWithModes(t *testing.T) {
	dir := t.TempDir()
	old := syscall.Umask(0o077)
	err := recordings.CopyWorkspace(dir)
	syscall.Umask(old)
	if err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]fs.FileMode{
		"README.md": 0o644, "check.sh": 0o755, "nap.sh": 0o755, "lib/duration.sh": 0o644,
	} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
			continue
		}
		if info.Mode() != mode {
			t.Errorf("%s has mode %v", name, info.Mode())
		}
		want, err := fs.ReadFile(demo(t).Workspace, name)
		if err != nil {
			t.Error(err)
		}
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != string(want) {
			t.Errorf("%s is copied wrongly: %v", name, err)
		}
	}
}

func TestWhatIsThereIsNotOverwritten(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "check.sh")
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := recordings.CopyWorkspace(dir); err == nil {
		t.Error("overwrote a file")
	}
	if got, _ := os.ReadFile(path); string(got) != "mine" {
		t.Errorf("the file now holds %q", got)
	}
	if err := recordings.CopyWorkspace(filepath.Join(dir, "none")); err == nil {
		t.Error("copied into a directory that is not there")
	}
}

// The workspace's two faults are real, and it takes mending both.
func TestTheCheckFailsUntilBothFaultsAreMended(t *testing.T) {
	hours := [2]string{"size=360 ;;", "size=3600 ;;"}
	sum := [2]string{"total=$((number * size))", "total=$((total + number * size))"}
	for _, shell := range shells(t) {
		for _, test := range []struct {
			edits [][2]string
			fails int
		}{{nil, 3}, {[][2]string{hours}, 2}, {[][2]string{sum}, 3}, {[][2]string{hours, sum}, 0}} {
			dir := t.TempDir()
			if err := recordings.CopyWorkspace(dir); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, "lib", "duration.sh")
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range test.edits {
				if strings.Count(string(text), e[0]) != 1 {
					t.Fatalf("%q does not stand in the library once", e[0])
				}
				text = []byte(strings.Replace(string(text), e[0], e[1], 1))
			}
			if err := os.WriteFile(path, text, 0o600); err != nil {
				t.Fatal(err)
			}
			command := exec.Command(shell[0], append(shell[1:], filepath.Join(dir, "check.sh"))...)
			command.Dir = "/"
			out, err := command.CombinedOutput()
			if fails := strings.Count(string(out), "\nFAIL "); fails != test.fails || (err == nil) != (fails == 0) {
				t.Errorf("%v after %v: %d failures, %v\n%s", shell, test.edits, fails, err, out)
			}
		}
	}
}

func TestNapTakesADuration(t *testing.T) {
	dir := t.TempDir()
	if err := recordings.CopyWorkspace(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".env"), []byte("NAP_TRACE=1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(filepath.Join(dir, "nap.sh"), "0s").CombinedOutput()
	if err != nil || string(out) != "part: 0 x 1\n" {
		t.Errorf("%v: %s", err, out)
	}
	if out, err := exec.Command(filepath.Join(dir, "nap.sh"), "soon").CombinedOutput(); err == nil || !strings.Contains(string(out), "usage") {
		t.Errorf("%v: %s", err, out)
	}
}

// shells are those of this machine that a workspace for plain sh must run under.
func shells(t *testing.T) [][]string {
	t.Helper()
	found := [][]string{{"sh"}}
	for _, shell := range [][]string{{"dash"}, {"bash", "--posix"}, {"busybox", "sh"}, {"ksh"}, {"yash"}} {
		if _, err := exec.LookPath(shell[0]); err == nil {
			found = append(found, shell)
		}
	}
	return found
}
