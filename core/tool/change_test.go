package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"tillerman/core/policy"
)

func TestWriteFile(t *testing.T) {
	root := workspace(t, map[string]string{"a.txt": "one\ntwo\n"})
	env := open(t, root)
	wantText(t, call(t, writeTool{}, env, map[string]any{"path": "new/deep/b.txt", "content": "b"}), "wrote new/deep/b.txt (1 byte, new file)")
	wantText(t, call(t, writeTool{}, env, map[string]any{"path": "a.txt", "content": "one\n2\n"}), "wrote a.txt (6 bytes)")
	r := call(t, writeTool{}, env, map[string]any{"path": "a.txt", "content": "one\n2\n"})
	wantText(t, r, "unchanged: a.txt has this content already")
	if r.Changed {
		t.Error("the same content counts as a change")
	}
	if r := call(t, writeTool{}, env, map[string]any{"path": "void", "content": ""}); !r.Changed || body(t, root, "void") != "" {
		t.Errorf("an empty file: %+v", r)
	}
	if body(t, root, "new/deep/b.txt") != "b" || body(t, root, "a.txt") != "one\n2\n" {
		t.Error("the files are not as written")
	}
	noTemps(t, root)
}

func TestPlannedWriteIsComplete(t *testing.T) {
	root := workspace(t, map[string]string{"a.txt": "one\ntwo\n"})
	if err := os.Chmod(filepath.Join(root, "a.txt"), 0o750); err != nil {
		t.Fatal(err)
	}
	link(t, root, "a.txt", "link")
	env := open(t, root)
	p := plan(t, writeTool{}, env, map[string]any{"path": "link", "content": "one\n2\n"})
	w := p.Write
	if w == nil || w.Path != "a.txt" || !w.Exists || w.Mode != 0o750 || string(w.Before) != "one\ntwo\n" || string(w.After) != "one\n2\n" {
		t.Fatalf("the write is %+v", w)
	}
	if p.Action.Act != policy.Write || p.Action.Path != "a.txt" || p.Target != "link" {
		t.Errorf("judged as %+v, target %s", p.Action, p.Target)
	}
	if want := "--- a.txt\n+++ a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n"; p.Payload != want {
		t.Errorf("payload\n%s\nwant\n%s", p.Payload, want)
	}
	p = plan(t, writeTool{}, env, map[string]any{"path": "n", "content": "all\nof it"})
	if p.Write.Exists || p.Write.Mode&^0o666 != 0 || p.Write.Mode&0o600 != 0o600 || p.Payload != "all\nof it" {
		t.Errorf("the write of a new file is %+v, payload %q", p.Write, p.Payload)
	}
	if _, err := (writeTool{}).Run(context.Background(), env, p); err == nil {
		t.Error("the tool ran a write itself")
	}
}

func TestAWriteThroughALinkGoesToItsTarget(t *testing.T) {
	root := workspace(t, map[string]string{"a.txt": "old"})
	link(t, root, "a.txt", "link")
	link(t, root, "made/new.txt", "dangling")
	env := open(t, root)
	call(t, writeTool{}, env, map[string]any{"path": "link", "content": "new"})
	call(t, writeTool{}, env, map[string]any{"path": "dangling", "content": "x"})
	if body(t, root, "a.txt") != "new" || body(t, root, "made/new.txt") != "x" {
		t.Error("the targets are not written")
	}
	for _, name := range []string{"link", "dangling"} {
		if info, err := os.Lstat(filepath.Join(root, name)); err != nil || info.Mode().Type() != os.ModeSymlink {
			t.Errorf("%s is no link any more", name)
		}
	}
}

func TestChangesOfBadTargets(t *testing.T) {
	root := workspace(t, map[string]string{"dir/": "", "a.txt": "a", "ro": "r", "nul": "a\x00b"})
	if err := os.Chmod(filepath.Join(root, "ro"), 0o444); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(root, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	env := open(t, root)
	for path, want := range map[string]string{
		"dir": "write_file: dir: it is a directory", ".": "write_file: .: it is a directory",
		"a.txt/x": "write_file: a.txt/x: a file stands where the path has a directory",
		"ro":      "write_file: ro: it is read-only (mode 0444)", "pipe": "write_file: pipe: it is neither a file nor a directory",
	} {
		_, err := (writeTool{}).Plan(context.Background(), env, args(t, map[string]any{"path": path, "content": ""}))
		if err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", path, err, want)
		}
	}
	for name, want := range map[string]string{
		"none": "edit: none: it does not exist; write_file creates files", "nul": "edit: nul: it is a binary file",
	} {
		_, err := (editTool{}).Plan(context.Background(), env, args(t, map[string]any{"path": name, "old": "a", "new": "b"}))
		if err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
	}
}

