package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"tillerman/core/policy"
)

func TestReadFile(t *testing.T) {
	numbers := func(from, to int) string {
		var b strings.Builder
		for i := from; i <= to; i++ {
			fmt.Fprintf(&b, "line %d\n", i)
		}
		return b.String()
	}
	root := workspace(t, map[string]string{
		"whole": "a\r\nb", "five": numbers(1, 5), "long": numbers(1, 4500), "empty": "", "open": "a\nb\nc",
		"latin": "caf\xe9 au lait, s'il vous pla\xeet\n", "bom": "\xef\xbb\xbfx\n",
	})
	env := open(t, root)
	for _, c := range []struct {
		args map[string]any
		want string
	}{
		{map[string]any{"path": "whole"}, "a\r\nb"},
		{map[string]any{"path": "five"}, numbers(1, 5)},
		{map[string]any{"path": "five", "offset": 1, "limit": 5}, numbers(1, 5)},
		{map[string]any{"path": "bom"}, "\xef\xbb\xbfx\n"},
		{map[string]any{"path": "empty"}, "[empty file]"},
		{map[string]any{"path": "five", "offset": 2, "limit": 2}, numbers(2, 3) + "[lines 2-3 of 5; go on with offset 4]"},
		{map[string]any{"path": "five", "offset": 4}, numbers(4, 5) + "[lines 4-5 of 5]"},
		{map[string]any{"path": "open", "offset": 3}, "c\n[lines 3-3 of 3; the last has no newline at its end]"},
		{map[string]any{"path": "long"}, numbers(1, 2000) + "[lines 1-2000 of 4500; go on with offset 2001]"},
		{map[string]any{"path": "long", "offset": 4001}, numbers(4001, 4500) + "[lines 4001-4500 of 4500]"},
		{map[string]any{"path": "latin"}, "caf\\xe9 au lait, s'il vous pla\\xeet\n[2 bytes of invalid UTF-8 shown as \\xNN]"},
	} {
		r := call(t, readTool{}, env, c.args)
		if r.Failed {
			t.Errorf("%v failed", c.args)
		}
		wantText(t, r, c.want)
	}
	wantFailed(t, call(t, readTool{}, env, map[string]any{"path": "five", "offset": 6}), "past the end")
}

