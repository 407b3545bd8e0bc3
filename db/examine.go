package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Level is how a check came out.
type Level string

// Warn is for what works and should be looked at.
const (
	Fine Level = "ok"
	Warn Level = "warn"
	Fail Level = "fail"
)

// Finding is the result of one check.
type Finding struct {
	Check string `json:"check"`
	Level Level  `json:"level"`
	Says  string `json:"says"`
	Do    string `json:"do,omitempty"` // what to do, one sentence
}

// examineWait is how long an examination waits for another process's lock: longer than a commit takes.
const examineWait = 3 * time.Second

// The sizes at which an examination warns.
const (
	littleRoom = 500 << 20
	noRoom     = 20 << 20
	largeLog   = 128 << 20
)

// Examine looks at the store at path without changing anything in it, whatever is wrong with it: a store that is
// missing, locked, damaged, foreign, newer or older gives a finding. It blocks no writer. While it checks the pages of a
// large store, the log is not emptied.
func Examine(ctx context.Context, path string) []Finding {
	x := &examination{ctx: ctx, path: path}
	if abs, err := filepath.Abs(path); err == nil {
		x.path = abs
	}
	if !x.place() {
		return x.found
	}
	version, ok := x.schema()
	if !ok {
		return x.found
	}
	source := x.connection()
	if source == "" {
		return x.found
	}
	x.settings(source)
	if x.pages(source) && version == schema() {
		x.facts(source)
	}
	return x.found
}

type examination struct {
	ctx      context.Context
	path     string
	writable bool
	found    []Finding
}

func (x *examination) add(level Level, check, do, format string, args ...any) {
	x.found = append(x.found, Finding{Check: check, Level: level, Says: fmt.Sprintf(format, args...), Do: do})
}

// fail adds what went wrong, with its cure.
func (x *examination) fail(check string, err error) {
	e, ok := wrap("examine", x.path, err).(*Error)
	if !ok {
		x.add(Fail, check, "", "%v", err)
		return
	}
	x.add(Fail, check, e.Do, "%v", e.Err)
}

// place looks at directory, file and disk. ok says that there is a file to look into.
func (x *examination) place() (ok bool) {
	dir := filepath.Dir(x.path)
	info, err := os.Stat(x.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		x.missing(dir)
		return false
	case err != nil:
		x.fail("store", err)
		return false
	}
	x.add(Fine, "store", "", "%s, %d KiB", x.path, (info.Size()+1023)/1024)
	x.private("directory", dir, 0o700)
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if suffix == "" || exists(x.path+suffix) {
			x.private("file"+suffix, x.path+suffix, 0o600)
		}
	}
	x.writable = true
	for _, p := range []string{dir, x.path} {
		if err := unix.Access(p, unix.W_OK); err != nil {
			x.writable = false
			x.add(Fail, "writing", cures[ErrReadOnly], "%s cannot be written: %v", p, err)
			break
		}
	}
	x.disk(dir)
	return true
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// missing looks at where a store would be made.
func (x *examination) missing(dir string) {
	x.add(Warn, "store", "start a run, or name another with --db", "there is none at %s yet", x.path)
	for !exists(dir) && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
	}
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		x.add(Fail, "directory", "name another place with --db", "%s is no directory", dir)
	} else if err := unix.Access(dir, unix.W_OK); err != nil {
		x.add(Fail, "directory", cures[ErrReadOnly], "nothing can be made in %s: %v", dir, err)
	} else {
		x.add(Fine, "directory", "", "it can be made in %s", dir)
	}
	x.disk(dir)
}

// private looks at whose a file is and who may read it.
func (x *examination) private(check, path string, want fs.FileMode) {
	info, err := os.Stat(path)
	if err != nil {
		x.fail(check, err)
		return
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Geteuid() {
		x.add(Warn, check, "run tillerman as that user, or give the file to this one", "%s belongs to user %d, this is user %d", path, st.Uid, os.Geteuid())
		return
	}
	if mode := info.Mode().Perm(); mode&^want != 0 {
		x.add(Warn, check, fmt.Sprintf("chmod %o %s", want, path), "others can reach it: mode %o, should be %o", mode, want)
		return
	}
	x.add(Fine, check, "", "mode %o, yours", info.Mode().Perm())
}

// disk looks at the room and at the kind of the file system.
func (x *examination) disk(dir string) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		x.add(Warn, "disk", "", "its free space cannot be read: %v", err)
	} else {
		free := uint64(st.Bavail) * uint64(st.Bsize)
		says := fmt.Sprintf("%d MiB free", free>>20)
		switch {
		case free < noRoom:
			x.add(Fail, "disk", "free some space: runs stop when there is none", "%s", says)
		case free < littleRoom:
			x.add(Warn, "disk", "free some space before it runs out", "%s", says)
		default:
			x.add(Fine, "disk", "", "%s", says)
		}
	}
	if err := refuseNetworkDisk(dir); err != nil {
		x.fail("file system", err)
		return
	}
	x.add(Fine, "file system", "", "local")
}

// schema looks at whose file it is and of which version. ok says that it can be read on.
func (x *examination) schema() (version int, ok bool) {
	if err := guard(x.ctx, x.path, examineWait); err != nil {
		x.fail("schema", err)
		return 0, false
	}
	_, version, err := lookingSource(x.ctx, x.path, examineWait)
	switch {
	case err != nil:
		x.fail("schema", err)
		return 0, false
	case version == schema():
		x.add(Fine, "schema", "", "%d, the newest", version)
	default:
		x.add(Warn, "schema", "any command that writes brings it forward; keep a copy if you may go back", "%d, this program's is %d", version, schema())
	}
	return version, true
}

