package record

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
)

// Save writes f to a file that only its owner may read, whole or not at all: until the new content is on the disk, the
// old stands. A path that names something else than a regular file is refused.
func (f *File) Save(path string) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("record: %s is not a regular file", path)
	}
	pending, err := renameio.NewPendingFile(path, renameio.WithTempDir(filepath.Dir(path)),
		renameio.WithStaticPermissions(0o600))
	if err != nil {
		return fmt.Errorf("record: %w", err)
	}
	defer func() { _ = pending.Cleanup() }() // does nothing once the file is in place
	if err := f.Encode(pending); err != nil {
		return err
	}
	if err := pending.CloseAtomicallyReplace(); err != nil {
		return fmt.Errorf("record: %w", err)
	}
	return nil
}

// Load reads a recording from a file. version is the running program's. What is wrong with the content is a *FileError;
// an error of opening the file is the operating system's.
func Load(path, version string) (*File, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	defer func() { _ = file.Close() }() // it was only read
	return Decode(file, path, version)
}
