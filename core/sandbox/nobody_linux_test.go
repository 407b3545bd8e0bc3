package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// withoutRoot are the tests that show something else for a user without rights.
const withoutRoot = "Keeps|Seccomp|Confine|StateInTheWorkspace|LinkedDirectories|OutOfReach|Label|Hints|CommandStarts|GetsAway|IsKilled|AreKilled|" +
	"ForkWithoutEnd|MemoryRunsOut|SharedMemory|OpenFiles|HowACommandEnds|NothingLeaks|Cancel|Kill|Timeout"

// Root may do anything, so tests of what a command may not do run as another user as well.
func TestAsAnotherUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("this is another user")
	}
	if testing.Short() {
		t.Skip("runs most tests once more")
	}
	const nobody = 65534
	dir, err := os.MkdirTemp("", "tillerman-nobody-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	program := filepath.Join(dir, "sandbox.test")
	copyProgram(t, program)
	for _, path := range []string{dir, program} {
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	tmp := filepath.Join(dir, "tmp")
	if err := os.Mkdir(tmp, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(tmp, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-test.run", withoutRoot, "-test.v", "-test.timeout", "240s")
	cmd.Dir = tmp
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "HOME=") && !strings.HasPrefix(entry, "TMPDIR=") && !strings.HasPrefix(entry, "GO") {
			cmd.Env = append(cmd.Env, entry)
		}
	}
	cmd.Env = append(cmd.Env, "HOME="+tmp, "TMPDIR="+tmp)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	output, err := cmd.CombinedOutput()
	text := string(output)
	passed := 0
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, "--- PASS"):
			passed++
		case strings.HasPrefix(line, "--- SKIP"):
			t.Logf("as another user: %s", line)
		}
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if passed < 20 {
		t.Errorf("only %d tests ran", passed)
	}
	t.Logf("%d tests passed as another user", passed)
}
