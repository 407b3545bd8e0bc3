package tuitest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Run plays the scenario in a file. The options are those with which its
// terminals begin; they answer unless the scenario says that they are silent.
func Run(tb testing.TB, path string, o Options) {
	tb.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	s, err := parse(path, string(text))
	if err != nil {
		tb.Fatal(err)
	}
	at := &located{TB: tb}
	p := &player{tb: at, seats: map[string]*seat{}, home: o.Home}
	if p.home == nil {
		p.home = NewHome(tb)
	}
	o.Home, o.Answer = p.home, true
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	for _, f := range s.files {
		path := filepath.Join(p.home.Work, filepath.FromSlash(f.name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(f.data), 0o644)); err != nil {
			tb.Fatal(err)
		}
	}
	p.now = &seat{opts: o}
	p.seats[""] = p.now
	for _, step := range s.steps {
		at.where = fmt.Sprintf("%s:%d: %s", path, step.line, step.text)
		step.do(p)
	}
}

// RunDir plays every scenario of a directory, each as a test of its own beside others.
func RunDir(t *testing.T, dir string, o Options) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) == 0 {
		t.Fatalf("no scenarios in %s", dir)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			t.Parallel()
			Run(t, path, o)
		})
	}
}

// player plays a scenario.
type player struct {
	tb    testing.TB
	home  *Home
	seats map[string]*seat
	now   *seat
	masks []Mask
	out   string // of the last command
}

// seat is a terminal of the scenario: what it begins with, and what runs in it.
type seat struct {
	opts Options
	term *Term
}

// located is a test that says at which step it failed.
type located struct {
	testing.TB
	where string
}

func (l *located) Fatal(args ...any) {
	l.Helper()
	l.TB.Fatalf("%s\n%s", l.where, fmt.Sprint(args...))
}

func (l *located) Fatalf(format string, args ...any) {
	l.Helper()
	l.TB.Fatalf("%s\n%s", l.where, fmt.Sprintf(format, args...))
}

func (l *located) Errorf(format string, args ...any) {
	l.Helper()
	l.TB.Errorf("%s\n%s", l.where, fmt.Sprintf(format, args...))
}

// sit goes to the terminal of a name, which begins like the present one.
func (p *player) sit(name string) {
	if p.seats[name] == nil {
		p.seats[name] = &seat{opts: p.now.opts}
	}
	p.now = p.seats[name]
}

func (p *player) start(args []string) {
	if p.now.term != nil {
		p.now.term.Close()
	}
	o := p.now.opts
	o.Args = append(append([]string(nil), o.Args...), args...)
	p.now.term = Start(p.tb, o)
}

func (p *player) pace(d time.Duration) {
	p.now.opts.Pace = d
	if p.now.term != nil {
		p.now.term.SetPace(d)
	}
}

func (p *player) timeout(d time.Duration) {
	p.now.opts.Timeout = d
	if p.now.term != nil {
		p.now.term.SetTimeout(d)
	}
}

func (p *player) paste(text string) {
	p.now.term.Paste(text, p.now.term.Bracketed())
}

func (p *player) gone(text string) {
	p.now.term.WaitIdleUntil(fmt.Sprintf("%q is off the screen", text), 0, func(f Frame) bool { return !f.Contains(text) })
}

func (p *player) expect(text string) {
	if f := p.now.term.Frame(); !f.Contains(text) {
		p.tb.Fatalf("%q is not on the screen\n%s", text, f)
	}
}

func (p *player) absent(text string) {
	if f := p.now.term.Frame(); f.Contains(text) {
		p.tb.Fatalf("%q is on the screen\n%s", text, f)
	}
}

func (p *player) title(text string) {
	if got := p.now.term.Frame().Title; got != text {
		p.tb.Fatalf("the title is %q", got)
	}
}

func (p *player) exit(code int, dirty bool) {
	e := p.now.term.Exit()
	if e.Code != code {
		p.tb.Fatalf("exit code %d\n%s", e.Code, p.now.term.Frame())
	}
	if err := e.Err(); err != nil && !dirty {
		p.tb.Fatalf("%v\n%s", err, p.now.term.Frame())
	}
}

// shell runs a command beside the programs.
func (p *player) shell(command string, succeeds bool) {
	ctx, cancel := context.WithTimeout(context.Background(), p.now.opts.Timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", command)
	o := p.now.opts
	cmd.Dir = p.home.Work
	program := o.command(p.tb)
	cmd.Env = mergeEnv(program.Env, []string{"TILLERMAN=" + program.Path})
	// What the command leaves behind must not hold its output open for ever.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	p.out = string(out)
	switch {
	case ctx.Err() != nil:
		p.tb.Fatalf("not within %v, having printed\n%s", o.Timeout, out)
	case (err == nil) != succeeds:
		p.tb.Fatalf("%v, having printed\n%s", cmd.ProcessState, out)
	}
}

func (p *player) printed(text string, want bool) {
	if strings.Contains(p.out, text) != want {
		p.tb.Fatalf("the last command printed\n%s", p.out)
	}
}
