package db

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"
)

func TestErrorsSayWhatToDo(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		kind error // nil: none, and no cure
		same bool  // comes back as it is
	}{
		"permission":  {&os.PathError{Op: "open", Path: "x", Err: syscall.EACCES}, ErrReadOnly, false},
		"read-only":   {&os.PathError{Op: "open", Path: "x", Err: syscall.EROFS}, ErrReadOnly, false},
		"no folder":   {&os.PathError{Op: "mkdir", Path: "x", Err: syscall.ENOTDIR}, ErrReadOnly, false},
		"full":        {&os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}, ErrFull, false},
		"network":     {fmt.Errorf("%w (NFS)", ErrNetwork), ErrNetwork, false},
		"other":       {errors.New("strange"), nil, false},
		"nothing":     {nil, nil, true},
		"not found":   {fmt.Errorf("run 7: %w", ErrNotFound), ErrNotFound, true},
		"cancelled":   {context.Canceled, context.Canceled, true},
		"too late":    {context.DeadlineExceeded, context.DeadlineExceeded, true},
		"done before": {&Error{Op: "write", Path: "y", Err: ErrFull}, ErrFull, true},
	} {
		got := wrap("open", "/data/runs.db", c.err)
		if c.same {
			if got != c.err {
				t.Errorf("%s: %v", name, got)
			}
			continue
		}
		e, ok := asError[*Error](got)
		if !ok || !errors.Is(got, c.err) && c.kind == nil || c.kind != nil && !errors.Is(got, c.kind) {
			t.Errorf("%s: %v", name, got)
			continue
		}
		if e.Do != cures[c.kind] || !strings.HasPrefix(got.Error(), "store /data/runs.db: ") || !strings.HasSuffix(got.Error(), e.Do) || strings.Contains(got.Error(), "\n") {
			t.Errorf("%s: %v", name, got)
		}
	}
	for kind, do := range cures {
		if do == "" {
			t.Errorf("%v: nothing to do", kind)
		}
	}
}

func TestFolderThatIsAFile(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(dir+"/file", nil, 0o600))
	_, err := Open(t.Context(), dir+"/file/runs.db", Options{})
	if !errors.Is(err, ErrReadOnly) {
		t.Errorf("Open: %v", err)
	}
	must(t, os.Symlink(dir+"/nowhere", dir+"/link"))
	if _, err := Open(t.Context(), dir+"/link", Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Open of a link to nothing: %v", err)
	}
}

// What a caller's own function refuses is no failure of the store.
func TestRefusalsComeBackAsTheyAre(t *testing.T) {
	s := opened(t, Options{})
	lease := begun(t, s)
	mine := errors.New("mine")
	if _, err := s.Commit(t.Context(), lease, func(*Tx) error { return mine }); err != mine {
		t.Errorf("Commit: %v", err)
	}
	_, err := s.Commit(t.Context(), lease, func(tx *Tx) error {
		return tx.AddFile(File{Source: "magic", Change: "added"}) // against the schema
	})
	if e, ok := asError[*Error](err); !ok || e.Path != s.path || e.Op != "write" {
		t.Errorf("Commit: %v", err)
	}
	commit(t, s, lease, nothing)
}

func TestPanicLeavesTheStoreUsable(t *testing.T) {
	s := opened(t, Options{})
	lease := begun(t, s)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic is gone")
			}
		}()
		_, _ = s.Commit(t.Context(), lease, func(tx *Tx) error {
			must(t, tx.AddContextFact(1, "told", "x"))
			panic("boom")
		})
	}()
	commit(t, s, lease, nothing)
	if n := number(t, s, "SELECT count(*) FROM context_facts"); n != 0 {
		t.Errorf("%d facts of a commit that panicked", n)
	}
}
