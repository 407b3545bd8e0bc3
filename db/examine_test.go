package db

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// level is what an examination found of a check.
func level(found []Finding, check string) Level {
	for _, f := range found {
		if f.Check == check {
			return f.Level
		}
	}
	return ""
}

// An examination changes nothing and holds nobody up: a writer commits in the middle of it, and it sees a live store.
func TestExamineBesideAWriter(t *testing.T) {
	s := opened(t, Options{})
	lease := begun(t, s)
	stop, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			select {
			case <-stop:
				ended <- nil
				return
			default:
			}
			if err := tell(s, lease, t, 100); err != nil {
				ended <- err
				return
			}
		}
	}()
	for range 5 {
		for _, f := range Examine(t.Context(), s.path) {
			if f.Level == Fail {
				t.Errorf("%+v", f)
			}
		}
	}
	close(stop)
	must(t, <-ended)
}

func TestExamineOtherSchemas(t *testing.T) {
	older := filepath.Join(t.TempDir(), "runs.db")
	must(t, prepareFile(older))
	w, err := openWriter(t.Context(), older, busyTimeout)
	must(t, err)
	must(t, migrate(t.Context(), w, schema()-1))
	must(t, w.close())
	before := snapshot(t, filepath.Dir(older))
	found := Examine(t.Context(), older)
	if level(found, "schema") != Warn || level(found, "integrity") != Fine || level(found, "interrupted") != "" {
		t.Errorf("an older store: %+v", found)
	}
	if after := snapshot(t, filepath.Dir(older)); len(after) != len(before) || after["runs.db"] != before["runs.db"] {
		t.Error("an older store was changed")
	}

	s := opened(t, Options{})
	raw(t, s, "PRAGMA user_version=99")
	found = Examine(t.Context(), s.path)
	if last := found[len(found)-1]; last.Check != "schema" || last.Level != Fail || !strings.Contains(last.Do, "that version") {
		t.Errorf("a newer store: %+v", last)
	}
}

func TestExamineFindsWhatIsWrong(t *testing.T) {
	s, err := Open(t.Context(), t.TempDir()+"/runs.db", Options{})
	must(t, err)
	begun(t, s)
	must(t, s.Close())
	for name, c := range map[string]struct {
		spoil func(path string)
		check string
		level Level
		says  string
	}{
		"a row that refers to nothing": {func(path string) {
			foreign(t, path, "PRAGMA foreign_keys=0", "INSERT INTO drives (run_id, drive, started_at, actor) VALUES (77, 1, 1, '{}')")
		}, "references", Fail, "1 rows refer"},
		"an index that lacks a row": {func(path string) {
			foreign(t, path, "PRAGMA writable_schema=1", "UPDATE sqlite_schema SET sql = 'CREATE INDEX runs_model ON runs (model) WHERE id > 5' WHERE name = 'runs_model'",
				"PRAGMA writable_schema=0", "PRAGMA user_version="+"1")
			foreign(t, path, "UPDATE runs SET model = 'n'", "PRAGMA writable_schema=1", "UPDATE sqlite_schema SET sql = 'CREATE INDEX runs_model ON runs (model)' WHERE name = 'runs_model'")
		}, "integrity", Fail, "damaged"},
		"another journal": {func(path string) { foreign(t, path, "PRAGMA journal_mode=DELETE") }, "settings", Warn, "delete"},
		"no directory":    {func(path string) { must(t, os.Remove(path)); must(t, os.Mkdir(path, 0o700)) }, "schema", Fail, "directory"},
	} {
		path := filepath.Join(t.TempDir(), "runs.db")
		must(t, copyFile(path, s.path))
		c.spoil(path)
		found := Examine(t.Context(), path)
		ok := false
		for _, f := range found {
			ok = ok || f.Check == c.check && f.Level == c.level && strings.Contains(f.Says, c.says)
		}
		if !ok {
			t.Errorf("%s: %+v", name, found)
		}
	}
}
