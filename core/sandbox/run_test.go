package sandbox

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

type runFunc = func(ctx context.Context, c Command) (Result, error)

func TestHowACommandEnds(t *testing.T) {
	t.Parallel()
	inAllModes(t, func(t *testing.T, run runFunc) {
		for _, tc := range []struct {
			script string
			exit   int
			signal string
		}{
			{"true", 0, ""},
			{"exit 3", 3, ""},
			{"exit 137", 137, ""},
			{"kill -KILL $$", 0, "SIGKILL"},
			{"kill -SEGV $$", 0, "SIGSEGV"},
			{"sh -c 'kill -KILL $$'; exit $?", 137, ""},
		} {
			got, err := run(t.Context(), shell(tc.script))
			if err != nil || got.Exit != tc.exit || got.Signal != tc.signal || got.TimedOut || got.Left != nil || got.NotFound != "" {
				t.Errorf("%s: %+v, %v", tc.script, got, err)
			}
			if got.Elapsed <= 0 {
				t.Errorf("%s: elapsed %v", tc.script, got.Elapsed)
			}
		}
	})
}

func TestOutputComesInOrder(t *testing.T) {
	t.Parallel()
	inAllModes(t, func(t *testing.T, run runFunc) {
		var live strings.Builder
		c := shell("for i in 1 2 3 4 5 6 7 8 9; do echo out $i; echo err $i >&2; done")
		c.Output = func(b []byte) { live.Write(b) }
		got, err := run(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		var want strings.Builder
		for _, i := range "123456789" {
			want.WriteString("out " + string(i) + "\nerr " + string(i) + "\n")
		}
		if string(got.Output) != want.String() || live.String() != want.String() || got.Total != int64(want.Len()) {
			t.Errorf("got %q (%d), live %q", got.Output, got.Total, live.String())
		}
	})
}

func TestLongOutputKeepsHeadAndTail(t *testing.T) {
	t.Parallel()
	inAllModes(t, func(t *testing.T, run runFunc) {
		c := shell("echo first; head -c 3000000 /dev/zero | tr '\\0' x; echo last")
		c.Keep = 10_000
		got, err := run(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Output) > c.Keep || got.Total != 3_000_011 {
			t.Errorf("kept %d of %d", len(got.Output), got.Total)
		}
		text := string(got.Output)
		if !strings.HasPrefix(text, "first\nxxx") || !strings.HasSuffix(text, "xxxlast\n") || !strings.Contains(text, "bytes left out") {
			t.Errorf("%.40q ... %q", text, text[len(text)-40:])
		}
	})
}

func TestInput(t *testing.T) {
	t.Parallel()
	inAllModes(t, func(t *testing.T, run runFunc) {
		long := strings.Repeat("0123456789abcdef", 1<<16)
		for _, tc := range []struct{ name, script, input, want string }{
			{"none is empty", "cat; echo end", "", "end\n"},
			{"given", "cat; echo end", "text\n", "text\nend\n"},
			{"long", "wc -c | tr -d ' '", long, "1048576\n"},
			{"long and not read", "echo done", long, "done\n"},
			{"long and read in part", "head -c 4; echo", long, "0123\n"},
		} {
			c := shell(tc.script)
			c.Stdin = tc.input
			within(t, 20*time.Second, func() {
				if got, err := run(t.Context(), c); err != nil || string(got.Output) != tc.want {
					t.Errorf("%s: %q, %v", tc.name, got.Output, err)
				}
			})
		}
	})
}

func TestTerminalIsOutOfReach(t *testing.T) {
	t.Parallel()
	inAllModes(t, func(t *testing.T, run runFunc) {
		within(t, 20*time.Second, func() {
			got, err := run(t.Context(), shell("read x </dev/tty; echo status $?; test -t 0 || test -t 1 || echo none"))
			if err != nil || strings.Contains(string(got.Output), "status 0") || !strings.Contains(string(got.Output), "none") {
				t.Errorf("%q, %v", got.Output, err)
			}
		})
	})
}

func TestProgramsThatCannotBeStarted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, tc := range []struct {
		name, want string
		command    Command
	}{
		{"unknown", `program "no-such-program" is not in PATH`, Command{Argv: []string{"no-such-program"}}},
		{"missing", "does not exist", Command{Argv: []string{"./missing"}}},
		{"no name", "no program is named", Command{Argv: []string{""}}},
		{"not executable", "is not executable", Command{Argv: []string{file("plain", "#!/bin/sh\n", 0o600)}}},
		{"directory", "is a directory", Command{Argv: []string{dir}}},
		{"device", "is not a file", Command{Argv: []string{"/dev/null"}}},
		{"no interpreter", `the interpreter "/no/such/interpreter"`, Command{Argv: []string{file("bad", "#!/no/such/interpreter -x\n", 0o700)}}},
		{"no format", "must begin with #!", Command{Argv: []string{file("raw", "echo hello\n", 0o700)}}},
		{"below a file", "cannot be read", Command{Argv: []string{file("f", "", 0o600) + "/x"}}},
		{"NUL", "NUL", Command{Argv: []string{"true", "a\x00b"}}},
		{"too long", "too long", Command{Argv: []string{"true", strings.Repeat("x", 1<<22)}}},
		{"no directory", "does not exist", Command{Argv: []string{"true"}, Dir: filepath.Join(dir, "gone")}},
		{"directory is a file", "is not a directory", Command{Argv: []string{"true"}, Dir: file("g", "", 0o600)}},
		{"only in a relative PATH", "not in PATH", Command{Argv: []string{"plain"}, Dir: dir, Env: []string{"PATH=.:"}}},
	} {
		for _, m := range modes {
			r, err := NewRunner(Options{Env: os.Environ(), State: t.TempDir(), Workspace: dir})
			if err != nil {
				t.Fatal(err)
			}
			m.prepare(r)
			got, err := m.run(t.Context(), r, tc.command)
			if m.name == "direct" && err != nil {
				got.NotFound, err = err.Error(), nil // preparing it failed, which Run would put into the result
			}
			if err != nil || !strings.Contains(got.NotFound, tc.want) {
				t.Errorf("%s, %s: %q, %v", tc.name, m.name, got.NotFound, err)
			}
		}
	}
}

