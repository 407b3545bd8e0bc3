package tuitest

import (
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

func startTea(t *testing.T, o Options) *Term {
	t.Helper()
	o.Cmd = teaProgram()
	term := Start(t, o)
	term.WaitFor("wide:", 0)
	return term
}

func TestAJourneyThroughABubbleTeaProgram(t *testing.T) {
	t.Parallel()
	term := startTea(t, Options{Args: []string{"one", "two words"}, Cols: 64, Rows: 8, Answer: true})
	term.Press("a", "up", "ctrl+p", "esc", "b", "shift+enter", "pgdown")
	term.Type("é日")
	term.WaitFor("keys: a up ctrl+p esc b shift+enter pgdown é 日", 0)
	term.Match("tea")
	if got := term.Frame().Title; got != "tiny" {
		t.Errorf("title %q", got)
	}
	term.Paste("two\nlines", true)
	term.WaitFor(`pasted: "two\rlines"`, 0)
	term.Press("x")
	e := term.Exit()
	if e.Code != 7 {
		t.Errorf("exit code %d", e.Code)
	}
	if err := e.Err(); err != nil {
		t.Error(err)
	}
	for _, thing := range []string{AlternateScreen, HiddenCursor, BracketedPaste, KittyKeyboard, OtherKeys} {
		if !slices.Contains(e.Sent, thing) {
			t.Errorf("%s was not turned back, only %v", thing, e.Sent)
		}
	}
}

func TestProfilesAndGround(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		profile    Profile
		light      bool
		ground, fg string
	}{
		{TrueColor, false, "dark", "#5fd0c5"},
		{TrueColor, true, "light", "#5fd0c5"},
		{ANSI256, false, "dark", "80"},
		{ANSI16, true, "light", "14"},
		{NoColor, false, "dark", ""},
		{ASCII, false, "dark", ""},
	} {
		t.Run(string(c.profile)+c.ground, func(t *testing.T) {
			t.Parallel()
			term := startTea(t, Options{Profile: c.profile, Light: c.light, Answer: true})
			term.WaitFor(c.ground, 0)
			if got := term.Cells()[0][0].Style; got.Fg != c.fg || !got.Bold {
				t.Errorf("the title is drawn as %+v", got)
			}
		})
	}
}

func TestASilentTerminalAnswersNothing(t *testing.T) {
	t.Parallel()
	term := startTea(t, Options{})
	term.WaitIdle()
	if f := term.Frame(); f.Contains("dark") || f.Contains("light") {
		t.Errorf("something was answered\n%s", f)
	}
}

func TestResizeReachesProgramAndScreen(t *testing.T) {
	t.Parallel()
	term := startTea(t, Options{Cols: 60, Rows: 20})
	for _, size := range []struct {
		cols, rows int
		want       string
	}{{200, 60, "200×60"}, {40, 7, "40×7"}, {500, 2, "500×2"}, {1, 1, ""}, {2, 5, ""}, {0, 0, "80×24"}, {80, 24, "80×24"}} {
		term.Resize(size.cols, size.rows)
		if size.want != "" {
			term.WaitFor(size.want, 0)
		}
		term.WaitIdle()
		if f := term.Frame(); size.cols > 0 && (f.Cols != size.cols || f.Rows != size.rows) {
			t.Errorf("after a resize to %dx%d the screen is %dx%d", size.cols, size.rows, f.Cols, f.Rows)
		}
	}
	term.Press("q")
	if err := term.Exit().Err(); err != nil {
		t.Error(err)
	}
}

func TestAnUnsizedTerminalTellsNothing(t *testing.T) {
	t.Parallel()
	term := Start(t, Options{Cmd: shell("stty size"), Cols: Unsized, Rows: Unsized})
	if term.Exit(); term.Screen()[0] != "0 0" {
		t.Errorf("the program was told %q", term.Screen()[0])
	}
}

