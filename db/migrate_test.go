package db

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

func TestMigrationsAreNumbered(t *testing.T) {
	for i, name := range migrationFiles() {
		if !strings.HasPrefix(name, fmt.Sprintf("migrations/%04d_", i+1)) {
			t.Errorf("migration %d is %s", i+1, name)
		}
	}
}

// From every schema that was ever released, the newest one is the same as a new store's, and what was in it is there.
func TestMigrateFromEverySchema(t *testing.T) {
	want := schemaText(t, opened(t, Options{}))
	for from := range schema() + 1 {
		path := filepath.Join(t.TempDir(), "runs.db")
		must(t, prepareFile(path))
		w, err := openWriter(t.Context(), path, busyTimeout)
		must(t, err)
		must(t, migrate(t.Context(), w, from))
		if from > 0 {
			_, err := w.conn.ExecContext(t.Context(), `INSERT INTO runs (root_id, goal, workspace, provider, model, contract, contract_digest, policy, policy_digest,
 inputs, version, status, created_at) VALUES (1, 'g', '/w', 'p', 'm', '{}', 'c', '{}', 'p', '{}', '0', 'running', 1)`)
			must(t, err)
		}
		must(t, w.close())

		for range 2 { // and reopened
			s, err := Open(t.Context(), path, Options{})
			must(t, err)
			if got := schemaText(t, s); got != want {
				t.Errorf("from schema %d: the schema is not a new store's:\n%s", from, got)
			}
			if v := number(t, s, "PRAGMA user_version"); v != int64(schema()) {
				t.Errorf("from schema %d: user_version %d", from, v)
			}
			if a := number(t, s, "PRAGMA application_id"); a != applicationID {
				t.Errorf("from schema %d: application_id %x", from, a)
			}
			if n := number(t, s, "SELECT count(*) FROM pragma_foreign_key_check"); n != 0 {
				t.Errorf("from schema %d: %d rows refer to nothing", from, n)
			}
			if n := number(t, s, "SELECT count(*) FROM runs"); n != int64(min(from, 1)) {
				t.Errorf("from schema %d: %d runs", from, n)
			}
			must(t, s.Close())
		}
	}
}

func schemaText(t *testing.T, s *Store) string {
	t.Helper()
	all, err := words(s.reader(t.Context()), `SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY type, name`)
	must(t, err)
	return strings.Join(all, "\n")
}

func TestEveryTableIsStrict(t *testing.T) {
	s := opened(t, Options{})
	loose, err := words(s.reader(t.Context()), `SELECT name FROM pragma_table_list WHERE schema='main' AND type='table' AND NOT strict AND name NOT LIKE 'sqlite_%'`)
	must(t, err)
	if len(loose) > 0 {
		t.Errorf("not strict: %v", loose)
	}
}

func TestForeignKeysHold(t *testing.T) {
	s := opened(t, Options{})
	err := s.writer.do(context.Background(), func(c *conn) error {
		_, err := c.exec(`INSERT INTO steps (run_id, step, decision, tool_call, said, tokens, measured, changed, sealed_at) VALUES (99,1,'','','',0,0,0,0)`)
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "FOREIGN KEY") {
		t.Errorf("a step of no run was stored: %v", err)
	}
}

// A program that comes between the check and the migration must not be undone.
func TestNewerBetweenCheckAndMigration(t *testing.T) {
	s := opened(t, Options{})
	raw(t, s, "PRAGMA user_version=99")
	if err := migrate(t.Context(), s.writer, schema()); err == nil || classify(err) != ErrNewer {
		t.Errorf("migrate: %v", err)
	}
}
