package db

import (
	"net/url"
	"strconv"
	"strings"
	"time"
)

// dsn names a read-write connection. Every pragma is in it, so that every connection of a pool has them all.
func dsn(path string, wait time.Duration, extra ...string) string {
	return name(path, wait, append([]string{
		"_txlock=immediate",
		"_pragma=journal_mode(WAL)",
		"_pragma=synchronous(FULL)",
		"_pragma=foreign_keys(1)",
		"_pragma=journal_size_limit(67108864)", // the log is cut to 64 MiB when it starts over
	}, extra...)...)
}

// name is a connection to the file at path that waits for locks.
func name(path string, wait time.Duration, params ...string) string {
	file := (&url.URL{Path: path}).EscapedPath() // safe inside a file: URI (sqlite.org/uri.html)
	return "file:" + file + "?_pragma=busy_timeout(" + strconv.FormatInt(wait.Milliseconds(), 10) + ")&" + strings.Join(params, "&")
}
