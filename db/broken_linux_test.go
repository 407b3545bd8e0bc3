package db

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tillerman-test", dir, "tmpfs", 0, "size=2m"); err != nil {
		if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
			t.Skip("a small disk can only be mounted by root")
		}
		t.Fatal(err)
	}
	t.Cleanup(func() { must(t, unix.Unmount(dir, 0)) })
	ballast := filepath.Join(dir, "ballast")
	must(t, os.WriteFile(ballast, make([]byte, 1<<20), 0o600))
	s, err := Open(t.Context(), filepath.Join(dir, "runs.db"), Options{})
	must(t, err)
	defer s.Close()
	fill(t, s, begun(t, s), func() { must(t, os.Remove(ballast)) })
}
