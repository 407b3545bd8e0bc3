package policy

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"
)

func FuzzParse(f *testing.F) {
	f.Add([]byte(example))
	f.Add([]byte("[[layer]]\nname=\"a\"\n[[layer.rule]]\nact=\"read\"\neffect=\"deny\"\nmatch=[\"a[\"]\n"))
	f.Add([]byte("layer = [{name = 'x', rule = [{act='exec',effect='ask',match='a b\\ c *'}]}]"))
	f.Add([]byte("a.b.c = 1\n[a.b]\n[[a]]\n\x00\xff"))
	root := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Parse(data, "f")
		if err != nil {
			var where *FileError
			if !errors.As(err, &where) || where.Line < 1 || where.Column < 1 || where.Advice == "" {
				t.Fatalf("no place: %v", err)
			}
			return
		}
		stored, err := json.Marshal(p)
		if err != nil {
			t.Fatalf("what was parsed cannot be stored: %v", err)
		}
		var back Policy
		if err := json.Unmarshal(stored, &back); err != nil || back.Digest() != p.Digest() {
			t.Fatalf("%s: %v", stored, err)
		}
		b, err := New(p, root, Lookup(fakeLookup), FoldCase(true))
		if err != nil {
			t.Fatalf("what was parsed cannot be put in force: %v", err)
		}
		checkWarnings(t, b)
	})
}

func FuzzGitIndex(f *testing.F) {
	for _, version := range []byte{2, 3, 4} {
		f.Add([]byte(gitIndex(version, "a.go", "@sub/deep", "z")), false)
	}
	f.Fuzz(func(t *testing.T, data []byte, long bool) {
		hash := 20
		if long {
			hash = 32
		}
		names, ok := indexGitlinks(data, hash)
		for _, name := range names {
			if !ok || name == "" || len(name) > maxGitName || strings.Contains(name, "\x00") {
				t.Fatalf("%q, %v", name, ok)
			}
		}
	})
}

func FuzzPathPattern(f *testing.F) {
	for _, s := range [][2]string{{"**/x", "a/x"}, {"[id].ts", "[id].ts"}, {"{a,b{c,d}}/*", "bc/x"}, {"a[", "a["}, {`\*`, "*"}, {"*\u0301", "e\u0301"}, {"[!\u212a]", "k"}} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, pattern, path string) {
		g, err := compilePath(pattern)
		if err != nil || len(path) > 1000 || strings.Contains(path, "\x00") {
			return
		}
		if path = filepath.Clean(path); filepath.IsAbs(path) {
			return
		}
		exact, blind := newSubject(path, false), newSubject(path, true)
		_, stops := g.stops(exact)
		_, stopsBlind := g.stops(blind)
		if g.allows(exact) && (!stopsBlind || !g.allows(blind)) || stops && !stopsBlind {
			t.Fatalf("%q and %q: folding lost a match", pattern, path)
		}
		if pattern == path && g.name && !stops {
			t.Fatalf("%q does not stop itself", pattern)
		}
	})
}

func FuzzWordPattern(f *testing.F) {
	for _, s := range [][2]string{{"*", "x"}, {"[a-c]?", "bé"}, {`\[`, "["}, {"''", ""}, {"a*b*c", "aXbYc"}, {"*[!a]", "\xff"}} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, pattern, word string) {
		if g, err := compileWord(pattern); err == nil {
			g.match(word)
		}
		escaped := EscapeWords([]string{word})[0]
		g, err := compileWord(escaped)
		if err != nil || !g.match(word) {
			t.Fatalf("%q as %q: %v", word, escaped, err)
		}
		if g.match(word+"x") || pattern != word && g.match(pattern) {
			t.Fatalf("%q fits more than %q", escaped, word)
		}
		if words := splitWords(escaped); len(words) != 1 || words[0] != escaped {
			t.Fatalf("%q is split into %q", escaped, words)
		}
	})
}

func FuzzHost(f *testing.F) {
	for _, s := range []string{"a.example:80", "[::1]:80", "::ffff:1.2.3.4", "*.a.b", "bücher.example", "1.2.3", "a..b", "%", "127。0。0。1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, host string) {
		e, err := parseEndpoint(host)
		if err != nil {
			return
		}
		g, err := compileHost(host)
		if err != nil || !g.fits(e, Allow) {
			t.Fatalf("%q does not fit itself: %v", host, err)
		}
		if !e.addr.IsValid() {
			again, err := parseEndpoint(strings.ToUpper(e.name) + ".")
			if err != nil || again.name != e.name {
				t.Fatalf("%q became %q and then %q: %v", host, e.name, again.name, err)
			}
		}
	})
}

// FuzzArgv looks through any command: it never panics, and never gives a looser verdict than the command's own words.
func FuzzArgv(f *testing.F) {
	for _, s := range []string{
		"sh\x1f-c\x1frm -rf $X; echo `x` > a", "env\x1f-S\x1fx y", "git\x1f-c\x1falias.x=!y\x1fx", "find\x1f.\x1f-exec\x1frm\x1f{}\x1f;",
		"sudo\x1f-u\x1fx\x1fsh\x1f-c\x1f\"", "xargs\x1f-n", "bash\x1f-o\x1f-c", "sed\x1f-e", "make\x1f--eval", "timeout", "watch\x1frm -rf x",
		"sh\x1f-c\x1fcat <<EOF\n$(rm -rf x)\nEOF", "sh\x1f-c\x1f[[ a < b ]] && ((x))", "perl\x1f-ne\x1fprint", "\x1f", "sh\x1f-c\x1f{a,b}",
	} {
		f.Add(s)
	}
	root := f.TempDir()
	var boundaries []*Boundary
	for _, rules := range []string{
		"deny exec rm -rf *\nask exec git push *\nallow exec *",
		"default exec allow\ndeny exec rm *\nallow write *",
		"default exec deny\nallow exec sh *\nallow exec git *",
	} {
		boundaries = append(boundaries, boundary(f, root, rules))
	}
	f.Fuzz(func(t *testing.T, line string) {
		argv := strings.Split(line, "\x1f")
		for _, b := range boundaries {
			v := b.Explain(Action{Act: Exec, Argv: argv})
			if malformed(argv) != "" {
				if v.Effect != Deny {
					t.Fatalf("%q: %+v", argv, v)
				}
				continue
			}
			if !v.Effect.valid() || len(v.Part) > 4096 && !strings.Contains(line, v.Part) {
				t.Fatalf("%q: %+v", argv, v)
			}
			plain := b.plain(command{argv: argv, dir: ".", program: b.findProgram(".", argv[0])})
			if v.Effect.rank() < plain.Effect.rank() {
				t.Fatalf("%q: %+v, its own words %+v", argv, v, plain)
			}
			inner := b.Explain(Action{Act: Exec, Argv: append([]string{"env"}, argv...)})
			if v.Rule != "" && v.Effect == Deny && inner.Effect != Deny && !strings.Contains(argv[0], "=") && argv[0][0] != '-' {
				t.Fatalf("%q: %+v, in env %+v", argv, v, inner)
			}
		}
	})
}
