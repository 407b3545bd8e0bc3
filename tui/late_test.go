package tui

import (
	"context"
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
		h.after(100*time.Millisecond, letter('a'))
		if q, err := r.store.Request(context.Background(), 1); err != nil || q.State != "open" {
			t.Fatalf("%c: %+v %v", over, q, err)
		}
		h.alone(letter('a'))
		if q, err := r.store.Request(context.Background(), 1); err != nil || q.Decision != "approve" {
			t.Fatalf("%c: %+v %v\n%s", over, q, err, h.screen())
		}
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
		h.after(100*time.Millisecond, letter('a'))
		if q, err := r.store.Request(context.Background(), 1); err != nil || q.State != "open" {
			t.Fatalf("%s: %+v %v", name, q, err)
		}
		h.alone(letter('a'))
		if q, err := r.store.Request(context.Background(), 1); err != nil || q.Decision != "approve" {
			t.Fatalf("%s: %+v %v\n%s", name, q, err, h.screen())
		}
	}
}
