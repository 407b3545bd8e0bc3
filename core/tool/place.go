package tool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"tillerman/core/policy"
)

// maxLinks is how many links one path may go through, as in Linux.
const maxLinks = 40

var (
	errOutside = errors.New("outside the workspace")
	errLoop    = errors.New("its links go in a circle")
)

// place is where a path of a call leads.
type place struct {
	given   string // as the model gave it, lexically clean, relative to the workspace
	real    string // the same with every link followed: no part of it is a link
	outside bool   // it leads out of the workspace, or would; real is "" then
}

// place finds where name leads. A path that leads out is not an error: the policy denies it, with its own words.
// An absolute path below the workspace counts as relative to it, since commands print such paths.
func (env Env) place(name string) (place, error) {
	given := UnquoteName(name)
	switch {
	case given == "":
		return place{}, errors.New("the path is empty")
	case strings.ContainsRune(given, 0):
		return place{}, errors.New("the path holds a NUL, which no file name can")
	}
	given = path.Clean(given)
	if path.IsAbs(given) {
		rel, ok := below(env.Root, given)
		if !ok {
			return place{given: given, outside: true}, nil
		}
		given = rel
	}
	if escapes(given) {
		return place{given: given, outside: true}, nil
	}
	root, err := openRoot(env.Root)
	if err != nil {
		return place{}, err
	}
	defer root.Close()
	real, err := follow(root, env.Root, given)
	if errors.Is(err, errOutside) {
		return place{given: given, outside: true}, nil
	}
	if err != nil {
		return place{}, fmt.Errorf("%s: %w", QuoteName(given), err)
	}
	return place{given: given, real: real}, nil
}

// below gives an absolute path relative to root, "." for root itself.
func below(root, abs string) (string, bool) {
	if abs == root {
		return ".", true
	}
	rel, ok := strings.CutPrefix(abs, strings.TrimSuffix(root, "/")+"/")
	return rel, ok
}

func escapes(clean string) bool {
	return clean == ".." || strings.HasPrefix(clean, "../")
}

// follow resolves every link of rel, a lexically clean path below root. Parts that do not exist stay as they are. A link
// with an absolute target is followed when the target lies lexically below base, the root's path.
func follow(root *os.Root, base, rel string) (string, error) {
	pending := strings.Split(rel, "/")
	done := "."
	for links := 0; len(pending) > 0; {
		part := pending[0]
		pending = pending[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			if done == "." {
				return "", errOutside
			}
			done = path.Dir(done)
			continue
		}
		at := path.Join(done, part)
		info, err := root.Lstat(at)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			rest := path.Join(at, path.Join(pending...))
			if escapes(rest) {
				return "", errOutside
			}
			return rest, nil
		}
		if err != nil {
			return "", raced(err)
		}
		if info.Mode().Type() != fs.ModeSymlink {
			done = at
			continue
		}
		if links++; links > maxLinks {
			return "", errLoop
		}
		target, err := root.Readlink(at)
		if err != nil {
			return "", bare(err)
		}
		if path.IsAbs(target) {
			inside, ok := below(base, filepath.Clean(target))
			if !ok {
				return "", errOutside
			}
			done, target = ".", inside
		}
		pending = append(strings.Split(target, "/"), pending...)
	}
	return done, nil
}

// judge gives the action that stands for a place, and what the policy says to it.
//
// A path and what it resolves to are both judged, and the action names the one that the policy is stricter to: the
// resolved one, unless the path as given is held back for its own spelling. So a link that is turned elsewhere while the
// call waits for its verdict cannot lend the call another file's verdict: what is opened later is the resolved path.
func (env Env) judge(act policy.Act, p place) (policy.Action, policy.Verdict) {
	given := policy.Action{Act: act, Path: p.given}
	verdict := env.may(given)
	if p.outside || p.real == p.given {
		return given, verdict
	}
	real := policy.Action{Act: act, Path: p.real}
	if v := env.may(real); strictness(v.Effect) >= strictness(verdict.Effect) {
		return real, v
	}
	return given, verdict
}

// may asks the policy. Without one everything is denied: a call never acts on a verdict that nobody gave.
func (env Env) may(action policy.Action) policy.Verdict {
	if env.May == nil {
		return policy.Verdict{Effect: policy.Deny}
	}
	return env.May(action)
}

func strictness(effect policy.Effect) int {
	switch effect {
	case policy.Allow:
		return 0
	case policy.Ask:
		return 1
	}
	return 2
}
