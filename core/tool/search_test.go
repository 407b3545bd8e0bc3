package tool

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tillerman/core/policy"
)

func project(t testing.TB) string {
	return workspace(t, map[string]string{
		"main.go": "package main\n\nfunc main() {}\n", "a-b/x.go": "func x() {}\r\n", "a/y.go": "func y() {}\n", "a/deep/z.txt": "func z\n",
		".git/config": "func hidden\n", "vendor/v.go": "func v() {}\n", ".gitignore": "/vendor/\n*.log\n", "a/.gitignore": "!keep.log\nlocal\n",
		"x.log": "func log\n", "a/keep.log": "func kept\n", "a/local": "func local\n", "bin": "func\x00bin\n",
		".tillerman-0123456789abcdef-0.tmp": "func temp\n", ".env": "func secret\n", "priv/one": "func 1\n", "priv/two/three": "func 3\n",
	})
}

func TestGrep(t *testing.T) {
	root := project(t)
	link(t, root, "main.go", "link.go")
	link(t, root, "a", "dirlink")
	env := open(t, root, ".env", "priv")
	for _, c := range []struct {
		args map[string]any
		want string
	}{
		{
			map[string]any{"pattern": "^func"},
			"a-b/x.go:1: func x() {}\na/deep/z.txt:1: func z\na/keep.log:1: func kept\na/y.go:1: func y() {}\nmain.go:3: func main() {}\n" +
				"[3 files withheld by the policy]",
		},
		{
			map[string]any{"pattern": `FUNC \w+\(\)`, "glob": "*.go"},
			"[no match]\n[3 files withheld by the policy]",
		},
		{
			map[string]any{"pattern": `(?i)FUNC \w+\(\)`, "glob": "a/**"},
			"a/y.go:1: func y() {}\n[3 files withheld by the policy]",
		},
		{map[string]any{"pattern": "func", "path": "a", "glob": "*.txt"}, "a/deep/z.txt:1: func z"},
		{map[string]any{"pattern": "func", "path": "a", "glob": "deep/*"}, "a/deep/z.txt:1: func z"},
		{map[string]any{"pattern": "func", "path": "dirlink/deep"}, "dirlink/deep/z.txt:1: func z"},
		{map[string]any{"pattern": "func", "path": "a/y.go"}, "a/y.go:1: func y() {}"},
		{map[string]any{"pattern": "func", "path": "link.go"}, "link.go:3: func main() {}"},
		{map[string]any{"pattern": "func", "path": "vendor"}, "vendor/v.go:1: func v() {}"},
		{map[string]any{"pattern": "func", "limit": 2, "path": "a"}, "a/deep/z.txt:1: func z\na/keep.log:1: func kept\n[1 more matching line not shown]"},
		{map[string]any{"pattern": "$"}, "a-b/x.go:1: func x() {}\na/.gitignore:1: !keep.log\na/.gitignore:2: local\na/deep/z.txt:1: func z\n" +
			"a/keep.log:1: func kept\na/y.go:1: func y() {}\nmain.go:1: package main\nmain.go:2: \nmain.go:3: func main() {}\n" +
			"[3 files withheld by the policy]"},
	} {
		got := call(t, grepTool{}, env, c.args)
		if c.args["pattern"] == "$" {
			// The root's own .gitignore comes first.
			got.Text = strings.TrimPrefix(got.Text, ".gitignore:1: /vendor/\n.gitignore:2: *.log\n")
		}
		wantText(t, got, c.want)
	}
	for path, kind := range map[string]string{"none": "not found", "bin": "binary", "main.go/x": "not a directory", "../x": "outside"} {
		wantFailed(t, call(t, grepTool{}, env, map[string]any{"pattern": "x", "path": path}), kind)
	}
}

