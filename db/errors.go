package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// The ways a store can fail that somebody decides on. Errors of this package wrap one of them where it applies.
var (
	ErrForeign   = errors.New("not a tillerman store")
	ErrNewer     = errors.New("written by a newer tillerman")
	ErrLocked    = errors.New("locked by another process")
	ErrReadOnly  = errors.New("cannot be written")
	ErrNoAccess  = errors.New("cannot be read")
	ErrFull      = errors.New("disk full")
	ErrCorrupt   = errors.New("damaged")
	ErrNetwork   = errors.New("on a network file system")
	ErrNotFound  = errors.New("not found")
	ErrAuditKey  = errors.New("the audit trail needs its key")
	ErrLeaseLost = errors.New("this process no longer drives the run")
)

// Error is a store failure with what a person can do about it.
type Error struct {
	Op   string // what was tried
	Path string
	Do   string // what to do, one sentence
	Err  error
}

func (e *Error) Error() string {
	s := fmt.Sprintf("store %s: %v", e.Path, e.Err)
	if e.Do != "" {
		s += "; " + e.Do
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

// What access is asked: POSIX's R_OK and X_OK.
const (
	readable   = 4
	searchable = 1
)

// wrap adds the file and the cure. nil, errors that are already wrapped, what is not found and the end of a context
// pass through: they are no failures of the store.
func wrap(op, path string, err error) error {
	var already *Error
	if err == nil || errors.As(err, &already) || errors.Is(err, ErrNotFound) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	kind := classify(err)
	if kind == ErrReadOnly && syscall.Access(filepath.Dir(path), searchable) == nil && errors.Is(syscall.Access(path, readable), syscall.EACCES) {
		kind = ErrNoAccess // SQLite does not tell the two apart
	}
	e := &Error{Op: op, Path: path, Err: err}
	switch kind {
	case nil:
	default:
		if !errors.Is(err, kind) {
			e.Err = fmt.Errorf("%w (%v)", kind, err)
		}
		e.Do = cures[kind]
	}
	return e
}

var cures = map[error]string{
	ErrForeign:  "name another file with --db",
	ErrNewer:    "use that version, or another file with --db",
	ErrLocked:   "another process holds it; see who with lsof or fuser, end it or wait, then try again",
	ErrReadOnly: "make the file and its directory writable for this user, or name another place with --db",
	ErrNoAccess: "make the file readable for this user, or name another file with --db",
	ErrFull:     "free some space, then resume the run",
	ErrCorrupt:  "keep a copy, then try the sqlite3 command .recover",
	ErrAuditKey: "name the file of its key as audit.key_file in the settings",
	ErrNetwork:  "SQLite's locks do not hold there; name a file on a local disk with --db",
}

// classify finds which of this package's errors err is, or nil.
func classify(err error) error {
	for kind := range cures {
		if errors.Is(err, kind) {
			return kind
		}
	}
	var se *sqlite.Error
	if errors.As(err, &se) {
		switch se.Code() & 0xff { // the low byte is the primary code (sqlite.org/rescode.html)
		case lib.SQLITE_NOTADB:
			return ErrForeign
		case lib.SQLITE_BUSY, lib.SQLITE_LOCKED:
			return ErrLocked
		case lib.SQLITE_READONLY, lib.SQLITE_PERM, lib.SQLITE_CANTOPEN:
			return ErrReadOnly
		case lib.SQLITE_FULL:
			return ErrFull
		case lib.SQLITE_CORRUPT:
			return ErrCorrupt
		}
		return nil
	}
	switch {
	case err == nil:
		return nil
	case strings.Contains(err.Error(), "sql: Scan error on column"): // there is no type for it; all tables are STRICT, so a value of another kind is none that was written
		return ErrCorrupt
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS), errors.Is(err, syscall.ENOTDIR):
		return ErrReadOnly
	case errors.Is(err, syscall.ENOSPC):
		return ErrFull
	}
	return nil
}

// damage says of a statement that holds for every sound store that the file is damaged where SQLite calls the
// statement wrong.
func damage(err error) error {
	var se *sqlite.Error
	if errors.As(err, &se) && se.Code()&0xff == lib.SQLITE_ERROR {
		return fmt.Errorf("%w (%v)", ErrCorrupt, err)
	}
	return err
}

// noRows turns an empty answer into ErrNotFound, saying what was looked for.
func noRows(err error, what string, args ...any) error {
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf(what+": %w", append(args, ErrNotFound)...)
	}
	return err
}

// ofStore says whether err comes from the file or from SQLite and not from whoever uses them.
func ofStore(err error) bool {
	var se *sqlite.Error
	return errors.As(err, &se) || classify(err) != nil
}
