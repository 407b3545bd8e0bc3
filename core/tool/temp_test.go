package tool

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestWhatADeadWriterLeftIsRemoved(t *testing.T) {
	root := workspace(t, map[string]string{"a": "old"})
	dir, err := os.OpenRoot(root)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	dead, err := newTemp(dir, "a", 0o600)
	if err != nil {
		t.Fatal(err)
	}
	dead.file.Close() // what the kernel does when its process dies
	if _, err := os.Lstat(filepath.Join(root, dead.name)); err != nil {
		t.Fatal("the file of the dead writer is not there")
	}
	if match, err := filepath.Match(TempPattern, dead.name); !match || err != nil || !isTemp(dead.name) {
		t.Errorf("%s does not fit its pattern", dead.name)
	}
	if _, err := Apply(root, planned(t, root, "a", "new")); err != nil {
		t.Fatal(err)
	}
	noTemps(t, root)
}

func TestALiveWriterKeepsItsFile(t *testing.T) {
	root := workspace(t, map[string]string{"a": "old"})
	dir, err := os.OpenRoot(root)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	live, err := newTemp(dir, "a", 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Apply(root, planned(t, root, "a", "new")); err != nil {
		t.Fatal(err)
	}
	if !live.named() {
		t.Error("the file of a live writer was taken")
	}
	live.discard()
	noTemps(t, root)
}

func TestTheOwnerIsKept(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("owner: only root can give a file to somebody else")
	}
	root := workspace(t, map[string]string{"a": "old"})
	if err := os.Chown(filepath.Join(root, "a"), 1234, 5678); err != nil {
		t.Fatal(err)
	}
	if _, err := Apply(root, planned(t, root, "a", "new")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(root, "a"))
	if err != nil {
		t.Fatal(err)
	}
	if s, ok := info.Sys().(*syscall.Stat_t); !ok || s.Uid != 1234 || s.Gid != 5678 {
		t.Errorf("the owner is %+v", info.Sys())
	}
}
