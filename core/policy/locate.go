package policy

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// maxLinks is how many links one path may take before it counts as a loop; Linux stops at 40.
const maxLinks = 64

// stray says that a path leads out of the workspace, or that where it leads to cannot be found out.
type stray struct{ part string }

// locate finds a path given relative to a directory of the workspace. It returns every form of it that counts, relative
// and clean: first as it is spelled, then as it resolves.
func (b *Boundary) locate(dir, given string) ([]string, *stray) {
	if strings.ContainsRune(given, 0) || strings.ContainsRune(dir, 0) {
		return nil, &stray{"the path holds a NUL byte"}
	}
	from, rest := b.realRoot, dir+"/"+given
	lexical := filepath.Join(b.root, dir, given)
	if filepath.IsAbs(given) {
		from, rest = "/", given
		lexical = filepath.Clean(given)
	}
	relative, inside := below(b.root, lexical)
	if !inside {
		if relative, inside = below(b.realRoot, lexical); !inside {
			return nil, &stray{lexical}
		}
	}
	forms := []string{relative}
	// With a .. behind a link the kernel goes another way than the cleaned text: both count.
	ways := [][2]string{{b.realRoot, relative}}
	if strings.Contains(rest, "..") {
		ways = append(ways, [2]string{from, rest})
	}
	for _, way := range ways {
		real, err := resolve(way[0], way[1])
		if err != nil {
			return nil, &stray{err.Error()}
		}
		relative, inside := below(b.realRoot, real)
		if !inside {
			return nil, &stray{real}
		}
		if !slices.Contains(forms, relative) {
			forms = append(forms, relative)
		}
	}
	return forms, nil
}

// below returns path relative to root when it is root or lies in it.
func below(root, path string) (string, bool) {
	if path == root {
		return ".", true
	}
	prefix := strings.TrimSuffix(root, "/") + "/"
	if rest, ok := strings.CutPrefix(path, prefix); ok {
		return rest, true
	}
	return "", false
}

// resolve follows every link of a path from a resolved directory on. What does not exist, a dangling link's target included, stays as it
// is written, so the answer is where something would come to lie if it were made now.
func resolve(from, path string) (string, error) {
	at, links := from, 0
	rest := strings.Split(path, "/")
	climbs := slices.Contains(rest, "..")
	for len(rest) > 0 {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, name)
		info, err := os.Lstat(next)
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ENAMETOOLONG):
			if !climbs { // nothing below it is there either
				return filepath.Join(append([]string{next}, rest...)...), nil
			}
			at = next
			continue
		case err != nil:
			return "", err
		case info.Mode()&fs.ModeSymlink == 0:
			at = next
			continue
		}
		if links++; links > maxLinks {
			return "", &fs.PathError{Op: "resolve", Path: path, Err: syscall.ELOOP}
		}
		target, err := os.Readlink(next)
		if err != nil {
			return "", err
		}
		if filepath.IsAbs(target) {
			at = "/"
		}
		rest = append(strings.Split(target, "/"), rest...)
		climbs = climbs || strings.Contains(target, "..")
	}
	return at, nil
}
