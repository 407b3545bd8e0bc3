package tool

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tillerman/core/policy"
	"tillerman/core/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	os.Exit(m.Run())
}

// workspace makes a directory that holds files: path → content. A path that ends with a slash is a directory.
func workspace(t testing.TB, files map[string]string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, body := range files {
		put := filepath.Join(root, name)
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(put, 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(put), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(put, []byte(body), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// open is an environment whose policy allows everything below root and denies the paths listed and what is below them,
// by what they resolve to.
func open(t testing.TB, root string, denied ...string) Env {
	t.Helper()
	return Env{Root: root, May: func(a policy.Action) policy.Verdict {
		real := resolveAll(filepath.Join(root, a.Path))
		for _, d := range denied {
			full := filepath.Join(root, d)
			if real == full || strings.HasPrefix(real, full+"/") {
				return policy.Verdict{Effect: policy.Deny, Rule: d}
			}
		}
		if real != root && !strings.HasPrefix(real, root+"/") {
			return policy.Verdict{Effect: policy.Deny, Rule: "outside"}
		}
		return policy.Verdict{Effect: policy.Allow}
	}}
}

// resolveAll follows the links of the deepest part of a path that exists.
func resolveAll(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if filepath.Dir(path) == path {
		return path
	}
	if target, err := os.Readlink(path); err == nil {
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(path), target)
		}
		return resolveAll(target)
	}
	return filepath.Join(resolveAll(filepath.Dir(path)), filepath.Base(path))
}

func args(t testing.TB, pairs map[string]any) json.RawMessage {
	t.Helper()
	if pairs == nil {
		pairs = map[string]any{}
	}
	raw, err := json.Marshal(pairs)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// plan plans a call that must be valid.
func plan(t testing.TB, tool Tool, env Env, pairs map[string]any) Plan {
	t.Helper()
	p, err := tool.Plan(context.Background(), env, args(t, pairs))
	if err != nil {
		t.Fatalf("plan: %v", err)
	}
	return p
}

// call plans and runs, as the engine does for a call that is allowed.
func call(t testing.TB, tool Tool, env Env, pairs map[string]any) Result {
	t.Helper()
	p := plan(t, tool, env, pairs)
	if p.Write != nil {
		changed, err := Apply(env.Root, *p.Write)
		if err != nil {
			return p.Write.NotWritten(err)
		}
		return p.Write.Written(changed)
	}
	r, err := tool.Run(context.Background(), env, p)
	if err != nil {
		t.Fatalf("run: %v", err)
	}
	return r
}

func wantText(t testing.TB, r Result, want string) {
	t.Helper()
	if r.Text != want {
		t.Errorf("got\n%s\nwant\n%s", r.Text, want)
	}
}

// wantFailed checks a failed result by the word for its kind.
func wantFailed(t testing.TB, r Result, kind string) {
	t.Helper()
	if !r.Failed || !strings.HasPrefix(r.Text, kind+": ") {
		t.Errorf("got failed %v, %q; want a failure of kind %q", r.Failed, r.Text, kind)
	}
}

func body(t testing.TB, root, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func write(t testing.TB, root, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func link(t testing.TB, root, target, name string) {
	t.Helper()
	if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
		t.Fatal(err)
	}
}

func remove(t testing.TB, root, name string) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(root, name)); err != nil {
		t.Fatal(err)
	}
}

// noTemps checks that no temporary file is left anywhere.
func noTemps(t testing.TB, root string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
		if strings.HasPrefix(filepath.Base(path), ".tillerman-") {
			t.Errorf("%s is left", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// oddNames are names that broke somebody's lists.
var oddNames = []string{
	"two\nlines", "-rf", "esc\x1b[2Jname", "rtl\u202egpj.exe", `a"b`, "Яблоко", "bad\xff", "[1 more]", " lead", "trail ", "a:1: b",
	`back\slash`, "tab\there", `"quoted"`, "zero\u200bwidth", "cr\rname",
}
