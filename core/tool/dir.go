package tool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
)

var (
	// errSwapped says that a path that had no link in it when it was resolved has one now.
	errSwapped = errors.New("a link took its place")
	errDir     = errors.New("it is a directory")
	errSpecial = errors.New("it is neither a file nor a directory")
)

// openRoot opens the workspace. Errors hold no path: the model sees them, and it never sees absolute paths.
func openRoot(root string) (*os.Root, error) {
	r, err := os.OpenRoot(root)
	if err != nil {
		return nil, fmt.Errorf("open the workspace: %w", bare(err))
	}
	return r, nil
}

// openDir opens the directory rel, none of whose parts may be a link. What is opened stays the same directory whatever
// happens to its name afterwards, so operations on single names inside it cannot be led elsewhere.
func openDir(root *os.Root, rel string) (*os.Root, error) {
	dir, err := root.OpenRoot(".")
	if err != nil {
		return nil, bare(err)
	}
	if rel == "." {
		return dir, nil
	}
	for part := range strings.SplitSeq(rel, "/") {
		next, err := enter(dir, part)
		dir.Close()
		if err != nil {
			return nil, err
		}
		dir = next
	}
	return dir, nil
}

// enter opens the directory called name inside dir. os.Root follows links that stay inside, which must not happen here;
// so what was opened is compared with what stands there without following.
func enter(dir *os.Root, name string) (*os.Root, error) {
	// The "/." makes the kernel insist on a directory. Opening a named pipe would wait for a writer.
	next, err := dir.OpenRoot(name + "/.")
	info, statErr := dir.Lstat(name)
	if err != nil {
		switch {
		case statErr != nil:
			return nil, bare(statErr)
		case info.Mode().Type() == fs.ModeSymlink:
			return nil, errSwapped
		case info.IsDir() && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)):
			return nil, errSwapped // it was something else a moment ago
		}
		return nil, raced(err)
	}
	opened, err := next.Stat(".")
	if err != nil || statErr != nil || !info.IsDir() || !os.SameFile(info, opened) {
		next.Close()
		return nil, errSwapped
	}
	return next, nil
}

// parent opens the directory that rel stands in and gives rel's last part.
func parent(root *os.Root, rel string) (*os.Root, string, error) {
	dir, err := openDir(root, path.Dir(rel))
	return dir, path.Base(rel), err
}

// openFile opens the regular file called name inside dir for reading, never through a link.
func openFile(dir *os.Root, name string) (*os.File, fs.FileInfo, error) {
	if _, err := regular(dir, name); err != nil {
		return nil, nil, err
	}
	// Were the file replaced by a named pipe just now, opening would wait; O_NONBLOCK has no effect on files.
	file, err := dir.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, raced(err)
	}
	opened, err := file.Stat()
	if err == nil {
		var info fs.FileInfo
		if info, err = regular(dir, name); err == nil && !os.SameFile(info, opened) {
			err = errSwapped
		}
	}
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, opened, nil
}

// regular says what stands at name, and gives an error when that is not a regular file.
func regular(dir *os.Root, name string) (fs.FileInfo, error) {
	info, err := dir.Lstat(name)
	if err != nil {
		return nil, bare(err)
	}
	switch info.Mode().Type() {
	case 0:
		return info, nil
	case fs.ModeDir:
		return nil, errDir
	case fs.ModeSymlink:
		return nil, errSwapped
	}
	return nil, errSpecial
}

// bare strips what the operating system's errors say of the operation and the path, which may be an absolute one. What
// is left still answers errors.Is.
func bare(err error) error {
	var (
		path *fs.PathError
		link *os.LinkError
		call *os.SyscallError
	)
	switch {
	case errors.As(err, &path):
		return bare(path.Err)
	case errors.As(err, &link):
		return bare(link.Err)
	case errors.As(err, &call):
		return bare(call.Err)
	}
	return err
}

// raced is bare for an operation on a name that was no link: when os.Root refuses such a name by its own rules, which
// are not the kernel's errors, or the kernel finds a circle of links, then a link was there for a moment.
func raced(err error) error {
	var errno syscall.Errno
	if !errors.As(err, &errno) || errno == syscall.ELOOP {
		return errSwapped
	}
	return bare(err)
}

// openReal opens the file at rel, a resolved path of the workspace.
func openReal(root, rel string) (*os.File, fs.FileInfo, error) {
	r, err := openRoot(root)
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	dir, name, err := parent(r, rel)
	if err != nil {
		return nil, nil, err
	}
	defer dir.Close()
	if rel == "." {
		return nil, nil, errDir
	}
	return openFile(dir, name)
}

// trouble says in one typed sentence why a file could not be used.
func trouble(name string, err error) Result {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return failed("not found: %s does not exist", name)
	case errors.Is(err, errDir):
		return failed("directory: %s is a directory; list shows what is in it", name)
	case errors.Is(err, errSpecial):
		return failed("not a file: %s is a device, a pipe or a socket", name)
	case errors.Is(err, errSwapped):
		return failed("changed: %s was replaced by a link while the call waited; nothing was done", name)
	}
	return failed("unreadable: %s: %v", name, bare(err))
}
