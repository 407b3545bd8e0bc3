package tool

import (
	"errors"
	"testing"
)

func TestState(t *testing.T) {
	root := workspace(t, map[string]string{"a": "old", "dir/": ""})
	link(t, root, "a", "l")
	w := planned(t, root, "a", "new")
	fresh := planned(t, root, "n/new", "")
	want := func(w Write, want Standing) {
		t.Helper()
		s, err := State(root, w.Path)
		if err != nil || w.Standing(s) != want {
			t.Errorf("%s: standing %d, want %d (%v)", w.Path, w.Standing(s), want, err)
		}
	}
	want(w, StandsBefore)
	want(fresh, StandsBefore)
	for _, w := range []Write{w, fresh} {
		if _, err := Apply(root, w); err != nil {
			t.Fatal(err)
		}
		want(w, StandsApplied)
	}
	write(t, root, "a", "mine")
	want(w, StandsOther)
	remove(t, root, "a")
	want(w, StandsOther)
	write(t, root, "n/new", "mine")
	want(fresh, StandsOther)
	for _, name := range []string{"l", "dir"} {
		if _, err := State(root, name); !errors.Is(err, ErrChanged) {
			t.Errorf("%s: %v", name, err)
		}
	}
	s, err := State(root, "n/new")
	if err != nil || string(s.Body) != "mine" || s.Digest != sum([]byte("mine")) || s.Mode == 0 {
		t.Errorf("got %+v, %v", s, err)
	}
	if s, err := state(root, "n/new", 3); err != nil || s.Body != nil || s.Digest != sum([]byte("mine")) {
		t.Errorf("a file too large to keep: %d bytes kept, digest %q, %v", len(s.Body), s.Digest, err)
	}
	if s, err := state(root, "n/new", 4); err != nil || string(s.Body) != "mine" {
		t.Errorf("a file just small enough: %q, %v", s.Body, err)
	}
}
