package sandbox

import (
	"os"
	"strings"
	"testing"
)

// What forks as fast as it can never gets further than its own space allows: the rest of the machine goes on.
func TestSpaceIsBounded(t *testing.T) {
	r := limited(t, watchedModes[0], Limits{Processes: 60})
	if !r.confine.Spaces.PID || !kernelAtLeast(6, 14) {
		t.Skip("no process namespace with a limit of its own")
	}
	before := pidMax(t)
	got, err := r.Run(t.Context(), shell("f() { f & f & }; f; sleep 1"))
	if err != nil || got.Limit == "" && !strings.Contains(string(got.Output), "fork") {
		t.Errorf("%q, %v: %.200s", got.Limit, err, got.Output)
	}
	if after := pidMax(t); after != before {
		t.Errorf("the machine's own limit was %s and is %s", before, after)
	}
}

func pidMax(t *testing.T) string {
	t.Helper()
	got, err := os.ReadFile("/proc/sys/kernel/pid_max")
	if err != nil {
		t.Fatal(err)
	}
	return string(got)
}
