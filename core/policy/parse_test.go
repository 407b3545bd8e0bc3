package policy

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

const example = `
[defaults]
exec = "ask"
write = "deny"

[[layer]]
name = "team"
  [[layer.rule]]
  act = "exec"
  effect = "allow"
  match = ["go", "test", "*"]
  repeat = "safe"

  [[layer.rule]]
  act = "exec"
  effect = "deny"
  match = "rm -rf *"

  [[layer.rule]]
  act = "write"
  effect = "ask"
  match = ["*.md", "docs/**"]

[[layer]]
name = "net"
rule = [{act = "net", effect = "allow", match = "example.com"}]
`

func TestParse(t *testing.T) {
	p, err := Parse([]byte(example), "policy.toml")
	if err != nil {
		t.Fatal(err)
	}
	want := &Policy{
		Defaults: Defaults{Read: Allow, Write: Deny, Exec: Ask, Net: Deny},
		Layers: []Layer{
			{Name: "team", Rules: []Rule{
				{Act: Exec, Effect: Allow, Match: []string{"go", "test", "*"}, Repeat: "safe", line: 8},
				{Act: Exec, Effect: Deny, Match: []string{"rm", "-rf", "*"}, line: 14},
				{Act: Write, Effect: Ask, Match: []string{"*.md", "docs/**"}, line: 19},
			}},
			{Name: "net", Rules: []Rule{{Act: Net, Effect: Allow, Match: []string{"example.com"}, line: 26}}},
		},
	}
	if !reflect.DeepEqual(p, want) {
		t.Errorf("got  %+v\nwant %+v", p, want)
	}
	if p, err := Parse(nil, "empty"); err != nil || p.Defaults != standard || len(p.Layers) != 0 {
		t.Errorf("an empty file is the standard policy: %+v, %v", p, err)
	}
	for _, other := range []string{"defaults = {exec = \"deny\"}", "defaults.exec = \"deny\"", "[\"defaults\"]\n'exec' = 'deny'"} {
		if p, err := Parse([]byte(other), "x"); err != nil || p.Defaults.Exec != Deny {
			t.Errorf("%s: %+v, %v", other, p, err)
		}
	}
}

