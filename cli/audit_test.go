package cli_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"tillerman/db"
	"tillerman/db/audit"
)

// audited is a shell whose audit trail is keyed and anchored, with one finished run.
func audited(t *testing.T) *shell {
	t.Helper()
	s := newShell(t)
	s.file("secret/audit.key", strings.Repeat("k", 32))
	s.file("config/tillerman/config.toml", fmt.Sprintf("[audit]\nkey_file = %q\nanchor = %q\n", s.path("secret/audit.key"), s.path("anchors.jsonl")))
	s.ok("demo", "--json")
	return s
}

// bare is a shell with a run and neither key nor anchors.
func bare(t *testing.T) *shell {
	t.Helper()
	s := newShell(t)
	s.ok("demo", "--json")
	return s
}

func (s *shell) runsDB() string { return s.path("state", "tillerman", "runs.db") }

// harm changes the store's rows as somebody who can write the file does.
func (s *shell) harm(query string) {
	s.t.Helper()
	execSQL(s.t, s.runsDB(), "DROP TRIGGER audit_no_update; DROP TRIGGER audit_no_delete; DROP TRIGGER audit_next;"+query)
}

// rewritten makes every hash again, without a key: what somebody who knows the format does after a change.
func (s *shell) rewritten() {
	s.t.Helper()
	store, err := db.Open(context.Background(), s.runsDB(), db.Options{})
	if err != nil {
		s.t.Fatal(err)
	}
	var q strings.Builder
	prev := ""
	for l, err := range store.AuditRows(context.Background(), 0, 0) {
		if err != nil {
			s.t.Fatal(err)
		}
		hash := audit.Seal(nil, prev, l.Body)
		fmt.Fprintf(&q, "UPDATE audit SET prev = '%s', hash = '%s' WHERE seq = %d;", prev, hash, l.Seq)
		prev = hash
	}
	if err := store.Close(); err != nil {
		s.t.Fatal(err)
	}
	s.harm(q.String())
}

