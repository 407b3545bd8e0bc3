package card

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tillerman/db"
	"tillerman/tui/keys"
	"tillerman/tui/paint"
)

// TestALongPayloadIsLaidOutAsItIsRead opens payloads of ten megabytes of every kind: laid out whole, each takes seconds
// in which no key works, and the ones of many lines gigabytes.
func TestALongPayloadIsLaidOutAsItIsRead(t *testing.T) {
	p := painter(t)
	for name, unit := range map[string]string{
		"one line": "x", "empty lines": "\n", "wide": "漢", "emoji": "👨‍👩‍👧‍👦", "controls": "\x01", "marks": "e\u0301", "code": "\tif x {\n",
		"a diff": "+x\n",
	} {
		s := strings.Repeat(unit, 10<<20/len(unit))
		if name == "a diff" {
			s = "--- a\n+++ a\n" + s
		}
		c := New(db.Request{ID: 1, Digest: "d1", Act: "write", Target: "a", Payload: s}, start)
		c.Resize(p, 116, 0)
		c.Resize(p, 116, 20)
		for range 3 {
			press(c, start.Add(time.Minute), "pgdown")
			c.Resize(p, 116, 20)
			c.Render(View{Painter: p, Keys: keys.Default()}, 120)
		}
		if n := c.Lines(); n < 100 || n > 1000 {
			t.Errorf("%s: %d lines are laid out", name, n)
		}
		if c.SeenEnd() {
			t.Errorf("%s: the end was seen", name)
		}
		if s := drawn(t, c); !strings.Contains(s, "more lines: pgdn   approve is off") {
			t.Errorf("%s: %s", name, s)
		}
	}
}

// TestWhatIsLaidOutInPartsIsTheSame wants the same lines whichever pages they are come to by.
func TestWhatIsLaidOutInPartsIsTheSame(t *testing.T) {
	p := painter(t)
	rapid.Check(t, func(rt *rapid.T) {
		s := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "\n", "漢", "\t", "e\u0301", "\x1b", "word ", "\xff", strings.Repeat("x", 40)}), 0, 200).Draw(rt, "parts"), "")
		width := rapid.IntRange(16, 60).Draw(rt, "width")
		r, whole := newRoll(p, paint.Strong, s, width), wrapped(p, paint.Strong, s, width)
		var parts []string
		for {
			left := r.left()
			rows := r.next(rapid.IntRange(1, 5).Draw(rt, "n"))
			if (len(rows) == 0) != (left == 0) {
				rt.Fatalf("%d lines come where %d are left", len(rows), left)
			}
			if len(rows) == 0 {
				break
			}
			parts = append(parts, rows...)
		}
		if !slices.Equal(parts, whole) {
			rt.Fatalf("%q\n%q", parts, whole)
		}
	})
}

// TestALongCallIsNotChangedHere wants no editor that takes seconds a key.
func TestALongCallIsNotChangedHere(t *testing.T) {
	c := asking(t, "ls")
	for n, takes := range map[int]bool{100: true, editorLimit + 1: false} {
		c.About.Arguments = strings.Repeat("x", n)
		if c.Takes(keys.Change) != takes {
			t.Errorf("%d bytes: %v", n, !takes)
		}
	}
}

// TestAnotherWidthPassesNothingOver pages through a payload of long lines in a narrow window and goes on in a wide one: what
// was not on the screen yet is still to come.
func TestAnotherWidthPassesNothingOver(t *testing.T) {
	p := painter(t)
	var payload strings.Builder
	for i := range 300 {
		fmt.Fprintf(&payload, "line %04d of it %s\n", i, strings.Repeat("x", 60))
	}
	c := New(db.Request{ID: 1, Digest: "d1", Act: "exec", Target: "a", Payload: payload.String()}, start)
	seen := map[string]bool{}
	look := func(width int) {
		c.Resize(p, width, 10)
		for _, row := range c.window().rows(p, width) {
			if at := strings.Index(row, "line "); at >= 0 {
				seen[row[at:min(len(row), at+9)]] = true
			}
		}
	}
	look(30)
	for range 5 {
		press(c, start.Add(time.Minute), "pgdown")
		look(30)
	}
	for look(110); !c.SeenEnd(); look(110) {
		press(c, start.Add(time.Minute), "pgdown")
	}
	for i := range 300 {
		if !seen[fmt.Sprintf("line %04d", i)] {
			t.Fatalf("line %d was never on the screen", i)
		}
	}
}
