package tool

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
)

// Denied lists the files and directories of the workspace at root that may refuses, absolute, all links on the way to
// the root followed. What lies in a directory that is listed is not. Links are passed over: what they lead to is judged
// where it is. So is .git, which git itself must read, and what goes away meanwhile.
func Denied(ctx context.Context, root string, may func(path string) bool) ([]string, error) {
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		return nil, err
	}
	r, err := openRoot(real)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var denied []string
	err = fs.WalkDir(r.FS(), ".", func(path string, entry os.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case path == ".":
			return err
		case err != nil:
			return nil // whoever runs commands cannot read it either, or it is gone
		case entry.Type()&fs.ModeSymlink != 0:
			return nil
		case entry.IsDir() && path == ".git":
			return fs.SkipDir
		case may(path):
			return nil
		}
		denied = append(denied, filepath.Join(real, filepath.FromSlash(path)))
		if entry.IsDir() {
			return fs.SkipDir
		}
		return nil
	})
	return denied, err
}
