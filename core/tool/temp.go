package tool

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"syscall"
)

// TempPattern is the glob of the temporary files that Apply makes beside its target. One is there only while a write
// runs; what a killed process left is removed by the next write to the same file. No tool and no listing shows them.
const TempPattern = ".tillerman-*.tmp"

var tempName = regexp.MustCompile(`^\.tillerman-[0-9a-f]{16}-[0-9]{1,2}\.tmp$`)

func isTemp(name string) bool { return tempName.MatchString(name) }

// maxTemps is how many writes to one file may run at once.
const maxTemps = 16

// temp is a file that is about to take another's name. Its writer holds a lock on it, which dies with the writer.
type temp struct {
	dir  *os.Root
	name string
	file *os.File
	gone bool // it has its final name, or was removed
}

// newTemp makes the temporary file for target. Its name is made from target's, so that what a dead writer left is met
// and removed.
func newTemp(dir *os.Root, target string, perm fs.FileMode) (*temp, error) {
	digest := sha256.Sum256([]byte(target))
	for n := 0; n < maxTemps; {
		name := fmt.Sprintf(".tillerman-%x-%d.tmp", digest[:8], n)
		file, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
		switch {
		case err == nil:
			t := &temp{dir: dir, name: name, file: file}
			if t.claim() {
				return t, nil
			}
			file.Close() // another writer took it for a leftover, before it was locked
		case !errors.Is(err, fs.ErrExist):
			return nil, bare(err)
		case !removeStale(dir, name):
			n++
		}
	}
	return nil, fmt.Errorf("%d writes to it are running at once", maxTemps)
}

// claim locks the file, and says whether it still has its name.
func (t *temp) claim() bool {
	if lock(t.file, syscall.LOCK_EX) != nil {
		return t.named() // no locks on this file system: nobody can take it for a leftover either
	}
	return t.named()
}

func (t *temp) named() bool {
	ours, err := t.file.Stat()
	if err != nil {
		return false
	}
	there, err := t.dir.Lstat(t.name)
	return err == nil && os.SameFile(ours, there)
}

// removeStale removes a temporary file whose writer is dead, and says whether its name is free now.
func removeStale(dir *os.Root, name string) bool {
	file, _, err := openFile(dir, name)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	defer file.Close()
	t := temp{dir: dir, name: name, file: file}
	if lock(file, syscall.LOCK_EX|syscall.LOCK_NB) != nil || !t.named() {
		return false
	}
	return dir.Remove(name) == nil
}

func lock(file *os.File, how int) error {
	conn, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var failure error
	err = conn.Control(func(fd uintptr) {
		for {
			failure = syscall.Flock(int(fd), how)
			if failure != syscall.EINTR {
				return
			}
		}
	})
	return errors.Join(err, failure)
}

// fill writes the new content and takes over mode and owner of the file that it will replace, if there is one.
func (t *temp) fill(content []byte, old fs.FileInfo) error {
	if _, err := t.file.Write(content); err != nil {
		return bare(err)
	}
	if old != nil {
		t.keepOwner(old)
		if err := t.file.Chmod(old.Mode().Perm()); err != nil {
			return bare(err)
		}
	}
	return bare(t.file.Sync())
}

// keepOwner gives the file the owner of the one it replaces. Only root can do that for a file of somebody else; for
// others the file becomes theirs, as with any program that writes a file anew.
func (t *temp) keepOwner(old fs.FileInfo) {
	want, ok := old.Sys().(*syscall.Stat_t)
	if !ok {
		return
	}
	info, err := t.file.Stat()
	if err != nil {
		return
	}
	if have, ok := info.Sys().(*syscall.Stat_t); ok && (have.Uid != want.Uid || have.Gid != want.Gid) {
		if t.file.Chown(int(want.Uid), int(want.Gid)) != nil {
			_ = t.file.Chown(-1, int(want.Gid))
		}
	}
}

// become gives the file its final name. A new file gets it by a hard link, which never replaces anything; on a file
// system without hard links the name is looked at first.
func (t *temp) become(name string, replace bool) error {
	if !replace {
		err := t.dir.Link(t.name, name)
		if err == nil {
			t.gone = t.dir.Remove(t.name) == nil
			return nil
		}
		if errors.Is(err, fs.ErrExist) {
			return bare(err)
		}
		if _, err := t.dir.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
			return fs.ErrExist
		}
	}
	if err := t.dir.Rename(t.name, name); err != nil {
		return bare(err)
	}
	t.gone = true
	return nil
}

// discard removes the file unless it has its final name, and lets the lock go.
func (t *temp) discard() {
	if !t.gone && t.named() {
		_ = t.dir.Remove(t.name)
	}
	t.file.Close()
}
