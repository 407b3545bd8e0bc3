package tuitest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// painted shows text in a terminal of this size and gives the frame.
func painted(t *testing.T, cols, rows int, text string) Frame {
	t.Helper()
	term := &Term{tb: t, changed: make(chan struct{})}
	term.emu = term.emulator(cols, rows)
	term.show([]byte(text))
	return term.Frame()
}

func TestGoldenForm(t *testing.T) {
	f := painted(t, 24, 5, "\x1b]0;a; b 12 s\x07\x1b[?25l\x1b[1;38;2;95;208;197mbold  words\x1b[m plain\r\n"+
		"\x1b[44;97m  panel          \x1b[m\r\n\x1b[7mx\x1b[m \x1b[31mred   \x1b[32mgreen  \x1b[m|\r\n"+
		"日本\x1b[4:3;58;5;9m語 x\x1b[m \x1b]8;;http://e/\x07link\x1b]8;;\x07\r\n\x1b[2;3;9mz\x1b[m took 12.5 s")
	want := `size 24x5, cursor hidden, title "a; b dddd"
────────────────────────
bold  words plain
  panel
x red   green  |
日本語 x link
z took dddddd
────────────────────────
0: 0-10 fg=#5fd0c5 bold
1: 0-1 bg=4, 2-16 fg=15 bg=4
2: 0 reverse, 2-4 fg=1, 8-12 fg=2
3: 4-7 underline=curly underline-colour=9, 9-12 link="http://e/"
4: 0 faint italic strike
`
	if got := f.Golden(Durations()); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// What cannot be seen makes no difference.
func TestInvisibleStylesMakeNoDifference(t *testing.T) {
	a := painted(t, 20, 1, "\x1b[1;31mone two\x1b[m").Golden()
	b := painted(t, 20, 1, "\x1b[1;31mone\x1b[m \x1b[1;31mtwo     ").Golden()
	if strings.ReplaceAll(a, "cursor 7,0", "cursor 12,0") != b {
		t.Errorf("%s\n%s", a, b)
	}
}

func TestMasks(t *testing.T) {
	for _, c := range []struct {
		mask     Mask
		in, want string
	}{
		{Durations(), "took 12.4 s, 350ms and 1m 02s of 2h3m; 7 seconds, 5 m/s 3 items", "took dddddd, ddddd and dddddd of dddd; 7 seconds, ddd/s 3 items"},
		{Clocks(), "at 15:04:05.123 on 2026-01-02, 2026-01-02T15:04:05Z, 9:30; ratio 3:5", "at tttttttttttt on tttttttttt, tttttttttttttttttttt, tttt; ratio 3:5"},
		{Digests(), "sha256:0123456789abcdef… and deadbeef, not cafe", "sha256:xxxxxxxxxxxxxxxx… and xxxxxxxx, not cafe"},
		{PIDs(), "pid 4711, Process 12 of group=9; rapid 3", "pid pppp, Process pp of group=p; rapid 3"},
		{Cover("日."), "日本語", "░░░░語"},
		{(&Home{Dir: "/t/h"}).Paths(), "in /t/h/work", "in ~~~~/work"},
	} {
		if got := cover(c.in, []Mask{c.mask}); got != c.want {
			t.Errorf("%q is covered as %q, not %q", c.in, got, c.want)
		}
	}
}

func TestMatch(t *testing.T) {
	if Updating() {
		t.Skip("with -update nothing is compared")
	}
	t.Chdir(t.TempDir())
	start := func(tb testing.TB) *Term {
		return Start(tb, Options{Cmd: shell("echo took 12 s; read x"), Cols: 20, Rows: 3, Timeout: 5 * time.Second})
	}
	expectFailure(t, func(tb testing.TB) { start(tb).Match("new/one") }, "no golden file", "-update", "took 12 s")
	path := filepath.Join("testdata", "golden", "new", "one.golden")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	good := start(t).golden(t, Durations())
	if err := os.WriteFile(path, []byte(good), 0o644); err != nil {
		t.Fatal(err)
	}
	if said := failing(t, func(tb testing.TB) { start(tb).Match("new/one", Durations()) }); said != "" {
		t.Error(said)
	}
	expectFailure(t, func(tb testing.TB) { start(tb).Match("new/one") }, "-took dddd", "+took 12 s", "│took 12 s ")
}

func (t *Term) golden(tb testing.TB, masks ...Mask) string {
	tb.Helper()
	t.WaitIdle()
	return t.Frame().Golden(masks...)
}

// A cluster that arrives in pieces is one cluster on the screen.
func TestClustersSurviveSplitReads(t *testing.T) {
	for _, pieces := range [][]string{
		{"e", "\u0301x"}, {"👩", "\u200d", "🚀x"}, {"\xe6", "\x97", "\xa5x"}, {"\x1b[1me", "\u0301", "\x1b[mx"}, {"日", "本\u0301", "x"},
	} {
		whole := painted(t, 20, 1, strings.Join(pieces, "")).Golden()
		term := &Term{tb: t, changed: make(chan struct{})}
		term.emu = term.emulator(20, 1)
		for _, p := range pieces {
			term.take([]byte(p))
		}
		term.take(nil)
		if got := term.Frame().Golden(); got != whole {
			t.Errorf("%q: whole\n%s\nin pieces\n%s", pieces, whole, got)
		}
	}
}

// What is kept back comes when nothing follows it.
func TestTheLastCharacterIsShown(t *testing.T) {
	t.Parallel()
	term := Start(t, Options{Cmd: shell("printf 'prompt> é'; read x")})
	term.WaitFor("prompt> é", 0)
}