func TestParseLeavesOthersKeysAlone(t *testing.T) {
	const text = "model = \"x\"\n[limits]\nsteps = 3\n[defaults]\nexec = \"deny\"\n"
	if p, err := Parse([]byte(text), "x", "model", "limits"); err != nil || p.Defaults.Exec != Deny {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err := Parse([]byte(text), "x", "model"); err == nil || !strings.Contains(err.Error(), "limits") {
		t.Errorf("%v", err)
	}
}

// rule is a policy whose only rule has these lines, the first of which is line 4.
func ruleText(lines ...string) string {
	return "[[layer]]\nname = \"x\"\n[[layer.rule]]\n" + strings.Join(lines, "\n") + "\n"
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"syntax", "a = \n", "p:1:5: "},
		{"syntax after wide characters", "# ééé\n\"éé\" = \"\\q\"\n", "p:2:9: "},
		{"hostile syntax", "\u001b[2J = 1\n", "p:1:1: "},
		{"key twice", "[defaults]\nexec = \"ask\"\nexec = \"ask\"\n", "p:3:1: "},
		{"unknown key", "[[layers]]\n", `p:1:3: unknown key "layers" in the policy; write one of: defaults, layer`},
		{"unknown act in defaults", "[defaults]\nfly = \"ask\"\n", `p:2:1: unknown key "fly" in defaults`},
		{"unknown effect in defaults", "[defaults]\nexec = \"maybe\"\n", `p:2:8: "maybe" is no effect; write allow, ask or deny`},
		{"default of another type", "[defaults]\nexec = 1\n", "p:2:8: the default of exec is not a string"},
		{"defaults no table", "defaults = 1\n", "p:1:12: defaults is not a table"},
		{"layer no list", "[layer]\nname = \"x\"\n", "p:1:2: layer is not a list of tables; write [[layer]]"},
		{"layer list of something else", "layer = [1]\n", "layer is not a table"},
		{"layer without name", "[[layer]]\n", "p:1:3: name is missing"},
		{"layer with another name", "[[layer]]\nname = 3\n", "p:2:8: name is not a string"},
		{"layer with empty name", "[[layer]]\nname = \" \"\n", "p:2:8: the layer's name is empty"},
		{"layer twice", "[[layer]]\nname = \"a\"\n[[layer]]\nname = \"a\"\n", `p:4:8: two layers are named "a"`},
		{"layer builtin", "[[layer]]\nname = \"builtin\"\n", `p:2:8: the layer name "builtin" is reserved`},
		{"layer contract", "[[layer]]\nname = \"contract\"\n", `reserved`},
		{"layer provider", "[[layer]]\nname = \"provider\"\n", `reserved`},
		{"unknown key in layer", "[[layer]]\nname = \"a\"\nrules = []\n", `p:3:1: unknown key "rules" in a layer`},
		{"unknown key in rule", ruleText(`act = "read"`, `effect = "deny"`, `match = "x"`, `pattern = "y"`), `p:7:1: unknown key "pattern" in a rule; write one of: act, effect, match, repeat`},
		{"act missing", ruleText(`effect = "deny"`, `match = "x"`), "p:3:9: act is missing; write read, write, exec or net"},
		{"unknown act", ruleText(`act = "fly"`, `effect = "deny"`, `match = "x"`), `p:4:7: "fly" is no act`},
		{"effect missing", ruleText(`act = "read"`, `match = "x"`), "p:3:9: effect is missing"},
		{"unknown effect", ruleText(`act = "read"`, `effect = "forbid"`, `match = "x"`), `p:5:10: "forbid" is no effect`},
		{"match missing", ruleText(`act = "read"`, `effect = "deny"`), "p:3:9: match is missing"},
		{"match empty list", ruleText(`act = "read"`, `effect = "deny"`, `match = []`), "match is empty, so the rule matches nothing"},
		{"match empty string", ruleText(`act = "read"`, `effect = "deny"`, `match = ""`), "p:6:9: pattern \"\": the pattern is empty"},
		{"match number", ruleText(`act = "read"`, `effect = "deny"`, `match = ["a", 3]`), "p:6:15: match holds something that is not a string"},
		{"bad glob", ruleText(`act = "read"`, `effect = "deny"`, `match = ["ok", "a["]`), `p:6:16: pattern "a[": it is not a valid pattern; close every [`},
		{"glob that escapes", ruleText(`act = "write"`, `effect = "allow"`, `match = "../x"`), `p:6:9: pattern "../x": it escapes the workspace`},
		{"glob with dots within", ruleText(`act = "write"`, `effect = "allow"`, `match = "a/../b"`), `escapes the workspace or goes a way no path is written`},
		{"absolute glob", ruleText(`act = "write"`, `effect = "allow"`, `match = "/etc/*"`), `escapes the workspace, outside of which everything is denied`},
		{"no words", ruleText(`act = "exec"`, `effect = "deny"`, `match = "  "`), "p:6:9: match has no words"},
		{"empty word", ruleText(`act = "exec"`, `effect = "deny"`, `match = ["git", ""]`), `p:6:17: word "": it is empty`},
		{"bad word", ruleText(`act = "exec"`, `effect = "deny"`, `match = "git a["`), `p:6:9: word "a[": the [ has no ]`},
		{"word ends in a backslash", ruleText(`act = "exec"`, `effect = "deny"`, `match = ['git', 'a\']`), `nothing follows the backslash`},
		{"program with a space", ruleText(`act = "exec"`, `effect = "deny"`, `match = ["git push", "*"]`), `p:6:10: word "git push": the program holds a space`},
		{"program of home", ruleText(`act = "exec"`, `effect = "allow"`, `match = "~/bin/x"`), `nothing expands ~`},
		{"program through dots", ruleText(`act = "exec"`, `effect = "allow"`, `match = "./../x"`), `goes through ..`},
		{"impossible host", ruleText(`act = "net"`, `effect = "allow"`, `match = "exa mple.com"`), `p:6:9: host "exa mple.com": no host has such a name`},
		{"host with scheme", ruleText(`act = "net"`, `effect = "allow"`, `match = "https://x.example"`), `without a scheme or path`},
		{"host glued star", ruleText(`act = "net"`, `effect = "allow"`, `match = "*example.com"`), `no host has such a name`},
		{"host with port", ruleText(`act = "net"`, `effect = "allow"`, `match = "a.example:70000"`), `a port is a number from 1 to 65535`},
		{"host like an address", ruleText(`act = "net"`, `effect = "allow"`, `match = "300.1.1.1"`), `no host has such a name`},
		{"repeat elsewhere", ruleText(`act = "write"`, `effect = "ask"`, `match = "x"`, `repeat = "safe"`), "p:7:10: repeat is for exec rules only; leave it out of this write rule"},
		{"repeat of another value", ruleText(`act = "exec"`, `effect = "ask"`, `match = "x"`, `repeat = "yes"`), `p:7:10: "yes" is no value of repeat`},
		{"rule no list", "[[layer]]\nname = \"x\"\nrule = 1\n", "p:3:8: rule is not a list of tables; write [[layer.rule]]"},
		{"hostile text", ruleText("act = \"\\u001b[2J\"", `effect = "deny"`, `match = "x"`), `"\x1b[2J" is no act`},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := Parse([]byte(c.text), "p")
			if err == nil {
				t.Fatalf("no error: %+v", p)
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("got  %s\nwant %s", err, c.want)
			}
			if strings.ContainsAny(err.Error(), "\x1b\r") {
				t.Errorf("a control character came through: %q", err)
			}
			for _, line := range strings.Split(err.Error(), "\n") {
				if !strings.HasPrefix(line, "p:") || !strings.Contains(line, "; ") {
					t.Errorf("no place or no advice: %s", line)
				}
			}
			var where *FileError
			if !errors.As(err, &where) || where.Line < 1 || where.Column < 1 {
				t.Errorf("no place: %#v", err)
			}
		})
	}
}

