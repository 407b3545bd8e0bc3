package card

import (
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"pgregory.net/rapid"

	"tillerman/db"
	"tillerman/themes"
	"tillerman/tui/keys"
	"tillerman/tui/paint"
)

func painter(t interface{ Fatal(...any) }) *paint.Painter {
	theme, err := themes.Load("dark")
	if err != nil {
		t.Fatal(err)
	}
	return paint.New(theme, 0, false)
}

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func shown(t interface{ Fatal(...any) }, payload string) *Card {
	c := New(db.Request{ID: 1, Digest: "d1", Act: "exec", Target: payload, Payload: payload}, start)
	c.Resize(painter(t), 80, 5)
	return c
}

func key(s string) tea.KeyPressMsg {
	switch s {
	case "esc":
		return tea.KeyPressMsg{Code: tea.KeyEscape}
	case "enter":
		return tea.KeyPressMsg{Code: tea.KeyEnter}
	case " ":
		return tea.KeyPressMsg{Code: tea.KeySpace, Text: " "}
	case "left":
		return tea.KeyPressMsg{Code: tea.KeyLeft}
	case "backspace":
		return tea.KeyPressMsg{Code: tea.KeyBackspace}
	case "delete":
		return tea.KeyPressMsg{Code: tea.KeyDelete}
	case "pgdown":
		return tea.KeyPressMsg{Code: tea.KeyPgDown}
	case "ctrl+d":
		return tea.KeyPressMsg{Code: 'd', Mod: tea.ModCtrl}
	case "ctrl+u":
		return tea.KeyPressMsg{Code: 'u', Mod: tea.ModCtrl}
	}
	r := []rune(s)[0]
	return tea.KeyPressMsg{Code: r, Text: s}
}

// press sends a key and lets it settle when it asks for that.
func press(c *Card, now time.Time, s string) *db.Decision {
	place := c.Place()
	b, _ := keys.Default().Find(s, place)
	if b.Place != place {
		b = keys.Binding{}
	}
	_, settle := c.Press(now, key(s), b)
	if d := c.Confirm(); d != nil {
		return d
	}
	if settle {
		return c.Settle(now.Add(Alone))
	}
	return nil
}

func TestAKeyAloneDecidesOnceTheQuestionIsArmed(t *testing.T) {
	for k, want := range map[string]string{"a": "approve", "f": "defer"} {
		d := press(shown(t, "ls"), start.Add(ArmAfter), k)
		if d == nil || d.Answer != want || d.Digest != "d1" {
			t.Errorf("%s: %+v, want %s bound to what was shown", k, d, want)
		}
	}
}

func TestWhatNeverDecides(t *testing.T) {
	armed := start.Add(ArmAfter)
	for name, f := range map[string]func(c *Card) *db.Decision{
		"too early":     func(c *Card) *db.Decision { return press(c, start.Add(ArmAfter-time.Millisecond), "a") },
		"enter":         func(c *Card) *db.Decision { return press(c, armed, "enter") },
		"space":         func(c *Card) *db.Decision { return press(c, armed, " ") },
		"esc":           func(c *Card) *db.Decision { return press(c, armed, "esc") },
		"another layer": func(c *Card) *db.Decision { return press(c, armed, "A") },
		"a burst": func(c *Card) *db.Decision {
			c.Press(armed, key("x"), keys.Binding{})
			return press(c, armed.Add(5*time.Millisecond), "a")
		},
		"the head of a burst": func(c *Card) *db.Decision {
			b, _ := keys.Default().Find("a", keys.OnCard)
			c.Press(armed, key("a"), b)
			c.Press(armed.Add(5*time.Millisecond), key("n"), keys.Binding{})
			return c.Settle(armed.Add(time.Second))
		},
		"a paste": func(c *Card) *db.Decision {
			b, _ := keys.Default().Find("a", keys.OnCard)
			c.Press(armed, key("a"), b)
			c.Disturb(armed.Add(time.Millisecond), "a")
			return c.Settle(armed.Add(time.Second))
		},
		"typing that goes on": func(c *Card) *db.Decision {
			now := start
			for range 100 {
				now = now.Add(66 * time.Millisecond)
				if d := press(c, now, "a"); d != nil {
					return d
				}
			}
			return nil
		},
	} {
		if d := f(shown(t, "ls")); d != nil {
			t.Errorf("%s decided %+v", name, d)
		}
	}
}

