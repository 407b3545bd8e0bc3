package policy

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestStarters(t *testing.T) {
	root := workspace(t)
	for _, name := range Starters() {
		p, ok := Starter(name)
		if !ok {
			t.Fatal(name)
		}
		b, err := New(p, root, Lookup(fakeLookup))
		if err != nil {
			t.Fatal(err)
		}
		wantEffect(t, b, "read main.go", Allow)
		wantEffect(t, b, "read .env", Deny)
		wantEffect(t, b, "net example.com", Deny)
		wantEffect(t, b, "write .git/config", Deny)
		wantEffect(t, b, "write main.go", map[string]Effect{"standard": Ask, "strict": Ask, "trusting": Allow}[name])
		wantEffect(t, b, "exec ls", map[string]Effect{"standard": Ask, "strict": Deny, "trusting": Ask}[name])
		if name == "trusting" {
			gate, err := b.With(Layer{Name: ContractLayer, Rules: []Rule{{Act: Write, Effect: Ask, Match: []string{EscapePath("main.go")}}}})
			if err != nil {
				t.Fatal(err)
			}
			if v := wantEffect(t, gate, "write main.go", Ask); v.Layer != ContractLayer {
				t.Errorf("%+v", v)
			}
			wantEffect(t, gate, "write src/main.go", Allow)
		}
		p.Defaults.Exec = Allow
		if again, _ := Starter(name); again.Defaults.Exec == Allow {
			t.Error("a starter can be changed from outside")
		}
	}
	if _, ok := Starter("permissive"); ok {
		t.Error("no name leads to the permissive policy")
	}
}

func TestPermissive(t *testing.T) {
	root := workspace(t)
	b, err := New(Permissive(), root, Private(filepath.Join(root, "state")), Binary(filepath.Join(root, "me")))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"read .env", "write .git/hooks/x", "write state/x", "net example.com:80", "exec rm -rf /", "sh rm -rf $X; eval y",
		"exec python3 -c x", "exec ./me run", "tool x", "sh echo 'unclosed",
	} {
		wantEffect(t, b, line, Allow)
	}
	for _, line := range []string{"read /etc/passwd", "write ../x"} {
		wantEffect(t, b, line, Deny)
	}
	// As soon as something is denied, what could hide it asks.
	with, err := b.With(Layer{Name: "run", Rules: []Rule{{Act: Exec, Effect: Deny, Match: []string{"rm *"}}}})
	if err != nil {
		t.Fatal(err)
	}
	wantEffect(t, with, "sh $X", Ask)
	wantEffect(t, with, "sh ls", Allow)
	wantEffect(t, with, "sh rm x", Deny)
}

func TestContractLayer(t *testing.T) {
	root := workspace(t)
	contract := func(b *Boundary, argv ...string) *Boundary {
		with, err := b.With(Layer{Name: ContractLayer, Rules: []Rule{{Act: Exec, Effect: Allow, Match: EscapeWords(argv), Repeat: Safe}}})
		if err != nil {
			t.Fatal(err)
		}
		return with
	}
	gate := []string{"sh", "-c", "cd src && go test $PKGS > out.txt"}
	explain := func(b *Boundary) Verdict { return contract(b, gate...).Explain(Action{Act: Exec, Argv: gate}) }
	for _, rules := range []string{"", "default exec deny", "allow exec sh *", "default exec allow\ndeny exec rm *"} {
		if v := explain(boundary(t, root, rules)); v.Effect != Allow || v.Layer != ContractLayer || !v.Repeat {
			t.Errorf("%q: the operator's own command: %+v", rules, v)
		}
	}
	if v := explain(boundary(t, root, "deny exec go test *")); v.Effect != Deny || v.Rule != "go test *" {
		t.Errorf("a deny found inside: %+v", v)
	}
	if v := explain(boundary(t, root, "ask exec cd *")); v.Effect != Ask || v.Layer != "team" {
		t.Errorf("an ask found inside: %+v", v)
	}
	if v := explain(boundary(t, root, "deny write out.txt")); v.Effect != Deny {
		t.Errorf("a denied redirection: %+v", v)
	}
	b := contract(boundary(t, root, ""), gate...)
	if v := b.Explain(Action{Act: Exec, Argv: []string{"sh", "-c", "cd src"}}); v.Effect != Ask {
		t.Errorf("another command: %+v", v)
	}
	outside := contract(boundary(t, root, ""), "ls", "/tmp")
	wantEffect(t, outside, "exec ls /tmp", Allow)
}

