package tool

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
)

// ErrChanged says that a file is not what its planned write says it was: its content, its being there, or its being a
// regular file reached without links.
var ErrChanged = errors.New("file changed since the diff was shown")

// Apply performs a planned write below root. It writes a temporary file in the same directory, compares the target with
// w.Before, and renames. An error that is ErrChanged means that the file is not as planned. After any error the file is as
// it was, unless changed is true: then it was written but could not be made durable. Calls may run at once.
//
// w.Path has its links resolved already. No link is followed, so one put in the path since then cannot lead the write
// elsewhere. Missing parent directories are made with mode 0777 less the umask. An existing file keeps its mode and, where
// that is allowed, its owner; hard links to it keep the old content. Files and directories are synced before Apply
// returns.
func Apply(root string, w Write) (changed bool, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("write %s: %w", QuoteName(w.Path), err)
		}
	}()
	if err := checkPath(w.Path); err != nil {
		return false, err
	}
	r, err := openRoot(root)
	if err != nil {
		return false, err
	}
	defer r.Close()
	dir, made, err := makeDirs(r, path.Dir(w.Path), !w.Exists)
	if err != nil {
		return false, changedIf(err)
	}
	defer dir.Close()
	changed, err = put(dir, path.Base(w.Path), w)
	if !changed {
		removeDirs(r, made)
	}
	return changed, err
}

// checkPath refuses what is no resolved path of a file in the workspace.
func checkPath(name string) error {
	if name == "" || name == "." || path.IsAbs(name) || path.Clean(name) != name || escapes(name) || strings.ContainsRune(name, 0) {
		return errors.New("not a clean path of the workspace")
	}
	return nil
}

// put writes one file inside dir.
func put(dir *os.Root, name string, w Write) (changed bool, err error) {
	info, err := unchanged(dir, name, w)
	if err != nil {
		return false, err
	}
	if w.Exists && bytes.Equal(w.Before, w.After) {
		return false, nil
	}
	t, err := stage(dir, name, w, info)
	if err != nil {
		return false, err
	}
	defer t.discard()
	return t.commit(name, w)
}

// stage writes the new content beside the target. info is what stands there, nil for nothing.
func stage(dir *os.Root, name string, w Write, info fs.FileInfo) (*temp, error) {
	perm := fs.FileMode(w.Mode) & fs.ModePerm // of a new file: the kernel takes the bits of the umask
	if w.Exists {
		perm = 0o600
	}
	t, err := newTemp(dir, name, perm)
	if err != nil {
		return nil, err
	}
	if err := t.fill(w.After, info); err != nil {
		t.discard()
		return nil, err
	}
	return t, nil
}

// commit gives the staged file the target's name. The target is looked at again right before: staging may have taken a
// while.
func (t *temp) commit(name string, w Write) (changed bool, err error) {
	if _, err := unchanged(t.dir, name, w); err != nil {
		return false, err
	}
	if err := t.become(name, w.Exists); err != nil {
		return false, changedIf(err)
	}
	return true, syncDir(t.dir)
}

// unchanged compares what stands at name with what the write says, and gives what it found.
func unchanged(dir *os.Root, name string, w Write) (fs.FileInfo, error) {
	file, info, err := openFile(dir, name)
	if errors.Is(err, fs.ErrNotExist) && !w.Exists {
		return nil, nil
	}
	if err != nil {
		return nil, changedIf(err)
	}
	defer file.Close()
	if !w.Exists {
		return nil, fmt.Errorf("%w: it exists now", ErrChanged)
	}
	if err := writable(info); err != nil {
		return nil, err
	}
	now, err := io.ReadAll(io.LimitReader(file, int64(len(w.Before))+1))
	if err != nil {
		return nil, bare(err)
	}
	if !bytes.Equal(now, w.Before) {
		return nil, fmt.Errorf("%w: its content is another", ErrChanged)
	}
	return info, nil
}

// changedIf marks the errors that mean that something else stands where the plan saw a file, a directory or nothing.
func changedIf(err error) error {
	for _, sign := range []error{fs.ErrNotExist, fs.ErrExist, errSwapped, errDir, errSpecial, syscall.ENOTDIR, syscall.EISDIR} {
		if errors.Is(err, sign) && !errors.Is(err, ErrChanged) {
			return fmt.Errorf("%w: %w", ErrChanged, err)
		}
	}
	return err
}

// makeDirs opens the directory rel without following links. With create it makes what is missing and lists what it made,
// outermost first.
func makeDirs(root *os.Root, rel string, create bool) (dir *os.Root, made []string, err error) {
	if dir, err = root.OpenRoot("."); err != nil {
		return nil, nil, bare(err)
	}
	if rel == "." {
		return dir, nil, nil
	}
	at := "."
	for part := range strings.SplitSeq(rel, "/") {
		at = path.Join(at, part)
		next, err := enter(dir, part)
		if create && errors.Is(err, fs.ErrNotExist) {
			if err = dir.Mkdir(part, 0o777); err == nil {
				made = append(made, at)
				err = syncDir(dir)
			}
			if err == nil || errors.Is(err, fs.ErrExist) {
				next, err = enter(dir, part)
			}
		}
		dir.Close()
		if err != nil {
			removeDirs(root, made)
			return nil, nil, bare(err)
		}
		dir = next
	}
	return dir, made, nil
}

// removeDirs takes back directories that were made for a file that did not come to be. One that is not empty stays.
func removeDirs(root *os.Root, made []string) {
	for i := len(made) - 1; i >= 0; i-- {
		dir, name, err := parent(root, made[i])
		if err != nil {
			return
		}
		if info, err := dir.Lstat(name); err == nil && info.IsDir() {
			_ = dir.Remove(name)
		}
		dir.Close()
	}
}

// syncDir makes the names in dir durable. File systems that cannot sync a directory say EINVAL or ENOTSUP; there is
// nothing better to do on them.
func syncDir(dir *os.Root) error {
	file, err := dir.Open(".")
	if err != nil {
		return bare(err)
	}
	defer file.Close()
	if err := file.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) {
		return bare(err)
	}
	return nil
}
