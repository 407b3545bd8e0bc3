package tool

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"syscall"

	"github.com/bmatcuk/doublestar/v4"

	"tillerman/core/policy"
)

// maxPattern is the longest glob or expression that search takes, in bytes.
const maxPattern = 1024

// search is what grep and find share: a walk below a path that a call named, under the policy.
type search struct {
	env   Env
	given string // the start as the call named it; results are shown below it
	real  string // the same resolved
	glob  string // "" for every file
}

// checkGlob refuses a glob that means nothing.
func checkGlob(glob string) error {
	switch {
	case len(glob) > maxPattern:
		return fmt.Errorf("the glob is longer than %d bytes", maxPattern)
	case !doublestar.ValidatePattern(glob):
		return fmt.Errorf("%s is not a valid glob", clip(QuoteName(glob)))
	}
	return nil
}

// shown is how results call a path that the walk met: below the start as it was given.
func (s search) shown(real string) string {
	if s.real == s.given {
		return real
	}
	rel, _ := below(s.real, real)
	if s.real == "." {
		rel = real
	}
	return path.Join(s.given, rel)
}

// fits matches the glob: one without a slash matches the name of a file at any depth, another the path below the start.
func (s search) fits(real string) bool {
	if s.glob == "" {
		return true
	}
	subject := real
	if s.real != "." {
		subject, _ = below(s.real, real)
	}
	if !strings.Contains(s.glob, "/") {
		subject = path.Base(real)
	}
	ok, err := doublestar.Match(s.glob, subject)
	return ok && err == nil
}

// may says whether a file may be shown: a denied one may not, one that would have to be asked for may. A path that leads
// through a link is judged as it is shown and as it is.
func (s search) may(real string) bool {
	if s.env.may(policy.Action{Act: policy.Read, Path: real}).Effect == policy.Deny {
		return false
	}
	shown := s.shown(real)
	return shown == real || s.env.may(policy.Action{Act: policy.Read, Path: shown}).Effect != policy.Deny
}

// run visits every file that may be seen, whether or not the glob fits: what is withheld is counted without regard to
// the glob, so that a glob cannot be used to guess denied names.
func (s search) run(ctx context.Context, visit func(item) error) (*walker, error) {
	root, err := openRoot(s.env.Root)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	w := &walker{may: s.may, visit: visit}
	return w, w.walk(ctx, root, s.real)
}

// file gives the start when it is a regular file; its in is nil when it is a directory. The caller closes in.
func (s search) file() (item, error) {
	if s.real == "." {
		return item{}, nil
	}
	root, err := openRoot(s.env.Root)
	if err != nil {
		return item{}, err
	}
	defer root.Close()
	dir, name, err := parent(root, s.real)
	if err != nil {
		return item{}, err
	}
	info, err := regular(dir, name)
	if err != nil {
		dir.Close()
		if errors.Is(err, errDir) {
			err = nil
		}
		return item{}, err
	}
	return item{path: s.real, name: name, info: info, in: dir}, nil
}

// notes are the closing lines of a search.
func (w *walker) notes() []string {
	var notes []string
	if w.unreadable > 0 {
		notes = append(notes, fmt.Sprintf("[%s could not be read]", plural(w.unreadable, "directory", "directories")))
	}
	if w.tooDeep > 0 {
		notes = append(notes, fmt.Sprintf("[%s deeper than %d levels left out]", plural(w.tooDeep, "directory", "directories"), maxDepth))
	}
	return append(notes, withheldNote(w.withheld)...)
}

func withheldNote(n int) []string {
	if n == 0 {
		return nil
	}
	return []string{fmt.Sprintf("[%s withheld by the policy]", plural(n, "file", "files"))}
}

// dirTrouble says why a directory could not be used.
func dirTrouble(name string, err error) Result {
	if errors.Is(err, syscall.ENOTDIR) {
		return failed("not a directory: %s", name)
	}
	return trouble(name, err)
}
