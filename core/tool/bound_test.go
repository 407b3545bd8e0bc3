package tool

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestBound(t *testing.T) {
	lines := strings.Repeat("0123456789\n", 100)
	got, cut := Bound(lines, 120)
	if want := strings.Repeat("0123456789\n", 3) + "[1034 of 1100 bytes left out here]\n" + strings.Repeat("0123456789\n", 3); got != want || !cut {
		t.Errorf("got %v\n%s\nwant\n%s", cut, got, want)
	}
	if got, cut := Bound("short", 5); got != "short" || cut {
		t.Errorf("text that fits came back as %q, %v", got, cut)
	}
	if got, _ := Bound(strings.Repeat("é", 100), 61); got != "éééééé\n[174 of 200 bytes left out here]\nééééééé" {
		t.Errorf("one long line: %q", got)
	}
	if got, _ := Bound(lines, 3); got != "[1100 of 1100 bytes left out here]" {
		t.Errorf("no room: %q", got)
	}
}

func TestBoundKeepsItsPromise(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.RuneFrom([]rune("ab\n\né€😀")), 0, 400, -1).Draw(t, "text")
		limit := rapid.IntRange(0, 500).Draw(t, "limit")
		got, cut := Bound(text, limit)
		if again, _ := Bound(text, limit); again != got {
			t.Fatal("not the same twice")
		}
		if !cut {
			if got != text || len(text) > limit {
				t.Fatalf("%d bytes under a limit of %d came back as %d", len(text), limit, len(got))
			}
			return
		}
		marker := got[strings.IndexByte(got, '['):]
		marker = marker[:strings.IndexByte(marker, ']')+1]
		if len(got) > max(limit, len(marker)) {
			t.Fatalf("%d bytes, the limit is %d", len(got), limit)
		}
		if !utf8.ValidString(got) {
			t.Fatalf("a character was cut: %q", got)
		}
		head, tail, _ := strings.Cut(got, marker)
		tail = strings.TrimPrefix(tail, "\n")
		if !strings.HasPrefix(text, head) {
			head = strings.TrimSuffix(head, "\n")
		}
		if !strings.HasPrefix(text, head) || !strings.HasSuffix(text, tail) {
			t.Fatalf("head %q and tail %q are not of %q", head, tail, text)
		}
		var gap, whole int
		if _, err := fmt.Sscanf(marker, "[%d of %d bytes", &gap, &whole); err != nil || whole != len(text) {
			t.Fatalf("marker %q: %v", marker, err)
		}
		// The newline before the marker may be the text's own or the marker's.
		if kept := len(head) + len(tail); gap != len(text)-kept && gap != len(text)-kept+1 {
			t.Fatalf("%d bytes are said to be left out, %d were", gap, len(text)-kept)
		}
	})
}