func TestCommandsThatMakeNoSense(t *testing.T) {
	t.Parallel()
	r := newTestRunner(t)
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(errKilled)
	for name, c := range map[string]Command{
		"no program":         {},
		"relative directory": {Argv: []string{"true"}, Dir: "x"},
		"environment":        {Argv: []string{"true"}, Env: []string{"secret-without-a-name"}},
	} {
		if _, err := r.Run(t.Context(), c); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := r.Run(ended, shell("true")); err == nil {
		t.Error("ran with an ended context")
	}
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	inAllModes(t, func(t *testing.T, run runFunc) {
		var wg sync.WaitGroup
		for range 12 {
			wg.Go(func() {
				got, err := run(t.Context(), shell("echo a; sleep 0.05; echo b; exit 4"))
				if err != nil || got.Exit != 4 || string(got.Output) != "a\nb\n" {
					t.Errorf("%+v, %v", got, err)
				}
			})
		}
		wg.Wait()
	})
}

// Arguments, output and names are bytes, not text.
func TestBytesThatAreNoText(t *testing.T) {
	t.Parallel()
	inAllModes(t, func(t *testing.T, run runFunc) {
		got, err := run(t.Context(), Command{Argv: []string{"printf", "%s", "\xff\xfe\x1b[31m"}, Env: []string{"X=\xff"}})
		if err != nil || string(got.Output) != "\xff\xfe\x1b[31m" {
			t.Errorf("%q, %v", got.Output, err)
		}
	})
}

// What the engine's own parent left open is not the command's.
func TestInheritedFilesStayOut(t *testing.T) {
	t.Parallel()
	file, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	inherited, err := unix.FcntlInt(file.Fd(), unix.F_DUPFD, 200) // without close-on-exec
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(inherited)
	got, err := newTestRunner(t).Run(t.Context(), shell("for f in /dev/fd/*; do echo ${f##*/}; done"))
	if err != nil || slices.Contains(strings.Fields(string(got.Output)), strconv.Itoa(inherited)) {
		t.Errorf("open: %q, %v", got.Output, err)
	}
}
