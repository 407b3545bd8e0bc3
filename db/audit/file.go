package audit

import (
	"errors"
	"os"
	"syscall"
)

// ErrNoFile says that something else stands in a file's place, such as a folder or a pipe.
var ErrNoFile = errors.New("no regular file")

// OpenRegular opens a key, a file of anchors or a segment for reading. Anything but a regular file is an *os.PathError with
// ErrNoFile. Without waiting: a pipe in the file's place would hold the program for ever.
func OpenRegular(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		_ = f.Close()
		return nil, &os.PathError{Op: "open", Path: path, Err: ErrNoFile}
	}
	return f, nil
}
