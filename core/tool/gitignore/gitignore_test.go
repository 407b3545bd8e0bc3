package gitignore

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestIgnored(t *testing.T) {
	cases := []struct {
		text string
		path string // a trailing slash makes it a directory
		want bool
	}{
		{"foo", "foo", true},
		{"foo", "a/b/foo", true},
		{"foo", "foobar", false},
		{"foo/", "foo", false},
		{"foo/", "foo/", true},
		{"foo/", "a/foo/", true},
		{"/foo", "foo", true},
		{"/foo", "a/foo", false},
		{"a/b", "a/b", true},
		{"a/b", "x/a/b", false},
		{"*.o", "x/y.o", true},
		{"*.o", ".o", true},
		{"*.o\n!keep.o", "keep.o", false},
		{"*.o\n!keep.o", "x/keep.o", false},
		{"!keep.o\n*.o", "keep.o", true},
		{"# note", "# note", false},
		{`\# note`, "# note", true},
		{`\!bang`, "!bang", true},
		{"trail   ", "trail", true},
		{`trail\ `, "trail ", true},
		{`trail\ `, "trail", false},
		{"crlf\r\nnext", "crlf", true},
		{"\xef\xbb\xbfbom", "bom", true},
		{"**/deep", "a/b/deep", true},
		{"**/deep", "deep", true},
		{"a/**/b", "a/b", true},
		{"a/**/b", "a/x/y/b", true},
		{"a/**/b", "ax/b", false},
		{"a/**", "a/x", true},
		{"a/**", "a/", false},
		{"a**b", "a1/b", false},
		{"a**b", "a12b", true},
		{"a?c", "abc", true},
		{"x/a?c", "x/a/c", false},
		{"[ab].c", "a.c", true},
		{"[!ab].c", "a.c", false},
		{"[^ab].c", "c.c", true},
		{"[]-].c", "].c", true},
		{"[[:digit:]]x", "1x", true},
		{"[[:digit:]]x", "ax", false},
		{"[a", "[a", false},
		{`end\`, `end\`, false},
		{"x[.-0]y", "x/y", false},
		{"x[!a]y", "x/y", false},
		{"bad\xff*", "bad\xff1", true},
		{"/", "a", false},
		{"*/", "a", false},
		{"*/", "a/", true},
		{"doc/*.txt", "doc/a.txt", true},
		{"doc/*.txt", "doc/x/a.txt", false},
	}
	for _, c := range cases {
		dir := strings.HasSuffix(c.path, "/")
		got := Stack{}.With("", Parse([]byte(c.text))).Ignored(strings.TrimSuffix(c.path, "/"), dir)
		if got != c.want {
			t.Errorf("%q on %q: ignored = %v, want %v", c.text, c.path, got, c.want)
		}
	}
}

func TestNestedFilesDecideBeforeTheirParents(t *testing.T) {
	top := Stack{}.With("", Parse([]byte("*.log\n/only\n")))
	sub := top.With("sub", Parse([]byte("!keep.log\n/mine\n")))
	for path, want := range map[string]bool{
		"sub/keep.log": false, "sub/other.log": true, "sub/mine": true, "sub/x/mine": false, "sub/only": false, "only": true,
		"mine": false, "keep.log": true,
	} {
		if got := sub.Ignored(path, false); got != want {
			t.Errorf("%s: ignored = %v, want %v", path, got, want)
		}
	}
	if top.Ignored("sub/mine", false) {
		t.Error("a deeper stack changed its parent")
	}
}

var unbound = regexp.MustCompile(`[^/*!]\*\*|.!\*\*`)

// TestAgreesWithGit compares with git itself, where it is installed, over patterns made of the pieces that matter.
func TestAgreesWithGit(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed: nothing to compare with")
	}
	dir := t.TempDir()
	run := func(args ...string) {
		cmd := exec.Command(git, args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	run("init", "-q")
	var paths []string
	for _, p := range []string{"a", "b.c", "ab", "d/a", "d/b.c", "d/e/a", "d/e/b.c", "d/e/f", "!x", "#y", "z ", "d/z ", "é", "d/[a"} {
		full := filepath.Join(dir, p)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, p)
	}
	piece := rapid.SampledFrom([]string{
		"a", "b", ".c", "d", "e", "f", "/", "*", "**", "**/", "/**", "/**/", "?", "[a-d]", "[!a]", "[/]", "[", "]", `\`, "!", "#",
		" ", "z", "x", "é", "[[:alpha:]]", "[[:bad:]]", "[]a]", "[b-]", "[c-a]",
	})
	line := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(piece, 1, 5).Draw(t, "pieces"), "")
	}).Filter(func(s string) bool {
		// git takes two stars after a plain beginning ("a**/b") for whole directories, against its own manual, which
		// calls them regular stars. The manual is followed here.
		return !unbound.MatchString(s)
	})
	check := func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(line, 1, 3).Draw(t, "lines"), "\n") + "\n"
		if err := os.WriteFile(filepath.Join(dir, ".gitignore"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(git, "-c", "core.excludesFile=", "ls-files", "-z", "--others", "--exclude-standard")
		cmd.Dir = dir
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		shown := map[string]bool{}
		for p := range strings.SplitSeq(string(out), "\x00") {
			shown[p] = true
		}
		stack := Stack{}.With("", Parse([]byte(text)))
		for _, p := range paths {
			if got := visible(stack, p); got != shown[p] {
				t.Fatalf("%q on %q: shown = %v, git says %v", text, p, got, shown[p])
			}
		}
	}
	rapid.Check(t, check)
}

// visible walks down to a path as a caller does.
func visible(s Stack, path string) bool {
	for i := range len(path) {
		if path[i] == '/' && s.Ignored(path[:i], true) {
			return false
		}
	}
	return !s.Ignored(path, false)
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"*.o\n!a", "[", `\`, "a/**/b/", "[[:alpha:]-z]\n", "\xff[\xfe-\xff]"} {
		f.Add([]byte(seed), "a/b.o")
	}
	f.Fuzz(func(t *testing.T, text []byte, path string) {
		s := Stack{}.With("", Parse(text))
		s.Ignored(path, false)
		s.Ignored(path, true)
	})
}

func TestAHostileFileIsBounded(t *testing.T) {
	var text strings.Builder
	for range maxExprs + 10 {
		text.WriteString("?\n")
	}
	text.WriteString(strings.Repeat("[ab]", maxLine) + "\nplain\n*.o\nx?\n")
	p := Parse([]byte(text.String()))
	if len(p.rules) != maxExprs+2 {
		t.Errorf("%d rules are kept", len(p.rules))
	}
	s := Stack{}.With("", p)
	if !s.Ignored("plain", false) || !s.Ignored("a.o", false) || s.Ignored("xy", false) {
		t.Error("the wrong rules are kept")
	}
}
