package sandbox

import (
	"context"
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// Not parallel: it counts what the whole process has open.
func TestNothingLeaks(t *testing.T) {
	cause := errors.New("enough")
	for _, m := range modes {
		r := newTestRunner(t)
		m.prepare(r)
		round := func(i int) {
			c := shell("cat; echo hello")
			c.Stdin = "input"
			ctx := t.Context()
			switch i % 10 {
			case 0:
				c.Argv[0] = "no-such-program"
			case 1:
				c = shell("echo; exec sleep 300")
				canceled, cancel := context.WithCancelCause(ctx)
				defer cancel(nil)
				c.Output = func([]byte) { cancel(cause) }
				ctx = canceled
			}
			if _, err := m.run(ctx, r, c); err != nil && !errors.Is(err, cause) && i%10 != 0 {
				t.Fatal(err)
			}
		}
		round(1) // opens what the runtime keeps
		before := openFiles(t)
		for i := range 100 {
			round(i)
		}
		if after := openFiles(t); after > before {
			t.Errorf("%s: %d files were open, now %d", m.name, before, after)
		}
		if pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil); !errors.Is(err, unix.ECHILD) {
			t.Errorf("%s: a child is left: %d, %v", m.name, pid, err)
		}
		if left, err := os.ReadDir(recordDir(r.state)); err != nil || len(left) > 0 {
			t.Errorf("%s: records are left: %v, %v", m.name, left, err)
		}
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	open, err := os.ReadDir("/dev/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(open)
}
