package tui

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"tillerman/db"
	"tillerman/tui/card"
)

// after presses a key some time after the one before, and waits for the look whether it stood alone.
func (h *hand) after(d time.Duration, k tea.KeyPressMsg) {
	h.clock = h.clock.Add(d)
	h.send(k)
	h.clock = h.clock.Add(card.Alone)
	time.Sleep(card.Alone)
	h.settle()
}

// run runs a command, and those that it batches, and returns their messages.
func run(cmd tea.Cmd) []tea.Msg {
	if cmd == nil {
		return nil
	}
	msg := cmd()
	batch, ok := msg.(tea.BatchMsg)
	if !ok {
		return []tea.Msg{msg}
	}
	var out []tea.Msg
	for _, c := range batch {
		out = append(out, run(c)...)
	}
	return out
}

// TestAQuestionBehindTheHelpArmsOnceItIsSeen: a question that comes while something lies over the screen is not seen, and
// the key after the one that uncovers it was on its way before anybody could read.
func TestAQuestionBehindTheHelpArmsOnceItIsSeen(t *testing.T) {
	for _, over := range []rune{'?', 'q'} {
		r := inTemp(t).run(t.TempDir(), 3, nil)
		run, _, _ := own(r)
		h := watching(t, r, Options{Own: run})
		h.alone(letter(over))
		r.question(db.Request{Step: 4, Act: "exec", Target: "ls", Payload: "ls -la", Digest: "d1"})
		for end := time.Now().Add(10 * time.Second); !h.m.live.Waiting(); {
			if h.settle(); time.Now().After(end) {
				t.Fatal("the question does not come")
			}
		}
		h.clock = h.clock.Add(time.Minute)
		h.send(escKey)
		h.armsAnew(r, string(over))
	}
}

// armsAnew wants the question on the screen to take no answer at once, and one when it has stood there for a while.
func (h *hand) armsAnew(r *factRun, name string) {
	h.t.Helper()
	h.after(100*time.Millisecond, letter('a'))
	if q, err := r.store.Request(context.Background(), 1); err != nil || q.State != "open" {
		h.t.Fatalf("%s: %+v %v", name, q, err)
	}
	h.alone(letter('a'))
	if q, err := r.store.Request(context.Background(), 1); err != nil || q.Decision != "approve" {
		h.t.Fatalf("%s: %+v %v\n%s", name, q, err, h.screen())
	}
}

// TestAQuestionArmsAnewAfterTheShell: what was typed at a shell, or into a window that shows nothing, answers nothing.
func TestAQuestionArmsAnewAfterTheShell(t *testing.T) {
	for name, back := range map[string]func(h *hand){
		"shell": func(h *hand) { h.send(tea.ResumeMsg{}) },
		"small": func(h *hand) {
			h.send(tea.WindowSizeMsg{Width: 10, Height: 3})
			h.send(tea.WindowSizeMsg{Width: 120, Height: 40})
		},
	} {
		r := inTemp(t).run(t.TempDir(), 3, nil)
		r.question(db.Request{Step: 3, Act: "exec", Target: "ls", Payload: "ls -la", Digest: "d1"})
		h := watching(t, r, Options{})
		h.wait("Approve?")
		h.clock = h.clock.Add(time.Minute)
		back(h)
		h.armsAnew(r, name)
	}
}

// TestLeavingTakesNothingBack: who leaves right after an order finds it carried out, whatever became of the command that
// brings its message.
func TestLeavingTakesNothingBack(t *testing.T) {
	r := inTemp(t).run(t.TempDir(), 3, nil)
	r.exec(`DELETE FROM leases`)
	var settled atomic.Bool
	h := watching(t, r, Options{Settle: func(context.Context, int64, string) error {
		time.Sleep(300 * time.Millisecond) // processes take their time to end
		settled.Store(true)
		return nil
	}})
	h.wait("c ends it here")
	h.clock = h.clock.Add(time.Second)
	_, cmd := h.m.Update(letter('c'))
	h.clock = h.clock.Add(card.Alone)
	for _, msg := range run(cmd) { // the look whether the key stood alone; what it leads to is never run
		h.m.Update(msg)
	}
	h.m.written()
	if got := r.controls(); len(got) != 1 || !settled.Load() {
		t.Errorf("%q, settled %t", got, settled.Load())
	}
}

// TestARunOpensOnlyWhereItWasAskedFor: a run that is opened from the list after the person has gone elsewhere, or after
// another one was chosen, does not take the screen.
func TestARunOpensOnlyWhereItWasAskedFor(t *testing.T) {
	f := inTemp(t)
	first, second := f.run(t.TempDir(), 3, nil), f.run(t.TempDir(), 2, nil)
	h := watching(t, first, Options{})
	h.send(letter('r'))
	h.settle()
	late, newer := run(h.m.openRun(first.id())), run(h.m.openRun(second.id()))
	h.send(late[0])
	if h.m.screen != runsScreen {
		t.Fatal("the run before took the screen")
	}
	h.send(newer[0])
	h.settle()
	if h.m.screen != liveScreen || h.m.live.RunID() != second.id() {
		t.Fatal(h.m.screen, h.m.live.RunID())
	}
	h.send(letter('r'))
	h.settle()
	late = run(h.m.openRun(first.id()))
	h.m.openAudit(0)
	h.send(late[0])
	if h.m.screen != auditScreen {
		t.Error("the audit trail has gone")
	}
}

// TestTheQuestionOfLeavingEndsWithTheRun: a run that has ended is not "still going in this window".
func TestTheQuestionOfLeavingEndsWithTheRun(t *testing.T) {
	r := inTemp(t).run(t.TempDir(), 3, nil)
	own, _, done := own(r)
	h := watching(t, r, Options{Own: own})
	h.alone(letter('q'))
	h.wait("still going in this window")
	close(done)
	h.settle()
	if s := h.screen(); strings.Contains(s, "still going") || h.quit || !strings.Contains(s, "STEPS") {
		t.Errorf("quit %t\n%s", h.quit, s)
	}
}

// TestARunThatEndsUnderAMessage: who writes to the agent while the run ends is told, and goes on typing into nothing.
func TestARunThatEndsUnderAMessage(t *testing.T) {
	r := inTemp(t).run(t.TempDir(), 3, nil)
	h := watching(t, r, Options{})
	h.alone(letter('t'))
	h.wait("tell the agent:")
	h.types("be ")
	r.commit(func(tx *db.Tx) error {
		_, err := tx.Finish(db.Ending{Outcome: "success", Status: db.Completed, StopReason: "a reason"})
		return err
	})
	h.wait("the run has ended while you wrote: nothing was sent")
	h.types("quick")
	h.settle()
	if s := h.screen(); h.quit || !strings.Contains(s, "nothing was sent") || !strings.Contains(s, "STEPS") {
		t.Fatalf("quit %t\n%s", h.quit, s)
	}
	h.alone(letter('s'))
	if h.m.screen != summaryScreen {
		t.Error(h.screen())
	}
}
