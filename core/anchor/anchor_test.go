package anchor

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tillerman/db/audit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func over(n int64) audit.Anchor {
	return audit.Anchor{Store: "/s", Count: n, Head: "h", At: n}.Signed([]byte("a key of sixteen"))
}

func anchorsIn(t *testing.T, path string) []audit.Anchor {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	list, _, err := audit.ReadAnchors(bytes.NewReader(b))
	if err != nil {
		t.Fatalf("%v\n%s", err, b)
	}
	return list
}

func TestFileAndCommandGetTheAnchor(t *testing.T) {
	dir := t.TempDir()
	file, copied := filepath.Join(dir, "anchors"), filepath.Join(dir, "copied")
	for n := range int64(2) {
		w := NewWriter(Sink{File: file, Command: []string{"sh", "-c", `cat >> "$OUT"`}, Environ: []string{"OUT=" + copied, "PATH=" + os.Getenv("PATH")}})
		w.Put(over(n + 1))
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{file, copied} {
		list := anchorsIn(t, path)
		if len(list) != 2 || list[0] != over(1) || list[1] != over(2) {
			t.Errorf("%s: %+v", path, list)
		}
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
}

func TestCutOffLineIsEnded(t *testing.T) {
	file := filepath.Join(t.TempDir(), "anchors")
	if err := os.WriteFile(file, []byte(`{"format":1,"sto`), 0o600); err != nil {
		t.Fatal(err)
	}
	w := NewWriter(Sink{File: file})
	w.Put(over(3))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(file)
	if err != nil || !bytes.HasSuffix(b, append([]byte("\n"), over(3).Line()...)) {
		t.Errorf("%q %v", b, err)
	}
}

// Lines of several writers do not mix.
func TestManyWriters(t *testing.T) {
	file := filepath.Join(t.TempDir(), "anchors")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			w := NewWriter(Sink{File: file})
			for n := range int64(20) {
				w.Put(over(n + 1))
			}
			if err := w.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	newest := 0
	for _, a := range anchorsIn(t, file) {
		if a == over(20) {
			newest++
		}
	}
	if newest != 8 {
		t.Errorf("the newest anchor came %d times", newest)
	}
}

func TestFailuresAreReportedOnceAndHoldNothingUp(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		sink Sink
		says string
	}{
		"no folder":         {Sink{File: filepath.Join(dir, "none", "a")}, "anchor file"},
		"a pipe":            {Sink{File: pipe}, "no regular file"},
		"a folder":          {Sink{File: dir}, "anchor file"},
		"no such command":   {Sink{Command: []string{"/nonexistent"}}, "anchor command /nonexistent"},
		"a failing command": {Sink{Command: []string{"sh", "-c", "echo no room >&2; exit 3"}}, "exit status 3: no room"},
		"a command that never ends": {
			Sink{Command: []string{"sh", "-c", "trap '' TERM; while :; do sleep 60; done"}, Limit: 100 * time.Millisecond}, "",
		},
	} {
		c.sink.Environ = os.Environ()
		w := NewWriter(c.sink)
		w.Put(over(1))
		w.Put(over(2))
		err := w.Close()
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
		w.mu.Lock()
		busy := w.busy
		w.mu.Unlock()
		if busy != nil {
			<-busy
		}
	}
}

// What waits behind a slow command is covered by the newest anchor.
// ssh with ControlPersist leaves a process behind that holds its standard error open: the anchor was kept all the same.
func TestWhatACommandLeavesBehindIsNoFailure(t *testing.T) {
	kept := filepath.Join(t.TempDir(), "kept")
	w := NewWriter(Sink{Command: []string{"sh", "-c", "cat > " + kept + "; sleep 5 & exit 0"}, Environ: os.Environ()})
	w.Put(over(1))
	if err := w.Close(); err != nil {
		t.Errorf("%v", err)
	}
	if list := anchorsIn(t, kept); len(list) != 1 {
		t.Errorf("%+v", list)
	}
}

func TestOnlyTheNewestWaits(t *testing.T) {
	dir := t.TempDir()
	got, gate := filepath.Join(dir, "got"), filepath.Join(dir, "gate")
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	w := NewWriter(Sink{Command: []string{"sh", "-c", `[ -e "$GOT" ] || cat "$GATE" >/dev/null; cat >> "$GOT"`}, Environ: []string{"GATE=" + gate, "GOT=" + got, "PATH=" + os.Getenv("PATH")}})
	w.Put(over(1))
	f, err := os.OpenFile(gate, os.O_WRONLY, 0) // the command is on its way
	if err != nil {
		t.Fatal(err)
	}
	for n := range int64(50) {
		w.Put(over(n + 2))
	}
	w.Put(over(5)) // an older one, from a commit that came late to tell
	_ = f.Close()  // now it goes on
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if list := anchorsIn(t, got); len(list) != 2 || list[0] != over(1) || list[1] != over(51) {
		t.Errorf("%+v", list)
	}
}

func TestCheckWritesNothing(t *testing.T) {
	dir := t.TempDir()
	file, pipe := filepath.Join(dir, "anchors"), filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		sink Sink
		want string
	}{
		{Sink{File: file, Command: []string{"sh"}}, ""},
		{Sink{File: filepath.Join(dir, "none", "anchors")}, "its folder"},
		{Sink{File: dir}, "is a directory"},
		{Sink{File: pipe}, "no regular file"},
		{Sink{Command: []string{filepath.Join(dir, "none")}}, "anchor command"},
	} {
		err := c.sink.Check()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v", c.sink, err)
		}
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("a file was made")
	}
}
