package tuitest

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Quiet is how long a program has to write nothing to be idle.
const Quiet = 150 * time.Millisecond

// settle is how long a program has to rest after it was last seen at work, to be
// idle.
const settle = 25 * time.Millisecond

// recheck is how often a condition is looked at that announces no change.
const recheck = 5 * time.Millisecond

// WaitFor waits until a row of the screen holds the text; timeout 0 is the
// terminal's own. A frame that the program writes as one (synchronised output,
// mode 2026) is not looked at before it is whole. It fails early when the
// program ended without showing the text.
func (t *Term) WaitFor(text string, timeout time.Duration) {
	t.tb.Helper()
	t.WaitUntil(fmt.Sprintf("%q is on the screen", text), timeout, func(f Frame) bool { return f.Contains(text) })
}

// WaitUntil waits until the screen is as done wants it; what says what that is,
// as a sentence. The rest is as for WaitFor.
func (t *Term) WaitUntil(what string, timeout time.Duration, done func(Frame) bool) {
	t.tb.Helper()
	t.await(what, timeout, func() bool {
		if t.over() {
			t.drain()
			if f := t.Frame(); !done(f) {
				t.tb.Fatalf("%s: never, the program ended\n%s", what, t.describe())
			}
			return true
		}
		t.mu.Lock()
		drawing := t.drawing && t.broken == nil
		t.mu.Unlock()
		return !drawing && done(t.Frame())
	})
}

// WaitIdle waits until the program is idle: it wrote something since it was
// started; for Quiet it wrote nothing and got no key, size or signal; nothing it
// wrote is unread, it has read all that was typed, and no thread of it wants to
// run (the last is known on Linux only). A program that ended or is suspended is idle once all it wrote is on
// the screen.
func (t *Term) WaitIdle() {
	t.tb.Helper()
	t.await("the program is idle", 0, t.idle)
}

func (t *Term) idle() bool {
	if t.over() {
		t.drain()
		return true
	}
	s, pid := t.leader.now()
	busy := s != stopped && working(pid)
	t.mu.Lock()
	if busy {
		// What it writes now may take the kernel a moment to carry over.
		if least := time.Now().Add(settle - Quiet); least.After(t.last) {
			t.last = least
		}
	}
	still := len(t.raw) > 0 && len(t.pending) == 0 && !t.stall && time.Since(t.last) >= Quiet
	t.mu.Unlock()
	return still && !busy && t.keys.empty() && !readable(t.master) && !readable(t.slave)
}

// WaitIdleUntil waits until the program is idle and its screen is then as done wants it. What the program does by itself
// after a while, at a timer's end, is waited for with it: half a first frame, and a screen that is about to change, are
// not taken for the one that stays. The rest is as for WaitUntil.
func (t *Term) WaitIdleUntil(what string, timeout time.Duration, done func(Frame) bool) {
	t.tb.Helper()
	t.await(what, timeout, func() bool {
		if !t.idle() {
			return false
		}
		f := t.Frame()
		if !done(f) && t.over() {
			t.tb.Fatalf("%s: never, the program ended\n%s", what, t.describe())
		}
		return done(f)
	})
}

// WaitStopped waits until the program is suspended.
func (t *Term) WaitStopped() {
	t.tb.Helper()
	t.await("the program is suspended", 0, func() bool { s, _ := t.leader.now(); return s == stopped })
}

// Continue brings a suspended program back to the foreground.
func (t *Term) Continue() {
	t.tb.Helper()
	if err := t.leader.resume(); err != nil {
		t.tb.Fatalf("continue: %v\n%s", err, t.describe())
	}
	t.stir()
}

// over reports whether the program is gone.
func (t *Term) over() bool {
	s, _ := t.leader.now()
	return s == ended || s == lost
}

// await looks at the condition whenever something changed, and now and then
// besides, until it holds or the time is up.
func (t *Term) await(what string, timeout time.Duration, done func() bool) {
	t.tb.Helper()
	if t.closed {
		t.tb.Fatalf("%s: the terminal is closed", what)
	}
	if timeout == 0 {
		timeout = t.opts.Timeout
	}
	late := time.NewTimer(timeout)
	defer late.Stop()
	often := time.NewTicker(recheck)
	defer often.Stop()
	for {
		t.mu.Lock()
		changed := t.changed
		t.mu.Unlock()
		if done() {
			return
		}
		select {
		case <-changed:
		case <-often.C:
		case <-late.C:
			t.tb.Fatalf("%s: not within %v\n%s", what, timeout, t.describe())
		}
	}
}

// describe is what a person needs to see why a test failed.
func (t *Term) describe() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.broken != nil {
		return t.broken.Error()
	}
	s, pid := t.leader.now()
	state := []string{"starting", "running", "suspended", "ended", "lost"}[s]
	f := t.frameLocked()
	tail := t.raw[max(0, len(t.raw)-200):]
	text := fmt.Sprintf("%s, process %d is %s, %d bytes written, title %q\n%s", t.path, pid, state, len(t.raw), f.Title, f)
	if !slices.ContainsFunc(f.Lines(), func(line string) bool { return strings.TrimSpace(line) != "" }) {
		text += fmt.Sprintf("\nthe screen is blank; the last bytes were %q", tail)
	}
	return text
}
