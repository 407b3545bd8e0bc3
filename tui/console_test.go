package tui

import (
	"testing"

	"tillerman/tui/tuitest"
)

// clock stands still, so that goldens hold no time that passes.
var clock = []string{"TILLERMAN_CLOCK=2026-03-04T15:04:05Z"}

func TestScenarios(t *testing.T) {
	tuitest.RunDir(t, "testdata/scenarios", tuitest.Options{Env: clock})
}
