package tool

import (
	"errors"
	"strings"
	"testing"

	"tillerman/core/policy"
)

func TestPlace(t *testing.T) {
	root := workspace(t, map[string]string{"a.txt": "a", "dir/b.txt": "b", "dir/sub/c.txt": "c"})
	out := workspace(t, map[string]string{"x": "x"})
	link(t, root, "a.txt", "file-link")
	link(t, root, "dir/sub", "dir-link")
	link(t, root, "../a.txt", "dir/up-link")
	link(t, root, out, "out-link")
	link(t, root, out+"/x", "out-file")
	link(t, root, "../../../../../../..", "climb")
	link(t, root, root+"/dir", "abs-link")
	link(t, root, root, "self")
	link(t, root, "nowhere/new", "dangling")
	link(t, root, out+"/none", "out-dangling")
	link(t, root, "file-link", "link-link")
	env := open(t, root)
	for given, want := range map[string]place{
		"a.txt":             {given: "a.txt", real: "a.txt"},
		"./dir//b.txt":      {given: "dir/b.txt", real: "dir/b.txt"},
		"dir/../a.txt":      {given: "a.txt", real: "a.txt"},
		".":                 {given: ".", real: "."},
		"none/such":         {given: "none/such", real: "none/such"},
		"a.txt/below":       {given: "a.txt/below", real: "a.txt/below"},
		"file-link":         {given: "file-link", real: "a.txt"},
		"link-link":         {given: "link-link", real: "a.txt"},
		"dir-link/c.txt":    {given: "dir-link/c.txt", real: "dir/sub/c.txt"},
		"dir-link/new":      {given: "dir-link/new", real: "dir/sub/new"},
		"dir/up-link":       {given: "dir/up-link", real: "a.txt"},
		"abs-link/b.txt":    {given: "abs-link/b.txt", real: "dir/b.txt"},
		"self/self/a.txt":   {given: "self/self/a.txt", real: "a.txt"},
		"dangling":          {given: "dangling", real: "nowhere/new"},
		root + "/dir/b.txt": {given: "dir/b.txt", real: "dir/b.txt"},
		root:                {given: ".", real: "."},
		"..":                {given: "..", outside: true},
		"../x":              {given: "../x", outside: true},
		"dir/../../x":       {given: "../x", outside: true},
		"/etc/passwd":       {given: "/etc/passwd", outside: true},
		root + "x/y":        {given: root + "x/y", outside: true},
		"out-link":          {given: "out-link", outside: true},
		"out-link/new":      {given: "out-link/new", outside: true},
		"out-file":          {given: "out-file", outside: true},
		"out-dangling":      {given: "out-dangling", outside: true},
		"climb/etc":         {given: "climb/etc", outside: true},
		`"a.txt"`:           {given: "a.txt", real: "a.txt"},
	} {
		got, err := env.place(given)
		if err != nil || got != want {
			t.Errorf("%s: got %+v, %v; want %+v", given, got, err, want)
		}
	}
}

func TestPlaceRefuses(t *testing.T) {
	root := workspace(t, nil)
	link(t, root, "b", "a")
	link(t, root, "a", "b")
	env := open(t, root)
	for given, want := range map[string]string{"": "empty", "a\x00b": "NUL", "a": "circle", "b/c": "circle"} {
		if _, err := env.place(given); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), root) {
			t.Errorf("%q: got %v, want an error with %q and no absolute path", given, err, want)
		}
	}
}

func TestARootThatIsALinkWorks(t *testing.T) {
	root := workspace(t, map[string]string{"a.txt": "a\n"})
	at := workspace(t, nil)
	link(t, at, root, "ws")
	env := open(t, root)
	env.Root = at + "/ws"
	wantText(t, call(t, readTool{}, env, map[string]any{"path": "a.txt"}), "a\n")
}

func TestJudgeTakesTheStricterPath(t *testing.T) {
	root := workspace(t, map[string]string{"real": "", "other": ""})
	link(t, root, "real", "link")
	for name, c := range map[string]struct {
		given, real policy.Effect
		want        string
	}{
		"same":          {policy.Allow, policy.Allow, "real"},
		"real stricter": {policy.Allow, policy.Ask, "real"},
		"link stricter": {policy.Ask, policy.Allow, "link"},
		"real denied":   {policy.Ask, policy.Deny, "real"},
	} {
		env := Env{Root: root, May: func(a policy.Action) policy.Verdict {
			if a.Path == "link" {
				return policy.Verdict{Effect: c.given}
			}
			return policy.Verdict{Effect: c.real}
		}}
		p, err := env.place("link")
		if err != nil {
			t.Fatal(err)
		}
		if action, _ := env.judge(policy.Read, p); action.Path != c.want {
			t.Errorf("%s: judged %s, want %s", name, action.Path, c.want)
		}
	}
	if v := (Env{}).may(policy.Action{}); v.Effect != policy.Deny {
		t.Errorf("without a policy the verdict is %s", v.Effect)
	}
}

func TestDirectoriesAreOpenedWithoutLinks(t *testing.T) {
	root := workspace(t, map[string]string{"dir/sub/a": "a", "file": ""})
	link(t, root, "dir", "link")
	link(t, root, "sub", "dir/link")
	r, err := openRoot(root)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, rel := range []string{"link", "link/sub", "dir/link"} {
		if _, err := openDir(r, rel); !errors.Is(err, errSwapped) {
			t.Errorf("%s: got %v, want a refusal of the link", rel, err)
		}
	}
	if _, err := openDir(r, "file"); err == nil {
		t.Error("a file was opened as a directory")
	}
	dir, err := openDir(r, "dir/sub")
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	link(t, root, "a", "dir/sub/l")
	if _, _, err := openFile(dir, "l"); !errors.Is(err, errSwapped) {
		t.Errorf("a link to a file: got %v", err)
	}
	if _, err := openRoot(root + "/none"); err == nil || strings.Contains(err.Error(), root) {
		t.Errorf("a missing root: %v", err)
	}
}
