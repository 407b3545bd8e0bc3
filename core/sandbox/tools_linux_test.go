package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What people develop with works confined, cold and warm, and without a network.
func TestToolsWorkConfined(t *testing.T) {
	if testing.Short() {
		t.Skip("runs whole tools")
	}
	t.Parallel()
	for _, m := range []mode{confined, spaceless} {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			workspace := t.TempDir()
			for name, text := range map[string]string{
				"go.mod": "module example\n\ngo 1.21\n",
				"a.go":   "package example\n\n// Twice doubles.\nfunc Twice(n int) int { return 2 * n }\n",
				"a_test.go": "package example\n\nimport (\n\t\"os\"\n\t\"path/filepath\"\n\t\"testing\"\n)\n\nfunc TestTwice(t *testing.T) {\n" +
					"\tif err := os.WriteFile(filepath.Join(t.TempDir(), \"x\"), nil, 0o600); err != nil {\n\t\tt.Fatal(err)\n\t}\n\tif Twice(2) != 4 {\n\t\tt.Fail()\n\t}\n}\n",
				"Makefile": "all: out\nout: a.go\n\tcp a.go out\n",
				"a.py":     "import json, os, sqlite3, subprocess, tempfile\nwith tempfile.NamedTemporaryFile() as f: f.write(b'x')\nprint(subprocess.run(['echo', 'worked'], capture_output=True, text=True).stdout)\n",
				"c/a.c":    "int main(void) { return 0; }\n",
			} {
				write(t, filepath.Join(workspace, name), text)
			}
			r, err := NewRunner(Options{Env: os.Environ(), State: t.TempDir(), Caches: t.TempDir(), Workspace: workspace})
			if err != nil {
				t.Fatal(err)
			}
			m.prepare(r)
			for _, tc := range []struct {
				argv []string
				want string
			}{
				{[]string{"sh", "-c", "echo a | tr a b > made; cat made; rm made"}, "b"},
				{[]string{"go", "test", "./..."}, "ok"},
				{[]string{"go", "test", "-count=1", "./..."}, "ok"},
				{[]string{"go", "test", "./..."}, "(cached)"},
				{[]string{"git", "init", "-q", "."}, ""},
				{[]string{"git", "add", "-A"}, ""},
				{[]string{"git", "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-m", "first"}, ""},
				{[]string{"git", "status"}, "nothing to commit"},
				{[]string{"make"}, "cp a.go out"},
				{[]string{"python3", "a.py"}, "worked"},
				{[]string{"cc", "-o", "program", "c/a.c"}, ""},
				{[]string{"./program"}, ""},
			} {
				if tc.argv[0] == "go" && m.name != confined.name {
					continue // a cold build takes a minute
				}
				if _, err := exec.LookPath(tc.argv[0]); err != nil && !strings.Contains(tc.argv[0], "/") {
					t.Logf("%s is not installed", tc.argv[0])
					continue
				}
				got, err := r.Run(t.Context(), Command{Argv: tc.argv})
				if err != nil || got.Exit != 0 || got.Signal != "" || got.NotFound != "" || !strings.Contains(string(got.Output), tc.want) {
					t.Errorf("%q: exit %d %s %s\n%s%v", tc.argv, got.Exit, got.Signal, got.NotFound, got.Output, err)
				}
			}
		})
	}
}