func TestGrepArguments(t *testing.T) {
	env := open(t, workspace(t, nil))
	for pattern, want := range map[string]string{"(": "missing closing", strings.Repeat("a", 1025): "longer than"} {
		if _, err := (grepTool{}).Plan(context.Background(), env, args(t, map[string]any{"pattern": pattern})); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if _, err := (grepTool{}).Plan(context.Background(), env, args(t, map[string]any{"pattern": "a", "glob": "[a"})); err == nil {
		t.Error("a bad glob was taken")
	}
}

func TestGrepLimits(t *testing.T) {
	root := workspace(t, map[string]string{
		"many": strings.Repeat("hit\n", 250), "wide": strings.Repeat("é", 500) + "end\n", "bytes": "a long enough line with x\xff\n",
	})
	if err := os.WriteFile(filepath.Join(root, "big"), []byte("hit\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(root, "big"), grepBytes+1); err != nil {
		t.Fatal(err)
	}
	env := open(t, root)
	r := call(t, grepTool{}, env, map[string]any{"pattern": "hit"})
	lines := strings.Split(r.Text, "\n")
	if len(lines) != 202 || lines[199] != "many:200: hit" || lines[200] != "[50 more matching lines not shown]" || lines[201] != "[1 file over 64 MiB not searched]" {
		t.Errorf("%d lines, ending %q", len(lines), lines[max(0, len(lines)-3):])
	}
	wantText(t, call(t, grepTool{}, env, map[string]any{"pattern": "end", "path": "wide"}), "wide:1: "+strings.Repeat("é", 400)+"… [203 bytes more]")
	wantText(t, call(t, grepTool{}, env, map[string]any{"pattern": "x", "path": "bytes"}), `bytes:1: a long enough line with x\xff`)
}

func TestFind(t *testing.T) {
	root := project(t)
	link(t, root, "main.go", "link.go")
	link(t, root, ".env", "envlink")
	env := open(t, root, ".env", "priv")
	for _, c := range []struct {
		args map[string]any
		want string
	}{
		{map[string]any{"glob": "*.go"}, "a-b/x.go\na/y.go\nlink.go\nmain.go\n[4 files withheld by the policy]"},
		{map[string]any{"glob": "a/**"}, "a/.gitignore\na/deep/z.txt\na/keep.log\na/y.go\n[4 files withheld by the policy]"},
		{map[string]any{"glob": "**/*.{txt,log}"}, "a/deep/z.txt\na/keep.log\n[4 files withheld by the policy]"},
		{map[string]any{"glob": "*", "path": "a/deep"}, "a/deep/z.txt"},
		{map[string]any{"glob": "*.go", "limit": 1}, "a-b/x.go\n[3 more paths not shown]\n[4 files withheld by the policy]"},
		{map[string]any{"glob": "*.none", "path": "a"}, "[no file fits]"},
	} {
		wantText(t, call(t, findTool{}, env, c.args), c.want)
	}
	wantFailed(t, call(t, findTool{}, env, map[string]any{"glob": "*", "path": "main.go"}), "not a directory")
	wantFailed(t, call(t, findTool{}, env, map[string]any{"glob": "*", "path": "none"}), "not found")
}

// A glob or a pattern must not tell whether a denied file of some name or content is there.
func TestSearchCannotGuessDeniedNames(t *testing.T) {
	root := workspace(t, map[string]string{"secret-a": "x", "open": "x"})
	env := open(t, root, "secret-a")
	for _, pair := range [][2]string{{"secret-a", "secret-b"}, {"secret-*", "nothing-*"}} {
		one := call(t, findTool{}, env, map[string]any{"glob": pair[0]}).Text
		other := call(t, findTool{}, env, map[string]any{"glob": pair[1]}).Text
		if one != other {
			t.Errorf("find %s says %q, and %s %q", pair[0], one, pair[1], other)
		}
		one = call(t, grepTool{}, env, map[string]any{"pattern": "x", "glob": pair[0]}).Text
		if other = call(t, grepTool{}, env, map[string]any{"pattern": "x", "glob": pair[1]}).Text; one != other {
			t.Errorf("grep in %s says %q, and in %s %q", pair[0], one, pair[1], other)
		}
	}
}

func TestSearchShowsWhatWouldBeAsked(t *testing.T) {
	root := workspace(t, map[string]string{"asked": "x"})
	env := Env{Root: root, May: func(policy.Action) policy.Verdict { return policy.Verdict{Effect: policy.Ask} }}
	wantText(t, call(t, findTool{}, env, map[string]any{"glob": "*"}), "asked")
}

// A rule on a path that leads through a link holds when the search starts there.
func TestSearchJudgesThePathAsGiven(t *testing.T) {
	root := workspace(t, map[string]string{"src/a": "x", "src/b": "x"})
	link(t, root, "src", "way")
	env := Env{Root: root, May: func(a policy.Action) policy.Verdict {
		if a.Path == "way/a" {
			return policy.Verdict{Effect: policy.Deny}
		}
		return policy.Verdict{Effect: policy.Allow}
	}}
	wantText(t, call(t, findTool{}, env, map[string]any{"glob": "*", "path": "way"}), "way/b\n[1 file withheld by the policy]")
	wantText(t, call(t, grepTool{}, env, map[string]any{"pattern": "x", "path": "way"}), "way/b:1: x\n[1 file withheld by the policy]")
	wantText(t, call(t, listTool{}, env, map[string]any{"path": "way"}), "file 1 b\n[1 entry withheld by the policy]")
}

func TestList(t *testing.T) {
	root := project(t)
	link(t, root, "main.go", "link")
	link(t, root, "/etc", "etc")
	pipe(t, root, "pipe")
	env := open(t, root, ".env", "priv")
	wantText(t, call(t, listTool{}, env, nil), "dir - .git\nfile 15 .gitignore\ndir - a\ndir - a-b\nfile 9 bin\nlink - link\nfile 29 main.go\nother - pipe\n"+
		"dir - vendor\nfile 9 x.log\n[3 entries withheld by the policy]")
	wantText(t, call(t, listTool{}, env, map[string]any{"path": "a/deep"}), "file 7 z.txt")
	mkdir(t, root, "void")
	wantText(t, call(t, listTool{}, env, map[string]any{"path": "void"}), "[nothing in it]")
	wantFailed(t, call(t, listTool{}, env, map[string]any{"path": "main.go"}), "not a directory")
	wantFailed(t, call(t, listTool{}, env, map[string]any{"path": "none"}), "not found")
	wantFailed(t, call(t, listTool{}, env, map[string]any{"path": "etc"}), "outside")
}

func TestListIsCut(t *testing.T) {
	root := workspace(t, nil)
	for i := range listMost + 3 {
		write(t, root, fmt.Sprintf("f%05d", i), "")
	}
	lines := strings.Split(call(t, listTool{}, open(t, root), nil).Text, "\n")
	if len(lines) != listMost+1 || lines[listMost] != "[3 more entries not shown]" {
		t.Errorf("%d lines, the last %q", len(lines), lines[len(lines)-1])
	}
}

// Every odd name is one line, and that line is the name that other tools take.
func TestSearchOfOddNames(t *testing.T) {
	files := map[string]string{}
	for _, name := range oddNames {
		files[name] = "needle\n"
	}
	env := open(t, workspace(t, files))
	want := slices.Sorted(slices.Values(oddNames))
	found := strings.Split(call(t, findTool{}, env, map[string]any{"glob": "*"}).Text, "\n")
	listed := strings.Split(call(t, listTool{}, env, nil).Text, "\n")
	hits := strings.Split(call(t, grepTool{}, env, map[string]any{"pattern": "needle"}).Text, "\n")
	if len(found) != len(want) || len(listed) != len(want) || len(hits) != len(want) {
		t.Fatalf("%d found, %d listed, %d hits; want %d", len(found), len(listed), len(hits), len(want))
	}
	for i, name := range want {
		if UnquoteName(found[i]) != name {
			t.Errorf("found %s, want %q", found[i], name)
		}
		if UnquoteName(strings.TrimPrefix(listed[i], "file 7 ")) != name {
			t.Errorf("listed %s, want %q", listed[i], name)
		}
		if UnquoteName(strings.TrimSuffix(hits[i], ":1: needle")) != name {
			t.Errorf("hit %s, want %q", hits[i], name)
		}
	}
}

func TestSearchInterrupted(t *testing.T) {
	env := open(t, workspace(t, map[string]string{"a": "x", "b": "x"}))
	cause := errors.New("stopped")
	for _, tool := range []Tool{grepTool{}, findTool{}, listTool{}} {
		p := plan(t, tool, env, map[string]map[string]any{"grep": {"pattern": "x"}, "find": {"glob": "*"}}[tool.Spec().Name])
		ctx, cancel := context.WithCancelCause(context.Background())
		stopping := env
		stopping.May = func(a policy.Action) policy.Verdict { cancel(cause); return env.May(a) }
		if _, err := tool.Run(ctx, stopping, p); !errors.Is(err, cause) {
			t.Errorf("%s: got %v, want the cause", tool.Spec().Name, err)
		}
	}
}

func TestSearchWithoutPermission(t *testing.T) {
	root := workspace(t, map[string]string{"closed/a": "x", "locked": "x", "open": "x"})
	for _, name := range []string{"closed", "locked"} {
		if err := os.Chmod(filepath.Join(root, name), 0); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(root, "closed"), 0o755) })
	asNobody(t, root, func(t *testing.T) {
		env := open(t, root)
		wantText(t, call(t, grepTool{}, env, map[string]any{"pattern": "x"}), "open:1: x\n[1 file could not be read]\n[1 directory could not be read]")
		wantText(t, call(t, findTool{}, env, map[string]any{"glob": "*"}), "locked\nopen\n[1 directory could not be read]")
	})
}

func TestWalkStopsDeepDown(t *testing.T) {
	root := workspace(t, map[string]string{strings.Repeat("d/", maxDepth) + "in": "x", strings.Repeat("d/", maxDepth+1) + "out": "x"})
	r := call(t, findTool{}, open(t, root), map[string]any{"glob": "*"})
	wantText(t, r, strings.Repeat("d/", maxDepth)+"in\n[1 directory deeper than 200 levels left out]")
}