// TestTypeAheadNeverDecides types 10,000 random sequences that begin before the question can have been read: keys at
// any pace faster than the quiet time, bursts, pastes, terminal replies in pieces.
func TestTypeAheadNeverDecides(t *testing.T) {
	p := painter(t)
	m := keys.Default()
	letters := []string{"a", "d", "D", "f", "A", "e", "y", "n", " ", "enter", "esc", "c", "]", "1", ";", "r", "R", "j", "pgdown"}
	sequences := 0
	rapid.Check(t, func(rt *rapid.T) {
		for range 100 { // a hundred sequences a check, a hundred checks
			sequences++
			c := New(db.Request{ID: 1, Digest: "d1", Payload: "ls"}, start)
			c.Resize(p, 80, 5)
			now := start
			for range rapid.IntRange(1, 40).Draw(rt, "keys") {
				now = now.Add(time.Duration(rapid.IntRange(0, int(ArmAfter/time.Millisecond)-1).Draw(rt, "gap ms")) * time.Millisecond)
				if rapid.IntRange(0, 20).Draw(rt, "paste") == 0 {
					c.Disturb(now, "a")
					continue
				}
				k := rapid.SampledFrom(letters).Draw(rt, "key")
				b, _ := m.Find(k, keys.OnCard)
				if b.Place != keys.OnCard {
					b = keys.Binding{}
				}
				_, settle := c.Press(now, key(k), b)
				if d := c.Confirm(); d != nil {
					rt.Fatalf("confirmed %+v", d)
				}
				if settle {
					if d := c.Settle(now.Add(Alone)); d != nil {
						rt.Fatalf("%s at %s decided %+v", k, now.Sub(start), d)
					}
				}
			}
		}
	})
	if sequences < 10_000 && !testing.Short() { // a short run makes a fifth of the checks
		t.Errorf("only %d sequences", sequences)
	}
}

func TestApproveIsOffUntilTheEndWasSeen(t *testing.T) {
	long := ""
	for range 40 {
		long += "line\n"
	}
	c := shown(t, long)
	now := start.Add(ArmAfter)
	if d := press(c, now, "a"); d != nil {
		t.Fatal("approved unseen")
	}
	for i := 0; !c.SeenEnd(); i++ {
		if i > 40 {
			t.Fatal("the end cannot be reached")
		}
		now = now.Add(time.Second)
		press(c, now, "pgdown")
	}
	if d := press(c, now.Add(time.Second), "a"); d == nil {
		t.Error("approve stays off though the end was seen")
	}
}

func TestReasonField(t *testing.T) {
	c := shown(t, "ls")
	now := start.Add(ArmAfter)
	if press(c, now, "d"); !c.Field() {
		t.Fatal("d opens no field")
	}
	for _, k := range []string{"a", "b", "c", "left", "left", "delete", "backspace", "ctrl+u", "a", "enter", " "} {
		now = now.Add(5 * time.Millisecond)
		if d := press(c, now, k); d != nil {
			t.Fatalf("%s decided %+v", k, d)
		}
	}
	c.Disturb(now, "two\nlines")
	if press(c, now, "esc"); c.Field() {
		t.Fatal("esc keeps the field")
	}
	now = now.Add(time.Second)
	press(c, now, "d")
	c.Disturb(now, "not\nthat")
	d := press(c, now.Add(time.Second), "ctrl+d")
	if d == nil || d.Answer != "deny" || d.Reason != "not that" || d.Stop || d.Digest != "d1" {
		t.Errorf("%+v", d)
	}
}
