package cli

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// asNobody runs fn as a user without rights: root reads everything. The user of one thread is changed, which ends with
// the call.
func asNobody(t *testing.T, fn func()) {
	t.Helper()
	if os.Getuid() != 0 {
		fn()
		return
	}
	const nobody = 65534
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked: the thread dies with the goroutine
		for _, call := range []uintptr{syscall.SYS_SETRESGID, syscall.SYS_SETRESUID} {
			if _, _, errno := syscall.RawSyscall(call, nobody, nobody, nobody); errno != 0 {
				t.Errorf("become nobody: %v", errno)
				return
			}
		}
		fn()
	}()
	<-done
}

func TestKeyFilesThatAreNone(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, n int, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(strings.Repeat("k", n)), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o644); err != nil {
		t.Fatal(err)
	}
	closed, good := write("closed", 32, 0), write("good", 32, 0o644)
	for p := dir; p != filepath.Dir(p) && p != os.TempDir(); p = filepath.Dir(p) {
		if err := os.Chmod(p, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{
		closed: "permission denied", filepath.Join(dir, "none"): "no such file", dir: "no regular file", pipe: "no regular file",
		write("short", 15, 0o644): "holds 15 bytes", write("long", keyLimit+1, 0o644): "a key has 16 to 4096",
	} {
		asNobody(t, func() {
			if key, err := readKey(path); err == nil || key != nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
				t.Errorf("%s: %v, want %q", path, err, want)
			}
		})
	}
	asNobody(t, func() {
		if key, err := readKey(good); err != nil || len(key) != 32 {
			t.Errorf("a good key: %v", err)
		}
	})
}
