package policy

import (
	"slices"
	"strings"
	"testing"
)

// Each test here is one way in which a boundary of this kind is commonly crossed.

func TestChainedCommandDoesNotRideOnAnAllowedPrefix(t *testing.T) {
	b := boundary(t, workspace(t), "allow exec git log *\nallow exec sh *")
	wantEffect(t, b, "exec git log -1", Allow)
	for script, part := range map[string]string{
		"git log -1; touch PWN":       "touch PWN",
		"git log -1 && touch PWN":     "touch PWN",
		"git log -1 | tee PWN":        "tee PWN",
		"git log -1 & touch PWN":      "touch PWN",
		"git log -1\ntouch PWN":       "touch PWN",
		"git log -1 > PWN":            "> PWN",
		"git log -1 $(touch PWN)":     "touch PWN",
		"git log -1 `touch PWN`":      "touch PWN",
		"git log -1 <(touch PWN)":     "touch PWN",
		"git log -1 || (touch PWN)":   "touch PWN",
		"git log -1; { touch PWN; }":  "touch PWN",
		"git log -1\n# x\ntouch PWN":  "touch PWN",
		"git log \\\n-1; \\\ntouch P": "touch P",
	} {
		v := b.Explain(Action{Act: Exec, Argv: []string{"sh", "-c", script}})
		if v.Effect != Ask || v.Part != part {
			t.Errorf("%q: %+v, want ask for %q", script, v, part)
		}
		// As one program name or as arguments it is not a script, and no rule fits or it is harmless.
		v = b.Explain(Action{Act: Exec, Argv: []string{script}})
		if v.Effect != Ask {
			t.Errorf("%q as a program: %+v", script, v)
		}
	}
	only := boundary(t, workspace(t), "allow exec git log *")
	if v := only.Explain(Action{Act: Exec, Argv: []string{"sh", "-c", "git log -1"}}); v.Effect != Ask || v.Part != "sh" {
		t.Errorf("a shell asks by itself: %+v", v)
	}
}

func TestDenyHoldsForEverySpellingOfItsFlags(t *testing.T) {
	b := boundary(t, workspace(t), "default exec allow\ndeny exec rm -rf *")
	for _, command := range []string{"rm -rf d", "rm -fr d", "rm -r -f d", "rm --recursive --force d", "rm -rfv d", "rm d -rf", "rm -r --force d", "rm -R d -f"} {
		wantEffect(t, b, "exec "+command, Deny)
		wantEffect(t, b, "sh "+command, Deny)
	}
	if w := boundary(t, workspace(t), "deny exec rm -rf *").Lint(); len(w) != 0 {
		t.Errorf("the rule holds for every spelling, yet: %v", w)
	}
	// What cannot be known is said.
	w := boundary(t, workspace(t), "deny exec git branch -D *").Lint()
	if len(w) != 1 || w[0].Example != "exec git branch --delete --force x" || w[0].Gives != Ask {
		t.Errorf("warnings: %v", w)
	}
}

func TestHeredocIsDataOnlyWhenQuoted(t *testing.T) {
	b := boundary(t, workspace(t), "default exec allow\ndeny exec cat*\nallow write out.txt")
	script := func(s string) Action { return Action{Act: Exec, Argv: []string{"sh", "-c", s}} }
	if v := b.Explain(script("cat > out.txt <<'EOF'\nhi\nEOF")); v.Effect != Deny || v.Rule != "cat*" {
		t.Errorf("%+v", v)
	}
	b = boundary(t, workspace(t), "default exec allow\ndeny exec touch *\nallow write out.txt")
	if v := b.Explain(script("tee out.txt <<'EOF'\nuse `touch x` and $(touch y) here\nEOF\n")); v.Effect != Allow {
		t.Errorf("a quoted body is data: %+v", v)
	}
	for _, body := range []string{"use `touch x` here", "and $(touch x)"} {
		if v := b.Explain(script("tee out.txt <<EOF\n" + body + "\nEOF\n")); v.Effect != Deny || v.Part != "touch x" {
			t.Errorf("an unquoted body is code: %+v", v)
		}
	}
	b = boundary(t, workspace(t), "allow exec git commit *\nallow exec sh *")
	for _, quote := range []string{"'EOF'", "EOF"} {
		v := b.Explain(script("git commit -m \"$(cat <<" + quote + "\nuse `x` here\nEOF\n)\""))
		if v.Effect != Ask {
			t.Errorf("%s: %+v", quote, v)
		}
	}
}

func TestAskHoldsWhateverTheArgumentLooksLike(t *testing.T) {
	b := boundary(t, workspace(t), "default exec allow\nask exec kill *")
	for _, command := range []string{"kill -9 1", "kill -s KILL 1", "kill $PID", `kill "1"`, "kill 1"} {
		for _, form := range []string{"exec ", "sh "} {
			if v := wantEffect(t, b, form+command, Ask); v.Rule != "kill *" {
				t.Errorf("%s%s: %+v", form, command, v)
			}
		}
	}
}