func TestReadFileFailures(t *testing.T) {
	root := workspace(t, map[string]string{
		"dir/": "", "nul": "abc\x00def", "noise": strings.Repeat("\xff\xfe\x01", 50), "a.txt": "a", "late": strings.Repeat("x\n", 9000) + "\x00",
	})
	if err := syscall.Mkfifo(filepath.Join(root, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	env := open(t, root)
	for path, kind := range map[string]string{
		"none": "not found", "a.txt/x": "not found", "dir": "directory", ".": "directory", "nul": "binary", "noise": "binary",
		"pipe": "not a file", "../x": "outside", "/etc/passwd": "outside",
	} {
		r := call(t, readTool{}, env, map[string]any{"path": path})
		wantFailed(t, r, kind)
		if strings.Contains(r.Text, root) {
			t.Errorf("%s: the text shows an absolute path: %s", path, r.Text)
		}
	}
	r := call(t, readTool{}, env, map[string]any{"path": "late", "offset": 8000})
	wantFailed(t, r, "binary")
	if !strings.Contains(r.Text, "18001 bytes") {
		t.Errorf("the size is missing: %s", r.Text)
	}
}

func TestReadFileWithoutPermission(t *testing.T) {
	root := workspace(t, map[string]string{"secret": "s", "closed/a": "a"})
	for name, mode := range map[string]os.FileMode{"secret": 0, "closed": 0} {
		if err := os.Chmod(filepath.Join(root, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(root, "closed"), 0o755) })
	asNobody(t, root, func(t *testing.T) {
		env := open(t, root)
		wantText(t, call(t, readTool{}, env, map[string]any{"path": "secret"}), "unreadable: secret: permission denied")
		_, err := readTool{}.Plan(context.Background(), env, json.RawMessage(`{"path":"closed/a"}`))
		if err == nil || err.Error() != "read_file: closed/a: permission denied" {
			t.Errorf("a file in a closed directory: %v", err)
		}
	})
}

func TestReadFileOfOneHugeLine(t *testing.T) {
	root := workspace(t, map[string]string{
		"one":  strings.Repeat("é", 200<<10),
		"then": "short\n" + strings.Repeat("x", 300<<10) + "\nend\n",
		"fits": strings.Repeat("x", 200<<10) + "\n" + strings.Repeat("y", 100<<10) + "\n",
	})
	env := open(t, root)
	wantText(t, call(t, readTool{}, env, map[string]any{"path": "one"}),
		strings.Repeat("é", 128<<10)+"\n[line 1 has 409600 bytes; only its first 262144 are shown]\n[lines 1-1 of 1]")
	wantText(t, call(t, readTool{}, env, map[string]any{"path": "then"}), "short\n[lines 1-1 of 3; go on with offset 2]")
	wantText(t, call(t, readTool{}, env, map[string]any{"path": "then", "offset": 2}),
		strings.Repeat("x", 256<<10)+"\n[line 2 has 307201 bytes; only its first 262144 are shown]\n[lines 2-2 of 3; go on with offset 3]")
	wantText(t, call(t, readTool{}, env, map[string]any{"path": "fits"}), strings.Repeat("x", 200<<10)+"\n[lines 1-1 of 2; go on with offset 2]")
}

func TestReadFileOver64MiB(t *testing.T) {
	root := workspace(t, map[string]string{"big": "first\nsecond\nthird\n" + strings.Repeat("x", sampleSize) + "\n"})
	if err := os.Truncate(filepath.Join(root, "big"), wholeBytes+1); err != nil {
		t.Fatal(err)
	}
	env := open(t, root)
	r := call(t, readTool{}, env, map[string]any{"path": "big"})
	wantFailed(t, r, "too large")
	if !strings.Contains(r.Text, fmt.Sprint(wholeBytes+1)) {
		t.Errorf("the size is missing: %s", r.Text)
	}
	wantText(t, call(t, readTool{}, env, map[string]any{"path": "big", "offset": 2, "limit": 1}), "second\n[lines 2-2; more follow, go on with offset 3]")
}

func TestReadFileOfOddNames(t *testing.T) {
	files := map[string]string{}
	for _, name := range oddNames {
		files[name] = "in " + QuoteName(name) + "\n"
	}
	env := open(t, workspace(t, files))
	for _, name := range oddNames {
		wantText(t, call(t, readTool{}, env, map[string]any{"path": QuoteName(name)}), files[name])
		if raw, _ := json.Marshal(name); name[0] != '"' && !strings.Contains(string(raw), "ufffd") {
			wantText(t, call(t, readTool{}, env, map[string]any{"path": name}), files[name])
		}
	}
}

func TestReadFileOfASwappedPath(t *testing.T) {
	swaps := map[string]func(root, out string) error{
		"file":      func(root, out string) error { return swap(root+"/dir/a", out+"/a") },
		"directory": func(root, out string) error { return swap(root+"/dir", out) },
		"inside":    func(root, _ string) error { return swap(root+"/dir/a", "../denied") },
	}
	for name, turn := range swaps {
		t.Run(name, func(t *testing.T) {
			root := workspace(t, map[string]string{"dir/a": "mine", "denied": "secret"})
			out := workspace(t, map[string]string{"a": "secret"})
			env := open(t, root, "denied")
			p := plan(t, readTool{}, env, map[string]any{"path": "dir/a"})
			if err := turn(root, out); err != nil {
				t.Fatal(err)
			}
			r, err := readTool{}.Run(context.Background(), env, p)
			if err != nil {
				t.Fatal(err)
			}
			wantFailed(t, r, "changed")
		})
	}
}

// swap puts a link to target in the place of what is at path.
func swap(path, target string) error {
	if err := os.Rename(path, path+".moved"); err != nil {
		return err
	}
	return os.Symlink(target, path)
}

func TestReadFileGoesThroughALinkOnlyToWhatWasJudged(t *testing.T) {
	root := workspace(t, map[string]string{"a": "one", "b": "two"})
	link(t, root, "a", "l")
	env := open(t, root)
	p := plan(t, readTool{}, env, map[string]any{"path": "l"})
	if p.Action.Act != policy.Read || p.Action.Path != "a" {
		t.Errorf("judged %+v, want what the link leads to", p.Action)
	}
	remove(t, root, "l")
	link(t, root, "b", "l")
	r, err := readTool{}.Run(context.Background(), env, p)
	if err != nil {
		t.Fatal(err)
	}
	wantText(t, r, "one")
}

func TestReadFileInterrupted(t *testing.T) {
	env := open(t, workspace(t, map[string]string{"a": "x\n"}))
	p := plan(t, readTool{}, env, map[string]any{"path": "a"})
	cause := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cause)
	if _, err := (readTool{}).Run(ctx, env, p); !errors.Is(err, cause) {
		t.Errorf("got %v, want the cause", err)
	}
}

// Reading on from where each part says must give the file, whatever its lines and limits are.
func TestPartsMakeTheFile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.SampledFrom([]string{"a", "\n", "\n\n", "word ", "é", "\r\n", strings.Repeat("long ", 20_000)})
		text := strings.Join(rapid.SliceOfN(piece, 1, 40).Draw(t, "pieces"), "")
		limit := rapid.IntRange(1, 6).Draw(t, "limit")
		var got strings.Builder
		for first := 1; ; {
			p, err := readPart(context.Background(), strings.NewReader(text), first, limit, rapid.Bool().Draw(t, "count"))
			if err != nil {
				t.Fatal(err)
			}
			if p.cut > 0 && int64(len(p.text)) >= p.cut {
				t.Fatalf("%d of %d bytes are called cut", len(p.text), p.cut)
			}
			got.Write(p.text)
			if p.cut > 0 {
				// The rest of such a line is beyond read_file; the test takes it from the text.
				got.WriteString(text[got.Len():][:p.cut-int64(len(p.text))])
			}
			if len(p.text) > readBytes || p.last-p.first >= limit {
				t.Fatalf("%d bytes in lines %d-%d", len(p.text), p.first, p.last)
			}
			if !p.more {
				break
			}
			first = p.last + 1
		}
		if got.String() != text {
			t.Fatalf("%d bytes were read of %d", got.Len(), len(text))
		}
	})
}

// endless gives one line that has no end and counts what is taken of it.
type endless struct{ left int64 }

func (e *endless) Read(p []byte) (int, error) {
	if e.left <= 0 {
		return 0, io.EOF
	}
	for i := range p {
		p[i] = 'x'
	}
	e.left -= int64(len(p))
	return len(p), nil
}

func TestReadPartOfALineWithoutEndKeepsLittle(t *testing.T) {
	p, err := readPart(context.Background(), &endless{left: 8 << 20}, 1, 1, true)
	if err != nil || len(p.text) != readBytes || cap(p.text) > 4*readBytes || p.cut < 8<<20 {
		t.Errorf("%d bytes kept in %d, line of %d, %v", len(p.text), cap(p.text), p.cut, err)
	}
}
