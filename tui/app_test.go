package tui

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"tillerman/core"
	"tillerman/core/approval"
	"tillerman/core/gate"
	"tillerman/core/policy"
	"tillerman/core/provider"
	"tillerman/core/provider/script"
	"tillerman/core/sandbox"
	"tillerman/db"
	"tillerman/recordings"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	if len(os.Args) > 1 && os.Args[1] == minimalArg {
		if _, err := tea.NewProgram(minimal{}).Run(); err != nil {
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// app runs the root model without a terminal: commands run in goroutines, their messages are handled one at a time.
type app struct {
	t    *testing.T
	m    *Model
	msgs chan posted
	led  *atomic.Int32 // how much of what the newest key led to is still under way; nil while nothing is followed
	quit bool
}

// posted is a message of a command, with the count that it belongs to.
type posted struct {
	msg tea.Msg
	led *atomic.Int32
}

func newApp(t *testing.T, opts Options, width, height int) *app {
	t.Helper()
	if opts.Now == nil {
		opts.Now = time.Now
	}
	opts.Theme = "dark"
	m, err := New(opts, &Guard{die: func(int) {}})
	if err != nil {
		t.Fatal(err)
	}
	a := &app{t: t, m: m, msgs: make(chan posted, 1000)}
	t.Cleanup(func() {
		if m.live != nil {
			m.live.Close()
		}
	})
	a.send(tea.WindowSizeMsg{Width: width, Height: height})
	a.exec(m.Init())
	a.settle()
	return a
}

func (a *app) exec(cmd tea.Cmd) { a.run(cmd, a.led) }

// waits says that a command waits for what may never come.
func waits(cmd tea.Cmd) bool {
	name := runtime.FuncForPC(reflect.ValueOf(cmd).Pointer()).Name()
	return strings.Contains(name, ").next.") || strings.Contains(name, ").watch.")
}

func (a *app) run(cmd tea.Cmd, led *atomic.Int32) {
	switch {
	case cmd == nil:
		return
	case led == nil || waits(cmd):
		led = &atomic.Int32{} // nobody looks at it
	}
	led.Add(1)
	go func() {
		msg := cmd()
		if batch, ok := msg.(tea.BatchMsg); ok {
			for _, c := range batch {
				a.run(c, led)
			}
		} else if msg != nil {
			a.msgs <- posted{msg, led}
			return
		}
		led.Add(-1)
	}()
}

func (a *app) send(msg tea.Msg) {
	_, cmd := a.m.Update(msg)
	a.exec(cmd)
}

// take handles the message of a command.
func (a *app) take(p posted) {
	if _, ok := p.msg.(tea.QuitMsg); ok {
		a.quit = true
	} else {
		a.led = p.led
		a.send(p.msg)
		a.led = nil
	}
	p.led.Add(-1)
}

// follow sends a key at a time and handles what it leads to some time later, and what that leads to, until all is through.
func (a *app) follow(k tea.KeyPressMsg, clock *time.Time, later time.Duration) {
	led := &atomic.Int32{}
	a.led = led
	a.send(k)
	a.led = nil
	*clock = clock.Add(later)
	for late := time.After(3 * time.Second); led.Load() > 0; {
		select {
		case p := <-a.msgs:
			a.take(p)
		case <-time.After(10 * time.Millisecond): // a command may have ended without a message
		case <-late: // something that goes on
			return
		}
	}
}

// settle handles messages until none has come for a while, or for long enough where they never cease.
func (a *app) settle() {
	for began := time.Now(); time.Since(began) < 5*time.Second; {
		select {
		case p := <-a.msgs:
			a.take(p)
		case <-time.After(150 * time.Millisecond):
			return
		}
	}
}

// wait handles messages until the screen shows text.
func (a *app) wait(text string) {
	a.t.Helper()
	deadline := time.After(20 * time.Second)
	for !strings.Contains(a.screen(), text) {
		select {
		case p := <-a.msgs:
			a.take(p)
		case <-deadline:
			a.t.Fatalf("the screen never shows %q:\n%s", text, a.screen())
		}
	}
}

func (a *app) screen() string { return ansi.Strip(a.m.draw()) }

func (a *app) press(k tea.KeyPressMsg) {
	a.send(k)
	a.settle()
}

func letter(r rune) tea.KeyPressMsg { return tea.KeyPressMsg{Code: r, Text: string(r)} }

// demoStore is a store with one demo run, driven by who.
func demoStore(t *testing.T, who approval.Approver, change func(*core.Contract)) (*db.Store, int64) {
	t.Helper()
	dir := t.TempDir()
	store, err := db.Open(context.Background(), filepath.Join(dir, "runs.db"), db.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store, runDemo(t, store, dir, who, change)
}

func runDemo(t testing.TB, store *db.Store, dir string, who approval.Approver, change func(*core.Contract), opts ...core.Option) int64 {
	t.Helper()
	ws := filepath.Join(dir, "ws")
	if err := os.MkdirAll(ws, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := recordings.CopyWorkspace(ws); err != nil {
		t.Fatal(err)
	}
	demo, err := recordings.Demo()
	if err != nil {
		t.Fatal(err)
	}
	s, err := script.Parse(demo.Script)
	if err != nil {
		t.Fatal(err)
	}
	c := core.Defaults()
	c.Goal, c.Workspace, c.Model, c.Gates, c.Repeatable = demo.Goal, ws, "scripted-demo", []gate.Gate{{Argv: demo.Check}}, demo.Repeatable
	if change != nil {
		change(&c)
	}
	std, _ := policy.Starter("standard")
	var p provider.Provider = script.New(s, script.Options{Fast: true})
	opts = append([]core.Option{core.WithPolicy(std), core.WithApprover(who), core.WithState(filepath.Join(dir, "state"), os.Environ())}, opts...)
	res, err := core.New(store, p, opts...).Run(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	return res.RunID
}

// exact wants a frame of exactly the window's size: no row wider or narrower, none missing.
func exact(t interface{ Errorf(string, ...any) }, frame string, width, height int) {
	rows := strings.Split(frame, "\n")
	if frame == "" {
		rows = nil
	}
	if len(rows) != max(0, height) && width > 0 {
		t.Errorf("%dx%d: %d rows", width, height, len(rows))
		return
	}
	for i, r := range rows {
		if w := ansi.StringWidth(r); w != width {
			t.Errorf("%dx%d: row %d is %d wide: %q", width, height, i, w, ansi.Strip(r))
			return
		}
		if w := ansi.StringWidthWc(r); w != width {
			t.Errorf("%dx%d: row %d is %d wide where clusters are not known: %q", width, height, i, w, ansi.Strip(r))
			return
		}
	}
}

func TestEverySizeIsDrawnExactly(t *testing.T) {
	hostile := "नमस्ते \x1b[2J\r👨‍👩‍👧‍👦 e" + strings.Repeat("\u0301", 50) + "\t\u202egpj.exe 漢字"
	store, id := demoStore(t, approval.Later{}, func(c *core.Contract) { c.Goal = hostile })
	ended := runDemo(t, store, t.TempDir(), approval.All{}, nil)
	screens := map[string]*app{
		"question": newApp(t, Options{Store: store, Watch: id}, 80, 24),
		"ended":    newApp(t, Options{Store: store, Watch: ended}, 80, 24),
		"runs":     newApp(t, Options{Store: store}, 80, 24),
	}
	screens["question"].wait("Approve?")
	screens["ended"].wait("STEPS")
	screens["runs"].wait("2 of 2")
	summary := newApp(t, Options{Store: store, Watch: ended}, 80, 24)
	summary.wait("STEPS")
	summary.press(letter('s'))
	summary.wait("TIME")
	screens["summary"] = summary
	help := newApp(t, Options{Store: store, Watch: ended}, 80, 24)
	help.press(letter('?'))
	screens["help"] = help
	check := func(w, h int) {
		for name, a := range screens {
			a.send(tea.WindowSizeMsg{Width: w, Height: h})
			exact(named{t, name}, a.m.draw(), w, h)
		}
	}
	wide, high := 1, 1
	if testing.Short() {
		wide, high = 13, 7
	}
	for _, h := range []int{1, 5, 6, 10, 24, 60} {
		for w := 1; w <= 400; w += wide {
			check(w, h)
		}
	}
	for _, w := range []int{1, 19, 20, 40, 96, 200} {
		for h := 1; h <= 120; h += high {
			check(w, h)
		}
	}
	for w := 1; w <= 44; w++ { // every width where panes and columns come and go
		check(w, 24)
	}
	rapid.Check(t, func(rt *rapid.T) {
		for range 5 {
			check(rapid.IntRange(1, 400).Draw(rt, "w"), rapid.IntRange(1, 120).Draw(rt, "h"))
		}
	})
}

type named struct {
	t    *testing.T
	name string
}

func (n named) Errorf(format string, args ...any) {
	n.t.Helper()
	n.t.Errorf(n.name+": "+format, args...)
}

func TestTooSmallApprovesNothing(t *testing.T) {
	store, id := demoStore(t, approval.Later{}, nil)
	a := newApp(t, Options{Store: store, Watch: id}, 19, 5)
	for range 3 {
		a.press(letter('a'))
	}
	reqs, err := store.Inbox(context.Background())
	if err != nil || len(reqs) != 1 {
		t.Errorf("%d questions left, %v", len(reqs), err)
	}
	if !strings.Contains(a.screen(), "too small") {
		t.Error(a.screen())
	}
}

func TestJourneyByKeys(t *testing.T) {
	store, id := demoStore(t, approval.Later{}, nil)
	clock := time.Now()
	settled := make(chan string, 10)
	a := newApp(t, Options{
		Store: store, Watch: id, Pressed: func() time.Time { return clock },
		Settle: func(_ context.Context, run int64, kind string) error {
			settled <- fmt.Sprintf("%s %d", kind, run)
			return nil
		},
	}, 120, 40)
	a.wait("Approve?")
	shown, err := store.Inbox(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	alone := func(k tea.KeyPressMsg) { // a key with quiet around it
		clock = clock.Add(2 * time.Second)
		a.follow(k, &clock, 300*time.Millisecond)
		a.settle()
	}
	alone(letter('a'))
	req, err := store.Request(context.Background(), shown[0].ID)
	if err != nil || req.Decision != "approve" || req.Digest != shown[0].Digest || req.DecidedBy.Surface != "key a" {
		t.Fatalf("%+v %v", req, err)
	}
	a.press(letter('r'))
	a.wait("1 of 1")
	for _, r := range "zzz" {
		a.press(letter(r))
	}
	a.wait("no run fits")
	a.press(tea.KeyPressMsg{Code: tea.KeyEscape})
	a.wait("1 of 1")
	for _, r := range "nap" {
		a.press(letter(r))
	}
	a.wait("1 of 1")
	a.press(tea.KeyPressMsg{Code: tea.KeyEnter})
	a.wait("STEPS")
	a.press(letter('?'))
	a.wait("not now: nothing is asked")
	a.press(tea.KeyPressMsg{Code: tea.KeyEscape})
	alone(letter('c'))
	controls, err := store.Controls(context.Background(), id)
	if err != nil || len(controls) != 1 || controls[0].By.Surface != "key c" {
		t.Errorf("controls %+v %v", controls, err)
	}
	select { // nobody drives the run
	case got := <-settled:
		if got != fmt.Sprintf("cancel %d", id) {
			t.Errorf("settled %s", got)
		}
	default:
		t.Error("the run that nobody drives is not ended")
	}
}

func TestSummaryEqualsTheStore(t *testing.T) {
	store, id := demoStore(t, approval.All{}, nil)
	a := newApp(t, Options{Store: store, Watch: id}, 160, 50)
	a.wait("STEPS")
	a.press(letter('s'))
	a.wait("TIME")
	sum, err := store.Summary(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"success", sum.Files[0], "scripted-demo", "check"} {
		if !strings.Contains(a.screen(), want) {
			t.Errorf("the summary does not show %q:\n%s", want, a.screen())
		}
	}
}
