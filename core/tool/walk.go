package tool

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"tillerman/core/tool/gitignore"
)

// maxDepth bounds how deep a walk goes: it holds a directory open for each level.
const maxDepth = 200

// maxIgnoreFile is the largest .gitignore that is read.
const maxIgnoreFile = 1 << 20

// item is one name that a walk meets.
type item struct {
	path string      // from the root of the workspace
	name string      // its last part
	info fs.FileInfo // of itself: links are not followed
	in   *os.Root    // the directory that it is in; valid during the visit
}

// walker goes through a tree in the byte order of its paths, a directory's counting with a slash at its end. It follows
// no links, skips .git and temporary files of ours, and leaves out what .gitignore files say. It is for one walk.
type walker struct {
	// may judges a path. What it refuses is not visited; the files there are counted. nil lets everything pass.
	may   func(path string) bool
	visit func(item) error

	withheld   int // files that may refused, themselves or with a directory above them
	unreadable int // directories that could not be read
	tooDeep    int // directories deeper than maxDepth
}

// walk goes through everything below start, a resolved path of a directory. A start that is ignored itself was asked
// for by name: then only .gitignore files below it count.
func (w *walker) walk(ctx context.Context, root *os.Root, start string) error {
	dir, rules, err := descend(root, start)
	if err != nil {
		return err
	}
	defer dir.Close()
	prefix := ""
	if start != "." {
		prefix = start
	}
	return w.dir(ctx, dir, prefix, rules, 0, false)
}

// descend opens start and gathers the rules of the directories above it.
func descend(root *os.Root, start string) (*os.Root, gitignore.Stack, error) {
	var rules gitignore.Stack
	dir, err := openDir(root, ".")
	if err != nil || start == "." {
		return dir, rules, err
	}
	at := ""
	for part := range strings.SplitSeq(start, "/") {
		rules = rules.With(at, ignoreFile(dir))
		at = path.Join(at, part)
		next, err := enter(dir, part)
		dir.Close()
		if err != nil {
			return nil, rules, err
		}
		if dir = next; rules.Ignored(at, true) {
			rules = gitignore.Stack{}
		}
	}
	return dir, rules, nil
}

// ignoreFile reads the rules of one directory. As in git, one that is a link does not count.
func ignoreFile(dir *os.Root) *gitignore.Patterns {
	file, _, err := openFile(dir, ".gitignore")
	if err != nil {
		return nil
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxIgnoreFile))
	if err != nil {
		return nil
	}
	return gitignore.Parse(text)
}

// dir goes through one directory. In a withheld one files are only counted.
func (w *walker) dir(ctx context.Context, dir *os.Root, at string, rules gitignore.Stack, depth int, withheld bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	infos, err := readDir(dir)
	if err != nil {
		w.unreadable++
		return nil
	}
	rules = rules.With(at, ignoreFile(dir))
	for _, info := range infos {
		name := info.Name()
		it := item{path: path.Join(at, name), name: name, info: info, in: dir}
		if name == ".git" || isTemp(name) || rules.Ignored(it.path, info.IsDir()) {
			continue
		}
		hidden := withheld || (w.may != nil && !w.may(it.path))
		if hidden && !info.IsDir() {
			w.withheld++
		}
		if !hidden {
			if err := w.visit(it); err != nil {
				return err
			}
		}
		if info.IsDir() {
			if err := w.below(ctx, it, rules, depth+1, hidden); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *walker) below(ctx context.Context, it item, rules gitignore.Stack, depth int, withheld bool) error {
	if depth > maxDepth {
		w.tooDeep++
		return nil
	}
	dir, err := enter(it.in, it.name)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errSwapped) {
			w.unreadable++
		}
		return nil
	}
	defer dir.Close()
	return w.dir(ctx, dir, it.path, rules, depth, withheld)
}

// readDir lists a directory in byte order, directories counting with a slash at their end: so the whole walk is in byte
// order. A name that goes away meanwhile is left out.
func readDir(dir *os.Root) ([]fs.FileInfo, error) {
	file, err := dir.Open(".")
	if err != nil {
		return nil, bare(err)
	}
	defer file.Close()
	names, err := file.Readdirnames(-1)
	if err != nil {
		return nil, bare(err)
	}
	infos := make([]fs.FileInfo, 0, len(names))
	for _, name := range names {
		if info, err := dir.Lstat(name); err == nil {
			infos = append(infos, info)
		}
	}
	slices.SortFunc(infos, func(a, b fs.FileInfo) int { return cmp.Compare(sortKey(a), sortKey(b)) })
	return infos, nil
}

func sortKey(info fs.FileInfo) string {
	if info.IsDir() {
		return info.Name() + "/"
	}
	return info.Name()
}