func TestStarOfACommandCrossesSlashes(t *testing.T) {
	root := workspace(t)
	b := boundary(t, root, "default exec allow\ndeny exec *rm -rf*")
	for _, command := range []string{"rm -rf tmp", "rm -rf " + root + "/x", "rm -rf /", "/bin/rm -rf /x"} {
		wantEffect(t, b, "exec "+command, Deny)
		wantEffect(t, b, "sh "+command, Deny)
	}
	b = boundary(t, root, "deny write *.env\ndeny write **/.env\nallow write pages/[id].ts")
	wantEffect(t, b, "write src/.env", Deny)
	wantEffect(t, b, "write src/x.env", Deny)
	wantEffect(t, b, "write .env", Deny)
	wantEffect(t, b, "write pages/[id].ts", Allow)
	for _, bad := range []string{"a[", "a{b", "x\\"} {
		if _, err := New(&Policy{Layers: []Layer{{Name: "x", Rules: []Rule{{Act: Read, Effect: Deny, Match: []string{bad}}}}}}, root); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

// What a command reads can be a script, a patch or a list of files, and a rule holds words only.
func TestInputIsNotWhatARuleAllows(t *testing.T) {
	root := workspace(t)
	given := func(b *Boundary, input string, argv ...string) Verdict {
		return b.Explain(Action{Act: Exec, Argv: argv, Input: input})
	}
	b := boundary(t, root, "allow exec *")
	for _, argv := range [][]string{{"patch", "-p1"}, {"tee", "x"}, {"python3", "-u"}, {"git", "apply"}, {"cat"}} {
		if v := given(b, "x", argv...); v.Effect != Ask || v.Part != "its input" || v.Layer != CommandLayer {
			t.Errorf("%q: %+v", argv, v)
		}
		if v := given(b, "", argv...); v.Effect != Allow {
			t.Errorf("%q without input: %+v", argv, v)
		}
	}
	contract, err := boundary(t, root, "").With(Layer{Name: ContractLayer, Rules: []Rule{{Act: Exec, Effect: Allow, Match: []string{"sh", "check"}}}})
	if err != nil {
		t.Fatal(err)
	}
	if v := given(contract, "", "sh", "check"); v.Effect != Allow {
		t.Errorf("%+v", v)
	}
	if v := given(contract, "x", "sh", "check"); v.Effect != Ask {
		t.Errorf("a check has no input: %+v", v)
	}
	stops := boundary(t, root, "default exec allow\ndeny exec rm *")
	for _, argv := range [][]string{{"sh"}, {"bash", "-s"}, {"nice", "sh"}, {"python3", "-u"}, {"node", "--title", "x"}} {
		if v := given(stops, "import os; os.system('rm -rf x')", argv...); v.Effect != Deny {
			t.Errorf("%q: %+v", argv, v)
		}
		if v := given(stops, "ls", argv...); v.Effect != Ask {
			t.Errorf("%q: %+v", argv, v)
		}
	}
	if v := given(stops, "rm -rf x", "cat"); v.Effect != Allow {
		t.Errorf("text is no code: %+v", v)
	}
}

func TestSavedCommandFitsItselfOnly(t *testing.T) {
	root := workspace(t)
	for _, argv := range [][]string{
		{"grep", "-n", "on.*=", "a.html"},
		{"ls", "a?b"},
		{"ls", "[ab]"},
		{"ls", `a\b`},
		{"echo", "", "x"},
		{"echo", "''"},
		{"echo", "*"},
		{"echo", "two words"},
		{"odd name"},
		{"echo", "a\nb"},
	} {
		words := EscapeWords(argv)
		b := boundary(t, root, "")
		with, err := b.With(Layer{Name: "run", Rules: []Rule{{Act: Exec, Effect: Allow, Match: words}}})
		if err != nil {
			t.Fatalf("%q: %v", argv, err)
		}
		if v := with.Explain(Action{Act: Exec, Argv: argv}); v.Effect != Allow || v.Layer != "run" {
			t.Errorf("%q by %q: %+v", argv, words, v)
		}
		if v := b.Explain(Action{Act: Exec, Argv: argv}); v.Effect != Ask {
			t.Errorf("With changed its receiver: %+v", v)
		}
		for i := range argv {
			other := slices.Clone(argv)
			other[i] += "x"
			if v := with.Explain(Action{Act: Exec, Argv: other}); v.Effect == Allow {
				t.Errorf("%q by %q of %q: %+v", other, words, argv, v)
			}
		}
		if v := with.Explain(Action{Act: Exec, Argv: append(slices.Clone(argv), "more")}); v.Effect == Allow {
			t.Errorf("%q goes on: %+v", words, v)
		}
	}
	b := boundary(t, root, "")
	with, err := b.With(Layer{Name: "run", Rules: []Rule{{Act: Exec, Effect: Allow, Match: EscapeWords([]string{"grep", "-n", "on.*=", "a.html"})}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, argv := range [][]string{{"grep", "-n", "on.x=", "a.html"}, {"sh", "-c", `grep -n "on.x=" a.html; touch PWN #=" a.html`}} {
		if v := with.Explain(Action{Act: Exec, Argv: argv}); v.Effect != Ask {
			t.Errorf("%q: %+v", argv, v)
		}
	}
}

func TestGitGlobalOptionsAsk(t *testing.T) {
	commands := [][]string{
		{"git", "-c", `core.fsmonitor=sh -c "touch PWN"`, "status"},
		{"git", "-c", "alias.zz=!touch PWN", "zz"},
		{"git", "--git-dir=/tmp/evil/.git", "status"},
		{"git", "--git-dir", "x", "status"},
		{"git", "-C", "/tmp/evil", "status"},
		{"git", "--work-tree=x", "status"},
		{"git", "--exec-path=x", "status"},
		{"git", "--config-env=alias.x=X", "x"},
		{"git", "-p", "log"},
		{"git", "--paginate", "log"},
		{"git", "log", "-1", "--output=PWN"},
		{"git", "diff", "--output=PWN"},
		{"git", "diff", "--output", "PWN"},
		{"git", "diff", "--ou=PWN"},
		{"git", "diff", "--ext-diff"},
	}
	narrow := boundary(t, workspace(t), "allow exec git status *\nallow exec git log *\nallow exec git diff *")
	wide := boundary(t, workspace(t), "allow exec git *")
	for _, argv := range commands {
		for _, b := range []*Boundary{narrow, wide} {
			v := b.Explain(Action{Act: Exec, Argv: argv})
			if v.Effect != Ask || v.Part == "" {
				t.Errorf("%q: %+v", argv, v)
			}
		}
	}
	for _, command := range []string{"git log -p", "git status", "git diff HEAD", "git log --oneline -5"} {
		wantEffect(t, narrow, "exec "+command, Allow)
		wantEffect(t, wide, "exec "+command, Allow)
	}
	wantEffect(t, wide, "exec git --no-pager log", Allow)
	stops := boundary(t, workspace(t), "default exec allow\ndeny exec touch *\ndeny exec git push *")
	for _, argv := range append(commands[:2:2], []string{"git", "-c", "alias.p=push --tags", "p"}, []string{"git", "rebase", "-x", "touch PWN"}, []string{"git", "bisect", "run", "touch", "x"}) {
		if v := stops.Explain(Action{Act: Exec, Argv: argv}); v.Effect != Deny {
			t.Errorf("%q: %+v", argv, v)
		}
	}
}

func TestAllowedCommandDoesNotLeaveTheWorkspace(t *testing.T) {
	b := boundary(t, workspace(t), "allow exec ls *\nallow exec cat *")
	for _, command := range []string{"ls /tmp", "cat ~/x", "cat ../../x", "cat $HOME/x", "cat /proc/self/environ", "cat ${X}", "cat .env"} {
		if v := wantEffect(t, b, "exec "+command, Ask); v.Part == "" {
			t.Errorf("%s: no part is named", command)
		}
		wantEffect(t, b, "sh "+command, Ask)
	}
	wantEffect(t, b, "exec cat src/a.go", Allow)
	wantEffect(t, b, "exec ls", Allow)
	wantEffect(t, b, "exec ls "+strings.Repeat("long", 100), Allow) // no file can have such a name
	wantEffect(t, b, "exec ls "+strings.Repeat("long/", 1000), Allow)
}

func TestPaddingHidesNothing(t *testing.T) {
	b := boundary(t, workspace(t), "default exec allow\ndeny exec rm -rf *\ndeny exec touch *")
	pad := strings.Repeat("watch ", 3000)
	for name, argv := range map[string][]string{
		"wrappers":     strings.Fields(pad + "rm -rf x"),
		"long script":  {"sh", "-c", strings.Repeat("ls\n", maxScript) + "rm -rf x"},
		"many openers": {"sh", "-c", strings.Repeat("(ls);", maxOpeners+1) + "rm -rf x"},
		"no script":    {"sh", "-c", "'; rm -rf x"},
	} {
		if v := b.Explain(Action{Act: Exec, Argv: argv}); v.Effect != Deny || len(v.Part) > 1000 {
			t.Errorf("%s: %s %d bytes", name, v.Effect, len(v.Part))
		}
	}
	// What is too deep to be read to its end is not taken for harmless, and costs no time.
	nested := strings.Fields(strings.Repeat("watch ", 200) + "x")
	nested = append(nested, strings.Repeat("ls;", 20000))
	deep := []string{"ls"}
	for range 14 {
		deep = []string{"sh", "-c", quoteForShell(deep)}
	}
	for _, argv := range [][]string{nested, deep, append(strings.Fields(strings.Repeat("env ", maxWords)), "x")} {
		if v := b.Explain(Action{Act: Exec, Argv: argv}); v.Effect != Ask {
			t.Errorf("%.30q: %+v", argv, v.Effect)
		}
	}
}
