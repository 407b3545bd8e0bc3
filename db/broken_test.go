package db

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tillerman/observer"
)

// tell commits an event of about size bytes.
func tell(s *Store, lease Lease, t *testing.T, size int) error {
	_, err := s.Commit(t.Context(), lease, func(tx *Tx) error {
		return tx.Event(1, 0, observer.Told{By: "ann", Text: strings.Repeat("x", size)})
	})
	return err
}

func TestDamagedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.db")
	s, err := Open(t.Context(), path, Options{})
	must(t, err)
	lease := begun(t, s)
	must(t, s.Close())

	f, err := os.OpenFile(path, os.O_RDWR, 0)
	must(t, err)
	info, err := f.Stat()
	must(t, err)
	for at := int64(2 * 4096); at < info.Size(); at += 4096 { // every page but the first two, which hold the schema
		_, err := f.WriteAt([]byte(strings.Repeat("\xff", 4096)), at)
		must(t, err)
	}
	must(t, f.Close())

	s, err = Open(t.Context(), path, Options{})
	if err == nil {
		defer s.Close()
		_, err = s.Run(t.Context(), lease.RunID)
	}
	checkDamaged(t, path, err)
	if s != nil {
		_, err = s.Commit(t.Context(), lease, func(tx *Tx) error { return tx.Event(1, 0, observer.Stalled{}) })
		checkDamaged(t, path, err)
	}
}

// Numbers in the header that no version ever wrote, and values that no column holds, are damage like any other.
func TestDamagedHeaderAndValues(t *testing.T) {
	sound := filepath.Join(t.TempDir(), "runs.db")
	s, err := Open(t.Context(), sound, Options{})
	must(t, err)
	lease := begun(t, s)
	must(t, s.Close())
	for _, c := range []struct {
		name  string
		at    int64
		bytes string
	}{
		{"schema below zero", 60, "\xff\xff\xff\xfb"}, // where they are: sqlite.org/fileformat2.html
		{"schema far below zero", 60, "\x80\x00\x00\x00"},
		{"no schema", 60, "\x00\x00\x00\x00"},
		{"schema of an earlier version", 60, "\x00\x00\x00\x01"},
		{"format of the schema", 44, "\x00\x00\x00\x09"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "runs.db")
			must(t, copyFile(path, sound))
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			must(t, err)
			_, err = f.WriteAt([]byte(c.bytes), c.at)
			must(t, errors.Join(err, f.Close()))
			_, err = Open(t.Context(), path, Options{})
			checkDamaged(t, path, err)
			if c.name != "schema of an earlier version" { // which a look alone cannot tell from one that is in order
				_, err = Open(t.Context(), path, Options{ReadOnly: true})
				checkDamaged(t, path, err)
			}
		})
	}

	s, err = Open(t.Context(), sound, Options{})
	must(t, err)
	defer s.Close()
	raw(t, s, "PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql = replace(sql, 'STRICT', '') WHERE name = 'runs'; PRAGMA writable_schema=RESET; UPDATE runs SET sealed = 'x'")
	_, err = s.Run(t.Context(), lease.RunID)
	checkDamaged(t, sound, err)
}

func checkDamaged(t *testing.T, path string, err error) {
	t.Helper()
	e, ok := asError[*Error](err)
	if !ok || !errors.Is(err, ErrCorrupt) {
		t.Fatalf("%v, want %v", err, ErrCorrupt)
	}
	if e.Path != path || !strings.Contains(e.Do, "copy") {
		t.Errorf("the message does not say what to do: %v", err)
	}
}

// A store that cannot grow takes no commit, loses none, and goes on once it can.
func TestFullStore(t *testing.T) {
	s := opened(t, Options{})
	lease := begun(t, s)
	raw(t, s, fmt.Sprintf("PRAGMA max_page_count=%d", number(t, s, "PRAGMA page_count")+20))
	fill(t, s, lease, func() { raw(t, s, "PRAGMA max_page_count=1000000") })
}

