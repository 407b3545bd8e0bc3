package db

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tillerman/observer"
)

func TestOpenMakesPrivateFiles(t *testing.T) {
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	dir := filepath.Join(t.TempDir(), "a", "b")
	s := reopened(t, filepath.Join(dir, "runs.db"), Options{})
	begun(t, s)
	for path, want := range map[string]os.FileMode{dir: 0o700, s.path: 0o600, s.path + "-wal": 0o600, s.path + "-shm": 0o600} {
		info, err := os.Stat(path)
		must(t, err)
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s: mode %o, want %o", filepath.Base(path), got, want)
		}
	}
}

// A pragma that is set once reaches one connection of a pool.
func TestPragmasOfEveryConnection(t *testing.T) {
	s := durable(t, t.TempDir()+"/runs.db", Options{})
	write, err := sql.Open("sqlite", dsn(s.path, busyTimeout))
	must(t, err)
	defer write.Close()
	for name, pool := range map[string]struct {
		db    *sql.DB
		query string
	}{"write": {write, "0"}, "read": {s.read, "1"}, "watch": {s.watch, "1"}} {
		pool.db.SetMaxOpenConns(10)
		var conns []*sql.Conn
		for range 10 {
			conn, err := pool.db.Conn(t.Context())
			must(t, err)
			conns = append(conns, conn)
		}
		for i, conn := range conns {
			for pragma, want := range map[string]string{
				"busy_timeout": "10000", "journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "journal_size_limit": "67108864", "query_only": pool.query,
			} {
				var got string
				must(t, conn.QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&got))
				if got != want {
					t.Errorf("%s connection %d: %s is %s, want %s", name, i, pragma, got, want)
				}
			}
			must(t, conn.Close())
		}
	}
	var sync string
	must(t, s.writer.conn.QueryRowContext(t.Context(), "PRAGMA synchronous").Scan(&sync))
	if sync != "2" {
		t.Errorf("the writer's synchronous is %s", sync)
	}
}

func TestCommitsFromManyGoroutines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.db")
	stores := []*Store{reopened(t, path, Options{}), reopened(t, path, Options{})}
	lease := begun(t, stores[0])
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 50 {
				_, err := stores[i%2].Commit(t.Context(), lease, func(tx *Tx) error { return tx.Event(1, 0, observer.Stalled{}) })
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n := number(t, stores[0], "SELECT count(*) FROM events"); n != 400 {
		t.Errorf("%d events, want 400", n)
	}
}

