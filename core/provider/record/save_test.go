package record_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"tillerman/core/provider/record"
)

func TestASavedFileIsItsOwnersOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.json")
	if err := os.WriteFile(path, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := sample().Save(path); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != 0o600 {
			t.Errorf("mode %v", info.Mode())
		}
	}
	f, err := record.Load(path, version)
	if err != nil {
		t.Fatal(err)
	}
	if encoded(t, f) != encoded(t, sample()) {
		t.Error("loaded something else")
	}
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestASaveThatFailsLeavesTheOldFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.json")
	if err := sample().Save(path); err != nil {
		t.Fatal(err)
	}
	broken := sample()
	broken.Controls = []json.RawMessage{json.RawMessage("{")}
	if err := broken.Save(path); err == nil {
		t.Fatal("broken JSON was saved")
	}
	if _, err := record.Load(path, version); err != nil {
		t.Errorf("the old file is gone: %v", err)
	}
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}

func TestOnlyRegularFilesAreReplaced(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := sample().Save(pipe); err == nil {
		t.Error("a pipe was taken for a file")
	}
	if info, err := os.Lstat(pipe); err != nil || info.Mode().Type() != os.ModeNamedPipe {
		t.Errorf("the pipe was replaced: %v, %v", info, err)
	}
	dir := filepath.Join(t.TempDir(), "dir")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := sample().Save(dir); err == nil {
		t.Error("a directory was taken for a file")
	}
	if err := sample().Save(filepath.Join(dir, "none", "r.json")); err == nil {
		t.Error("saved into a directory that is not there")
	}
}
