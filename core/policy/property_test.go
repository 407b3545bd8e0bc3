package policy

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Words from which rules and commands are drawn: few, so that they meet often.
var (
	drawnWords = []string{
		"git", "push", "rm", "-rf", "-r", "-f", "--force", "x", "sh", "-c", "env", "A=1", "find", "-exec", ";", "sudo", "timeout",
		"5", "rm -rf x", "git push", "echo $X", "ls > out", "*", "go", "test", "./x", "/usr/bin/git", "--", "xargs", ".env", "../x",
	}
	drawnPaths = []string{"main.go", "src", "src/a.go", "src/deep/b.go", "new", ".env", "outbox/x", "alias/a.go", "../x", "/etc", "SRC/a.go", ".git/config"}
	drawnGlobs = []string{"*", "*.go", "src", "src/**", "src/*", "main.go", ".env", "alias/**", "**/b.go", "n?w"}
	drawnHosts = []string{"a.example", "b.a.example:443", "10.0.0.1", "[::1]:80", "b.a.example:80"}
	drawnNets  = []string{"*", "a.example", "*.a.example", "*.a.example:443", "10.0.0.1", "[::1]"}
)

func drawRule(effects ...Effect) *rapid.Generator[Rule] {
	return rapid.Custom(func(t *rapid.T) Rule {
		r := Rule{Act: rapid.SampledFrom([]Act{Read, Write, Exec, Exec, Exec, Net}).Draw(t, "act"), Effect: rapid.SampledFrom(effects).Draw(t, "effect")}
		switch r.Act {
		case Exec:
			words := rapid.SliceOfN(rapid.SampledFrom(drawnWords), 1, 4).Draw(t, "words")
			words[0] = strings.TrimPrefix(words[0], "../")
			r.Match = EscapeWords(words)
			for i := range r.Match {
				if rapid.IntRange(0, 5).Draw(t, "star") == 0 {
					r.Match[i] = "*"
				}
			}
		case Net:
			r.Match = rapid.SliceOfN(rapid.SampledFrom(drawnNets), 1, 2).Draw(t, "hosts")
		default:
			r.Match = rapid.SliceOfN(rapid.SampledFrom(drawnGlobs), 1, 2).Draw(t, "globs")
		}
		return r
	})
}

func drawPolicy(t *rapid.T, effects ...Effect) *Policy {
	one := rapid.SampledFrom([]Effect{Allow, Ask, Deny})
	return &Policy{
		Defaults: Defaults{Read: one.Draw(t, "read"), Write: one.Draw(t, "write"), Exec: one.Draw(t, "exec"), Net: one.Draw(t, "net")},
		Layers:   []Layer{{Name: "drawn", Rules: rapid.SliceOfN(drawRule(effects...), 0, 6).Draw(t, "rules")}},
		Bare:     rapid.IntRange(0, 4).Draw(t, "bare") == 0,
	}
}

func drawAction(t *rapid.T) Action {
	switch act := rapid.SampledFrom([]Act{Read, Write, Exec, Exec, Exec, Net}).Draw(t, "act"); act {
	case Exec:
		return Action{Act: act, Argv: rapid.SliceOfN(rapid.SampledFrom(drawnWords), 1, 7).Draw(t, "argv"), Tool: rapid.IntRange(0, 9).Draw(t, "tool") == 0}
	case Net:
		return Action{Act: act, Host: rapid.SampledFrom(drawnHosts).Draw(t, "host")}
	default:
		return Action{Act: act, Path: rapid.SampledFrom(drawnPaths).Draw(t, "path")}
	}
}

func drawnWorkspace(t *testing.T) string {
	root := workspace(t)
	link(t, t.TempDir(), root+"/outbox")
	link(t, "src", root+"/alias")
	return root
}

