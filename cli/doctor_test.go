package cli_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tillerman/db"
)

type finding struct{ Check, Level, Says, Do string }

// doctor is doctor --json.
func (s *shell) doctor(args ...string) (code int, found map[string]finding) {
	s.t.Helper()
	code, out, errOut := s.run(append([]string{"doctor", "--json"}, args...)...)
	var all []finding
	decode(s.t, out, &all)
	if errOut != "" {
		s.t.Errorf("doctor says on the side: %s", errOut)
	}
	found = map[string]finding{}
	for _, f := range all {
		if f.Says == "" || strings.ContainsAny(f.Says+f.Do, "\n\x1b") || !slices.Contains([]string{"ok", "warn", "fail"}, f.Level) {
			s.t.Errorf("finding %+v", f)
		}
		if _, twice := found[f.Check]; twice {
			s.t.Errorf("two findings of %s", f.Check)
		}
		if f.Level != "ok" && f.Do == "" && f.Check != "store" {
			s.t.Errorf("%s does not say what to do: %+v", f.Check, f)
		}
		found[f.Check] = f
	}
	return code, found
}

func TestDoctorOfASoundStore(t *testing.T) {
	s := newShell(t)
	code, found := s.doctor()
	if code != 0 || found["store"].Level != "warn" || !strings.Contains(found["store"].Says, "none at ") {
		t.Errorf("without a store: exit %d, %+v", code, found["store"])
	}
	if _, err := os.Stat(s.path("state")); !os.IsNotExist(err) {
		t.Error("doctor made a store")
	}
	s.env["OPENAI_API_KEY"] = "sk-canary-canary-canary"
	s.ok("demo", "--plain")
	before := sumsOf(t, s.path("state", "tillerman"))
	code, found = s.doctor()
	if code != 0 {
		t.Errorf("exit %d", code)
	}
	for _, check := range strings.Fields("configuration policy keys sandbox terminal store directory file disk schema writing settings integrity references log interrupted leases paused questions effects clock") {
		if f := found[check]; f.Level != "ok" {
			t.Errorf("%s: %+v", check, f)
		}
	}
	if f := found["keys"]; f.Says != "set: OPENAI_API_KEY" {
		t.Errorf("keys: %+v", f)
	}
	if after := sumsOf(t, s.path("state", "tillerman")); after != before {
		t.Errorf("the store has changed: %s, was %s", after, before)
	}
	for _, line := range strings.Split(strings.TrimSpace(s.ok("doctor")), "\n") {
		if !strings.HasPrefix(line, "ok    ") || strings.Contains(line, "canary") {
			t.Errorf("line %q", line)
		}
	}
	if code, _, errOut := s.run("doctor", "now"); code != 2 || !strings.Contains(errOut, "no argument") {
		t.Errorf("doctor now: exit %d, %s", code, errOut)
	}
}

func sumsOf(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		body, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString(e.Name() + " " + db.Digest(body) + "\n")
	}
	return b.String()
}