// What a denied file holds, or that it exists, must not show in any answer that comes before the verdict.
func TestPlansTellNothingOfDeniedFiles(t *testing.T) {
	root := workspace(t, map[string]string{".env": "KEY=1\n", "dir/": ""})
	link(t, root, ".env", "link")
	out := workspace(t, map[string]string{"x": "KEY=1\n"})
	link(t, root, out, "out")
	env := open(t, root, ".env", ".none", "dir")
	for _, path := range []string{".env", "link", ".none", "dir", "out/x", "out/none", "../x"} {
		for _, old := range []string{"KEY", "zzz"} {
			p := plan(t, editTool{}, env, map[string]any{"path": path, "old": old, "new": "y"})
			if p.Write != nil || p.Payload != "" || p.Action.Act != policy.Write {
				t.Errorf("edit of %s: %+v", path, p)
			}
			r, err := editTool{}.Run(context.Background(), env, p)
			if err != nil {
				t.Fatal(err)
			}
			wantFailed(t, r, "not written")
		}
		if p := plan(t, writeTool{}, env, map[string]any{"path": path, "content": "KEY=1\n"}); p.Write != nil || p.Payload != "" {
			t.Errorf("write of %s: %+v", path, p)
		}
	}
}

func TestEditNeedsToRead(t *testing.T) {
	root := workspace(t, map[string]string{"a": "x"})
	env := Env{Root: root, May: func(a policy.Action) policy.Verdict {
		if a.Act == policy.Read {
			return policy.Verdict{Effect: policy.Deny}
		}
		return policy.Verdict{Effect: policy.Allow}
	}}
	for _, old := range []string{"x", "zzz"} {
		_, err := (editTool{}).Plan(context.Background(), env, args(t, map[string]any{"path": "a", "old": old, "new": "y"}))
		if err == nil || !strings.Contains(err.Error(), "denies reading") {
			t.Errorf("old %s: got %v", old, err)
		}
	}
}

func TestEdit(t *testing.T) {
	for name, c := range map[string]struct{ body, old, with, want, err string }{
		"once":         {"one two three", "two", "2", "one 2 three", ""},
		"to nothing":   {"one two", " two", "", "one", ""},
		"lines":        {"a\nb\nc\n", "b\nc", "B", "a\nB\n", ""},
		"bytes stay":   {"\xffab\xfe", "ab", "c", "\xffc\xfe", ""},
		"never":        {"one", "two", "2", "", "old occurs 0 times in it"},
		"twice":        {"one one", "one", "1", "", "old occurs 2 times in it; give more of the text around the one you mean"},
		"overlapping":  {"aaa", "aa", "b", "", "old occurs 2 times in it; give more of the text around the one you mean"},
		"same":         {"one", "one", "one", "", "old and new are the same"},
		"empty":        {"one", "", "x", "", "old is empty"},
		"line endings": {"a\r\nb\r\n", "a\nb", "c", "", `old occurs 0 times in it; its lines end with \r\n, and those of old with \n`},
	} {
		t.Run(name, func(t *testing.T) {
			root := workspace(t, map[string]string{"f": c.body})
			env := open(t, root)
			p, err := editTool{}.Plan(context.Background(), env, args(t, map[string]any{"path": "f", "old": c.old, "new": c.with}))
			if c.err != "" {
				if err == nil || err.Error() != "edit: f: "+c.err {
					t.Errorf("got %v, want %s", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if changed, err := Apply(root, *p.Write); err != nil || !changed || body(t, root, "f") != c.want {
				t.Errorf("got %q, %v, %v; want %q", body(t, root, "f"), changed, err, c.want)
			}
		})
	}
}

func TestReplaceProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		few := rapid.RuneFrom([]rune("ab\n"))
		text := rapid.StringOfN(few, 0, 30, -1).Draw(t, "text")
		old := rapid.StringOfN(few, 1, 4, -1).Draw(t, "old")
		with := rapid.StringOfN(few, 0, 4, -1).Draw(t, "with")
		// How often old starts, counted in the plainest way.
		var starts []int
		for i := range len(text) {
			if strings.HasPrefix(text[i:], old) {
				starts = append(starts, i)
			}
		}
		got, err := replace([]byte(text), []byte(old), []byte(with))
		if ok := len(starts) == 1 && old != with; ok != (err == nil) {
			t.Fatalf("%q in %q starts at %v, and the error is %v", old, text, starts, err)
		}
		if err != nil {
			return
		}
		at := starts[0]
		if string(got) != text[:at]+with+text[at+len(old):] {
			t.Fatalf("%q became %q", text, got)
		}
	})
}

func TestChangesOfOddNames(t *testing.T) {
	files := map[string]string{}
	for _, name := range oddNames {
		files[name] = "old"
	}
	root := workspace(t, files)
	env := open(t, root)
	for _, name := range oddNames {
		r := call(t, editTool{}, env, map[string]any{"path": QuoteName(name), "old": "old", "new": "new"})
		if r.Failed || body(t, root, name) != "new" {
			t.Errorf("edit of %q: %+v", name, r)
		}
		if r := call(t, writeTool{}, env, map[string]any{"path": QuoteName(name + ".2"), "content": "x"}); r.Failed || body(t, root, name+".2") != "x" {
			t.Errorf("write of %q: %+v", name, r)
		}
	}
}