func TestOpenAnyPath(t *testing.T) {
	for _, name := range []string{"with space.db", "a?b=c&d.db", "50%25.db", "#1.db", "é'\"\\.db", "file:x.db", "-wal", "a;b:c.db"} {
		path := filepath.Join(t.TempDir(), name)
		s, err := Open(t.Context(), path, Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		lease := begun(t, s)
		must(t, s.Close())
		if info, err := os.Stat(path); err != nil || info.Size() == 0 {
			t.Errorf("%s: the store is not at its path: %v", name, err)
		}
		r, err := Open(t.Context(), path, Options{ReadOnly: true})
		must(t, err)
		if _, err := r.Run(t.Context(), lease.RunID); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		must(t, r.Close())
	}
}

// foreign makes an SQLite file of somebody else.
func foreign(t *testing.T, path string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	must(t, err)
	db.SetMaxOpenConns(1)
	for _, st := range statements {
		_, err := db.Exec(st)
		must(t, err)
	}
	must(t, db.Close())
}

// snapshot is every file of a folder with its content.
func snapshot(t *testing.T, dir string) map[string][32]byte {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	all := map[string][32]byte{}
	for _, e := range entries {
		var body []byte
		if e.Type().IsRegular() {
			body, err = os.ReadFile(filepath.Join(dir, e.Name()))
			must(t, err)
		}
		all[e.Name()] = sha256.Sum256(body)
	}
	return all
}

func TestRefusedFilesStayAsTheyAre(t *testing.T) {
	newer := func(t *testing.T, path string) {
		s, err := Open(t.Context(), path, Options{})
		must(t, err)
		raw(t, s, "PRAGMA user_version=99")
		must(t, s.Close())
	}
	for name, c := range map[string]struct {
		make func(t *testing.T, path string)
		kind error
		says string
	}{
		"text": {func(t *testing.T, path string) {
			must(t, os.WriteFile(path, []byte(strings.Repeat("dear diary\n", 500)), 0o600))
		}, ErrForeign, ""},
		"a byte":           {func(t *testing.T, path string) { must(t, os.WriteFile(path, []byte("x"), 0o600)) }, ErrForeign, ""},
		"folder":           {func(t *testing.T, path string) { must(t, os.Mkdir(path, 0o700)) }, ErrForeign, "directory"},
		"pipe":             {func(t *testing.T, path string) { must(t, syscall.Mkfifo(path, 0o600)) }, ErrForeign, "no file"},
		"foreign":          {func(t *testing.T, path string) { foreign(t, path, "CREATE TABLE notes (x)") }, ErrForeign, "another program"},
		"foreign with log": {func(t *testing.T, path string) { foreign(t, path, "PRAGMA journal_mode=WAL", "CREATE TABLE notes (x)") }, ErrForeign, "another program"},
		"foreign of 99":    {func(t *testing.T, path string) { foreign(t, path, "PRAGMA user_version=99", "CREATE TABLE notes (x)") }, ErrForeign, "another program"},
		"newer":            {newer, ErrNewer, "its schema is 99, this program knows up to"},
		"newer, unwritten": {func(t *testing.T, path string) {
			s, err := Open(t.Context(), path+".x", Options{})
			must(t, err)
			raw(t, s, "PRAGMA user_version=99")
			must(t, copyFile(path, path+".x"))
			must(t, copyFile(path+"-wal", path+".x-wal"))
			must(t, copyFile(path+"-shm", path+".x-shm"))
			must(t, s.Close())
			must(t, os.Remove(path+".x"))
		}, ErrNewer, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "runs.db")
			c.make(t, path)
			before := snapshot(t, dir)
			for _, opts := range []Options{{}, {ReadOnly: true}} {
				_, err := Open(t.Context(), path, opts)
				e, ok := asError[*Error](err)
				if !ok || !errors.Is(err, c.kind) {
					t.Fatalf("Open: %v, want %v", err, c.kind)
				}
				if e.Path != path || !strings.Contains(err.Error(), path) || e.Do == "" || !strings.Contains(err.Error(), c.says) {
					t.Errorf("the message does not say enough: %v", err)
				}
				after := snapshot(t, dir)
				if opts.ReadOnly { // reading a live file makes its log's index, which holds nothing
					delete(after, "runs.db-shm")
					if after["runs.db-wal"] == sha256.Sum256(nil) {
						delete(after, "runs.db-wal")
					}
				}
				if name == "newer, unwritten" {
					delete(after, "runs.db-shm")
					delete(before, "runs.db-shm")
				}
				if len(after) != len(before) {
					t.Errorf("the folder holds %d files, held %d", len(after), len(before))
				}
				for file, sum := range before {
					if after[file] != sum {
						t.Errorf("%s has changed", file)
					}
				}
			}
		})
	}
}

func TestNoStoreToLookAt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none.db")
	if _, err := Open(t.Context(), path, Options{ReadOnly: true}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Open: %v", err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a store was made")
	}
	must(t, os.WriteFile(path, nil, 0o600))
	if _, err := Open(t.Context(), path, Options{ReadOnly: true}); !errors.Is(err, ErrReadOnly) || !strings.Contains(err.Error(), "schema is 0") {
		t.Errorf("an empty file for reading: %v", err)
	}
}

func TestReadOnlyNeverWrites(t *testing.T) {
	w := opened(t, Options{})
	lease := begun(t, w)
	r := reopened(t, w.path, Options{ReadOnly: true})
	if _, err := r.Commit(t.Context(), lease, func(*Tx) error { return nil }); !errors.Is(err, ErrReadOnly) {
		t.Errorf("Commit: %v", err)
	}
	if _, err := r.read.ExecContext(t.Context(), "DELETE FROM runs"); err == nil {
		t.Error("a reader deleted")
	}
	if _, err := w.read.ExecContext(t.Context(), "DELETE FROM runs"); err == nil {
		t.Error("the pool of readers deleted")
	}
	if run, err := r.Run(t.Context(), lease.RunID); err != nil || run.Goal != aRun().Goal {
		t.Errorf("Run: %v %v", run, err)
	}
}

