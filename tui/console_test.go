package tui

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"tillerman/tui/tuitest"
)

// clock stands still, so that goldens hold no time that passes.
var clock = []string{"TILLERMAN_CLOCK=2026-03-04T15:04:05Z"}

// whole begins a test of the whole program, which is a process of its own: the race detector, for which tests run in their
// short form, sees nothing of it.
func whole(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("the program is a process of its own")
	}
}

func TestScenarios(t *testing.T) {
	whole(t)
	tuitest.RunDir(t, "testdata/scenarios", tuitest.Options{Env: clock})
}

// picture is the README's: the demo's first change, waiting for an answer.
const picture = "../docs/pictures/console.svg"

func TestPictureOfTheReadme(t *testing.T) {
	whole(t)
	term := tuitest.Start(t, tuitest.Options{Args: []string{"demo", "--fast"}, Env: clock, Cols: 118, Rows: 34, Answer: true})
	term.WaitFor("Approve?", 0)
	term.WaitIdleUntil("the question is armed", 0, func(f tuitest.Frame) bool { return !f.Contains("one moment") })
	term.Press("a")
	term.WaitFor("@@", 0)
	term.WaitIdleUntil("the question is armed", 0, func(f tuitest.Frame) bool { return !f.Contains("one moment") })
	got := regexp.MustCompile(`~?/[^ <]*tillerman-demo-`).ReplaceAll(term.Frame().SVG(), []byte("~/tmp/tillerman-demo-"))
	if tuitest.Updating() {
		if err := os.MkdirAll(filepath.Dir(picture), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(picture, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(picture)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is not what the program draws (%v): go test ./tui -run Picture -update", picture, err)
	}
}
