package tuitest

import (
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestWaitsThatEndInVainShowTheScreen(t *testing.T) {
	t.Parallel()
	start := func(tb testing.TB, script string) *Term {
		return Start(tb, Options{Cmd: shell(script), Cols: 30, Rows: 4, Timeout: 300 * time.Millisecond})
	}
	const waits = "echo here I am; read x"
	for name, c := range map[string]struct {
		do    func(tb testing.TB)
		texts []string
	}{
		"WaitFor":               {func(tb testing.TB) { start(tb, waits).WaitFor("elsewhere", 0) }, []string{`"elsewhere" is on the screen: not within 300ms`, "│here I am                     │", "is running"}},
		"WaitFor after the end": {func(tb testing.TB) { start(tb, "echo here I am").WaitFor("elsewhere", time.Minute) }, []string{"never, the program ended", "│here I am "}},
		"WaitUntil":             {func(tb testing.TB) { start(tb, waits).WaitUntil("pigs fly", 0, func(Frame) bool { return false }) }, []string{"pigs fly: not within"}},
		"WaitIdle, writing":     {func(tb testing.TB) { start(tb, "while :; do echo x; sleep 0.05; done").WaitIdle() }, []string{"is idle: not within"}},
		"WaitIdle, unread keys": {func(tb testing.TB) {
			term := start(tb, "stty raw -echo; echo go; sleep 1000")
			term.WaitFor("go", time.Minute)
			term.Raw([]byte("a"))
			term.WaitIdle()
		}, []string{"is idle: not within"}},
		"WaitIdle, silent from the start": {func(tb testing.TB) { start(tb, "sleep 1000").WaitIdle() }, []string{"is idle: not within", "blank"}},
		"WaitStopped":                     {func(tb testing.TB) { start(tb, waits).WaitStopped() }, []string{"suspended: not within"}},
		"Continue":                        {func(tb testing.TB) { start(tb, waits).Continue() }, []string{"not suspended"}},
		"Exit":                            {func(tb testing.TB) { start(tb, waits).Exit() }, []string{"the program ends: not within"}},
		"Press, unread": {func(tb testing.TB) {
			term := start(tb, "stty raw -echo; echo go; sleep 1000")
			term.WaitFor("go", time.Minute)
			term.Press("a")
		}, []string{"reads the key: not within"}},
		"Press, unknown":  {func(tb testing.TB) { start(tb, waits).Press("hyper+x") }, []string{`no key is named "hyper+x"`}},
		"Signal":          {func(tb testing.TB) { term := start(tb, ":"); term.Exit(); term.Signal(15) }, []string{"has ended"}},
		"closed":          {func(tb testing.TB) { term := start(tb, waits); term.Close(); term.WaitFor("x", 0) }, []string{"the terminal is closed"}},
		"no such command": {func(tb testing.TB) { Start(tb, Options{Cmd: exec.Command("no-such-command-anywhere")}) }, []string{"executable file not found"}},
		"no such size":    {func(tb testing.TB) { Start(tb, Options{Cmd: shell(":"), Cols: 70000}) }, []string{"no size for a terminal"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expectFailure(t, c.do, c.texts...)
		})
	}
}

// A program that thinks without writing is not idle.
func TestAThinkingProgramIsNotIdle(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells whether a thread wants to run")
	}
	term := Start(t, Options{Cmd: shell("echo start; i=0; while [ $i -lt 150000 ]; do i=$((i+1)); done; echo thought; read x")})
	term.WaitIdle()
	if !term.Frame().Contains("thought") {
		t.Errorf("idle while it thinks\n%s", term.Frame())
	}
}

// Half a frame is not looked at.
func TestWaitForLooksAtWholeFrames(t *testing.T) {
	t.Parallel()
	term := Start(t, Options{Cmd: shell(`printf '\033[?2026hhalf a frame'; read x; printf '\033[2K\rwhole\033[?2026l'; read x`), Timeout: 2 * time.Second})
	term.WaitIdle()
	if !term.Frame().Contains("half a frame") {
		t.Fatalf("a look at the screen shows it as it is\n%s", term.Frame())
	}
	said := failing(t, func(testing.TB) {
		old := term.tb
		defer func() { term.tb = old }()
		term.tb = &fakeTB{TB: t}
		term.WaitFor("half", 200*time.Millisecond)
		t.Error("half a frame was taken for one")
	})
	if strings.Contains(said, "half") {
		t.Error(said)
	}
	term.Type("\n")
	term.WaitFor("whole", 0)
}

// The first frames come before a program knows that it may write them as one.
func TestWaitIdleUntilIsNotTakenInByHalfAFrame(t *testing.T) {
	t.Parallel()
	term := Start(t, Options{Cmd: shell(`printf 'a question'; sleep 0.02; printf ' one moment'; sleep 0.4; printf '\033[2K\ra question'; read x`)})
	term.WaitFor("a question", 0)
	term.WaitIdleUntil("nothing arms", 0, func(f Frame) bool { return !f.Contains("one moment") })
	if f := term.Frame(); f.Lines()[0] != "a question" {
		t.Errorf("it stays\n%s", f)
	}
}

func TestPaceKeepsKeysApart(t *testing.T) {
	t.Parallel()
	term := startTea(t, Options{Pace: 30 * time.Millisecond})
	begin := time.Now()
	term.Type("abcde")
	if took := time.Since(begin); took < 4*30*time.Millisecond {
		t.Errorf("five keys took %v", took)
	}
	term.WaitFor("keys: a b c d e", 0)
}
