package tool

import (
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
)

// asNobody runs a test as a user without rights: root reads and writes everything, whatever the mode. The user of one
// thread is changed, which ends with the test. root gets an owner that can enter it, and so do its parents.
func asNobody(t *testing.T, root string, test func(*testing.T)) {
	t.Helper()
	if os.Getuid() != 0 {
		test(t)
		return
	}
	const nobody = 65534
	for dir := root; dir != filepath.Dir(dir) && dir != os.TempDir(); dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, info.Mode().Perm()|0o055); err != nil {
			t.Fatal(err)
		}
	}
	err := filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, nobody, nobody)
	})
	if err != nil {
		t.Fatal(err)
	}
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
		test(t)
	}()
	<-done
}