func TestAuditVerifyExitCodes(t *testing.T) {
	if testing.Short() {
		t.Skip("one command over and over")
	}
	const change = "UPDATE audit SET body = (SELECT body FROM audit WHERE seq = 2) WHERE seq = 3"
	for name, c := range map[string]struct {
		start func(*testing.T) *shell
		do    func(*shell)
		args  []string
		want  int
		says  string
	}{
		"intact":                          {audited, nil, nil, 0, "intact"},
		"intact, nothing set up":          {bare, nil, nil, 0, "without a key: whoever can write the store"},
		"a row is another":                {bare, func(s *shell) { s.harm(change) }, nil, 1, "row 3: its content is that of row 2"},
		"a row is gone":                   {audited, func(s *shell) { s.harm("DELETE FROM audit WHERE seq = 5") }, nil, 1, "row 5: it is missing"},
		"all hashes made again":           {audited, (*shell).rewritten, nil, 1, "at least one was replaced"},
		"the same without anchors":        {bare, (*shell).rewritten, nil, 0, "intact"},
		"the end is cut":                  {audited, func(s *shell) { s.harm("DELETE FROM audit WHERE seq > 9") }, nil, 3, "was made over 17"},
		"all rows are gone":               {audited, func(s *shell) { s.harm("DELETE FROM audit") }, nil, 3, "the log has 0 rows"},
		"the newest run's end":            {bare, func(s *shell) { s.harm("DELETE FROM audit WHERE seq = 17") }, nil, 1, "run 1 has ended, and no row says so"},
		"the newest run's rows":           {bare, func(s *shell) { s.harm("DELETE FROM audit") }, nil, 1, "no row says how it began"},
		"the columns of a row":            {bare, func(s *shell) { s.harm("UPDATE audit SET run_id = 7 WHERE seq = 4") }, nil, 1, "row 4: the columns"},
		"no table":                        {bare, func(s *shell) { s.harm("DROP TABLE audit") }, nil, 2, "cannot verify"},
		"no store":                        {newShell, nil, nil, 2, "cannot verify"},
		"no key":                          {audited, func(s *shell) { remove(s, "secret/audit.key") }, nil, 2, "key file"},
		"the key is not named":            {audited, func(s *shell) { s.file("config/tillerman/config.toml", "") }, nil, 2, "which was not given"},
		"another key":                     {audited, nil, []string{"--key-file", "OTHER"}, 2, "which was not given"},
		"a key that was never used":       {bare, nil, []string{"--key-file", "OTHER"}, 2, "never used here"},
		"both keys":                       {audited, nil, []string{"--key-file", "OTHER", "--key-file", "KEY"}, 0, "keyed from row 1"},
		"an empty key":                    {bare, nil, []string{"--key-file", "EMPTY"}, 2, "holds 0 bytes"},
		"no anchors":                      {audited, func(s *shell) { remove(s, "anchors.jsonl") }, nil, 2, "anchors"},
		"anchors of another store":        {audited, func(s *shell) { copyTo(s, "state/tillerman/runs.db", "copy.db") }, []string{"--db", "COPY"}, 2, "no anchor of the store"},
		"they are named":                  {audited, func(s *shell) { copyTo(s, "state/tillerman/runs.db", "copy.db") }, []string{"--db", "COPY", "--anchor", "ANCHORS"}, 0, "intact"},
		"a forged anchor":                 {audited, func(s *shell) { forge(s) }, nil, 1, "its signature does not fit"},
		"a cut-off anchor":                {audited, cutAnchor, nil, 0, "cut off and say nothing: 1"},
		"anchors of the settings, a pipe": {audited, func(s *shell) { remove(s, "anchors.jsonl"); pipe(s, "anchors.jsonl") }, nil, 2, "no regular file"},
		"a segment, a pipe":               {audited, func(s *shell) { pipe(s, "none") }, []string{"NONE"}, 2, "no regular file"},
		"an unreadable anchor":            {audited, func(s *shell) { s.file("anchors.jsonl", "what\n") }, nil, 2, "line 1"},
		"an unknown flag":                 {audited, nil, []string{"--frob"}, 64, "--frob"},
		"a flag without its word":         {audited, nil, []string{"--anchor"}, 64, "--anchor"},
		"an empty word":                   {audited, nil, []string{"--key-file", ""}, 64, "empty"},
		"an empty store":                  {audited, nil, []string{"--db", ""}, 64, "--db is empty"},
		"no segment":                      {audited, nil, []string{"ANCHORS"}, 2, "not an audit segment"},
		"a segment that is not":           {audited, nil, []string{"NONE"}, 2, "cannot verify"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := c.start(t)
			if c.do != nil {
				c.do(s)
			}
			s.file("other.key", strings.Repeat("o", 32))
			s.file("empty.key", "")
			paths := map[string]string{
				"OTHER": s.path("other.key"), "KEY": s.path("secret/audit.key"), "EMPTY": s.path("empty.key"), "COPY": s.path("copy.db"), "ANCHORS": s.path("anchors.jsonl"),
				"NONE": s.path("none"),
			}
			args := []string{"audit", "verify"}
			for _, w := range c.args {
				if p, ok := paths[w]; ok {
					w = p
				}
				args = append(args, w)
			}
			before := snapshot(t, s.runsDB())
			code, out, errOut := s.run(args...)
			if code != c.want || !strings.Contains(out+errOut, c.says) {
				t.Errorf("exit %d, want %d and %q\n%s%s", code, c.want, c.says, out, errOut)
			}
			if after := snapshot(t, s.runsDB()); after != before {
				t.Error("it changed the store")
			}
		})
	}
}

func remove(s *shell, name string) {
	if err := os.Remove(s.path(name)); err != nil {
		s.t.Fatal(err)
	}
}

func copyTo(s *shell, from, to string) {
	b, err := os.ReadFile(s.path(from))
	if err != nil {
		s.t.Fatal(err)
	}
	s.file(to, string(b))
}

// cutAnchor adds half a line, as a full disk does, and then a whole one.
func cutAnchor(s *shell) {
	b, err := os.ReadFile(s.path("anchors.jsonl"))
	if err != nil {
		s.t.Fatal(err)
	}
	s.file("anchors.jsonl", string(b[:len(b)/2])+"\n"+string(b))
}