func TestDoctorSaysWhatToDo(t *testing.T) {
	s := newShell(t)
	s.file("config/tillerman/config.toml", "colour = 1\n")
	code, found := s.doctor()
	if f := found["configuration"]; code != 1 || f.Level != "fail" || !strings.Contains(f.Says, "config.toml:1") {
		t.Errorf("a bad configuration: exit %d, %+v", code, f)
	}
	s.file("config/tillerman/config.toml", "[audit]\nkey_file = \""+s.path("none")+"\"\n")
	if code, found = s.doctor(); code != 1 || found["audit key"].Level != "fail" {
		t.Errorf("a missing key file: exit %d, %+v", code, found["audit key"])
	}
	s.file("audit.key", strings.Repeat("k", 32))
	s.file("config/tillerman/config.toml", "[audit]\nkey_file = \""+s.path("audit.key")+"\"\n")
	if err := os.Chmod(s.path("audit.key"), 0o640); err != nil {
		t.Fatal(err)
	}
	if _, found = s.doctor(); found["audit key"].Level != "warn" || !strings.Contains(found["audit key"].Do, "chmod 600") {
		t.Errorf("a key file that others can read: %+v", found["audit key"])
	}
	s.file("audit.key", "short")
	if _, found = s.doctor(); found["audit key"].Level != "fail" {
		t.Errorf("a key that no run takes: %+v", found["audit key"])
	}
	for settings, want := range map[string]struct{ level, says string }{
		"anchor = \"" + s.path("anchors") + "\"\nanchor_command = [\"sh\", \"-c\", \"cat\"]": {"ok", "anchors; sh -c cat"},
		"anchor = \"" + s.path("none", "anchors") + "\"":                                     {"warn", "no such file"},
		"anchor_command = [\"no-such-program\"]":                                             {"warn", "no-such-program"},
	} {
		s.file("config/tillerman/config.toml", "[audit]\n"+settings+"\n")
		if _, found = s.doctor(); string(found["audit anchors"].Level) != want.level || !strings.Contains(found["audit anchors"].Says, want.says) {
			t.Errorf("%s: %+v", settings, found["audit anchors"])
		}
	}
	if _, err := os.Stat(s.path("anchors")); err == nil {
		t.Error("doctor made a file of anchors")
	}
	s.file("config/tillerman/config.toml", "")

	path := s.path("store", "runs.db")
	ctx := context.Background()
	ahead := time.Now().Add(48 * time.Hour)
	store, err := db.Open(ctx, path, db.Options{Now: func() time.Time { return ahead }})
	if err != nil {
		t.Fatal(err)
	}
	nothing := func(*db.Tx) error { return nil }
	interrupted := startRun(t, store, nothing)
	if err := store.LetGo(ctx, interrupted, "interrupted"); err != nil {
		t.Fatal(err)
	}
	end := func(lease db.Lease, outcome string, fn func(*db.Tx) error) {
		t.Helper()
		if _, err := store.Commit(ctx, lease, func(tx *db.Tx) error {
			if err := fn(tx); err != nil {
				return err
			}
			_, err := tx.Finish(db.Ending{Outcome: outcome, Status: db.Paused})
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	waits := startRun(t, store, nothing)
	end(waits, "awaiting_approval", func(tx *db.Tx) error {
		_, err := tx.Ask(db.Request{Step: 1, Act: "exec", Target: "make", Digest: "d"})
		return err
	})
	doubt := startRun(t, store, nothing)
	end(doubt, "needs_operator", func(tx *db.Tx) error { return tx.OpenEffect("k", 1, 1) })
	busy := startRun(t, store, func(tx *db.Tx) error { return tx.OpenEffect("k2", 1, 1) })
	away := startRun(t, store, nothing)
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	execSQL(t, path, "UPDATE leases SET host = 'elsewhere' WHERE run_id = 5")
	for _, f := range []string{filepath.Dir(path), path} {
		if err := os.Chmod(f, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	_, _ = busy, away
	code, found = s.doctor("--db", path)
	if code != 0 { // nothing has failed: all this is work for somebody
		t.Errorf("exit %d: %+v", code, found)
	}
	for check, want := range map[string][2]string{
		"directory":   {"mode 755", "chmod 700 " + filepath.Dir(path)},
		"file":        {"mode 755", "chmod 600 " + path},
		"interrupted": {"nobody drives run 1", "tillerman resume 1"},
		"leases":      {"the driver of run 5 cannot be seen", "resume 5 --take-over"},
		"paused":      {"runs 3, 2", "tillerman show 3"},
		"questions":   {"1 open, of run 2", "tillerman inbox"},
		"effects":     {"a call of run 3 happened", "tillerman resolve 3"},
		"clock":       {"in the future", "set the clock"},
	} {
		if f := found[check]; f.Level != "warn" || !strings.Contains(f.Says, want[0]) || !strings.Contains(f.Do, want[1]) {
			t.Errorf("%s: %+v, want %q", check, f, want)
		}
	}
}