func force(t *rapid.T, p *Policy, root string, folds bool) *Boundary {
	b, err := New(p, root, Lookup(fakeLookup), FoldCase(folds), Home("/nonexistent/home"), Binary("/nonexistent/tillerman"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestNoAllowCrossesADeny(t *testing.T) {
	root := drawnWorkspace(t)
	rapid.Check(t, func(t *rapid.T) {
		b := force(t, drawPolicy(t, Allow, Ask, Deny), root, rapid.Bool().Draw(t, "folds"))
		a := drawAction(t)
		before := b.Explain(a)
		name := rapid.SampledFrom([]string{"drawn", "more", ContractLayer, ProviderLayer}).Draw(t, "layer")
		with, err := b.With(Layer{Name: name, Rules: rapid.SliceOfN(drawRule(Allow), 1, 5).Draw(t, "allows")})
		if err != nil {
			t.Fatal(err)
		}
		after := with.Explain(a)
		// A default is no deny of anybody's: an allow is there to open it.
		if before.Effect == Deny && before.Layer != "" && after.Effect != Deny {
			t.Fatalf("%+v: %+v became %+v", a, before, after)
		}
		if before.Effect == Ask && before.Rule != "" && after.Effect == Allow {
			t.Fatalf("%+v: %+v became %+v", a, before, after)
		}
		if after.Effect.rank() > before.Effect.rank() {
			t.Fatalf("an allow made it stricter: %+v: %+v became %+v", a, before, after)
		}
	})
}

func TestMoreAsksAndDeniesNeverLoosen(t *testing.T) {
	root := drawnWorkspace(t)
	rapid.Check(t, func(t *rapid.T) {
		b := force(t, drawPolicy(t, Allow, Ask, Deny), root, rapid.Bool().Draw(t, "folds"))
		a := drawAction(t)
		narrows := rapid.Bool().Draw(t, "narrows")
		with, err := b.With(Layer{Name: "more", OnlyNarrows: narrows, Rules: rapid.SliceOfN(drawRule(Ask, Deny), 1, 5).Draw(t, "more")})
		if err != nil {
			t.Fatal(err)
		}
		before, after := b.Explain(a), with.Explain(a)
		if after.Effect.rank() >= before.Effect.rank() {
			return
		}
		// An ask rule of the operator's opens what only a default denies: a rule comes before a default. One of a layer that
		// only narrows does not.
		if narrows || before.Effect != Deny || before.Layer != "" {
			t.Fatalf("%+v: %+v became %+v", a, before, after)
		}
	})
}

func TestNarrowedPolicyIsAsStrictAsBoth(t *testing.T) {
	root := drawnWorkspace(t)
	rapid.Check(t, func(t *rapid.T) {
		parent, child := drawPolicy(t, Allow, Ask, Deny), drawPolicy(t, Allow, Ask, Deny)
		folds := rapid.Bool().Draw(t, "folds")
		narrow := force(t, Narrow(parent, child), root, folds)
		a := drawAction(t)
		got := narrow.Explain(a)
		if v := force(t, parent, root, folds).Explain(a); got.Effect.rank() < v.Effect.rank() {
			t.Fatalf("%+v: %+v, the parent has %+v", a, got, v)
		}
		if v := force(t, child, root, folds).Explain(a); v.Effect != Allow && v.Rule != "" && got.Effect.rank() < v.Effect.rank() {
			t.Fatalf("%+v: %+v, the child has %+v", a, got, v)
		}
	})
}

func TestLookingThroughNeverLoosens(t *testing.T) {
	root := drawnWorkspace(t)
	wrappers := [][]string{
		{"sh", "-c"},
		{"env"},
		{"env", "A=1"},
		{"timeout", "5"},
		{"nice", "-n", "3"},
		{"sudo", "-u", "x"},
		{"xargs", "-0"},
		{"find", ".", "-exec"},
		{"busybox"},
		{"nohup"},
		{"ssh", "host"},
		{"strace", "-f"},
	}
	rapid.Check(t, func(t *rapid.T) {
		b := force(t, drawPolicy(t, Allow, Ask, Deny), root, false)
		argv := rapid.SliceOfN(rapid.SampledFrom(drawnWords), 1, 6).Draw(t, "argv")
		c := command{argv: argv, dir: ".", program: b.findProgram(".", argv[0])}
		plain, whole := b.plain(c), b.Explain(Action{Act: Exec, Argv: argv})
		if whole.Effect.rank() < plain.Effect.rank() {
			t.Fatalf("%q: %+v, its own words %+v", argv, whole, plain)
		}
		// What a rule stops by itself it stops in every wrapper.
		// A first word that a wrapper would take for an option or an assignment is none of its commands.
		if v := whole; v.Effect == Allow || v.Rule == "" || slices.Contains(argv, ";") || strings.ContainsAny(argv[0][:1], "-A") {
			return
		}
		outer := slices.Clone(rapid.SampledFrom(wrappers).Draw(t, "wrapper"))
		if outer[0] == "sh" {
			outer = append(outer, quoteForShell(argv))
		} else {
			outer = append(outer, argv...)
		}
		if v := b.Explain(Action{Act: Exec, Argv: outer}); v.Effect.rank() < whole.Effect.rank() {
			t.Fatalf("%q: %+v, inside %+v", outer, v, whole)
		}
	})
}

// What is read exactly inside another command is judged as if it stood alone, whoever decides: a rule, a default, the shape
// of the command.
func TestAWrapperIsNeverLooserThanWhatItRuns(t *testing.T) {
	root := drawnWorkspace(t)
	exact := [][]string{
		{"env"},
		{"env", "-i"},
		{"env", "A=1"},
		{"timeout", "5"},
		{"timeout", "-s", "KILL", "5"},
		{"nice", "-n", "3"},
		{"nohup"},
		{"setsid", "-w"},
		{"stdbuf", "-o0"},
		{"sudo", "-u", "x"},
		{"doas"},
		{"busybox"},
		{"xargs", "-0"},
		{"find", ".", "-exec"},
		{"sh", "-c"},
		{"bash", "-lc"},
		{"eval"},
		{"command"},
		{"exec"},
	}
	rapid.Check(t, func(t *rapid.T) {
		b := force(t, drawPolicy(t, Allow, Ask, Deny), root, false)
		if b.unrestricted() {
			return
		}
		argv := rapid.SliceOfN(rapid.SampledFrom(drawnWords), 1, 5).Draw(t, "argv")
		if slices.Contains(argv, ";") || strings.ContainsAny(argv[0][:1], "-A.*") || strings.ContainsAny(argv[0], " ") {
			return
		}
		c := command{argv: argv, dir: ".", program: b.findProgram(".", argv[0])}
		inner := b.lookThrough(b.plain(c), c)
		if inner.Layer == CommandLayer && inner.Part == b.strayArgument(c) {
			inner = b.plain(c) // where an argument leads only matters to an allow of its own
		}
		outer := slices.Clone(rapid.SampledFrom(exact).Draw(t, "wrapper"))
		shell := outer[0] == "sh" || outer[0] == "bash" || outer[0] == "eval"
		if rapid.Bool().Draw(t, "twice") {
			outer = append([]string{"env", "timeout", "9"}, outer...)
		}
		if shell {
			outer = append(outer, quoteForShell(argv))
		} else {
			outer = append(outer, argv...)
		}
		plain := b.plain(command{argv: outer, dir: ".", program: b.findProgram(".", outer[0])})
		got := b.Explain(Action{Act: Exec, Argv: outer})
		if got.Effect.rank() < inner.Effect.rank() || got.Effect.rank() < plain.Effect.rank() {
			t.Fatalf("%q: %+v, inside %+v, its own words %+v", outer, got, inner, plain)
		}
	})
}

// A chain of children never does more than any policy above it.
func TestAGrandchildIsNeverWider(t *testing.T) {
	root := drawnWorkspace(t)
	rapid.Check(t, func(t *rapid.T) {
		top := drawPolicy(t, Allow, Ask, Deny)
		chain := []*Policy{top}
		for range rapid.IntRange(1, 3).Draw(t, "depth") {
			top = Narrow(top, drawPolicy(t, Allow, Ask, Deny))
			chain = append(chain, top)
		}
		folds := rapid.Bool().Draw(t, "folds")
		a := drawAction(t)
		least := 0
		for i, p := range chain {
			rank := force(t, p, root, folds).Explain(a).Effect.rank()
			if rank < least {
				t.Fatalf("%+v: generation %d is wider", a, i)
			}
			least = rank
		}
	})
}

// The same question has the same answer, and an answer says where it comes from: a rule with its layer, a layer of the
// program's own with the part of the action, or nothing for the act's default.
func TestExplainIsDeterministicAndNamesWhatDecided(t *testing.T) {
	root := drawnWorkspace(t)
	rapid.Check(t, func(t *rapid.T) {
		p := drawPolicy(t, Allow, Ask, Deny)
		folds := rapid.Bool().Draw(t, "folds")
		b, same := force(t, p, root, folds), force(t, p, root, folds)
		a := drawAction(t)
		v := b.Explain(a)
		if again := b.Explain(a); again != v {
			t.Fatalf("%+v: %+v, then %+v", a, v, again)
		}
		if other := same.Explain(a); other != v {
			t.Fatalf("%+v: %+v, by the same policy %+v", a, v, other)
		}
		layers := []string{BuiltinLayer}
		for _, l := range b.Policy().Layers {
			layers = append(layers, l.Name)
		}
		switch {
		case !v.Effect.valid():
			t.Fatalf("%+v: %+v", a, v)
		case v.Rule != "" && !slices.Contains(layers, v.Layer):
			t.Fatalf("%+v: a rule of no layer: %+v", a, v)
		case v.Rule == "" && v.Layer != "" && v.Part == "":
			t.Fatalf("%+v: nothing is named: %+v", a, v)
		case v.Rule == "" && v.Layer == "" && v.Effect.rank() < b.Policy().Defaults.Of(a.Act).rank():
			t.Fatalf("%+v: looser than the default: %+v", a, v)
		}
	})
}

func quoteForShell(argv []string) string {
	words := make([]string, len(argv))
	for i, arg := range argv {
		words[i] = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
	}
	return strings.Join(words, " ")
}

func TestEscapedCommandFitsOnlyItself(t *testing.T) {
	root := drawnWorkspace(t)
	word := rapid.StringOfN(rapid.RuneFrom([]rune(`ab*?[]\ '-`+"\n{},!éß")), 0, 4, -1)
	rapid.Check(t, func(t *rapid.T) {
		argv := rapid.SliceOfN(word, 1, 4).Draw(t, "argv")
		argv[0] = "p" + argv[0]
		other := slices.Clone(argv)
		for i := range other {
			if rapid.IntRange(0, 2).Draw(t, "change") == 0 {
				other[i] = word.Draw(t, "other")
			}
		}
		c, err := compileCommand(EscapeWords(argv))
		if err != nil {
			t.Fatal(err)
		}
		p := func(argv []string) program { return program{given: argv[0], file: bin + argv[0]} }
		if !c.allows(p(argv), argv[1:], fakeLookup) {
			t.Fatalf("%q does not fit itself as %q", argv, EscapeWords(argv))
		}
		if c.allows(p(other), other[1:], fakeLookup) != slices.Equal(argv, other) {
			t.Fatalf("%q and %q", argv, other)
		}
		_ = root
	})
}

func TestEscapedPathFitsOnlyItself(t *testing.T) {
	word := rapid.StringOfN(rapid.RuneFrom([]rune(`ab*?[]\ '-`+"\n{},!é")), 1, 4, -1)
	rapid.Check(t, func(t *rapid.T) {
		path, other := word.Draw(t, "path"), word.Draw(t, "other")
		if rapid.Bool().Draw(t, "deep") {
			path += "/x"
		}
		g, err := compilePath(EscapePath(path))
		if err != nil {
			t.Fatalf("%q as %q: %v", path, EscapePath(path), err)
		}
		if !g.allows(newSubject(path, false)) {
			t.Fatalf("%q does not fit itself as %q", path, EscapePath(path))
		}
		if g.allows(newSubject(other, false)) != (path == other) || g.allows(newSubject("sub/"+path, false)) {
			t.Fatalf("%q and %q", path, other)
		}
	})
}

func TestStoredPolicyDecidesTheSame(t *testing.T) {
	root := drawnWorkspace(t)
	rapid.Check(t, func(t *rapid.T) {
		p := drawPolicy(t, Allow, Ask, Deny)
		data, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		var back Policy
		if err := json.Unmarshal(data, &back); err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(back)
		if err != nil || string(again) != string(data) || back.Digest() != p.Digest() {
			t.Fatalf("%s became %s", data, again)
		}
		a := drawAction(t)
		if v, w := force(t, p, root, false).Explain(a), force(t, &back, root, false).Explain(a); v != w {
			t.Fatalf("%+v: %+v became %+v", a, v, w)
		}
	})
}
