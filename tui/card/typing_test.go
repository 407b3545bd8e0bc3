package card

import (
	"strings"
	"testing"
	"time"

	"tillerman/db"
	"tillerman/tui/keys"
)

// typed sends keys a gap apart and reports the decision that came of them, ticks included.
func typed(c *Card, now time.Time, gap time.Duration, list ...string) *db.Decision {
	m := keys.Default()
	for _, k := range list {
		now = now.Add(gap)
		if d := c.Settle(now); d != nil { // the tick that was asked for has come meanwhile
			return d
		}
		b, _ := m.Find(k, keys.OnCard)
		if b.Place != keys.OnCard {
			b = keys.Binding{}
		}
		c.Press(now, key(k), b)
		if c.Field() {
			return nil
		}
	}
	return c.Settle(now.Add(Alone))
}

func TestWordsTypedAtAnyHumanPaceDecideNothing(t *testing.T) {
	for _, words := range []string{"make all", "a ls -la", "echo cat a", "and so on", "fa", "for all of them"} {
		for gap := 10 * time.Millisecond; gap < Alone; gap += 10 * time.Millisecond {
			if d := typed(shown(t, "ls"), start.Add(time.Second), gap, strings.Split(words, "")...); d != nil {
				t.Errorf("%q at %s a key decided %+v", words, gap, d)
			}
		}
	}
	// Slower words that do not begin with a key that decides.
	for gap := Alone; gap < ArmAfter; gap += 10 * time.Millisecond {
		if d := typed(shown(t, "ls"), start.Add(time.Second), gap, strings.Split("make all", "")...); d != nil {
			t.Errorf("typed at %s a key decided %+v", gap, d)
		}
	}
}

func TestRepliesInPiecesDecideNothing(t *testing.T) {
	for name, parts := range map[string][]string{
		"colour": {"]11;rgb:ff", "a", "a/ffff"}, "colour in two": {"]11;rgb:ffff/ffff/fff", "a"}, "version": {"P>|t", "a", "b"},
		"split paste": {"[20", "0~", "a", "[201~"}, "put off": {"/fff", "f"},
	} {
		for gap := 50 * time.Millisecond; gap <= 1400*time.Millisecond; gap += 50 * time.Millisecond {
			c := shown(t, "ls")
			now := start.Add(5 * time.Second)
			for _, part := range parts {
				now = now.Add(gap)
				if d := typed(c, now, time.Millisecond, strings.Split(part, "")...); d != nil && len(part) == 1 {
					t.Errorf("%s, %s apart: decided %+v", name, gap, d)
				}
				now = now.Add(time.Duration(len(part)) * time.Millisecond)
			}
		}
	}
}
