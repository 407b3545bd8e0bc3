package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestSurvivorsOfNothing(t *testing.T) {
	t.Parallel()
	if left, err := Survivors(t.TempDir()); err != nil || left != nil {
		t.Errorf("%v, %v", left, err)
	}
	if left, err := WaitGone(t.Context(), filepath.Join(t.TempDir(), "missing")); err != nil || left != nil {
		t.Errorf("%v, %v", left, err)
	}
}

func TestSurvivorsByRecord(t *testing.T) {
	t.Parallel()
	self, _ := inspect(os.Getpid())
	parent, _ := inspect(os.Getppid())
	reused := identity{PID: parent.PID, Start: parent.Start + 1}
	for _, tc := range []struct {
		name    string
		record  record
		listed  bool
		removed bool
	}{
		{"of another engine", record{Leader: parent.identity, Engine: reused, Boot: bootID()}, true, false},
		{"of this process", record{Leader: parent.identity, Engine: self.identity, Boot: bootID()}, false, false},
		{"before the system started", record{Leader: parent.identity, Engine: reused, Boot: "another"}, false, true},
		{"number given to another process", record{Leader: reused, Engine: reused, Boot: bootID()}, false, true},
		{"nothing left", record{Leader: identity{PID: 1 << 30}, Engine: reused, Boot: bootID()}, false, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			state := t.TempDir()
			text, err := json.Marshal(tc.record)
			if err != nil {
				t.Fatal(err)
			}
			write(t, recordPath(state, "0123456789abcdef"), string(text))
			left, err := Survivors(state)
			listed := len(left) > 0
			if err != nil || listed != tc.listed || listed && left[0].PID > parent.PID {
				t.Errorf("%v, %v", left, err)
			}
			if _, err := os.Stat(recordPath(state, "0123456789abcdef")); errors.Is(err, os.ErrNotExist) != tc.removed {
				t.Errorf("removed: %v", err)
			}
		})
	}
}

func TestSurvivorsIgnoresStrangeFiles(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	write(t, recordPath(state, "a"), "{")
	write(t, recordPath(state, "b")+".new", "")
	write(t, filepath.Join(recordDir(state), "notes"), "x")
	if left, err := Survivors(state); err != nil || left != nil {
		t.Errorf("%v, %v", left, err)
	}
}

func TestWaitGoneNamesWhatIsLeft(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	parent, _ := inspect(os.Getppid())
	text, _ := json.Marshal(record{Leader: parent.identity, Boot: bootID()})
	write(t, recordPath(state, "0123456789abcdef"), string(text))
	cause := errors.New("the operator is impatient")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 10*time.Millisecond, cause)
	defer cancel()
	if left, err := WaitGone(ctx, state); !errors.Is(err, cause) || len(left) == 0 {
		t.Errorf("%v, %v", left, err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
