package sandbox

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// However output is cut into pieces: what fits is kept whole, else its head and tail with a line between that tells
// how much is missing.
func TestCapture(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keep := rapid.IntRange(1, 400).Draw(t, "keep")
		c := newCapture(keep)
		var all []byte
		for _, piece := range rapid.SliceOf(rapid.StringOfN(rapid.RuneFrom([]rune("aä€😀\n")), 0, 300, -1)).Draw(t, "pieces") {
			c.write([]byte(piece))
			all = append(all, piece...)
		}
		got := c.bytes()
		if c.total != int64(len(all)) || len(got) > keep {
			t.Fatalf("total %d of %d, kept %d of %d", c.total, len(all), len(got), keep)
		}
		if len(all) <= keep-noteRoom && !bytes.Equal(got, all) {
			t.Fatalf("%q became %q", all, got)
		}
		if bytes.Equal(got, all) {
			return
		}
		if !utf8.Valid(got) {
			t.Fatalf("a character is cut: %q", got)
		}
		if keep < 2*noteRoom {
			return
		}
		head, rest, _ := strings.Cut(string(got), "\n[... ")
		var missing int
		if _, err := fmt.Sscanf(rest, "%d bytes left out ...]", &missing); err != nil {
			t.Fatalf("no note in %q", got)
		}
		_, tail, _ := strings.Cut(rest, "]\n")
		if !bytes.HasPrefix(all, []byte(head)) || !bytes.HasSuffix(all, []byte(tail)) || len(head)+len(tail)+missing != len(all) {
			t.Fatalf("%d + %d + %d of %d", len(head), missing, len(tail), len(all))
		}
	})
}

// Somebody may hold the pipe open for ever, silent or not.
func TestCollectEndsWithoutTheEnd(t *testing.T) {
	for _, flood := range []bool{false, true} {
		read, write, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := write.WriteString("before"); err != nil {
			t.Fatal(err)
		}
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			for flood {
				if _, err := write.Write(make([]byte, 1<<10)); err != nil {
					return
				}
			}
		}()
		if err := read.SetReadDeadline(time.Now()); err != nil {
			t.Fatal(err)
		}
		c := newCapture(0)
		collect(read, c, nil)
		if !bytes.HasPrefix(c.bytes(), []byte("before")) {
			t.Errorf("%.20q", c.bytes())
		}
		read.Close()
		write.Close()
		<-stopped
	}
}

// A cut goes between lines, so that no half of a word is left that nobody knows any more.
func TestCaptureCutsBetweenLines(t *testing.T) {
	c := newCapture(noteRoom + 100)
	for range 100 {
		c.write([]byte("a secret line\n"))
	}
	got := string(c.bytes())
	for line := range strings.Lines(got) {
		if line != "a secret line\n" && line != "\n" && !strings.HasPrefix(line, "[... ") {
			t.Errorf("%q", line)
		}
	}
}
