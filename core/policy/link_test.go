package policy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLinksThatLeadOut(t *testing.T) {
	root, out := workspace(t), t.TempDir()
	write(t, filepath.Join(out, "old.txt"))
	link(t, out, filepath.Join(root, "outbox"))
	link(t, filepath.Join(out, "old.txt"), filepath.Join(root, "file"))
	link(t, filepath.Join(out, "none"), filepath.Join(root, "dangling"))
	link(t, "../"+filepath.Base(out), filepath.Join(root, "relative"))
	link(t, "outbox", filepath.Join(root, "chain"))
	link(t, "loop", filepath.Join(root, "loop"))
	b := boundary(t, root, "allow write *\nallow read *\nallow exec cat *")
	for _, path := range []string{
		"outbox", "outbox/new.txt", "outbox/old.txt", "outbox/a/b/new", "file", "dangling", "relative/x", "chain/x", "loop",
		"outbox/../x", "src/../outbox/x",
	} {
		for _, act := range []Act{Read, Write} {
			v := b.Explain(Action{Act: act, Path: path})
			if v.Effect != Deny || v.Rule != "" || v.Layer != WorkspaceLayer || v.Part == "" {
				t.Errorf("%s %s: %+v", act, path, v)
			}
		}
		wantEffect(t, b, "exec cat "+path, Ask)
	}
	real, err := filepath.EvalSymlinks(out)
	if err != nil {
		t.Fatal(err)
	}
	if v := b.Explain(Action{Act: Write, Path: "outbox/new.txt"}); v.Part != filepath.Join(real, "new.txt") {
		t.Errorf("the part does not say where it leads to: %+v", v)
	}
	wantEffect(t, b, "write src/new.txt", Allow)

	// A link made after the boundary counts.
	wantEffect(t, b, "write later/x", Allow)
	link(t, out, filepath.Join(root, "later"))
	wantEffect(t, b, "write later/x", Deny)
	if v := b.Explain(Action{Act: Exec, Argv: []string{"ls"}, Dir: "later"}); v.Effect != Deny || v.Layer != WorkspaceLayer {
		t.Errorf("a command's directory: %+v", v)
	}
}

func TestLinksInsideAreJudgedByBothPaths(t *testing.T) {
	root := workspace(t)
	link(t, ".env", filepath.Join(root, "settings"))
	link(t, "src", filepath.Join(root, "alias"))
	link(t, filepath.Join(root, ".git"), filepath.Join(root, "repo"))
	b := boundary(t, root, "allow write alias/**\ndeny write src/a.go\ndeny read alias/deep")
	if v := wantEffect(t, b, "read settings", Deny); v.Rule != ".env" || v.Part != ".env" {
		t.Errorf("%+v", v)
	}
	wantEffect(t, b, "write repo/hooks/x", Deny)
	wantEffect(t, b, "write alias/a.go", Deny)
	if v := wantEffect(t, b, "write alias/new.go", Ask); v.Part != "src/new.go" {
		t.Errorf("the allow is for the link, the default for its target: %+v", v)
	}
	wantEffect(t, b, "read alias/deep/b.go", Deny)
	wantEffect(t, b, "read src/deep/b.go", Allow)
	wantEffect(t, b, "sh cat < settings", Deny)
}

func TestWorkspaceRootMayBeALink(t *testing.T) {
	root := workspace(t)
	linked := filepath.Join(t.TempDir(), "ws")
	link(t, root, linked)
	b := boundary(t, linked, "allow write src/**\nallow exec "+linked+"/run.sh")
	wantEffect(t, b, "read main.go", Allow)
	wantEffect(t, b, "write src/x", Allow)
	wantEffect(t, b, "write "+linked+"/src/x", Allow)
	wantEffect(t, b, "write "+root+"/src/x", Allow)
	wantEffect(t, b, "read .env", Deny)
	wantEffect(t, b, "read ../x", Deny)
	wantEffect(t, b, "exec ./run.sh", Allow)
	wantEffect(t, b, "exec "+root+"/run.sh", Allow)
}

func TestDotDotBehindALinkGoesWhereTheKernelGoes(t *testing.T) {
	root := workspace(t)
	write(t, filepath.Join(root, "vault/in/x"))
	write(t, filepath.Join(root, "vault/secret"))
	link(t, "vault/in", filepath.Join(root, "door"))
	b := boundary(t, root, "deny read vault/secret")
	wantEffect(t, b, "read door/../secret", Deny)
	wantEffect(t, b, "read door/x", Allow)
}

func TestPathsThatAreNone(t *testing.T) {
	b := boundary(t, workspace(t), "allow read *\nallow write *\nallow exec *")
	for _, a := range []Action{
		{Act: Read, Path: "a\x00b"},
		{Act: Write, Path: "\x00"},
		{Act: Exec, Argv: []string{"ls", "a\x00"}},
		{Act: Exec, Argv: []string{"ls"}, Dir: "a\x00"},
		{Act: Exec, Argv: []string{"ls"}, Dir: "/"},
		{Act: Exec, Argv: []string{"ls"}, Dir: ".."},
		{Act: Exec},
		{Act: Exec, Argv: []string{""}},
		{Act: "fly", Path: "x"},
		{},
	} {
		if v := b.Explain(a); v.Effect != Deny || v.Rule != "" || v.Part == "" {
			t.Errorf("%+v: %+v", a, v)
		}
	}
	if v := b.Explain(Action{Act: Read}); v.Effect != Allow {
		t.Errorf("the empty path is the workspace: %+v", v)
	}
}

func TestPermissionsThatHideWhereALinkLeads(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may look everywhere: nothing can be hidden from it")
	}
	root := workspace(t)
	hidden := filepath.Join(root, "hidden")
	write(t, filepath.Join(hidden, "x"))
	if err := os.Chmod(hidden, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(hidden, 0o755) })
	wantEffect(t, boundary(t, root, "allow read *"), "read hidden/x", Deny)
}

// A long path that is not there is not looked for element by element: an argument of a command may hold thousands.
func TestWhatIsMissingIsLookedForOnce(t *testing.T) {
	root := workspace(t)
	long := strings.Repeat("a/", 2000) + "a"
	if real, err := resolve(root, long); err != nil || real != filepath.Join(root, long) {
		t.Errorf("%.50s %v", real, err)
	}
	if real, err := resolve(root, "missing/../src"); err != nil || real != filepath.Join(root, "src") {
		t.Errorf("%s %v", real, err)
	}
	if n := testing.AllocsPerRun(5, func() { _, _ = resolve(root, long) }); n > 200 {
		t.Errorf("%v allocations", n)
	}
}
