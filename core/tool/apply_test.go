package tool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// planned is a write over what root holds at path now.
func planned(t testing.TB, root, path, after string) Write {
	t.Helper()
	w, err := preimage(root, path)
	if err != nil {
		t.Fatal(err)
	}
	w.After = []byte(after)
	return w
}

func TestApplyRefusesWhatChanged(t *testing.T) {
	cases := map[string]struct {
		path string
		turn func(t *testing.T, root string)
	}{
		"another content":        {"a", func(t *testing.T, root string) { write(t, root, "a", "mine and more") }},
		"another of one size":    {"a", func(t *testing.T, root string) { write(t, root, "a", "olD") }},
		"gone":                   {"a", func(t *testing.T, root string) { remove(t, root, "a") }},
		"a directory":            {"a", func(t *testing.T, root string) { remove(t, root, "a"); mkdir(t, root, "a") }},
		"a link to the same":     {"a", func(t *testing.T, root string) { rename(t, root, "a", "b"); link(t, root, "b", "a") }},
		"a link outside":         {"a", func(t *testing.T, root string) { remove(t, root, "a"); link(t, root, "../out/a", "a") }},
		"a pipe":                 {"a", func(t *testing.T, root string) { remove(t, root, "a"); pipe(t, root, "a") }},
		"a new file that exists": {"new", func(t *testing.T, root string) { write(t, root, "new", "mine") }},
		"a new file, now a link": {"new", func(t *testing.T, root string) { link(t, root, "../out/new", "new") }},
		"a new file, now a directory": {
			"new", func(t *testing.T, root string) { mkdir(t, root, "new") },
		},
		"a parent that is a link":        {"dir/b", func(t *testing.T, root string) { rename(t, root, "dir", "d2"); link(t, root, "d2", "dir") }},
		"a parent that leads out":        {"dir/b", func(t *testing.T, root string) { remove(t, root, "dir"); link(t, root, "../out", "dir") }},
		"a parent that is gone":          {"dir/b", func(t *testing.T, root string) { remove(t, root, "dir") }},
		"a parent of a new file, a link": {"made/deep/x", func(t *testing.T, root string) { link(t, root, "../out", "made") }},
		"a parent of a new file, a file": {"made/deep/x", func(t *testing.T, root string) { write(t, root, "made", "") }},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			both := workspace(t, map[string]string{"ws/a": "old", "ws/dir/b": "old", "out/a": "old", "out/b": "old"})
			root := filepath.Join(both, "ws")
			w := planned(t, root, c.path, "new")
			c.turn(t, root)
			before := tree(t, both)
			changed, err := Apply(root, w)
			if changed || !errors.Is(err, ErrChanged) || strings.Contains(err.Error(), both) {
				t.Errorf("got %v, %v", changed, err)
			}
			wantFailed(t, w.NotWritten(err), "file changed")
			if after := tree(t, both); after != before {
				t.Errorf("the files were\n%s\nand are\n%s", before, after)
			}
		})
	}
}

