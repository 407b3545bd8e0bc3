package tuitest

import (
	"fmt"
	"strings"
	"syscall"
	"time"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/sys/unix"
)

// escapeGap is how long a hand needs after the escape key. A key that comes
// sooner is one key with it: alt, or an arrow. Programs wait for that half as
// long, and may be late to notice that the time is up.
const escapeGap = 100 * time.Millisecond

// Type presses the keys that write a text: each cluster is a key of its own, a
// line feed is enter. See Press for how they follow each other.
func (t *Term) Type(text string) {
	t.tb.Helper()
	for len(text) > 0 {
		cluster, _ := ansi.FirstGraphemeCluster(text, ansi.GraphemeWidth)
		text = text[len(cluster):]
		if cluster == "\n" || cluster == "\r\n" {
			cluster = "\r"
		}
		t.key([]byte(cluster))
	}
}

// Press presses keys one after the other. A key is a single character, or
// enter, tab, esc, space, backspace, up, down, left, right, home, end, pgup,
// pgdown, insert, delete, f1 to f12, with any of ctrl+, alt+ and shift+ before
// it. Each is sent once the program has read the one before, as far as the system
// tells, and the Pace is over.
func (t *Term) Press(keys ...string) {
	t.tb.Helper()
	for _, name := range keys {
		code, err := encode(name)
		if err != nil {
			t.tb.Fatal(err)
		}
		t.key(code)
	}
}

// SetPace sets the time between two keys from here on.
func (t *Term) SetPace(d time.Duration) { t.opts.Pace = d }

// SetTimeout sets how long waits may take that name no time of their own.
func (t *Term) SetTimeout(d time.Duration) { t.opts.Timeout = d }

func (t *Term) key(code []byte) {
	t.tb.Helper()
	t.await("it is time for the next key", t.opts.Timeout+t.opts.Pace, func() bool {
		return !time.Now().Before(t.next) && (!t.escaped || t.over() || !working(t.PID()))
	})
	t.Raw(code)
	t.await("the program reads the key", 0, func() bool { return t.over() || t.stopped() || !readable(t.slave) })
	t.next, t.escaped = time.Now().Add(t.opts.Pace), string(code) == "\x1b"
	if t.escaped {
		t.next = time.Now().Add(max(t.opts.Pace, escapeGap))
	}
}

func (t *Term) stopped() bool {
	s, _ := t.leader.now()
	return s == stopped
}

// Paste puts text in as a paste. Bracketed, it stands between the codes that
// programs ask for with mode 2004, and an end code in the text is left out, as
// terminals do; else it comes as if typed very fast.
func (t *Term) Paste(text string, bracketed bool) {
	t.tb.Helper()
	if bracketed {
		text = ansi.BracketedPasteStart + strings.ReplaceAll(text, ansi.BracketedPasteEnd, "") + ansi.BracketedPasteEnd
	}
	t.Raw([]byte(strings.ReplaceAll(text, "\n", "\r")))
}

// Bracketed reports whether the program asked for bracketed pastes.
func (t *Term) Bracketed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.bracketed
}

// Raw sends bytes as they are, in one piece.
func (t *Term) Raw(data []byte) {
	t.tb.Helper()
	if t.closed {
		t.tb.Fatal("send: the terminal is closed")
	}
	if len(data) == 0 {
		return
	}
	defer t.stir()
	select {
	case err := <-t.keys.push(data):
		if err != nil && !t.over() {
			t.tb.Fatalf("send %q: %v\n%s", data, err, t.describe())
		}
	case <-time.After(t.opts.Timeout):
		t.tb.Fatalf("send %q: the program does not read\n%s", data, t.describe())
	}
}

// RawSplit sends bytes in parts, so far apart, as a slow line does.
func (t *Term) RawSplit(parts [][]byte, gap time.Duration) {
	t.tb.Helper()
	for i, part := range parts {
		if i > 0 {
			time.Sleep(gap)
		}
		t.Raw(part)
	}
}

// Resize gives the terminal another size and tells the program. A dimension of
// 0 or Unsized is one the terminal does not tell.
func (t *Term) Resize(cols, rows int) {
	t.tb.Helper()
	cols, rows = max(cols, 0), max(rows, 0)
	if cols > 65535 || rows > 65535 {
		t.tb.Fatalf("%dx%d is no size for a terminal", cols, rows)
	}
	err := func() (err error) {
		t.mu.Lock()
		defer t.mu.Unlock()
		defer func() {
			if r := recover(); r != nil {
				t.broken = fmt.Errorf("the terminal emulator panicked: %v, on a resize to %dx%d", r, cols, rows)
			}
		}()
		t.emu.Resize(drawn(cols, defaultCols), drawn(rows, defaultRows))
		t.heights = append(t.heights, t.emu.Height())
		t.last = time.Now()
		return setSize(t.master, cols, rows)
	}()
	if err != nil {
		t.tb.Fatalf("resize to %dx%d: %v", cols, rows, err)
	}
}

// Signal sends the program a signal, and nobody else.
func (t *Term) Signal(sig syscall.Signal) {
	t.tb.Helper()
	pid, ok := t.leader.alive()
	if !ok {
		t.tb.Fatalf("signal %v: the program has ended\n%s", sig, t.describe())
	}
	defer t.stir()
	if err := unix.Kill(pid, sig); err != nil {
		t.tb.Fatalf("signal %v: %v", sig, err)
	}
}

// Stall is a terminal that takes nothing for a while: the program's writes fill
// the system's buffer and then wait. It returns when the while is over and the
// terminal reads again.
func (t *Term) Stall(d time.Duration) {
	t.tb.Helper()
	resume := t.Hold()
	time.Sleep(d)
	resume()
}

// Hold stalls the terminal until resume is called, for tests that do something
// meanwhile.
func (t *Term) Hold() (resume func()) {
	t.tb.Helper()
	if t.closed {
		t.tb.Fatal("stall: the terminal is closed")
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stall = true
	_ = t.master.SetReadDeadline(time.Unix(1, 0))
	for !t.parked {
		t.park.Wait()
	}
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.stall = false
		t.park.Broadcast()
	}
}
