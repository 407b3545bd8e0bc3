package policy

import (
	"path/filepath"
	"strings"
)

// path judges reading or writing a path given relative to a directory of the workspace.
func (b *Boundary) path(act Act, dir, given string) Verdict {
	if given == "" {
		given = "."
	}
	v := b.spelled(act, dir, given)
	// Nothing here expands ~, but whoever wrote it meant the home directory: both count.
	if rest, ok := strings.CutPrefix(given, "~"); ok && (rest == "" || rest[0] == '/') {
		if b.home == "" {
			return Verdict{Effect: Deny, Layer: WorkspaceLayer, Part: given}
		}
		v = stricter(v, b.spelled(act, "", filepath.Join(b.home, rest)))
	}
	return v
}

// spelled judges every form of a path.
func (b *Boundary) spelled(act Act, dir, given string) Verdict {
	forms, out := b.locate(dir, given)
	if out != nil {
		return Verdict{Effect: Deny, Layer: WorkspaceLayer, Part: out.part}
	}
	var v Verdict
	for i, form := range forms {
		next := b.form(act, form)
		if i == 0 {
			v = next
			continue
		}
		if next.Effect.rank() > v.Effect.rank() {
			if next.Part == "" {
				next.Part = form
			}
			v = next
		}
	}
	return v
}

// form judges one form of a path, relative and clean.
func (b *Boundary) form(act Act, rel string) Verdict {
	if own, ok := b.ownPath(act, rel); ok {
		return Verdict{Effect: Deny, Rule: own, Layer: BuiltinLayer}
	}
	s := newSubject(rel, b.folds)
	return b.decide(act, func(r *rule) (string, string, bool) {
		for _, glob := range r.paths {
			if r.effect == Allow {
				if glob.allows(s) {
					return glob.text, "", true
				}
				continue
			}
			if at, ok := glob.stops(s); ok {
				return glob.text, at, true
			}
		}
		return "", "", false
	})
}

// ownPath reports whether a path belongs to the program: its state for any act, its binary for writing.
func (b *Boundary) ownPath(act Act, rel string) (string, bool) {
	if b.policy.Bare {
		return "", false
	}
	full := filepath.Join(b.realRoot, rel)
	same := func(own string) bool {
		if _, ok := below(own, full); ok {
			return true
		}
		_, ok := below(fold(own), fold(full))
		return ok && b.folds
	}
	for _, own := range b.protected {
		if same(own) {
			return own, true
		}
	}
	if act == Write && b.binary != "" && same(b.binary) {
		return b.binary, true
	}
	return "", false
}

// atHome returns the pattern that a pattern beginning with ~/ also is where the home directory lies in the workspace.
func (b *Boundary) atHome(glob *pathGlob) []*pathGlob {
	rest, ok := strings.CutPrefix(glob.text, "~/")
	if !ok || b.home == "" {
		return nil
	}
	home := b.home
	if real, err := resolve("/", home); err == nil {
		home = real
	}
	rel, inside := below(b.realRoot, home)
	if !inside {
		return nil
	}
	out, err := compilePath(EscapePath(rel) + "/" + rest)
	if err != nil {
		return nil
	}
	out.text = glob.text
	return []*pathGlob{out}
}
