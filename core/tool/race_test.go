package tool

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
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

// Every tool, planned and run while a directory turns into a link to one outside and back: nothing of what lies outside is
// shown, changed or made. (exec is told apart: where it runs is looked at right before, and the sandbox holds it.)
func TestNoToolIsLedOutWhileALinkIsSwappedIn(t *testing.T) {
	for _, c := range []struct {
		name string
		tool Tool
		args map[string]any
	}{
		{"read_file", readTool{}, map[string]any{"path": "dir/who"}},
		{"grep dir", grepTool{}, map[string]any{"pattern": ".", "path": "dir"}},
		{"grep all", grepTool{}, map[string]any{"pattern": "."}},
		{"grep file", grepTool{}, map[string]any{"pattern": ".", "path": "dir/who"}},
		{"find", findTool{}, map[string]any{"glob": "*"}},
		{"find below", findTool{}, map[string]any{"glob": "*", "path": "dir/sub"}},
		{"list", listTool{}, map[string]any{"path": "dir"}},
		{"list below", listTool{}, map[string]any{"path": "dir/sub"}},
		{"write_file", writeTool{}, map[string]any{"path": "dir/who", "content": "new"}},
		{"write_file new", writeTool{}, map[string]any{"path": "dir/sub/fresh", "content": "new"}},
		{"edit", editTool{}, map[string]any{"path": "dir/who", "old": "mine", "new": "mine too"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := workspace(t, map[string]string{"dir/who": "mine", "dir/sub/x": "mine"})
			out := workspace(t, map[string]string{"who": "mine or theirs", "theirs": "theirs", "sub/theirs": "theirs", "sub/x": "theirs"})
			before := tree(t, out)
			env := open(t, root)
			raw := args(t, c.args)
			juggle(t, root, out)
			done := 0
			for tries := 0; tries < 400 || done == 0 && tries < 40_000; tries++ {
				p, err := c.tool.Plan(context.Background(), env, raw)
				if err != nil {
					continue
				}
				if p.Write != nil {
					if changed, _ := Apply(root, *p.Write); changed {
						done++
						_, _ = Apply(root, Write{Path: p.Write.Path, Exists: true, Mode: 0o644, Before: p.Write.After, After: []byte("mine")})
					}
					continue
				}
				r, err := c.tool.Run(context.Background(), env, p)
				if err != nil {
					t.Fatal(err)
				}
				if strings.Contains(r.Text, "theirs") {
					t.Fatalf("what lies outside is shown: %q", r.Text)
				}
				if !r.Failed {
					done++
				}
			}
			if done == 0 {
				t.Error("the tool never got through, so nothing was tried")
			}
			if after := tree(t, out); after != before {
				t.Errorf("outside is now %s\nit was %s", after, before)
			}
		})
	}
}

// What is no file holds no tool up, wherever it stands.
func TestSpecialFilesHoldNoToolUp(t *testing.T) {
	root := workspace(t, map[string]string{"a": "x", "pipes/": "", "sub/": ""})
	for _, name := range []string{"pipe", "pipes/.gitignore", ".gitignore", "sub/AGENTS.md"} {
		if err := syscall.Mkfifo(filepath.Join(root, name), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	socket, err := net.Listen("unix", filepath.Join(root, "socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	special := []string{"pipe", "socket", "sub/AGENTS.md"}
	if err := syscall.Mknod(filepath.Join(root, "zero"), syscall.S_IFCHR|0o666, 1<<8|5); err == nil { // only root may
		special = append(special, "zero")
	}
	if err := os.Truncate(makeFile(t, root, "sparse"), 1<<30); err != nil {
		t.Fatal(err)
	}
	env := open(t, root)
	for _, name := range special {
		for _, c := range []struct {
			tool Tool
			args map[string]any
		}{
			{readTool{}, map[string]any{"path": name}},
			{grepTool{}, map[string]any{"pattern": "x", "path": name}},
			{findTool{}, map[string]any{"glob": "*", "path": name}},
			{listTool{}, map[string]any{"path": name}},
			{writeTool{}, map[string]any{"path": name, "content": "y"}},
			{editTool{}, map[string]any{"path": name, "old": "x", "new": "y"}},
		} {
			p, err := c.tool.Plan(context.Background(), env, args(t, c.args))
			if err != nil {
				continue // the model is told
			}
			if p.Write != nil {
				if changed, err := Apply(root, *p.Write); changed || err == nil {
					t.Errorf("%s of %s wrote", c.tool.Spec().Name, name)
				}
				continue
			}
			if r, err := c.tool.Run(context.Background(), env, p); err != nil || !r.Failed {
				t.Errorf("%s of %s: %+v, %v", c.tool.Spec().Name, name, r, err)
			}
		}
	}
	wantText(t, call(t, grepTool{}, env, map[string]any{"pattern": "x"}), "a:1: x\n[1 file over 64 MiB not searched]")
	if r := call(t, readTool{}, env, map[string]any{"path": "sparse"}); !r.Failed || !strings.Contains(r.Text, "too large") {
		t.Errorf("%+v", r)
	}
	if p, err := (editTool{}).Plan(context.Background(), env, args(t, map[string]any{"path": "sparse", "old": "x", "new": "y"})); err == nil {
		t.Errorf("%+v", p)
	}
	if _, err := Snapshot(context.Background(), root); err != nil {
		t.Error(err)
	}
}

func makeFile(t *testing.T, root, name string) string {
	t.Helper()
	write(t, root, name, "")
	return filepath.Join(root, name)
}

// A file with another name keeps its content there: the write is of this name, and says so.
func TestWritingAFileWithSeveralNames(t *testing.T) {
	root := workspace(t, map[string]string{"a": "old\n"})
	out := workspace(t, nil)
	if err := os.Link(filepath.Join(root, "a"), filepath.Join(out, "b")); err != nil {
		t.Skip("no hard links here:", err)
	}
	env := open(t, root)
	p := plan(t, writeTool{}, env, map[string]any{"path": "a", "content": "new\n"})
	if !strings.HasPrefix(p.Payload, "[the file has 2 names") || !strings.Contains(p.Payload, "+new") {
		t.Errorf("%q", p.Payload)
	}
	if changed, err := Apply(root, *p.Write); !changed || err != nil {
		t.Fatal(changed, err)
	}
	if body(t, root, "a") != "new\n" || body(t, out, "b") != "old\n" {
		t.Error("the other name was written too")
	}
}
