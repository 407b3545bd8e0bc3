package tool

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// maxEntries is how much of a workspace a listing remembers.
const maxEntries = 50_000

// Listing is what stood in a workspace at one moment: enough to see afterwards whether a command changed anything, and
// where. It follows .gitignore and leaves out .git. The modification time of a directory is not part of it, since that
// changes with files that are left out.
type Listing struct {
	// Overflow says that the workspace has more than 50,000 entries, or is deeper than 200 levels. Such a listing is
	// empty and counts as different from every other, itself included.
	Overflow bool

	entries []listed // in the byte order of the paths, directories with a slash at their end
}

// listed is one entry of a Listing.
type listed struct {
	path  string
	kind  byte // 'f' file, 'd' directory, 'l' link, 'o' other
	mode  uint32
	size  int64 // 0 for directories
	mtime int64 // nanoseconds since 1970; 0 for directories
}

// Len is the number of entries.
func (l *Listing) Len() int { return len(l.entries) }

var errOverflow = errors.New("too many entries")

// Snapshot lists the workspace at root. Its error is a done context, or a workspace that cannot be opened.
func Snapshot(ctx context.Context, root string) (*Listing, error) {
	return snapshot(ctx, root, maxEntries)
}

func snapshot(ctx context.Context, root string, most int) (*Listing, error) {
	r, err := openRoot(root)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	l := &Listing{}
	w := walker{visit: func(it item) error {
		if len(l.entries) == most {
			return errOverflow
		}
		l.entries = append(l.entries, entryOf(it))
		return nil
	}}
	err = w.walk(ctx, r, ".")
	switch {
	case errors.Is(err, errOverflow) || w.tooDeep > 0:
		return &Listing{Overflow: true}, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, err
	}
	return l, nil
}

func entryOf(it item) listed {
	e := listed{path: it.path, mode: uint32(it.info.Mode().Perm())}
	switch it.info.Mode().Type() {
	case fs.ModeDir:
		e.kind = 'd'
		return e
	case 0:
		e.kind = 'f'
	case fs.ModeSymlink:
		e.kind = 'l'
	default:
		e.kind = 'o'
	}
	e.size, e.mtime = it.info.Size(), it.info.ModTime().UnixNano()
	return e
}

// ChangeKind says how a file of one listing differs from that of another.
type ChangeKind string

// The kinds of change. A file that became a directory, or the reverse, is removed and added.
const (
	Added    ChangeKind = "added"
	Modified ChangeKind = "modified"
	Removed  ChangeKind = "removed"
)

// FileChange is one difference between two listings.
type FileChange struct {
	Path string // workspace-relative; a directory's has a slash at its end. Not necessarily valid UTF-8
	Kind ChangeKind
}

// Changed compares l with a later listing of the same workspace. files are in byte order; a directory is among them only
// when nothing below it shows that it came or went. When either overflowed, changed is true and files is nil: then what
// changed is not known.
func (l *Listing) Changed(later *Listing) (changed bool, files []FileChange) {
	if l.Overflow || later.Overflow {
		return true, nil
	}
	old, now := l.entries, later.entries
	for len(old) > 0 || len(now) > 0 {
		switch order := compareEntries(old, now); {
		case order < 0:
			files = append(files, FileChange{Path: old[0].key(), Kind: Removed})
			old = old[1:]
		case order > 0:
			files = append(files, FileChange{Path: now[0].key(), Kind: Added})
			now = now[1:]
		default:
			if old[0] != now[0] {
				files = append(files, FileChange{Path: now[0].key(), Kind: Modified})
			}
			old, now = old[1:], now[1:]
		}
	}
	changed = len(files) > 0
	return changed, withoutImplied(files)
}

// key orders entries, and tells a directory from a file of the same name.
func (e listed) key() string {
	if e.kind == 'd' {
		return e.path + "/"
	}
	return e.path
}

// compareEntries says which of two lists comes first; one at its end comes last.
func compareEntries(a, b []listed) int {
	switch {
	case len(a) == 0:
		return 1
	case len(b) == 0:
		return -1
	}
	return strings.Compare(a[0].key(), b[0].key())
}

// withoutImplied drops directories whose coming or going the change right behind them shows.
func withoutImplied(files []FileChange) []FileChange {
	var kept []FileChange
	for i, f := range files {
		implied := strings.HasSuffix(f.Path, "/") && f.Kind != Modified && i+1 < len(files) &&
			files[i+1].Kind == f.Kind && strings.HasPrefix(files[i+1].Path, f.Path)
		if !implied {
			kept = append(kept, f)
		}
	}
	return kept
}

// dirOf gives the directory of an entry, "" for the top.
func (e listed) dirOf() string {
	if dir := path.Dir(e.path); dir != "." {
		return dir
	}
	return ""
}

// Rename puts other names for those that must not be stored. Where the new name is none that a workspace can have, the
// entry is left out.
func (l *Listing) Rename(name func(string) string) {
	renamed := false
	kept := l.entries[:0]
	for _, e := range l.entries {
		if other := name(e.path); other != e.path {
			renamed = true
			if e.path = path.Clean(other); checkPath(e.path) != nil {
				continue
			}
		}
		kept = append(kept, e)
	}
	if l.entries = kept; renamed {
		slices.SortStableFunc(l.entries, func(a, b listed) int { return strings.Compare(a.key(), b.key()) })
	}
}
