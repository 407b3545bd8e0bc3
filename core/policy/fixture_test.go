package policy

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// bin is where every program of the tests lies; nothing is there, so no machine's programs matter.
const bin = "/nonexistent/bin/"

// fakeLookup finds every program outside the workspace, save some that no PATH has.
func fakeLookup(name string) (string, error) {
	if strings.HasPrefix(name, "missing") || strings.Contains(name, "/") {
		return "", errors.New("not found")
	}
	return bin + name, nil
}

// workspace makes a directory with a few files.
func workspace(t testing.TB) string {
	t.Helper()
	root := t.TempDir()
	for _, file := range []string{"main.go", "src/a.go", "src/deep/b.go", "pages/[id].ts", "README.md", ".env", "certs/site.pem"} {
		write(t, filepath.Join(root, file))
	}
	return root
}

func write(t testing.TB, file string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
}

func link(t testing.TB, target, name string) {
	t.Helper()
	if err := os.Symlink(target, name); err != nil {
		t.Fatal(err)
	}
}

// boundary puts rules in force. The rules are lines "effect act match", the defaults lines "default act effect"; a line
// "layer name" begins another layer. A match of exec is split into words; `|` parts several patterns of the others.
func boundary(t testing.TB, root, rules string, options ...Option) *Boundary {
	t.Helper()
	options = append([]Option{Lookup(fakeLookup), FoldCase(false), Home("/nonexistent/home"), Binary("/nonexistent/tillerman")}, options...)
	b, err := New(policyOf(t, rules), root, options...)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func policyOf(t testing.TB, rules string) *Policy {
	t.Helper()
	p, _ := Starter("standard")
	p.Layers = []Layer{{Name: "team"}}
	for _, line := range strings.Split(rules, "\n") {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		fields := strings.SplitN(line, " ", 3)
		switch {
		case fields[0] == "default":
			p.Defaults.set(Act(fields[1]), Effect(fields[2]))
		case fields[0] == "layer":
			p.Layers = append(p.Layers, Layer{Name: fields[1]})
		default:
			match := []string{fields[2]}
			if fields[1] != "exec" {
				match = strings.Split(fields[2], "|")
			}
			last := &p.Layers[len(p.Layers)-1]
			last.Rules = append(last.Rules, Rule{Act: Act(fields[1]), Effect: Effect(fields[0]), Match: match})
		}
	}
	return p
}

// action reads "read path", "write path", "net host", "exec word word", "sh script" (the same by way of sh -c) or
// "tool name".
func action(t testing.TB, line string) Action {
	t.Helper()
	kind, rest, _ := strings.Cut(line, " ")
	switch kind {
	case "read", "write":
		return Action{Act: Act(kind), Path: rest}
	case "net":
		return Action{Act: Net, Host: rest}
	case "exec":
		return Action{Act: Exec, Argv: strings.Fields(rest)}
	case "sh":
		return Action{Act: Exec, Argv: []string{"sh", "-c", rest}}
	case "tool":
		return Action{Act: Exec, Argv: []string{rest}, Tool: true}
	}
	t.Fatalf("no action: %q", line)
	return Action{}
}

func wantEffect(t *testing.T, b *Boundary, line string, want Effect) Verdict {
	t.Helper()
	v := b.Explain(action(t, line))
	if v.Effect != want {
		t.Errorf("%s: %+v, want %s", line, v, want)
	}
	return v
}
