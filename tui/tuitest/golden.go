package tuitest

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

var update = flag.Bool("update", false, "rewrite the golden files from what is on the screen")

// Updating reports whether the test runs with -update, for tests with golden
// files of another kind.
func Updating() bool { return *update }

// Match waits until the program is idle and compares the screen, its text
// covered by the masks, with testdata/golden/NAME.golden. A difference is an
// error, not the end of the test; what was seen lies then among the test's
// artifacts as text and as a picture (go test -artifacts). With -update the file
// is written instead.
func (t *Term) Match(name string, masks ...Mask) {
	t.tb.Helper()
	t.WaitIdle()
	f := t.Frame()
	got := f.Golden(masks...)
	path := filepath.Join("testdata", "golden", filepath.FromSlash(name)+".golden")
	if Updating() {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.tb.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.tb.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		t.tb.Errorf("no golden file %s; -update makes it from\n%s", path, got)
		return
	}
	if err != nil {
		t.tb.Fatal(err)
	}
	if got == string(want) {
		return
	}
	t.tb.Errorf("the screen is not as in %s:\n%s\nit is\n%s", path, udiff.Unified("golden", "screen", string(want), got), f)
	base := filepath.Join(t.tb.ArtifactDir(), strings.ReplaceAll(name, "/", "-"))
	for ending, data := range map[string]string{".golden": got, ".html": string(f.HTML()), ".svg": string(f.SVG())} {
		if err := os.WriteFile(base+ending, []byte(data), 0o644); err != nil {
			t.tb.Errorf("keep what was seen: %v", err)
		}
	}
}

// Golden is the frame as text that is made for reading and comparing; the
// package's comment shows the form.
func (f Frame) Golden(masks ...Mask) string {
	var b strings.Builder
	fmt.Fprintf(&b, "size %dx%d, ", f.Cols, f.Rows)
	if f.Cursor.Hidden {
		b.WriteString("cursor hidden")
	} else {
		fmt.Fprintf(&b, "cursor %d,%d", f.Cursor.X, f.Cursor.Y)
	}
	if f.Title != "" {
		fmt.Fprintf(&b, ", title %q", cover(f.Title, masks))
	}
	rule := strings.Repeat("─", min(f.Cols, 80))
	b.WriteString("\n" + rule + "\n")
	for _, line := range f.Lines() {
		b.WriteString(cover(line, masks) + "\n")
	}
	b.WriteString(rule + "\n")
	for y, row := range f.Cells {
		if styles := styleRuns(row); len(styles) > 0 {
			fmt.Fprintf(&b, "%d: %s\n", y, strings.Join(styles, ", "))
		}
	}
	return b.String()
}
