package db

import (
	"context"
	"database/sql"
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

// firstRows is a row for every table of schema 1, as schema 1 has it: it never changes.
var firstRows = []string{
	`INSERT INTO contents VALUES ('d1', x'6869')`,
	`INSERT INTO runs (id, root_id, goal, workspace, provider, model, contract, contract_digest, policy, policy_digest, inputs, key, version, status, outcome,
 stop_reason, said, drive, fence, seq, sealed, tokens, created_at, finished_at) VALUES
 (1, 1, 'ended', '/w', 'p', 'm', '{"max_steps":4}', 'c', '{}', 'p', '{}', 'k', '0.1.0', 'completed', 'success', 'why', 'done', 1, 1, 1, 1, 9, 1000, 2000),
 (2, 2, 'waits', '/w', 'p', 'm', '{}', 'c', '{}', 'p', '{}', NULL, '0.1.0', 'paused', 'awaiting_approval', NULL, NULL, 1, 1, 0, 0, 0, 1500, NULL),
 (3, 3, 'crashed', '/w', 'p', 'm', '{}', 'c', '{}', 'p', '{}', NULL, '0.1.0', 'running', NULL, NULL, NULL, 1, 1, 0, 0, 0, 1600, NULL)`,
	`INSERT INTO runs (id, parent_id, parent_step, parent_position, root_id, depth, agent, goal, workspace, provider, model, contract, contract_digest, policy,
 policy_digest, inputs, version, status, created_at) VALUES (4, 1, 1, 1, 1, 1, '0.1.1', 'child', '/w', 'p', 'm', '{}', 'c', '{}', 'p', '{}', '0.1.0', 'completed', 1100)`,
	`INSERT INTO drives VALUES (1, 1, 1000, 900, 'success', '{}', 'floor'), (3, 1, 1600, 5, NULL, '{}', 'floor')`,
	`INSERT INTO leases VALUES (3, 1, 'h', 'b', 'n', 7, 's', 1600)`,
	`INSERT INTO attempts (run_id, attempt, step, drive, provider, model, max_output, system, tools, keep, append, request_digest, estimate, hold, state, answer, input,
 output, cost_micros, first_ms, total_ms, started_at) VALUES (1, 1, 1, 1, 'p', 'm', 100, 'd1', 'd1', 0, '["d1"]', 'r', 5, 0, 'answered', 'd1', 5, 4, 12, 3, 8, 1000)`,
	`INSERT INTO calls (run_id, step, position, call_id, name, arguments, state, safety, act, target, effect, rule, result, exit_code, duration_ms) VALUES
 (1, 1, 1, 'c', 'exec', '{}', 'ended', 'once', 'exec', 'make', 'ask', 'r', 'out', 2, 6)`,
	`INSERT INTO steps VALUES (1, 1, 'exec make', 'exec:{}', 'said', 9, 1, 1, NULL, 1200)`,
	`INSERT INTO files VALUES (1, 1, 1, 'a.go', 'write', 'modified', 420, 'd1', 'd1', 1, 1)`,
	`INSERT INTO gates (run_id, ordinal, step, position, phase, target, state, output, whole, duration_ms) VALUES (1, 1, 1, 1, 'command:1', 'make', 'passed', 'ok', 'd1', 4)`,
	`INSERT INTO context_facts VALUES (1, 1, 1, 'told', 'x')`,
	`INSERT INTO verdicts VALUES (1, 1, 1, 1, 'exec', 'make', 'ask', 'r', 'l', '')`,
	`INSERT INTO requests (id, run_id, step, position, agent, act, target, payload, digest, state, asked_at) VALUES (1, 2, 1, 1, '0', 'exec', 'make', 'make all', 'd', 'open', 1700)`,
	`INSERT INTO controls (id, run_id, kind, body, requested_by, requested_at) VALUES (1, 3, 'cancel', '', '{}', 1800)`,
	`INSERT INTO effects VALUES ('k1', 3, 1, 1, 'open', NULL, NULL, NULL, NULL, 1650)`,
	`INSERT INTO sandbox_facts VALUES (1, 1, 1, 'exec', 'floor', 'x')`,
	`INSERT INTO spans VALUES (1, 1, NULL, 'run', 'ended', 0, NULL, 1, 1000, 0, 900, 'success')`,
	`INSERT INTO events (cursor, run_id, seq, tag, body) VALUES (7, 1, 1, 'stalled', '{}')`,
	`INSERT INTO summaries VALUES (1, 'success', 1, 1, 9, 900, 2000, '{"said":"done"}')`,
	`INSERT INTO audit VALUES (1, x'00', '', 'h', 1, 1, 'start', 1000)`,
}

// What a store of an earlier version holds is there, value for value, after a newer program has opened it. A column that
// a migration takes away is to be named here with the reason.
func TestMigrationLosesNothing(t *testing.T) {
	for from := 1; from <= schema(); from++ {
		path := filepath.Join(t.TempDir(), "runs.db")
		must(t, prepareFile(path))
		w, err := openWriter(t.Context(), path, busyTimeout)
		must(t, err)
		must(t, migrate(t.Context(), w, 1))
		for _, row := range firstRows {
			_, err := w.conn.ExecContext(t.Context(), row)
			must(t, err)
		}
		for table, n := range rowCounts(t, w) {
			if from == 1 && n == 0 && !strings.HasPrefix(table, "sqlite_") {
				t.Errorf("firstRows has none for %s", table)
			}
		}
		must(t, migrate(t.Context(), w, from))
		must(t, w.close())
		before := values(t, path)

		s, err := Open(t.Context(), path, Options{})
		must(t, err)
		must(t, s.Close())
		after := values(t, path)
		for column, was := range before {
			if got, ok := after[column]; !ok || got != was {
				t.Errorf("from schema %d to %d: %s is %q, was %q", from, schema(), column, got, was)
			}
		}
		t.Logf("from schema %d: %d columns are as they were", from, len(before))
	}
}

func rowCounts(t *testing.T, w *writer) map[string]int {
	t.Helper()
	c := &conn{ctx: t.Context(), w: w}
	tables, err := words(c, `SELECT name FROM sqlite_schema WHERE type = 'table'`)
	must(t, err)
	n := map[string]int{}
	for _, name := range tables {
		var count int
		must(t, w.conn.QueryRowContext(t.Context(), `SELECT count(*) FROM `+name).Scan(&count))
		n[name] = count
	}
	return n
}

// values is every column of every table with its values in the order of the table.
func values(t *testing.T, path string) map[string]string {
	t.Helper()
	db, err := sql.Open("sqlite", name(path, busyTimeout, "mode=ro"))
	must(t, err)
	defer db.Close()
	all := map[string]string{}
	rows, err := db.QueryContext(t.Context(), `SELECT t.name, c.name FROM sqlite_schema t, pragma_table_info(t.name) c WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%'`)
	must(t, err)
	columns, err := collect(rows, func(r *sql.Rows) ([2]string, error) {
		var c [2]string
		err := r.Scan(&c[0], &c[1])
		return c, err
	})
	must(t, err)
	for _, c := range columns {
		var text string
		must(t, db.QueryRowContext(t.Context(), `SELECT coalesce(group_concat(quote(v), ' '), '') FROM (SELECT "`+c[1]+`" AS v FROM `+c[0]+`)`).Scan(&text))
		all[c[0]+"."+c[1]] = text
	}
	return all
}
