package cli_test

import (
	"context"
	"database/sql"
	"testing"

	"tillerman/db"
)

// makeForeign turns a file into another program's database.
func makeForeign(t *testing.T, path string) {
	t.Helper()
	execSQL(t, path, "CREATE TABLE theirs (x); PRAGMA application_id = 7; PRAGMA user_version = 3")
}

// makeNewer makes a store of a later version.
func makeNewer(t *testing.T, path string) {
	t.Helper()
	s, err := db.Open(context.Background(), path, db.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	execSQL(t, path, "PRAGMA user_version = 99")
}

func execSQL(t *testing.T, path, query string) {
	t.Helper()
	conn, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(query); err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
}

// lockWhole takes a store for one connection alone, readers included, until what it returns is called.
func lockWhole(t *testing.T, path string) func() {
	t.Helper()
	conn, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	conn.SetMaxOpenConns(1)
	if _, err := conn.Exec("PRAGMA locking_mode=EXCLUSIVE; BEGIN EXCLUSIVE; UPDATE runs SET seq = seq; COMMIT"); err != nil {
		t.Fatal(err)
	}
	return func() { _ = conn.Close() }
}
