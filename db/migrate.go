package db

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
)

//go:embed migrations/*.sql
var migrations embed.FS

// applicationID marks our files in SQLite's header: "tlrm".
const applicationID = 0x746c726d

// schema is the newest schema this program knows: the number of migrations.
func schema() int {
	return len(migrationFiles())
}

// migrationFiles lists the migrations in order; the first brings an empty file to schema 1.
func migrationFiles() []string {
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return nil // only for a bad pattern
	}
	return names
}

// migrate brings the schema to the given number, one transaction a migration. Of several processes that start at once
// one applies each, the others wait and find it done. A schema that is up to date is only looked at: whoever opens a store
// to read it does not wait for another process's write.
func migrate(ctx context.Context, w *writer, to int) error {
	var version int
	if err := w.conn.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return err
	}
	if version >= to {
		return newer(version)
	}
	for done := false; !done; {
		err := w.do(ctx, func(c *conn) error {
			if err := c.row("PRAGMA user_version").Scan(&version); err != nil {
				return err
			}
			if done = version >= to; done {
				return newer(version) // a newer program may have come between
			}
			text, err := migrations.ReadFile(migrationFiles()[version])
			if err != nil {
				return err
			}
			if _, err := c.w.conn.ExecContext(c.ctx, string(text)); err != nil {
				return damage(fmt.Errorf("migration %d: %w", version+1, err))
			}
			_, err = c.w.conn.ExecContext(c.ctx, fmt.Sprintf("PRAGMA application_id=%d; PRAGMA user_version=%d", applicationID, version+1))
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