func TestParseReportsSeveralErrors(t *testing.T) {
	_, err := Parse([]byte("x = 1\n[defaults]\nexec = \"no\"\n[[layer]]\n"), "p")
	if got := strings.Count(err.Error(), "\n") + 1; got != 3 {
		t.Errorf("%d errors: %v", got, err)
	}
	_, err = Parse([]byte(strings.Repeat("[[layer]]\n", 1000)), "p")
	if got := strings.Count(err.Error(), "\n") + 1; got != maxErrors {
		t.Errorf("%d errors", got)
	}
	if _, err = Parse(make([]byte, maxFile+1), "p"); err == nil || !strings.Contains(err.Error(), "larger") {
		t.Errorf("%v", err)
	}
	if _, err = Parse([]byte(ruleText(`act = "read"`, `effect = "deny"`, `match = "`+strings.Repeat("x", 5000)+`"`)), "p"); err == nil || len(err.Error()) > 500 {
		t.Errorf("%v", err)
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "policy.toml")
	if err := os.WriteFile(file, []byte(example), 0o600); err != nil {
		t.Fatal(err)
	}
	if p, err := Load(file); err != nil || len(p.Layers) != 2 {
		t.Errorf("%+v, %v", p, err)
	}
	if err := os.WriteFile(file, []byte("x = 1"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(file); err == nil || !strings.HasPrefix(err.Error(), file+":1:1: ") {
		t.Errorf("%v", err)
	}
	if _, err := Load(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "trusting") {
		t.Errorf("%v", err)
	}
	if _, err := Load(dir); err == nil {
		t.Error("a directory was read")
	}
}