// fill commits until the disk is full, frees space and commits again.
func fill(t *testing.T, s *Store, lease Lease, free func()) {
	t.Helper()
	done := int64(0)
	var err error
	for err == nil && done < 10_000 {
		if err = tell(s, lease, t, 10_000); err == nil {
			done++
		}
	}
	e, ok := asError[*Error](err)
	if !ok || !errors.Is(err, ErrFull) || !strings.Contains(e.Do, "free some space") {
		t.Fatalf("after %d commits: %v, want %v", done, err, ErrFull)
	}
	if done == 0 {
		t.Fatal("nothing was committed before")
	}
	for range 3 { // nor does a full disk get worse by trying
		if err := tell(s, lease, t, 100_000); !errors.Is(err, ErrFull) {
			t.Errorf("on a full disk: %v", err)
		}
	}
	check := func() {
		t.Helper()
		run, err := s.Run(t.Context(), lease.RunID)
		must(t, err)
		if n := number(t, s, "SELECT count(*) FROM events"); n != done || run.Seq != done {
			t.Errorf("%d events, newest %d, want %d", n, run.Seq, done)
		}
	}
	check()
	free()
	must(t, tell(s, lease, t, 10_000))
	done++
	check()
	var ok2 string
	must(t, s.reader(t.Context()).row("PRAGMA integrity_check").Scan(&ok2))
	if ok2 != "ok" {
		t.Errorf("integrity check: %s", ok2)
	}
}

func TestPlaceThatCannotBeWritten(t *testing.T) {
	t.Setenv("HOME", "/nonexistent") // nothing of a store depends on it
	// A store, closed; and one whose newest commits are only in its log.
	source := filepath.Join(t.TempDir(), "runs.db")
	s, err := Open(t.Context(), source, Options{})
	must(t, err)
	begun(t, s)
	pending := place(t)
	must(t, copyFile(filepath.Join(pending, "runs.db"), source))
	must(t, copyFile(filepath.Join(pending, "runs.db-wal"), source+"-wal"))
	must(t, s.Close())
	closed, locked := place(t), place(t)
	must(t, copyFile(filepath.Join(closed, "runs.db"), source))
	must(t, copyFile(filepath.Join(locked, "runs.db"), source))
	must(t, os.Chmod(filepath.Join(locked, "runs.db"), 0o000))
	empty := place(t)

	const writable = "make the file and its directory writable"
	for _, c := range []struct{ dir, write, do, look string }{
		{closed, "cannot be written", writable, "1 runs <nil>"},
		{pending, "cannot be written", writable, "runs.db-wal holds what was written last"},
		{locked, "cannot be read", "make the file readable", "cannot be read"},
		{empty, "cannot be written", writable, "no such file"},
	} {
		owner(t, c.dir)
		before := names(t, c.dir)
		p := unprivileged(t, "look", filepath.Join(c.dir, "runs.db"))
		if got := p.hear(); !strings.Contains(got, c.write) || !strings.Contains(got, c.do) {
			t.Errorf("for writing: %s", got)
		}
		if got := p.hear(); !strings.Contains(got, c.look) {
			t.Errorf("for looking: %s, want %s", got, c.look)
		}
		p.finish()
		if after := names(t, c.dir); !slices.Equal(after, before) {
			t.Errorf("the folder holds %v, held %v", after, before)
		}
	}
}

// names lists a folder's files.
func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

// place is a folder that any user can reach.
func place(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "tillerman-db-test-")
	must(t, err)
	t.Cleanup(func() {
		_ = os.Chmod(dir, 0o700)
		_ = os.RemoveAll(dir)
	})
	return dir
}

// owner gives a folder's files to the user that unprivileged processes are, and takes the right to write from it.
func owner(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	if os.Getuid() == 0 {
		must(t, os.Chown(dir, nobody, nobody))
		for _, e := range entries {
			must(t, os.Chown(filepath.Join(dir, e.Name()), nobody, nobody))
		}
	}
	must(t, os.Chmod(dir, 0o555))
}

func TestFileThatCannotBeWritten(t *testing.T) {
	dir := place(t)
	path := filepath.Join(dir, "runs.db")
	s, err := Open(t.Context(), path, Options{})
	must(t, err)
	begun(t, s)
	must(t, s.Close())
	must(t, os.Chmod(path, 0o444)) // in a folder that can be
	if os.Getuid() == 0 {
		must(t, os.Chown(dir, nobody, nobody))
	}
	p := unprivileged(t, "look", path)
	if got := p.hear(); !strings.Contains(got, "cannot be written") {
		t.Errorf("for writing: %s", got)
	}
	p.want("1 runs <nil>")
	p.finish()
}
