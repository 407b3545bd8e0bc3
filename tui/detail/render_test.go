package detail

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"tillerman/db"
	"tillerman/themes"
	"tillerman/tui/paint"
	"tillerman/tui/text"
)

func drawn(t *testing.T, width int, c Call) []string {
	t.Helper()
	theme, err := themes.Load("dark")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, l := range (Detail{Step: 1, Calls: []Call{c}}).Render(paint.New(theme, 0, false), width) {
		l = ansi.Strip(l)
		if text.Width(l) != width {
			t.Fatalf("%q is %d cells wide", l, text.Width(l))
		}
		out = append(out, strings.TrimRight(l, " "))
	}
	return out
}

// TestACallIsShownWhole wants every word of a command that ran: it may never have been asked about.
func TestACallIsShownWhole(t *testing.T) {
	target := "sh -c 'cd build && make clean && make all; rm -rf the-part-that-is-cut'"
	for width := 8; width < 120; width++ {
		for _, c := range []Call{
			{Call: db.Call{Name: "exec", Target: target, State: db.CallEnded, Failed: true}},
			{Call: db.Call{Name: strings.Repeat("unknown", 3), Target: target, State: db.CallEnded, Failed: true}},
		} {
			got := strings.Join(drawn(t, width, c), "")
			want := c.Name + target + "failed"
			if squeeze := strings.NewReplacer(" ", "", "…", ""); width >= 24 && !strings.Contains(squeeze.Replace(got), squeeze.Replace(want)) {
				t.Errorf("%d: %q", width, got)
			}
		}
	}
}

// TestADiffShowsLinesThatLookLikeItsHead: a comment of SQL that was removed begins with three dashes.
func TestADiffShowsLinesThatLookLikeItsHead(t *testing.T) {
	path := "two\nlines.sql"
	c := Call{
		Call:  db.Call{Name: "edit", Target: path, State: db.CallEnded},
		Files: []db.File{{Path: path}}, Before: []byte("-- old\nselect 1;\n"), After: []byte("++ new\nselect 1;\n"),
	}
	got := strings.Join(drawn(t, 60, c), "\n")
	for _, want := range []string{"+1 -1", "--- old", "+++ new", " select 1;", `two\nlines.sql`} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q:\n%s", want, got)
		}
	}
}

// TestLongTextsAreBounded wants no step that takes seconds to lay out.
func TestLongTextsAreBounded(t *testing.T) {
	long := strings.Repeat("漢", 3<<20)
	for name, c := range map[string]Call{
		"result": {Call: db.Call{Name: "exec", Target: "x", State: db.CallEnded, Result: long}},
		"target": {Call: db.Call{Name: "exec", Target: long, State: db.CallEnded}},
		"diff":   {Call: db.Call{Name: "edit", State: db.CallEnded}, Files: []db.File{{Path: "a"}}, Before: []byte{}, After: []byte(strings.Repeat("x\n", 1<<19))},
	} {
		lines := drawn(t, 60, c)
		if len(lines) > resultBytes || !strings.Contains(strings.Join(lines, ""), "left out here") {
			t.Errorf("%s: %d lines", name, len(lines))
		}
	}
}