func TestProgramThatPATHFindsInTheWorkspace(t *testing.T) {
	root := workspace(t)
	write(t, filepath.Join(root, "bin/go"))
	tools := t.TempDir()
	link(t, filepath.Join(root, "bin/go"), filepath.Join(tools, "golink"))
	link(t, "/bin/sh", filepath.Join(root, "bin/mysh"))
	find := func(name string) (string, error) {
		switch name {
		case "go":
			return filepath.Join(root, "bin/go"), nil
		case "golink":
			return filepath.Join(tools, "golink"), nil
		case "relative":
			return "bin/relative", nil
		}
		return fakeLookup(name)
	}
	b := boundary(t, root, "allow exec go *\nallow exec golink *\nallow exec relative\nallow exec git *\nallow exec ./bin/mysh *\nask exec sometool", Lookup(find))
	for _, name := range []string{"go", "golink"} {
		if v := wantEffect(t, b, "exec "+name+" test", Ask); v.Part == "" || v.Rule != "" {
			t.Errorf("%+v", v)
		}
	}
	wantEffect(t, b, "exec relative", Ask)
	contract, err := b.With(Layer{Name: ContractLayer, Rules: []Rule{{Act: Exec, Effect: Allow, Match: []string{"go", "test"}}}})
	if err != nil {
		t.Fatal(err)
	}
	wantEffect(t, contract, "exec go test", Ask)
	wantEffect(t, b, "exec git status", Allow)
	wantEffect(t, b, "exec "+bin+"git status", Allow)
	wantEffect(t, b, "exec /usr/local/other/git status", Ask)
	// A link to a shell is a shell, whatever its name.
	if v := wantEffect(t, b, "exec ./bin/mysh -c ls", Ask); v.Part == "" {
		t.Errorf("%+v", v)
	}
	deny := boundary(t, root, "default exec allow\ndeny exec rm -rf *\ndeny exec go *", Lookup(find))
	if v := deny.Explain(Action{Act: Exec, Argv: []string{"./bin/mysh", "-c", "rm -rf x"}}); v.Effect != Deny {
		t.Errorf("%+v", v)
	}
	wantEffect(t, deny, "exec go test", Deny)
	link(t, "/nonexistent/multicall", filepath.Join(root, "bin/rm"))
	wantEffect(t, deny, "exec ./bin/rm -rf x", Deny)
	link(t, "/nonexistent/rm", filepath.Join(root, "bin/remove"))
	wantEffect(t, deny, "exec ./bin/remove -rf x", Deny)
	spelled := boundary(t, root, "default exec allow\ndeny exec ./bin/tool\ndeny exec /nonexistent/bin/other", Lookup(find))
	for _, program := range []string{"./bin/tool", "bin/tool", root + "/bin/tool", "src/../bin/tool", "other", "/nonexistent/bin/other"} {
		wantEffect(t, spelled, "exec "+program, Deny)
	}
	wantEffect(t, deny, "exec ./bin/go test", Deny)
}

func TestRelativeProgramIsCountedFromTheRoot(t *testing.T) {
	b := boundary(t, workspace(t), "allow exec ./src/run.sh\nallow exec top.sh")
	in := func(dir, program string) Effect {
		return b.Explain(Action{Act: Exec, Argv: []string{program}, Dir: dir}).Effect
	}
	if in("src", "./run.sh") != Allow || in("", "src/run.sh") != Allow || in("src/deep", "../run.sh") != Allow {
		t.Error("the same program from elsewhere")
	}
	if in("", "./run.sh") != Ask || in("src/deep", "./src/run.sh") != Ask {
		t.Error("another program of that name")
	}
}

