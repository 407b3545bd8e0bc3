package tool

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// juggle keeps turning root/dir from a directory into a link to target and back, until the test ends.
func juggle(t *testing.T, root, target string) {
	t.Helper()
	dir, aside := filepath.Join(root, "dir"), filepath.Join(root, "aside")
	stop := make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if err := os.Rename(dir, aside); err != nil {
				t.Error(err)
				return
			}
			_ = os.Symlink(target, dir) // a writer may have made a directory meanwhile
			for back := false; !back; back = os.Rename(aside, dir) == nil {
				_ = os.RemoveAll(dir)
			}
		}
	})
	t.Cleanup(func() { close(stop); wait.Wait() })
}

// Whatever moment a link takes the directory's place, what is opened under the name is the directory or nothing: also
// when the link stays inside the workspace, where os.Root would follow it.
func TestOpeningWhileALinkIsSwappedIn(t *testing.T) {
	root := workspace(t, map[string]string{"dir/who": "mine", "other/who": "theirs"})
	env := open(t, root)
	p := plan(t, readTool{}, env, map[string]any{"path": "dir/who"})
	juggle(t, root, "other")
	for range 1500 {
		r, err := readTool{}.Run(context.Background(), env, p)
		if err != nil {
			t.Fatal(err)
		}
		if !r.Failed && r.Text != "mine" {
			t.Fatalf("the link was followed: %q", r.Text)
		}
	}
}

func TestWritingWhileALinkIsSwappedIn(t *testing.T) {
	root := workspace(t, map[string]string{"dir/who": "old"})
	out := workspace(t, map[string]string{"who": "old"})
	w := planned(t, root, "dir/who", "new")
	fresh := planned(t, root, "dir/fresh", "new")
	juggle(t, root, out)
	for range 300 {
		if changed, err := Apply(root, w); changed != (err == nil) || (err != nil && !errors.Is(err, ErrChanged)) {
			t.Fatal(changed, err)
		} else if changed {
			w.Before, w.After = w.After, w.Before
		}
		_, _ = Apply(root, fresh)
	}
	if body(t, out, "who") != "old" {
		t.Error("a file outside was written")
	}
	if _, err := os.Lstat(filepath.Join(out, "fresh")); err == nil {
		t.Error("a file outside was made")
	}
	noTemps(t, out)
}