func TestManyProcessesOpenANewStore(t *testing.T) {
	for range 3 {
		path := filepath.Join(t.TempDir(), "new", "runs.db")
		var all []*process
		for range 5 {
			all = append(all, child(t, "open", path))
		}
		for _, p := range all {
			p.want("ready")
		}
		for _, p := range all {
			p.say("go")
		}
		for _, p := range all {
			p.want("ok")
		}
	}
}

func TestHeldFile(t *testing.T) {
	for name, prepare := range map[string]func(path string){
		"new": func(path string) { must(t, os.WriteFile(path, nil, 0o600)) },
		"older": func(path string) {
			must(t, os.WriteFile(path, nil, 0o600))
			w, err := openWriter(t.Context(), path, busyTimeout)
			must(t, err)
			must(t, migrate(t.Context(), w, schema()-1))
			must(t, w.close())
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "runs.db")
			prepare(path)
			holder := child(t, "hold", path)
			holder.want("held")

			_, err := Open(t.Context(), path, Options{wait: 200 * time.Millisecond})
			e, ok := asError[*Error](err)
			if !ok || !errors.Is(err, ErrLocked) {
				t.Fatalf("Open: %v, want %v", err, ErrLocked)
			}
			if !strings.Contains(err.Error(), path) || !strings.Contains(e.Do, "lsof") {
				t.Errorf("the message does not say what to do: %v", err)
			}

			ctx, stop := context.WithCancel(t.Context())
			stop()
			if _, err := Open(ctx, path, Options{}); !errors.Is(err, context.Canceled) {
				t.Errorf("Open with an ended context: %v", err)
			}

			opened := make(chan error, 1)
			go func() {
				s, err := Open(t.Context(), path, Options{})
				if err == nil {
					err = s.Close()
				}
				opened <- err
			}()
			select {
			case err := <-opened:
				t.Fatalf("Open did not wait: %v", err)
			case <-time.After(400 * time.Millisecond):
			}
			holder.say("go")
			must(t, <-opened)
		})
	}
}

// TestLookingWaitsForNoWriter opens a store that another process writes to: what only looks sees what was committed before.
func TestLookingWaitsForNoWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.db")
	s, err := Open(t.Context(), path, Options{})
	must(t, err)
	lease := begun(t, s)
	must(t, s.Close())
	holder := child(t, "hold", path)
	holder.want("held")
	for _, readOnly := range []bool{false, true} {
		s, err := Open(t.Context(), path, Options{ReadOnly: readOnly, wait: 200 * time.Millisecond})
		if err != nil {
			t.Fatalf("read only %v: %v", readOnly, err)
		}
		if run, err := s.Run(t.Context(), lease.RunID); err != nil || run.ID != lease.RunID {
			t.Errorf("read only %v: %+v, %v", readOnly, run, err)
		}
		must(t, s.Close())
	}
	holder.say("go")
	holder.finish()
}

func TestCommitWaitsForALock(t *testing.T) {
	s := opened(t, Options{wait: 200 * time.Millisecond})
	lease := begun(t, s)
	holder := child(t, "hold", s.path)
	holder.want("held")
	event := func(tx *Tx) error { return tx.Event(1, 0, observer.Stalled{}) }
	if _, err := s.Commit(t.Context(), lease, event); !errors.Is(err, ErrLocked) {
		t.Errorf("Commit: %v", err)
	}
	if _, err := s.Run(t.Context(), lease.RunID); err != nil {
		t.Errorf("a writer blocks a reader: %v", err)
	}
	holder.say("go")
	holder.finish()
	commit(t, s, lease, event)
	if n := number(t, s, "SELECT count(*) FROM events"); n != 1 {
		t.Errorf("%d events, want 1", n)
	}
}
