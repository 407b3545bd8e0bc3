// Package db is the store: one SQLite file that holds every fact of every run. It is the truth; events are notices
// about it. SQL lives here and nowhere else. The package stores plain structs and JSON and imports nothing of the
// engine, which maps its own types to these.
//
// A Store is safe for concurrent use. Writes go through one connection, one at a time; reads through a pool that never
// blocks the writer. Any number of processes may open the same file.
package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
	_ "modernc.org/sqlite" // the driver, named "sqlite"

	"tillerman/db/audit"
)

// Options are what a store needs from whoever opens it. The zero value is ready for use.
type Options struct {
	// ReadOnly opens for looking at history only: nothing is created or migrated.
	ReadOnly bool
	// Now is the clock; nil is time.Now. Durations use its monotonic reading.
	Now func() time.Time
	// AuditKey keys the audit chain (HMAC-SHA-256), at least audit.MinKey bytes. Without it the chain is plain SHA-256; a
	// chain that is keyed already takes no row then.
	AuditKey []byte
	// BeforeCommit, when set, is called when a transaction is about to commit, with the number it will have. It must not
	// write to the store. A crash test that dies in it loses the commit and whatever was done to be told by it.
	BeforeCommit func(n int64)
	// Anchor, when set, is given the audit chain's newest row after every commit that ends a run or lets it wait, and every
	// audit.AnchorEvery rows. It is called after the commit, by whoever committed, perhaps concurrently: what it does cannot
	// undo or fail the commit, and it should not take long.
	Anchor func(audit.Anchor)
	// Clean, when set, takes known secrets out of what people type: the reasons and words of decisions, controls and
	// resolutions, whichever surface they come from, before anything of them is stored.
	Clean func(string) string
	// AfterCommit, when set, is called after every commit of this store, with its number from 1; migrations are not
	// counted. It must not write to the store. Crash tests die in it.
	AfterCommit func(n int64)

	wait  time.Duration // for another process's lock, 0 is busyTimeout
	chunk int           // removals in one transaction of Prune, 0 for as many as there is time for
}

// Store is an open store.
type Store struct {
	path   string
	opts   Options
	self   Owner
	writer *writer // nil when opened for reading
	read   *sql.DB
	reads  statements
	watch  *sql.DB // connections of waiters: held for long, so not out of the readers' pool
	notify *notifier
}

// busyTimeout is how long a connection waits for another process's write before it gives up.
const busyTimeout = 10 * time.Second

// readers is how many reads may go on at once.
const readers = 4

// Open opens the store at path, creating the file (0600) and its directory (0700) when they do not exist, and brings
// its schema up to date. It refuses a file that is not a tillerman store and a store of a newer tillerman without
// changing a byte of it. Errors are *Error.
func Open(ctx context.Context, path string, opts Options) (*Store, error) {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if n := len(opts.AuditKey); n > 0 && n < audit.MinKey {
		return nil, wrap("open", path, fmt.Errorf("%w: it has %d bytes, and at least %d are needed", ErrAuditKey, n, audit.MinKey))
	}
	if opts.Clean == nil {
		opts.Clean = func(s string) string { return s }
	}
	if opts.wait == 0 {
		opts.wait = busyTimeout
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, wrap("open", path, err)
	}
	s := &Store{path: path, opts: opts, self: Self(), notify: &notifier{}}
	if opts.ReadOnly {
		err = s.openReadOnly(ctx)
	} else {
		err = s.open(ctx)
	}
	if err != nil {
		return nil, wrap("open", path, err)
	}
	return s, nil
}

func (s *Store) open(ctx context.Context) error {
	if err := prepareFile(s.path); err != nil {
		return err
	}
	if err := guard(ctx, s.path, s.opts.wait); err != nil {
		return err
	}
	w, err := openWriter(ctx, s.path, s.opts.wait)
	if err != nil {
		return err
	}
	if err := migrate(ctx, w, schema()); err != nil {
		return errors.Join(err, w.close())
	}
	w.commits, w.before, w.after = 0, s.opts.BeforeCommit, s.opts.AfterCommit
	if err := s.pools(dsn(s.path, s.opts.wait, "_pragma=query_only(1)")); err != nil {
		return errors.Join(err, w.close())
	}
	s.writer = w
	return nil
}

// pools makes the two pools of reading connections.
func (s *Store) pools(name string) error {
	read, err := sql.Open("sqlite", name)
	if err != nil {
		return err
	}
	watch, err := sql.Open("sqlite", name)
	if err != nil {
		return errors.Join(err, read.Close())
	}
	read.SetMaxOpenConns(readers)
	read.SetMaxIdleConns(readers)
	s.read, s.watch = read, watch
	return nil
}

// prepareFile makes the directory and an empty private file, so that SQLite never creates one with wider permissions.
func prepareFile(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if err := refuseNetworkDisk(filepath.Dir(path)); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if errors.Is(err, os.ErrExist) {
		// SQLite would open a file that it may not write for reading, and say so only when something is written.
		if err := unix.Access(path, unix.W_OK); err != nil {
			return &os.PathError{Op: "write", Path: path, Err: err}
		}
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// Path is the store's file, absolute.
func (s *Store) Path() string { return s.path }

// Close lets go of the file. Waiters return.
func (s *Store) Close() error {
	s.notify.close()
	err := errors.Join(s.watch.Close(), s.read.Close())
	if s.writer != nil { // last, so that it empties the log on its way out
		err = errors.Join(err, s.writer.close())
	}
	return err
}

func (s *Store) now() time.Time { return s.opts.Now() }

// Commits counts the transactions this store has committed since it was opened.
func (s *Store) Commits() int64 {
	if s.writer == nil {
		return 0
	}
	s.writer.mu.Lock()
	defer s.writer.mu.Unlock()
	return s.writer.commits
}