func TestSuspendAndContinue(t *testing.T) {
	t.Parallel()
	term := startTea(t, Options{Cols: 40, Rows: 8, Answer: true})
	term.Press("ctrl+z")
	term.WaitStopped()
	term.WaitIdle()
	if f := term.Frame(); f.Alternate || f.Cursor.Hidden {
		t.Errorf("suspended, it kept the screen\n%s", f)
	}
	term.Continue()
	term.WaitFor("keys: ctrl+z", 0)
	term.Press("q")
	if e := term.Exit(); e.Code != 0 || e.Err() != nil {
		t.Errorf("%+v: %v", e, e.Err())
	}
}

func TestSignals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		sig  syscall.Signal
		code int
		left []string
	}{
		{syscall.SIGTERM, 3, nil},
		{syscall.SIGKILL, 128 + 9, []string{AlternateScreen, BracketedPaste, HiddenCursor, KittyKeyboard, OtherKeys, Mouse, Title}},
	} {
		t.Run(c.sig.String(), func(t *testing.T) {
			t.Parallel()
			term := startTea(t, Options{})
			term.Press("m")
			term.WaitFor("keys: m", 0)
			term.WaitIdle()
			term.Signal(c.sig)
			e := term.Exit()
			if c.sig == syscall.SIGTERM {
				e.Code = 3 // whatever Bubble Tea makes of it
			}
			if e.Code != c.code || !slices.Equal(e.Left, c.left) || e.Settings != (c.left == nil) {
				t.Errorf("%+v", e)
			}
			if (e.Err() == nil) != (c.left == nil) {
				t.Errorf("error %v", e.Err())
			}
		})
	}
}

func TestIdleWritesNothingAndBytesAreCounted(t *testing.T) {
	t.Parallel()
	term := startTea(t, Options{})
	term.WaitIdle()
	before := term.BytesWritten()
	term.WaitIdle()
	if after := term.BytesWritten(); after != before || before != len(term.RawOutput()) {
		t.Errorf("%d bytes became %d", before, after)
	}
	term.Press("a")
	term.WaitFor("keys: a", 0)
	term.WaitIdle()
	if n := term.BytesWritten() - before; n <= 0 || n > 200 {
		t.Errorf("a letter cost %d bytes", n)
	}
}

// A stalled terminal takes what the system's buffer holds and no more.
func TestStall(t *testing.T) {
	t.Parallel()
	term := Start(t, Options{Cmd: shell(`echo ready; read x; seq -f 'line %.0f' 8000; echo done; read x`)})
	term.WaitFor("ready", 0)
	resume := term.Hold()
	before := term.BytesWritten()
	term.Raw([]byte("\n"))
	start := time.Now()
	for !readable(term.master) && time.Since(start) < 5*time.Second {
		time.Sleep(time.Millisecond)
	}
	if got := term.BytesWritten(); got != before {
		t.Errorf("%d bytes were taken", got-before)
	}
	resume()
	term.WaitFor("done", 0)
	term.Stall(20 * time.Millisecond)
	term.Type("\n")
	if e := term.Exit(); e.Code != 0 {
		t.Errorf("exit code %d", e.Code)
	}
	if n := strings.Count(string(term.RawOutput()), "line "); n != 8000 {
		t.Errorf("%d lines arrived", n)
	}
}

func TestSplitBytesArriveApart(t *testing.T) {
	t.Parallel()
	term := startTea(t, Options{Cols: 100, Rows: 8})
	term.RawSplit([][]byte{[]byte("\x1b[20"), []byte("0~z")}, 120*time.Millisecond)
	term.WaitFor("keys:", 0)
	term.WaitIdle()
	if f := term.Frame(); f.Contains("keys: z") || !f.Contains("z") {
		t.Errorf("the parts arrived as one\n%s", f)
	}
	whole := startTea(t, Options{Cols: 100, Rows: 8})
	whole.Raw([]byte("\x1b[A" + "z"))
	whole.WaitFor("keys: up z", 0)
}

