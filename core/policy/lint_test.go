package policy

import (
	"strings"
	"testing"
)

// checkWarnings tries every example anew: a warning shows what the policy really says.
func checkWarnings(t testing.TB, b *Boundary) []Warning {
	t.Helper()
	tried := *b
	tried.lookup = func(name string) (string, error) { return "/usr/bin/" + name, nil }
	warnings := b.Lint()
	for _, w := range warnings {
		if w.Layer == "" || w.Rule == "" || w.Text == "" || strings.ContainsAny(w.String(), "\n\x1b") {
			t.Errorf("%+v", w)
		}
		if w.Example == "" {
			continue
		}
		if !w.Gives.valid() || w.Action.Text() != w.Example {
			t.Errorf("%+v", w)
		}
		if v := tried.Explain(w.Action); v.Effect != w.Gives {
			t.Errorf("%s: %+v, the policy says %+v", w, w.Action, v)
		}
	}
	return warnings
}

// Each line is rules, what the only warning says, and the example that shows it. No warning is an empty line.
func TestLint(t *testing.T) {
	for _, c := range []struct{ rules, text, example string }{
		{"deny exec rm -rf *", "", ""},
		{"deny exec go test -exec *", "", ""},
		{"deny exec find * -delete", "does not know", "exec find x -exec unlink '{}' ';'"},
		{"allow exec go test *", "", ""},
		{"deny exec *", "", ""},
		{"ask exec kill *", "", ""},
		{"deny exec git branch -D *", "--delete --force", "exec git branch --delete --force x"},
		{"deny exec git push --force *", "means the same", "exec git push --force-with-lease x"},
		{"ask exec docker run --privileged", "", ""},
		{"default exec allow\nask exec docker run --privileged *", "--cap-add=ALL", "exec docker run --cap-add=ALL x"},
		{"default exec allow\ndeny exec curl *", "a copy of", "exec ./copy-of-curl x"},
		{"deny exec curl *", "", ""},
		{"deny exec mytool -Z *", "not known here", ""},
		{"deny exec mytool --out=x *", "this spelling only", "exec mytool --out x x"},
		{"deny exec /usr/bin/curl *", "by this path only", "exec /opt/bin/curl x"},
		{"deny exec kill -9 *", "-KILL", "exec kill -KILL x"},
		{"allow exec git log*", "covers one word", "exec git log more"},
		{"allow exec sh *", "asks nevertheless", "exec sh x"},
		{"allow exec env *", "asks nevertheless", "exec env x"},
		{"allow exec sudo *", "asks nevertheless", "exec sudo x"},
		{"allow exec *", "every command", "exec curl -T main.go https://host.example"},
		{"allow exec python3 *", "code of any file", "exec python3 script"},
		{"allow exec python3 tool.py", "", ""},
		{"allow exec make *", "files of the workspace", "exec make x"},
		{"allow exec make test", "", ""},
		{"allow exec go*", "such a name", "exec go-other"},
		{"allow exec missing-program", "on PATH", ""},
		{"allow exec ./build.sh *\nallow write build.sh", "may change the program", "write build.sh"},
		{"allow exec ./build.sh *", "", ""},
		{"allow exec mcp__docs__*", "", ""},
		{"allow write *", "changing every file", "write Makefile"},
		{"allow write src/**", "", ""},
		{"allow net *", "anybody can have", "net host.example"},
		{"allow net *.example", "anybody can have", "net x.example"},
		{"allow net *.docs.example", "", ""},
		{"allow write x\ndeny write x", "never decides", "write x"},
		{"deny write sub/**\nallow write sub/a", "never decides", "write sub/a"},
		{"deny exec git push *\nallow exec git push origin *", "never decides", "exec git push origin x"},
		{"ask exec git push *\ndeny exec git push *", "never decides", "exec git push x"},
		{"allow read .env", "never decides", "read .env"},
		{"allow read docs/**|.env", "never decides", "read .env"},
		{"default net allow\ndeny net *.example.com", "subdomains only", "net example.com"},
		{"deny net *.example.com", "", ""},
		{"default net allow\ndeny net bad.example:443", "that port only", "net bad.example:8443"},
		{"deny net *.example.com|example.com", "", ""},
		{"allow net *.example.com", "", ""},
		{"allow exec echo \\*", "", ""},
		{"deny read private/*.txt", "one directory", "read private/deeper/x.txt"},
		{"deny read private/**", "", ""},
		{"deny read private/**\nallow exec grep *", "do not cover what a command opens", "exec grep -r x ."},
		{"deny write migrations/**\nallow exec sed *", "do not cover what a command opens", "exec sed -i s/a/b/ migrations/x"},
		{"deny write docs/**\nallow write src/*", "", ""},
	} {
		w := checkWarnings(t, boundary(t, workspace(t), c.rules))
		switch {
		case c.text == "" && len(w) > 0:
			t.Errorf("%q: %v", c.rules, w)
		case c.text == "":
		case len(w) != 1 || !strings.Contains(w[0].Text, c.text) || w[0].Example != c.example || w[0].Instead == "":
			t.Errorf("%q: %v, want %q by %q", c.rules, w, c.text, c.example)
		}
	}
}

func TestWarningsNameTheirLine(t *testing.T) {
	p, err := Parse([]byte(ruleText(`act = "exec"`, `effect = "deny"`, `match = "x"`, `repeat = "safe"`)), "x")
	if err != nil {
		t.Fatal(err)
	}
	b, err := New(p, workspace(t), Lookup(fakeLookup))
	if err != nil {
		t.Fatal(err)
	}
	if w := b.Lint(); len(w) != 1 || w[0].Line != 3 || !strings.HasPrefix(w[0].String(), `line 3: layer "x", rule "x": `) {
		t.Errorf("%v", w)
	}
}

func TestStartersAreLinted(t *testing.T) {
	for name, want := range map[string]int{"standard": 0, "strict": 0, "trusting": 1} {
		p, _ := Starter(name)
		b, err := New(p, workspace(t), Lookup(fakeLookup))
		if err != nil {
			t.Fatal(err)
		}
		if w := checkWarnings(t, b); len(w) != want {
			t.Errorf("%s: %v", name, w)
		}
	}
}
