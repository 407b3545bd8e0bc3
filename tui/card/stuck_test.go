package card

import (
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"tillerman/db"
	"tillerman/tui/keys"
)

func stuckCall(t interface{ Fatal(...any) }, height int) *Stuck {
	c := NewStuck(db.Call{Step: 4, Position: 1, Name: "exec", Target: "sh deploy.sh", Arguments: `{"argv":["sh","deploy.sh"]}`, Key: "k"}, start.UnixMilli(), start)
	c.Changed("nothing changed in the workspace since")
	c.Resize(painter(t), 80, height)
	return c
}

// finds presses a key that resolves and sends a finding.
func finds(c *Stuck, now time.Time, k, finding string) *db.Resolution {
	m := keys.Default()
	b, _ := m.Find(k, keys.OnStuck)
	if _, settle := c.Press(now, key(k), b); settle {
		c.Settle(now.Add(Alone))
	}
	if !c.Field() {
		return nil
	}
	c.Disturb(now, finding)
	b, _ = m.Find("ctrl+d", keys.InFinding)
	c.Press(now.Add(time.Second), key("ctrl+d"), b)
	return c.Confirm(b)
}

func TestAFindingResolves(t *testing.T) {
	for k, want := range map[string]string{"h": "done", "a": "retry", "f": "fail"} {
		r := finds(stuckCall(t, 10), start.Add(ArmAfter), k, "the log\nsays so")
		if r == nil || r.Answer != want || r.Reason != "the log says so" {
			t.Errorf("%s: %+v", k, r)
		}
	}
}

func TestWhatNeverResolves(t *testing.T) {
	for name, r := range map[string]*db.Resolution{
		"no finding":   finds(stuckCall(t, 10), start.Add(ArmAfter), "h", " "),
		"too early":    finds(stuckCall(t, 10), start.Add(ArmAfter-time.Millisecond), "h", "x"),
		"enter":        finds(stuckCall(t, 10), start.Add(ArmAfter), "enter", "x"),
		"esc":          finds(stuckCall(t, 10), start.Add(ArmAfter), "esc", "x"),
		"end not seen": finds(stuckCall(t, 2), start.Add(ArmAfter), "a", "x"),
	} {
		if r != nil {
			t.Errorf("%s resolves: %+v", name, r)
		}
	}
}

// TestTypeAheadNeverResolves types 10,000 random sequences that begin before the card can have been read.
func TestTypeAheadNeverResolves(t *testing.T) {
	p, m := painter(t), keys.Default()
	letters := []string{"h", "a", "f", "y", "n", " ", "enter", "esc", "c", "]", "1", "pgdown", "ctrl+d"}
	rapid.Check(t, func(rt *rapid.T) {
		for range 100 {
			c := NewStuck(db.Call{Name: "exec", Target: "ls"}, 0, start)
			c.Changed("nothing")
			c.Resize(p, 80, 10)
			now := start
			for range rapid.IntRange(1, 40).Draw(rt, "keys") {
				now = now.Add(time.Duration(rapid.IntRange(0, int(ArmAfter/time.Millisecond)-1).Draw(rt, "gap ms")) * time.Millisecond)
				if rapid.IntRange(0, 20).Draw(rt, "paste") == 0 {
					c.Disturb(now, "h")
					continue
				}
				k := rapid.SampledFrom(letters).Draw(rt, "key")
				b, _ := m.Find(k, keys.OnStuck)
				if b.Place != keys.OnStuck {
					b = keys.Binding{}
				}
				if _, settle := c.Press(now, key(k), b); settle {
					c.Settle(now.Add(Alone))
				}
				if c.Field() {
					rt.Fatalf("%s at %s opened the field", k, now.Sub(start))
				}
			}
		}
	})
}

// TestAPasteSendsNothing gives a field pastes that come as keys, line ends included: nothing is sent, and no character is
// lost.
func TestAPasteSendsNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		f, now := NewField("> "), start
		want := ""
		for _, r := range rapid.StringOfN(rapid.RuneFrom([]rune("ab \n")), 1, 60, -1).Draw(rt, "paste") {
			now = now.Add(time.Duration(rapid.IntRange(0, int(Burst/time.Millisecond)-1).Draw(rt, "gap ms")) * time.Millisecond)
			if r == '\n' {
				f.Enter(now)
				want += " "
				continue
			}
			f.Press(now, tea.KeyPressMsg{Code: r, Text: string(r)})
			want += string(r)
		}
		sent := f.Entered(now.Add(time.Minute))
		if sent && strings.TrimSpace(want) != "" {
			rt.Fatalf("%q was sent", want)
		}
		if got := f.Value(); strings.TrimSpace(got) != strings.TrimSpace(want) && !sent {
			rt.Fatalf("%q became %q", want, got)
		}
	})
	f := NewField("> ")
	f.Press(start, tea.KeyPressMsg{Code: 'a', Text: "a"})
	if !f.Enter(start.Add(Burst)) || f.Entered(start.Add(Burst+Alone-1)) || !f.Entered(start.Add(Burst+Alone)) || f.Entered(start.Add(time.Hour)) {
		t.Error("an Enter by itself does not send once")
	}
}

func TestStuckIsDrawnExactly(t *testing.T) {
	p, m := painter(t), keys.Default()
	for w := 20; w <= 130; w++ {
		for h := 1; h <= 12; h++ {
			c := stuckCall(t, h)
			c.Call.Target = "rm -rf \x1b[2J\u202e 漢字 👨‍👩‍👧"
			c.Repaint()
			for _, open := range []bool{false, true} {
				if open {
					c.field, c.wants = NewField("it happened, what did you find? "), "say what you found"
				}
				c.Resize(p, max(4, w-4), h)
				for _, compact := range []bool{false, true} {
					lines := c.Render(View{Painter: p, Keys: m, Place: "~/w", Waits: "since 15:04:05", Compact: compact}, w)
					if len(lines) != Frame(compact)+min(h, c.Lines()) {
						t.Fatalf("%dx%d: %d lines", w, h, len(lines))
					}
					for _, l := range lines {
						if ansi.StringWidth(l) != w {
							t.Fatalf("%dx%d: %q is %d wide", w, h, ansi.Strip(l), ansi.StringWidth(l))
						}
					}
				}
			}
		}
	}
}