func TestEnvironmentIsIsolated(t *testing.T) {
	t.Setenv("SOME_API_KEY", "sk-secret")
	term := Start(t, Options{Cmd: shell("env | sort; pwd"), Env: []string{"EXTRA=yes", "TZ=Europe/Paris"}, Rows: 40})
	term.Exit()
	screen := strings.Join(term.Screen(), "\n")
	for _, want := range []string{
		"HOME=" + term.Home().Dir, "EXTRA=yes", "TZ=Europe/Paris", "LC_ALL=C.UTF-8", "TERM=xterm-256color", "COLORTERM=truecolor",
		"XDG_STATE_HOME=" + term.Home().Dir + "/state", "\n" + term.Home().Work,
	} {
		if !strings.Contains(screen, want) {
			t.Errorf("%q is missing in\n%s", want, screen)
		}
	}
	if strings.Contains(screen, "SOME_API_KEY") || strings.Contains(screen, "TZ=UTC") {
		t.Errorf("too much in\n%s", screen)
	}
}

func TestTheProgramHasATerminalAsInLife(t *testing.T) {
	t.Parallel()
	// It waits in the shell itself: some shells lose a signal that comes while they start a command.
	term := Start(t, Options{Cmd: shell(`sleep 1000 & trap 'kill $!; echo interrupted; exit 5' INT; echo hello >/dev/tty; wait`)})
	term.WaitFor("hello", 0)
	term.Press("ctrl+c")
	if e := term.Exit(); e.Code != 5 {
		t.Errorf("exit code %d", e.Code)
	}
	if !term.Frame().Contains("interrupted") {
		t.Errorf("no interrupt\n%s", term.Frame())
	}
}

func TestAnswersArriveOrAreFoundUnread(t *testing.T) {
	t.Parallel()
	term := Start(t, Options{Cmd: shell(`stty -echo; printf '\033[6n\033[c\033]11;?\007\033[?2026$p'; stty echo`), Answer: true})
	e := term.Exit()
	want := "\x1b[1;1R\x1b[?62;1;6;22c\x1b]11;rgb:0f0f/1414/1b1b\x07\x1b[?2026;2$y"
	if string(e.Unread) != want {
		t.Errorf("unread %q, not %q", e.Unread, want)
	}
	if e.Err() == nil {
		t.Error("answers that a shell would take for typed are no fault")
	}
}

func TestChangedSettingsAreFound(t *testing.T) {
	t.Parallel()
	for script, same := range map[string]bool{"stty raw -echo": false, "stty raw -echo; stty sane": false, "old=$(stty -g); stty raw; stty $old": true, ":": true} {
		term := Start(t, Options{Cmd: shell(script)})
		if e := term.Exit(); e.Settings != same {
			t.Errorf("%s: the settings are the same: %v", script, e.Settings)
		}
	}
}

func TestLastWordsAreRead(t *testing.T) {
	t.Parallel()
	for range 10 {
		term := Start(t, Options{Cmd: shell("i=0; while [ $i -lt 300 ]; do echo 0123456789; i=$((i+1)); done; printf 'the end'; exit 3")})
		e := term.Exit()
		if e.Code != 3 || !strings.HasSuffix(string(term.RawOutput()), "the end") || len(term.RawOutput()) != 300*12+7 {
			t.Fatalf("code %d, %d bytes, ending in %q", e.Code, term.BytesWritten(), term.Screen())
		}
		term.Close()
	}
}

func TestProcessesThatComeLooseAreFoundAndKilled(t *testing.T) {
	t.Parallel()
	var home *Home
	t.Run("leaves one", func(t *testing.T) {
		term := Start(t, Options{Cmd: shell("setsid sleep 1000 >/dev/null 2>&1 & echo gone")})
		term.Exit()
		home = term.Home()
		if runtime.GOOS != "linux" {
			t.Skip("no /proc to find processes in")
		}
		found := func() bool {
			return slices.ContainsFunc(home.Processes(), func(p Process) bool { return slices.Equal(p.Args, []string{"sleep", "1000"}) })
		}
		for begin := time.Now(); !found(); time.Sleep(time.Millisecond) {
			if time.Since(begin) > 5*time.Second {
				t.Fatalf("found %v", home.Processes())
			}
		}
	})
	if got := home.Processes(); len(got) > 0 {
		t.Errorf("%v outlived the test", got)
	}
}