func TestPayloadHidesNothing(t *testing.T) {
	for name, c := range map[string]struct{ before, after, want string }{
		"an escape and its text": {"some text \xff\n", `some text \xff` + "\n", "-some text \\xff\n+some text \\xff\n"},
		"a binary file":          {"a\x00b", "text\n", "[binary file of 3 bytes, SHA-256 "},
		"no change":              {"a", "a", "[no change"},
		"a last newline":         {"a", "a\n", `\ No newline at end of file`},
	} {
		got := payload(Write{Path: "f", Exists: true, Before: []byte(c.before), After: []byte(c.after)})
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: %q lacks %q", name, got, c.want)
		}
	}
	if got := payload(Write{Path: "two\nlines", Exists: true, Before: []byte("a\n"), After: []byte("b\n")}); !strings.HasPrefix(got, "--- \"two\\nlines\"\n+++ \"two\\nlines\"\n@@") {
		t.Errorf("a name broke the head of the diff: %q", got)
	}
}

// What is in a new file never passes for what is said of it: a change of another file, or none.
func TestPayloadOfANewFileIsNoWordOfOurs(t *testing.T) {
	old := Write{Path: "f", Exists: true, Before: []byte("a\n"), After: []byte("b\n")}
	linked, same, bin := old, old, old
	linked.Names, same.After, bin.Before = 2, same.Before, []byte("a\x00")
	for name, w := range map[string]Write{"a diff": old, "names": linked, "no change": same, "binary": bin} {
		content := payload(w)
		got := payload(Write{Path: "new", After: []byte(content)})
		if !strings.HasPrefix(got, "--- new\n+++ new\n@@ -0,0 +1") || patched(t, "", got) != content {
			t.Errorf("%s: %q", name, got)
		}
	}
	for _, content := range []string{"", "[1, 2]\n", "---\ntitle: x\n", "text\n--- a\n+++ b\n"} {
		if got := payload(Write{Path: "new", After: []byte(content)}); got != content {
			t.Errorf("%q became %q", content, got)
		}
	}
}

// A diff that a person is shown must hold every changed line: it is applied here to the old text and gives the new one.
func TestPayloadIsTheWholeChange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.SampledFrom([]string{"a\n", "b\n", "c\n", "\n", "- x\n", "+ y\n", "@@\n", "-- z\n", "é\n"})
		draw := func(name string) string {
			text := strings.Join(rapid.SliceOfN(line, 0, 40).Draw(t, name), "")
			return text + rapid.SampledFrom([]string{"", "end"}).Draw(t, name+" end")
		}
		before, after := draw("before"), draw("after")
		if before == after {
			return
		}
		diff := payload(Write{Path: "f", Exists: true, Before: []byte(before), After: []byte(after)})
		if got := patched(t, before, diff); got != after {
			t.Fatalf("%q and the diff\n%s\ngive %q, not %q", before, diff, got, after)
		}
	})
}

// patched applies a unified diff, by the line numbers in its heads.
func patched(t rapid.TB, before, diff string) string {
	lines := strings.SplitAfter(before, "\n")
	var out bytes.Buffer
	at := 0
	rows := strings.SplitAfter(diff, "\n")[2:]
	for i, row := range rows {
		noNewline := i+1 < len(rows) && strings.HasPrefix(rows[i+1], `\ No newline`)
		text := row
		if noNewline {
			text = strings.TrimSuffix(row, "\n")
		}
		switch {
		case row == "":
		case row[0] == '@':
			from := 0
			for _, c := range row[len("@@ -"):] {
				if c < '0' || c > '9' {
					break
				}
				from = from*10 + int(c-'0')
			}
			for ; at < from-1; at++ {
				out.WriteString(lines[at])
			}
		case row[0] == '-' || row[0] == ' ':
			if lines[at] != text[1:] {
				t.Fatalf("the diff says %q where the file has %q", text[1:], lines[at])
			}
			at++
			if row[0] == ' ' {
				out.WriteString(text[1:])
			}
		case row[0] == '+':
			out.WriteString(text[1:])
		}
	}
	for ; at < len(lines); at++ {
		out.WriteString(lines[at])
	}
	return out.String()
}

func TestArgumentsOfChangesAreKept(t *testing.T) {
	env := open(t, workspace(t, map[string]string{"a": "x"}))
	p := plan(t, editTool{}, env, map[string]any{"path": "./a", "old": "x", "new": "<y>"})
	var got map[string]string
	if err := json.Unmarshal(p.Args, &got); err != nil || got["path"] != "a" || got["old"] != "x" || got["new"] != "<y>" {
		t.Errorf("got %s, %v", p.Args, err)
	}
}
