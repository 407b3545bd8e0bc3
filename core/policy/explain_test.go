package policy

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "fill in what decided the verdicts of the table")

// fewestVerdicts is how many lines the table has at least.
const fewestVerdicts = 990

// TestVerdicts reads the table of what the policy says to actions, and what of it decided; see testdata/policy/README.md.
func TestVerdicts(t *testing.T) {
	files, err := filepath.Glob("testdata/policy/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		var g *verdictGroup
		for number, line := range strings.Split(strings.TrimSuffix(string(body), "\n"), "\n") {
			name, begins := strings.CutPrefix(line, "== ")
			switch {
			case begins:
				g = newGroup(t, name)
			case line == "--":
				g.close(t)
			case g.boundary == nil:
				g.set(t, line)
			default:
				count++
				line = g.check(t, fmt.Sprintf("%s:%d", filepath.Base(file), number+1), line)
			}
			out = append(out, line)
		}
		if *update {
			if err := os.WriteFile(file, []byte(strings.Join(out, "\n")+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if count < fewestVerdicts {
		t.Errorf("the table has %d lines", count)
	}
}

// verdictGroup is a policy and a workspace that lines of the table are about.
type verdictGroup struct {
	name, root, out string
	policy          *Policy
	rules           []string
	fold            bool
	boundary        *Boundary
}

func newGroup(t *testing.T, name string) *verdictGroup {
	root, err := filepath.EvalSymlinks(workspace(t))
	if err != nil {
		t.Fatal(err)
	}
	out, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &verdictGroup{name: name, root: root, out: out}
}

// marks are what stands in the table for characters that a line cannot hold.
var marks = strings.NewReplacer("⏎", "\n", "␍", "\r", "␛", "\x1b", "␀", "\x00")

// unescape undoes the marks and the escapes of a line.
func (g *verdictGroup) unescape(text string) string {
	text = marks.Replace(text)
	for _, kind := range []string{`\u`, `\x`} {
		for at := 0; ; {
			i := strings.Index(text[at:], kind)
			if i < 0 {
				break
			}
			i += at
			n := i + map[string]int{`\u`: 6, `\x`: 4}[kind]
			if c, err := strconv.Unquote(`"` + text[i:min(n, len(text))] + `"`); err == nil && (i == 0 || text[i-1] != '\'') {
				text = text[:i] + c + text[n:]
			}
			at = i + 1
		}
	}
	return strings.ReplaceAll(strings.ReplaceAll(text, "ROOT", g.root), "OUT", g.out)
}

// set reads a line about the policy or the workspace.
func (g *verdictGroup) set(t *testing.T, line string) {
	t.Helper()
	fields := strings.Fields(line)
	switch fields[0] {
	case "starter":
		p, ok := Starter(fields[1])
		if !ok {
			t.Fatalf("%s: %s", g.name, line)
		}
		g.policy = p
	case "file":
		write(t, filepath.Join(g.root, fields[1]))
	case "link":
		name := filepath.Join(g.root, fields[1])
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		link(t, g.unescape(fields[2]), name)
	case "fold":
		g.fold = true
	default:
		g.rules = append(g.rules, g.unescape(line))
	}
}

// close puts the policy in force.
func (g *verdictGroup) close(t *testing.T) {
	if g.policy == nil {
		g.policy = policyOf(t, "")
		// A pattern may hold a line break, which ends a line of policyOf.
		for _, rule := range g.rules {
			one := policyOf(t, strings.ReplaceAll(rule, "\n", "⏎"))
			g.add(one, rule)
		}
	}
	b, err := New(g.policy, g.root, Lookup(fakeLookup), FoldCase(g.fold), Home("/nonexistent/home"), Binary("/nonexistent/tillerman"))
	if err != nil {
		t.Fatalf("%s: %v", g.name, err)
	}
	g.boundary = b
}

// add takes over what one line of rules says.
func (g *verdictGroup) add(one *Policy, line string) {
	if fields := strings.Fields(line); fields[0] == "default" {
		g.policy.Defaults.set(Act(fields[1]), Effect(fields[2]))
		return
	}
	if strings.HasPrefix(line, "layer ") {
		g.policy.Layers = append(g.policy.Layers, one.Layers[1])
		return
	}
	last := &g.policy.Layers[len(g.policy.Layers)-1]
	for _, r := range one.Layers[0].Rules {
		for i := range r.Match {
			r.Match[i] = strings.ReplaceAll(r.Match[i], "⏎", "\n")
		}
		last.Rules = append(last.Rules, r)
	}
}

// check compares one line with what the policy says, and returns it with the parts that decided filled in.
func (g *verdictGroup) check(t *testing.T, where, line string) string {
	t.Helper()
	fields := strings.SplitN(line, " | ", 5)
	// A line that was filled in has its effect in a column.
	if effect, rest, _ := strings.Cut(line, " | "); *update && !strings.HasSuffix(effect, " ") {
		fields = []string{effect, "", "", "", rest}
	}
	if len(fields) != 5 {
		t.Fatalf("%s: a line has five parts: %s", where, line)
	}
	v := g.boundary.Explain(g.action(t, fields[4]))
	plain := func(text string) string {
		text = strings.NewReplacer(g.root, "ROOT", g.out, "OUT", filepath.Dir(g.root), "ABOVE").Replace(text)
		text = strings.NewReplacer("\n", "⏎", "\r", "␍", "\x1b", "␛", "\x00", "␀", " | ", " ¦ ").Replace(text)
		text = strconv.QuoteToGraphic(text)
		return strings.ReplaceAll(text[1:len(text)-1], `\"`, `"`)
	}
	got := []string{string(v.Effect), plain(v.Rule), plain(v.Layer), plain(v.Part)}
	if got[0] != strings.TrimSpace(fields[0]) {
		t.Errorf("%s: %s: %q, want %s", where, fields[4], got, fields[0])
		return line
	}
	if *update {
		return fmt.Sprintf("%-6s | %s | %s | %s | %s", got[0], got[1], got[2], got[3], fields[4])
	}
	for i, text := range got {
		if text != strings.TrimSpace(fields[i]) {
			t.Errorf("%s: %s: %q, want %q", where, fields[4], got, fields[:4])
			break
		}
	}
	return line
}

// action reads the last part of a line; see fixture_test.go for the kinds.
func (g *verdictGroup) action(t *testing.T, text string) Action {
	t.Helper()
	if list, ok := strings.CutPrefix(text, "argv "); ok {
		var argv []string
		if err := json.Unmarshal([]byte(strings.NewReplacer("ROOT", g.root, "␀", `\u0000`).Replace(list)), &argv); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		return Action{Act: Exec, Argv: argv}
	}
	if strings.HasPrefix(text, "sh ") {
		return action(t, strings.ReplaceAll(marks.Replace(text), "ROOT", g.root))
	}
	return action(t, g.unescape(text))
}