func pipe(s *shell, name string) {
	if err := syscall.Mkfifo(s.path(name), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// forge turns the anchor's count back, as somebody who can write the file but has no key does.
func forge(s *shell) {
	b, err := os.ReadFile(s.path("anchors.jsonl"))
	if err != nil {
		s.t.Fatal(err)
	}
	s.file("anchors.jsonl", strings.Replace(string(b), `"count":17`, `"count":16`, 1))
}

func snapshot(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(b)
}

func TestAuditVerifyAsJSON(t *testing.T) {
	s := audited(t)
	var got struct {
		Verdict     string   `json:"verdict"`
		Rows        int64    `json:"rows"`
		Head        string   `json:"head"`
		Anchored    int64    `json:"anchored"`
		Store       string   `json:"store"`
		KeyReadable bool     `json:"key_readable"`
		Blind       []string `json:"cannot_notice"`
	}
	if err := json.Unmarshal([]byte(s.ok("audit", "verify", "--json")), &got); err != nil {
		t.Fatal(err)
	}
	if got.Verdict != "intact" || got.Rows != 17 || got.Anchored != 17 || got.Store != s.runsDB() || !got.KeyReadable || len(got.Blind) == 0 || got.Head == "" {
		t.Errorf("%+v", got)
	}
	s.harm("DELETE FROM audit WHERE seq = 5")
	code, out, _ := s.run("audit", "verify", "--json")
	if code != 1 || !strings.Contains(out, `"verdict": "altered"`) || !strings.Contains(out, `"seq": 5`) {
		t.Errorf("exit %d %s", code, out)
	}
}

// A store that another process has for itself cannot be verified, which is no finding about its rows.
func TestAuditVerifyOfALockedStore(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for the lock as long as every reader does")
	}
	s := bare(t)
	unlock := lockWhole(t, s.runsDB())
	defer unlock()
	if code, out, errOut := s.run("audit", "verify"); code != 2 || !strings.Contains(errOut, "locked") {
		t.Errorf("exit %d\n%s%s", code, out, errOut)
	}
}

func TestAuditLog(t *testing.T) {
	s := bare(t)
	s.ok("demo", "--json")
	all := s.ok("audit", "log")
	if n := strings.Count(all, "\n"); n != 34 || !strings.Contains(all, "denial write .env → deny") {
		t.Errorf("%d lines\n%s", n, all)
	}
	one := s.ok("audit", "log", "2")
	for _, want := range []string{"run 2 ", "asked by model scripted; done by tillerman", "policy ", "request 5, approved by", "allowed by whoever wrote the check"} {
		if !strings.Contains(one, want) {
			t.Errorf("%q is not in\n%s", want, one)
		}
	}
	if strings.Contains(one, "run 1 ") || strings.Contains(one, "NOT ACCOUNTED") {
		t.Error(one)
	}
	if s.ok("audit", "log", "--run", "2") != one || s.ok("audit", "log", "last") != one {
		t.Error("--run and RUN differ")
	}
	if out := s.ok("audit", "log", "--since", "2999-01-01"); out != "no rows\n" {
		t.Error(out)
	}
	if s.ok("audit", "log", "--since", "1d") != all {
		t.Error("rows of today are not there")
	}
	var row struct {
		Seq     int64    `json:"seq"`
		Hash    string   `json:"hash"`
		Action  string   `json:"action"`
		Account []string `json:"account"`
	}
	lines := strings.Split(strings.TrimSpace(s.ok("audit", "log", "2", "--json")), "\n")
	if err := json.Unmarshal([]byte(lines[4]), &row); err != nil || len(lines) != 17 || row.Seq != 22 || row.Action != "exec" || row.Hash == "" || len(row.Account) != 4 {
		t.Errorf("%v %d %+v", err, len(lines), row)
	}
	for _, args := range [][]string{{"audit", "log", "9"}, {"audit", "log", "1", "2"}, {"audit", "log", "x"}, {"audit", "log", "--since", "soon"}, {"audit", "frob"}, {"audit"}} {
		if code, _, _ := s.run(args...); code != 2 {
			t.Errorf("%v: exit %d", args, code)
		}
	}
}

// What a row holds came from outside: none of it reaches the terminal as it is.
func TestAuditLogIsSanitised(t *testing.T) {
	s := newShell(t)
	store, err := db.Open(context.Background(), s.runsDB(), db.Options{})
	if err != nil {
		t.Fatal(err)
	}
	who := db.Here("test")
	who.User, who.Terminal = "a\x1b[2Jb", "c\u202ed"
	_, _, err = store.Start(context.Background(), db.Run{Agent: "0", Goal: "g", PolicyDigest: "p", Version: "v"}, who, "floor", func(tx *db.Tx) error {
		if err := tx.Audit(db.AuditRow{Action: "start", Actor: who}); err != nil {
			return err
		}
		one := 1
		return tx.Audit(db.AuditRow{Action: "exec", Actor: who, Step: 1, Position: &one, Act: "exec", Target: "x\x1b]0;evil\a\r\ny", Model: "m\x9b1m", Decision: "allow", Reason: "r\x00\u200b"})
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"audit", "log"}, {"audit", "log", "1"}} {
		out := s.ok(args...)
		if i := strings.IndexFunc(out, func(r rune) bool {
			return r != '\n' && (r < 0x20 || r >= 0x7f && r < 0xa0 || r == 0x202e || r == 0x200b)
		}); i >= 0 {
			t.Errorf("%v: %q", args, out[i:])
		}
		if n := strings.Count(out, "\n"); n != 2 && n != 6 {
			t.Errorf("%v: %d lines\n%s", args, n, out)
		}
	}
}

func TestAuditExportContinues(t *testing.T) {
	s := audited(t)
	dir := s.path("segments")
	first := s.ok("audit", "export", "--out", dir)
	if !strings.Contains(first, "rows 1 to 17") {
		t.Error(first)
	}
	if out := s.ok("audit", "export", "--out", dir); out != "nothing is new after row 17\n" {
		t.Error(out)
	}
	s.ok("demo", "--json")
	s.ok("audit", "export", "--out", dir)
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != 2 {
		t.Fatalf("%v %v", files, err)
	}
	slices.Reverse(files)
	if out := s.ok(append([]string{"audit", "verify"}, files...)...); !strings.Contains(out, "intact: 34 rows") || !strings.Contains(out, "over 34 of 34 rows") {
		t.Error(out)
	}
	// The newer half alone follows rows that an anchor vouches for.
	if out := s.ok("audit", "verify", files[0]); !strings.Contains(out, "intact: 17 rows") {
		t.Error(out)
	}
	if code, out, _ := s.run("audit", "verify", files[1]); code != 3 {
		t.Errorf("the older half alone: exit %d\n%s", code, out)
	}
	whole := s.path("whole.jsonl")
	s.ok("audit", "export", "--out", whole)
	if out := s.ok("audit", "verify", whole); !strings.Contains(out, "intact: 34 rows") {
		t.Error(out)
	}
	before := snapshot(t, whole)
	if code, _, errOut := s.run("audit", "export", "--out", whole); code != 2 || !strings.Contains(errOut, "exists") || snapshot(t, whole) != before {
		t.Errorf("exit %d %s", code, errOut)
	}
	for _, f := range append(files, whole) {
		if info, err := os.Stat(f); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", f, info.Mode(), err)
		}
	}
	body := snapshot(t, files[0])
	s.file("segments/"+filepath.Base(files[0]), strings.Replace(body, `"user":"`, `"user":"x`, 1))
	if code, out, _ := s.run("audit", "verify", files[0], files[1]); code != 1 || !strings.Contains(out, "row 18: its readable fields") {
		t.Errorf("a changed segment: exit %d\n%s", code, out)
	}
	// An altered log, or one that is another, is not exported after the segments of the old one.
	s.harm("DELETE FROM audit WHERE seq > 20")
	if code, _, errOut := s.run("audit", "export", "--out", dir); code != 1 || !strings.Contains(errOut, "does not go on after") {
		t.Errorf("exit %d %s", code, errOut)
	}
	other := s.path("fresh")
	execSQL(t, s.runsDB(), "UPDATE audit SET hash = prev WHERE seq = 4")
	if code, _, errOut := s.run("audit", "export", "--out", other); code != 1 || !strings.Contains(errOut, "row 4") {
		t.Errorf("exit %d %s", code, errOut)
	}
	if left, _ := filepath.Glob(filepath.Join(other, "*")); len(left) != 0 {
		t.Errorf("%v", left)
	}
}

