package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"time"
)

// guard refuses, before anything is written, a file that is not ours or is newer than we are. It reads through SQLite
// and read-only: opening the file by other means would drop the locks of this process's other connections
// (sqlite.org/howtocorrupt.html, 2.2).
//
// A file without a log beside it is first read as one that does not change: reading it as a live one would create a log
// and its index, and leave them behind. Where that gives no clear answer, because another process is just writing it,
// it is read again under locks.
func guard(ctx context.Context, path string, wait time.Duration) error {
	empty, err := plausible(path)
	if empty || err != nil {
		return err
	}
	if !pendingLog(path) {
		_, err := marks(ctx, name(path, wait, "mode=ro", "immutable=1"))
		if err == nil || errors.Is(err, ErrNewer) || errors.Is(err, ErrForeign) {
			return err
		}
	}
	_, err = marks(ctx, name(path, wait, "mode=ro"))
	return err
}

// plausible refuses what cannot be a database by its size and type alone.
func plausible(path string) (empty bool, err error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return false, err
	case info.IsDir():
		return false, fmt.Errorf("%w: it is a directory", ErrForeign)
	case !info.Mode().IsRegular():
		return false, fmt.Errorf("%w: it is no file", ErrForeign)
	case info.Size() > 0 && info.Size() < 512: // the smallest page (sqlite.org/fileformat2.html)
		return false, fmt.Errorf("%w: it is too short for one", ErrForeign)
	}
	return info.Size() == 0, nil
}

// pendingLog says whether the file at path has a log that may hold what the file itself does not.
func pendingLog(path string) bool {
	info, err := os.Stat(path + "-wal")
	return err == nil && info.Size() > 0
}

// marks reads the schema number of a file, and refuses one that is not ours, newer than we are, or has a number that no
// version of us ever wrote.
func marks(ctx context.Context, source string) (version int, err error) {
	db, err := sql.Open("sqlite", source)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(damage(err), db.Close()) }()
	db.SetMaxOpenConns(1)
	var app, tables int
	if err := db.QueryRowContext(ctx, "PRAGMA application_id").Scan(&app); err != nil {
		return 0, err
	}
	if err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return 0, err
	}
	if err := db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&tables); err != nil {
		return 0, err
	}
	switch {
	case app == 0 && version == 0 && tables == 0: // another process has just created it
		return 0, nil
	case app != applicationID:
		return version, fmt.Errorf("%w (an SQLite file of another program)", ErrForeign)
	case version < 1:
		return version, fmt.Errorf("%w: its schema is %d", ErrCorrupt, version)
	}
	return version, newer(version)
}

func newer(version int) error {
	if version > schema() {
		return fmt.Errorf("%w: its schema is %d, this program knows up to %d", ErrNewer, version, schema())
	}
	return nil
}

// openReadOnly opens a store that may lie in a place where nothing can be written. The log needs an index beside it;
// where that cannot be made, the store is read as an unchanging file if nothing is pending in the log.
func (s *Store) openReadOnly(ctx context.Context) error {
	source, version, err := lookingSource(ctx, s.path, s.opts.wait)
	if err != nil {
		return err
	}
	if version < schema() {
		return fmt.Errorf("%w: its schema is %d, and bringing it to %d needs writing", ErrReadOnly, version, schema())
	}
	return s.pools(source)
}

// lookingSource names a connection that only looks, and reads the schema number through it.
func lookingSource(ctx context.Context, path string, wait time.Duration) (source string, version int, err error) {
	if _, err := plausible(path); err != nil {
		return "", 0, err
	}
	source = name(path, wait, "mode=ro", "_pragma=query_only(1)")
	version, err = marks(ctx, source)
	if classify(err) == ErrReadOnly {
		if pendingLog(path) {
			return "", 0, fmt.Errorf("%w: %s-wal holds what was written last, and reading it needs a directory that can be written; copy both files to one", ErrReadOnly, path)
		}
		source = name(path, wait, "mode=ro", "immutable=1")
		version, err = marks(ctx, source)
	}
	return source, version, err
}
