package tui

import (
	"fmt"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"golang.org/x/term"
)

// resetSequence gives a terminal back whatever state a program left it in: main screen, cursor shown, no mouse, no
// bracketed paste, no focus reports, plain keyboard, default colours (ECMA-48, xterm control sequences, kitty keyboard).
const resetSequence = "\x1b[?2026l\x1b[?1049l\x1b[?25h\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?2004l\x1b[?1004l\x1b[?2027l\x1b[=0;1u\x1b[<u\x1b[>4;0m\x1b[0m"

// Guard remembers how the terminal was and gives it back once, whatever happens: a panic in a goroutine of ours ends the
// process with the terminal usable and the panic readable.
type Guard struct {
	in    *os.File
	out   *os.File
	state *term.State
	once  sync.Once
	// die ends the process after a panic; tests replace it.
	die func(code int)
}

// NewGuard takes note of the terminal before anything touches it.
func NewGuard(in, out *os.File) *Guard {
	g := &Guard{in: in, out: out, die: os.Exit}
	if state, err := term.GetState(int(in.Fd())); err == nil {
		g.state = state
	}
	return g
}

// Restore gives the terminal back. It may be called more than once and from any goroutine.
func (g *Guard) Restore() {
	g.once.Do(func() {
		if g.state == nil {
			return
		}
		_, _ = g.out.WriteString(resetSequence)
		_ = term.Restore(int(g.in.Fd()), g.state)
	})
}

// Abandon ends the process now. The terminal gets a moment to take its reset; one that takes nothing is left as it is.
func (g *Guard) Abandon(code int) {
	given := make(chan struct{})
	g.Go(func() {
		defer close(given)
		g.Restore()
	})
	select {
	case <-given:
	case <-time.After(200 * time.Millisecond):
	}
	g.die(code)
}

// Go runs f in a goroutine. Every goroutine of the console starts here: a panic in one restores the terminal.
func (g *Guard) Go(f func()) {
	go func() {
		defer g.Catch()
		f()
	}()
}

// Catch, deferred, turns a panic into a restored terminal, the panic's words on standard error, and exit code 1.
func (g *Guard) Catch() {
	if v := recover(); v != nil {
		g.Restore()
		fmt.Fprintf(os.Stderr, "tillerman: a fault in the console: %v\n%s", v, debug.Stack())
		g.die(1)
	}
}
