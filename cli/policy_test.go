package cli_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

const checkedPolicy = `[defaults]
exec = "allow"

[[layer]]
name = "team"

  [[layer.rule]]
  act = "exec"
  effect = "deny"
  match = ["git", "branch", "-D", "*"]

  [[layer.rule]]
  act = "write"
  effect = "allow"
  match = [".env", "src/**"]
`

func TestPolicyCheckSaysWhatIsInAFile(t *testing.T) {
	s := newShell(t)
	file := s.file("policy.toml", checkedPolicy)
	out := s.ok("policy", "check", file)
	for _, want := range []string{
		"defaults: read allow, write ask, exec allow, net deny", `layer "builtin"`, `layer "team"`,
		"line 7: deny exec git branch -D *", "for example exec git branch -D x: deny",
		"line 12: allow write .env, src/**", `for example write .env: deny by rule ".env" in layer "builtin"`, "for example write src/x: allow",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing:\n%s", want, out)
		}
	}
	var read struct {
		Defaults map[string]string
		Layers   []struct {
			Name  string
			Rules []struct {
				Line     int
				Examples []struct{ Action, Effect string }
			}
		}
	}
	if err := json.Unmarshal([]byte(s.ok("policy", "check", "--json", file)), &read); err != nil {
		t.Fatal(err)
	}
	if len(read.Layers) != 1 || read.Defaults["exec"] != "allow" || read.Layers[0].Rules[1].Examples[0].Effect != "deny" || read.Layers[0].Rules[0].Line != 7 {
		t.Errorf("%+v", read)
	}
}

func TestPolicyCheckNamesEveryMistake(t *testing.T) {
	s := newShell(t)
	file := s.file("bad.toml", "[[layer]]\nname = \"a\"\nfoo = 1\n[[layer.rule]]\nact = \"x\"\neffect = \"deny\"\nmatch = [\"a\\u001b[2J\"]\n[[layer]]\nname = \"a\"\n")
	code, out, errOut := s.run("policy", "check", file)
	if code != 2 || out != "" {
		t.Errorf("exit %d, %q", code, out)
	}
	lines := strings.Split(strings.TrimSpace(errOut), "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[0], file+":3:1: unknown key") || !strings.HasPrefix(lines[1], file+":5:") || !strings.HasPrefix(lines[2], file+":9:") || strings.Contains(errOut, "\x1b") {
		t.Errorf("%q", lines)
	}
	for _, missing := range []string{"none.toml", s.path("ws")} {
		for _, verb := range []string{"check", "lint"} {
			if code, _, errOut := s.run("policy", verb, missing); code != 2 || strings.Count(errOut, "\n") != 1 {
				t.Errorf("%s %s: exit %d, %q", verb, missing, code, errOut)
			}
		}
	}
}

// What a warning shows is what explain says to the same words.
func TestPolicyLintExamplesAreWhatExplainSays(t *testing.T) {
	s := newShell(t)
	file := s.file("policy.toml", checkedPolicy)
	code, out, _ := s.run("policy", "lint", file)
	if code != 1 || !strings.Contains(out, file+":7: ") || !strings.Contains(out, "`exec git branch --delete --force x` gives allow") {
		t.Errorf("exit %d: %s", code, out)
	}
	explained := s.ok("policy", "explain", "--policy", file, "exec", "git", "branch", "--delete", "--force", "x")
	if !strings.HasPrefix(explained, "allow") {
		t.Error(explained)
	}
	code, out, _ = s.run("policy", "lint", "--json", file)
	var read struct{ Warnings []map[string]any }
	if err := json.Unmarshal([]byte(out), &read); err != nil || code != 1 || len(read.Warnings) == 0 || read.Warnings[0]["gives"] != "allow" {
		t.Errorf("exit %d, %v: %s", code, err, out)
	}
	if out := s.ok("policy", "lint", "standard"); !strings.Contains(out, "no warnings") {
		t.Error(out)
	}
	if code, _, _ := s.run("policy", "lint", "trusting"); code != 1 {
		t.Errorf("trusting: exit %d", code)
	}
}

func TestPolicyExplainForEveryAct(t *testing.T) {
	s := newShell(t)
	if err := os.WriteFile(s.path("ws", "a"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ act, target, effect, rule, layer, part string }{
		{"read", "a", "allow", "", "", ""},
		{"read", "../a", "deny", "", "workspace", "DIR/a"},
		{"write", ".env", "deny", ".env", "builtin", ""},
		{"exec", "rm -rf x", "ask", "", "", ""},
		{"exec", "sh -c 'ls > .env'", "deny", ".env", "builtin", "> .env"},
		{"net", "host.example", "deny", "", "", ""},
		{"net", "0x7f.1", "deny", "", "host", "no host and port are written like this"},
	} {
		var v struct{ Effect, Rule, Layer, Part *string }
		out := s.ok("policy", "explain", "--json", "-w", s.path("ws"), c.act, c.target)
		if err := json.Unmarshal([]byte(out), &v); err != nil || v.Effect == nil || *v.Effect != c.effect {
			t.Errorf("%s %s: %s %v", c.act, c.target, out, err)
			continue
		}
		for _, f := range []struct {
			got  *string
			want string
		}{{v.Rule, c.rule}, {v.Layer, c.layer}, {v.Part, strings.Replace(c.part, "DIR", s.dir, 1)}} {
			if (f.got == nil) != (f.want == "") || f.got != nil && *f.got != f.want {
				t.Errorf("%s %s: %s", c.act, c.target, out)
			}
		}
	}
}

// The guide shows what lint says to a policy: it says so.
func TestTheGuideShowsWhatLintSays(t *testing.T) {
	body, err := os.ReadFile("../docs/policy.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(body), "```toml\n# sloppy.toml\n")
	source, rest, ended := strings.Cut(rest, "```")
	_, rest, shows := strings.Cut(rest, "```text\n")
	want, _, closed := strings.Cut(rest, "```")
	if !found || !ended || !shows || !closed {
		t.Fatal("the guide has no example of lint")
	}
	s := newShell(t)
	file := s.file("sloppy.toml", "# sloppy.toml\n"+source)
	code, out, errOut := s.run("policy", "lint", file)
	if got := strings.ReplaceAll(out, file, "sloppy.toml"); code != 1 || got != want {
		t.Errorf("exit %d, %s\n%s\nwant\n%s", code, errOut, got, want)
	}
}