// Without the key nobody can tell whether contents were changed, and export says so.
func TestAuditExportSaysWhatItCouldNotCheck(t *testing.T) {
	s := audited(t)
	if _, out, _ := s.run("audit", "export", "--out", s.path("one")); strings.Contains(out, "not checked") {
		t.Errorf("with the key: %s", out)
	}
	s.file("config/tillerman/config.toml", "")
	if code, out, errOut := s.run("audit", "export", "--out", s.path("two")); code != 0 || !strings.Contains(out, "from row 1 on rows are sealed with the key") {
		t.Errorf("exit %d %s%s", code, out, errOut)
	}
	var got struct{ Unchecked string }
	if _, out, _ := s.run("audit", "export", "--json", "--out", s.path("three")); json.Unmarshal([]byte(out), &got) != nil || got.Unchecked == "" {
		t.Errorf("%s", out)
	}
}

// An anchor that cannot be kept is told of once and changes nothing about the run.
func TestAnchorThatFailsIsToldOnce(t *testing.T) {
	s := newShell(t)
	s.file("config/tillerman/config.toml", fmt.Sprintf("[audit]\nanchor = %q\nanchor_command = [\"sh\", \"-c\", \"echo no route >&2; exit 1\"]\n", s.path("none", "anchors")))
	code, _, errOut := s.run("demo", "--json")
	if code != 0 || strings.Count(errOut, "anchor of the audit trail was not kept") != 1 || !strings.Contains(errOut, "no route") || strings.Count(errOut, "\n") != 1 {
		t.Errorf("exit %d %q", code, errOut)
	}
}