// connection names the connection that the rest looks through, and says whether the store can be written. Where it can,
// the connection can too, though nothing is written: only so the last to leave tidies up the log.
func (x *examination) connection() string {
	if !x.writable {
		source, _, err := lookingSource(x.ctx, x.path, examineWait)
		if err != nil {
			x.fail("reading", err)
			return ""
		}
		return source
	}
	source := name(x.path, examineWait, "mode=rw", "_pragma=foreign_keys(1)")
	var before, after int64
	err := x.with(source, func(conn *sql.Conn) error {
		version := func(into *int64) error { return conn.QueryRowContext(x.ctx, "PRAGMA data_version").Scan(into) }
		if err := version(&before); err != nil {
			return err
		}
		_, err := conn.ExecContext(x.ctx, "BEGIN IMMEDIATE")
		if err != nil {
			return errors.Join(err, version(&after))
		}
		_, err = conn.ExecContext(x.ctx, "ROLLBACK")
		return err
	})
	switch {
	case err == nil:
		x.add(Fine, "writing", "", "possible")
	case classify(err) == ErrLocked && after != before: // it is held by turns, and not for good
		x.add(Warn, "writing", "see who with lsof or fuser, if runs are slow", "others write without a pause")
	default:
		x.fail("writing", err)
	}
	return source + "&_pragma=query_only(1)"
}

// with runs fn on a connection of its own.
func (x *examination) with(source string, fn func(*sql.Conn) error) (err error) {
	db, err := sql.Open("sqlite", source)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	conn, err := db.Conn(x.ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	return fn(conn)
}

// settings reads what connections work with back from several of them.
func (x *examination) settings(source string) {
	var journal string
	err := x.with(source, func(conn *sql.Conn) error {
		return conn.QueryRowContext(x.ctx, "PRAGMA journal_mode").Scan(&journal)
	})
	switch {
	case err != nil:
		x.fail("settings", err)
		return
	case strings.Contains(source, "immutable=1"):
		x.add(Fine, "settings", "", "read as a file that does not change")
		return
	case journal != "wal":
		x.add(Warn, "settings", "any command that writes sets it right", "the journal is %q, should be \"wal\"", journal)
		return
	case !x.writable:
		x.add(Fine, "settings", "", "journal wal, opened for reading")
		return
	}
	want := []string{"wal", "2", "1", fmt.Sprint(busyTimeout.Milliseconds()), "67108864"}
	names := []string{"journal_mode", "synchronous", "foreign_keys", "busy_timeout", "journal_size_limit"}
	db, err := sql.Open("sqlite", dsn(x.path, busyTimeout, "_pragma=query_only(1)"))
	if err != nil {
		x.fail("settings", err)
		return
	}
	defer db.Close()
	for i := range readers { // all are held, so that each is another connection
		conn, err := db.Conn(x.ctx)
		if err != nil {
			x.fail("settings", err)
			return
		}
		defer conn.Close()
		for j, pragma := range names {
			var got string
			if err := conn.QueryRowContext(x.ctx, "PRAGMA "+pragma).Scan(&got); err != nil {
				x.fail("settings", err)
				return
			}
			if got != want[j] {
				x.add(Fail, "settings", "report this as a fault of tillerman", "on connection %d %s is %s, should be %s", i+1, pragma, got, want[j])
				return
			}
		}
	}
	x.add(Fine, "settings", "", "journal wal, synchronous full, foreign keys on, the same on %d connections", readers)
}

// pages checks the file's structure. sound says that its tables can be read.
func (x *examination) pages(source string) (sound bool) {
	var faults []string
	var dangling int
	err := x.with(source, func(conn *sql.Conn) error {
		rows, err := conn.QueryContext(x.ctx, "PRAGMA integrity_check(20)")
		if err != nil {
			return err
		}
		faults, err = collect(rows, func(r *sql.Rows) (string, error) {
			var s string
			err := r.Scan(&s)
			return s, err
		})
		if err != nil || len(faults) != 1 || faults[0] != "ok" {
			return err
		}
		faults = nil
		return conn.QueryRowContext(x.ctx, "SELECT count(*) FROM pragma_foreign_key_check").Scan(&dangling)
	})
	switch {
	case err != nil:
		x.fail("integrity", err)
	case len(faults) > 0:
		first, _, _ := strings.Cut(strings.TrimSpace(strings.TrimPrefix(faults[0], "*** in database main ***")), "\n")
		more := ""
		if len(faults) > 1 {
			more = fmt.Sprintf(" (and %d more faults)", len(faults)-1)
		}
		x.add(Fail, "integrity", cures[ErrCorrupt], "damaged: %s%s", first, more)
	default:
		x.add(Fine, "integrity", "", "every page and index is sound")
		if dangling > 0 {
			x.add(Fail, "references", "keep a copy of the file and report this as a fault of tillerman", "%d rows refer to rows that are not there", dangling)
		} else {
			x.add(Fine, "references", "", "every row refers to one that is there")
		}
	}
	x.log()
	return err == nil && len(faults) == 0
}

func (x *examination) log() {
	info, err := os.Stat(x.path + "-wal")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		x.add(Fine, "log", "", "none: nobody has the store open")
	case err != nil:
		x.fail("log", err)
	case info.Size() > largeLog:
		x.add(Warn, "log", "a process that reads for very long keeps it from being emptied; see who with lsof or fuser", "%d MiB", info.Size()>>20)
	default:
		x.add(Fine, "log", "", "%d KiB", info.Size()>>10)
	}
}