// tree writes down every name below root and what it holds.
func tree(t testing.TB, root string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		text := ""
		switch d.Type() {
		case 0:
			text = body(t, "/", path)
		case fs.ModeSymlink:
			text, _ = os.Readlink(path)
		}
		fmt.Fprintf(&b, "%s %s %q\n", d.Type(), path, text)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func mkdir(t testing.TB, root, name string) {
	t.Helper()
	if err := os.Mkdir(filepath.Join(root, name), 0o755); err != nil {
		t.Fatal(err)
	}
}

func rename(t testing.TB, root, from, to string) {
	t.Helper()
	if err := os.Rename(filepath.Join(root, from), filepath.Join(root, to)); err != nil {
		t.Fatal(err)
	}
}

func pipe(t testing.TB, root, name string) {
	t.Helper()
	if err := syscall.Mkfifo(filepath.Join(root, name), 0o644); err != nil {
		t.Fatal(err)
	}
}

// The last look at the file comes after the new content is on disk: what is saved while that is written is kept.
func TestAChangeDuringTheWriteIsKept(t *testing.T) {
	for _, name := range []string{"a", "new"} {
		root := workspace(t, map[string]string{"a": "old"})
		w := planned(t, root, name, "theirs")
		dir, err := os.OpenRoot(root)
		if err != nil {
			t.Fatal(err)
		}
		info, err := unchanged(dir, name, w)
		if err != nil {
			t.Fatal(err)
		}
		staged, err := stage(dir, name, w, info)
		if err != nil {
			t.Fatal(err)
		}
		write(t, root, name, "mine")
		if changed, err := staged.commit(name, w); changed || !errors.Is(err, ErrChanged) {
			t.Errorf("%s: %v, %v", name, changed, err)
		}
		// Were it made after the last look, too, a new file replaces nothing.
		if name == "new" {
			if err := staged.become(name, false); !errors.Is(err, fs.ErrExist) {
				t.Errorf("a new file replaced another: %v", err)
			}
		}
		staged.discard()
		dir.Close()
		if body(t, root, name) != "mine" {
			t.Error("the save was lost")
		}
		noTemps(t, root)
	}
}

func TestApplyKeepsTheMode(t *testing.T) {
	root := workspace(t, map[string]string{"run.sh": "old"})
	full := filepath.Join(root, "run.sh")
	for _, mode := range []fs.FileMode{0o755, 0o600, 0o664, 0o200} {
		if err := os.Chmod(full, 0o644); err != nil {
			t.Fatal(err)
		}
		w := planned(t, root, "run.sh", "new "+mode.String())
		// A mode given after the plan stays too: only the content was planned.
		if err := os.Chmod(full, mode); err != nil {
			t.Fatal(err)
		}
		changed, err := Apply(root, w)
		if mode == 0o200 && os.Getuid() != 0 {
			continue // the owner cannot read it
		}
		if err != nil || !changed {
			t.Fatal(changed, err)
		}
		if info, err := os.Stat(full); err != nil || info.Mode() != mode {
			t.Errorf("the mode is %v, want %v", info.Mode(), mode)
		}
	}
}

func TestNewFilesFollowTheUmask(t *testing.T) {
	root := workspace(t, nil)
	w := planned(t, root, "d/new", "x")
	if changed, err := Apply(root, w); err != nil || !changed {
		t.Fatal(changed, err)
	}
	plain := filepath.Join(root, "plain")
	if err := os.WriteFile(plain, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	want, err := os.Stat(plain)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.Stat(filepath.Join(root, "d/new"))
	if err != nil || got.Mode() != want.Mode() {
		t.Errorf("the mode is %v, that of any new file %v", got.Mode(), want.Mode())
	}
	if runtime.GOOS == "linux" && fs.FileMode(w.Mode) != want.Mode() {
		t.Errorf("the plan says mode %04o, new files get %04o", w.Mode, want.Mode())
	}
	mkdir(t, root, "plain-dir")
	plainDir, err := os.Stat(filepath.Join(root, "plain-dir"))
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(root, "d")); err != nil || info.Mode()&^0o022 != plainDir.Mode()&^0o022 {
		t.Errorf("the mode of the new directory is %v", info.Mode())
	}
}

func TestApplyRefusesOddPaths(t *testing.T) {
	root := workspace(t, nil)
	for _, path := range []string{"", ".", "..", "../x", "/etc/x", "a/../b", "a//b", "a/", "a\x00b"} {
		if changed, err := Apply(root, Write{Path: path, After: []byte("x"), Mode: 0o644}); changed || err == nil {
			t.Errorf("%q: %v, %v", path, changed, err)
		}
		if _, err := State(root, path); err == nil {
			t.Errorf("%q has a state", path)
		}
	}
	if _, err := Apply(root+"/none", Write{Path: "a"}); err == nil || strings.Contains(err.Error(), root) {
		t.Errorf("a missing root: %v", err)
	}
}

func TestApplyWithoutPermission(t *testing.T) {
	root := workspace(t, map[string]string{"closed/a": "old", "open/ro": "old"})
	w := planned(t, root, "closed/a", "new")
	deep := planned(t, root, "closed/made/x", "new")
	ro := planned(t, root, "open/ro", "new")
	for name, mode := range map[string]fs.FileMode{"closed": 0o555, "open/ro": 0o444} {
		if err := os.Chmod(filepath.Join(root, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(root, "closed"), 0o755) })
	asNobody(t, root, func(t *testing.T) {
		for _, w := range []Write{w, deep, ro} {
			changed, err := Apply(root, w)
			if changed || err == nil || errors.Is(err, ErrChanged) {
				t.Errorf("%s: %v, %v", w.Path, changed, err)
			}
			wantFailed(t, w.NotWritten(err), "not written")
		}
		noTemps(t, root)
	})
	if body(t, root, "closed/a") != "old" || body(t, root, "open/ro") != "old" {
		t.Error("a file was written")
	}
}

func TestFailedWritesLeaveNothing(t *testing.T) {
	root := workspace(t, map[string]string{"d/keep": ""})
	w := planned(t, root, "d/e/f/new", "x")
	w.Path = "d/e/f/" + strings.Repeat("n", 300) // no file system takes it
	before := tree(t, root)
	if changed, err := Apply(root, w); changed || err == nil {
		t.Fatal(changed, err)
	}
	if after := tree(t, root); after != before {
		t.Errorf("the files were\n%s\nand are\n%s", before, after)
	}
}

func TestWritersOfOneFileDoNotMix(t *testing.T) {
	root := workspace(t, map[string]string{"a": "old"})
	w := planned(t, root, "a", "")
	var wait sync.WaitGroup
	results := make([]error, 8)
	for i := range results {
		wait.Go(func() {
			w := w
			w.After = []byte(strings.Repeat(fmt.Sprint(i), 100_000))
			_, results[i] = Apply(root, w)
		})
	}
	wait.Wait()
	won := 0
	for i, err := range results {
		switch {
		case err == nil:
			won++
		case !errors.Is(err, ErrChanged):
			t.Errorf("writer %d: %v", i, err)
		}
	}
	text := body(t, root, "a")
	if won == 0 || len(text) != 100_000 || strings.Trim(text, text[:1]) != "" {
		t.Errorf("%d writers won, and the file has %d bytes", won, len(text))
	}
	noTemps(t, root)
}

func TestOneOfManyMakesANewFile(t *testing.T) {
	root := workspace(t, nil)
	var wait sync.WaitGroup
	results := make([]bool, 8)
	for i := range results {
		wait.Go(func() {
			results[i], _ = Apply(root, Write{Path: "d/new", Mode: 0o644, After: []byte(fmt.Sprint(i))})
		})
	}
	wait.Wait()
	won := -1
	for i, ok := range results {
		if ok && won >= 0 {
			t.Errorf("both %d and %d made the file", won, i)
		}
		if ok {
			won = i
		}
	}
	if won < 0 || body(t, root, "d/new") != fmt.Sprint(won) {
		t.Errorf("winner %d, the file has %q", won, body(t, root, "d/new"))
	}
	noTemps(t, root)
}