// Anchors are added to their file, so it must not be one that something else lives in.
func TestAnchorsNeedAFileOfTheirOwn(t *testing.T) {
	s := audited(t)
	if err := os.Link(s.path("secret/audit.key"), s.path("linked")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(s.runsDB(), s.path("symlink")); err != nil {
		t.Fatal(err)
	}
	settings := s.path("config/tillerman/config.toml")
	for _, anchor := range []string{s.path("secret/audit.key"), s.path("linked"), s.path("symlink"), s.runsDB(), s.runsDB() + "-wal", settings} {
		text := fmt.Sprintf("[audit]\nkey_file = %q\nanchor = %q\n", s.path("secret/audit.key"), anchor)
		s.file("config/tillerman/config.toml", text)
		key, store := snapshot(t, s.path("secret/audit.key")), snapshot(t, s.runsDB())
		if code, _, errOut := s.run("demo", "--json"); code != 2 || !strings.Contains(errOut, "audit.anchor: ") {
			t.Errorf("%s: exit %d %s", anchor, code, errOut)
		}
		if snapshot(t, s.path("secret/audit.key")) != key || snapshot(t, s.runsDB()) != store || snapshot(t, settings) != text {
			t.Errorf("%s: something was written", anchor)
		}
	}
}

func TestAuditSettingsAreAbsolute(t *testing.T) {
	s := newShell(t)
	for _, set := range []string{`key_file = "k"`, `anchor = "a"`, `anchor_command = [" "]`} {
		s.file("config/tillerman/config.toml", "[audit]\n"+set+"\n")
		if code, _, errOut := s.run("runs"); code != 2 || !strings.Contains(errOut, "audit."+strings.Fields(set)[0]) {
			t.Errorf("%s: exit %d %s", set, code, errOut)
		}
	}
}