func TestWhatTheProgramOwns(t *testing.T) {
	root := workspace(t)
	write(t, filepath.Join(root, ".local/state/store.db"))
	write(t, filepath.Join(root, "bin/me"))
	link(t, ".local/state", filepath.Join(root, "way"))
	b := boundary(t, root, "allow read *\nallow write *\nallow exec *",
		Private(filepath.Join(root, ".local/state"), filepath.Join(root, "conf.toml")), Binary(filepath.Join(root, "bin/me")))
	for _, line := range []string{
		"read .local/state/store.db", "write .local/state/store.db", "read .local/state", "write way/store.db", "read conf.toml", "write conf.toml",
		"write bin/me", "sh cat < .local/state/store.db",
	} {
		if v := wantEffect(t, b, line, Deny); v.Layer != BuiltinLayer || v.Rule == "" {
			t.Errorf("%s: %+v", line, v)
		}
	}
	wantEffect(t, b, "read bin/me", Allow)
	wantEffect(t, b, "read .local/other", Allow)
	wantEffect(t, b, "exec cat .local/state/store.db", Ask)
	if v := wantEffect(t, b, "exec ./bin/me approve", Ask); v.Layer != CommandLayer {
		t.Errorf("%+v", v)
	}
	blind := boundary(t, root, "", FoldCase(true), Private(filepath.Join(root, ".local/state")))
	wantEffect(t, blind, "read .LOCAL/State/store.db", Deny)
}

func TestHomeInTheWorkspace(t *testing.T) {
	root := workspace(t)
	b := boundary(t, root, "deny read ~/private/**\nallow write ~/notes", Home(filepath.Join(root, "home")))
	wantEffect(t, b, "read ~/private/x", Deny)
	wantEffect(t, b, "read home/private/x", Deny)
	wantEffect(t, b, "read ~/other", Allow)
	wantEffect(t, b, "write home/notes", Allow)
	wantEffect(t, boundary(t, root, "", Home("")), "read ~/x", Deny)
}

func TestRepeat(t *testing.T) {
	root := workspace(t)
	p := policyOf(t, "allow exec go test *\nallow exec go vet *\nask exec make *\nallow exec env *\ndeny exec go test -exec *")
	for _, i := range []int{0, 2, 3} {
		p.Layers[0].Rules[i].Repeat = Safe
	}
	b, err := New(p, root, Lookup(fakeLookup), Binary("/nonexistent/me"))
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]bool{
		"exec go test ./...": true, "exec go vet ./...": false, "exec make x": true, "exec ls": false,
		"exec go test -exec x": false, "exec env go test": false, "exec env ls": false, "sh go test": false, "exec ls make": false,
	} {
		if v := b.Explain(action(t, line)); v.Repeat != want {
			t.Errorf("%s: %+v", line, v)
		}
	}
}

func TestWith(t *testing.T) {
	b := boundary(t, workspace(t), "allow exec ls")
	with, err := b.With(Layer{Name: ProviderLayer, Rules: []Rule{{Act: Net, Effect: Allow, Match: []string{"api.example"}}}},
		Layer{Name: "team", Rules: []Rule{{Act: Exec, Effect: Allow, Match: []string{"pwd"}}}})
	if err != nil {
		t.Fatal(err)
	}
	if v := wantEffect(t, with, "net api.example:443", Allow); v.Layer != ProviderLayer {
		t.Errorf("%+v", v)
	}
	wantEffect(t, with, "exec pwd", Allow)
	wantEffect(t, b, "exec pwd", Ask)
	if p := with.Policy(); len(p.Layers) != 2 || len(p.Layers[0].Rules) != 2 || p.Digest() == "" {
		t.Errorf("%+v", p)
	}
	for _, bad := range []Layer{
		{Name: "", Rules: nil},
		{Name: BuiltinLayer},
		{Name: "x", Rules: []Rule{{Act: Exec, Effect: Allow, Match: []string{"a["}}}},
		{Name: "x", Rules: []Rule{{Act: Exec, Effect: Allow}}},
	} {
		if _, err := b.With(bad); err == nil {
			t.Errorf("%+v was taken", bad)
		}
	}
}

func TestNewErrors(t *testing.T) {
	p, _ := Starter("standard")
	root := t.TempDir()
	file := filepath.Join(root, "file")
	write(t, file)
	for _, path := range []string{"", "relative/none", file} {
		if _, err := New(p, path); err == nil {
			t.Errorf("%q was taken", path)
		}
	}
	if _, err := New(p, filepath.Join(root, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
	t.Chdir(root)
	b, err := New(p, ".")
	if err != nil {
		t.Fatal(err)
	}
	wantEffect(t, b, "read "+filepath.Join(root, "x"), Allow)
	if _, err := New(nil, root); err == nil {
		t.Error("no policy was taken")
	}
}
