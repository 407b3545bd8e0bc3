package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tillerman/cli"
	"tillerman/core/sandbox"
	"tillerman/db"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	if len(os.Args) > 1 && os.Args[1] == processArg {
		os.Exit(cli.Run(context.Background(), os.Args[2:], cli.System()))
	}
	os.Exit(m.Run())
}

// shell is a person's environment: a home of their own, no keys, no terminal.
type shell struct {
	t   *testing.T
	dir string
	env map[string]string
}

func newShell(t *testing.T) *shell {
	t.Helper()
	dir := t.TempDir()
	ws := filepath.Join(dir, "ws")
	if err := os.Mkdir(ws, 0o755); err != nil {
		t.Fatal(err)
	}
	return &shell{t: t, dir: dir, env: map[string]string{"HOME": dir, "PATH": os.Getenv("PATH"), "XDG_STATE_HOME": filepath.Join(dir, "state"), "XDG_CONFIG_HOME": filepath.Join(dir, "config")}}
}

func (s *shell) path(elem ...string) string {
	return filepath.Join(append([]string{s.dir}, elem...)...)
}

func (s *shell) file(name, body string) string {
	s.t.Helper()
	path := s.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(body), 0o644); err != nil {
		s.t.Fatal(err)
	}
	return path
}

// run runs one command line.
func (s *shell) run(args ...string) (code int, out, errOut string) {
	s.t.Helper()
	null, err := os.Open(os.DevNull)
	if err != nil {
		s.t.Fatal(err)
	}
	defer null.Close()
	var o, e bytes.Buffer
	var environ []string
	for k, v := range s.env {
		environ = append(environ, k+"="+v)
	}
	code = cli.Run(context.Background(), args, cli.Host{
		In: null, Out: &o, Err: &e, Environ: environ, Getenv: func(k string) string { return s.env[k] }, Now: time.Now, Width: 80,
	})
	return code, o.String(), e.String()
}

// ok runs a command line that has to succeed and returns what it printed.
func (s *shell) ok(args ...string) string {
	s.t.Helper()
	code, out, errOut := s.run(args...)
	if code != 0 {
		s.t.Fatalf("tillerman %s: exit %d\n%s%s", strings.Join(args, " "), code, out, errOut)
	}
	return out
}

func TestBadInputIsOneLineAndExit2(t *testing.T) {
	s := newShell(t)
	run := func(more ...string) []string {
		return append([]string{"run", "do it", "-w", s.path("ws"), "--provider", "compatible", "--base-url", "http://127.0.0.1:1/v1", "--model", "m"}, more...)
	}
	foreign := s.file("foreign.db", "")
	makeForeign(t, foreign)
	newer := s.path("newer.db")
	makeNewer(t, newer)
	cases := []struct {
		name string
		args []string
		env  map[string]string
		want string // in the line
	}{
		{"no provider", []string{"run", "x", "-w", s.path("ws")}, nil, "--provider"},
		{"unknown provider", []string{"run", "x", "--provider", "acme", "--model", "m"}, nil, `"acme"`},
		{"no model", []string{"run", "x", "--provider", "anthropic"}, nil, "ANTHROPIC_MODEL"},
		{"no key", []string{"run", "x", "-w", s.path("ws"), "--provider", "anthropic", "--model", "m"}, nil, "ANTHROPIC_API_KEY"},
		{"malformed base URL", []string{"run", "x", "-w", s.path("ws"), "--provider", "compatible", "--base-url", "ht!tp:/x", "--model", "m"}, nil, "base URL"},
		{"missing workspace", []string{"run", "x", "-w", s.path("nowhere"), "--base-url", "http://127.0.0.1:1/v1", "--model", "m"}, nil, "workspace"},
		{"empty goal", []string{"run", " ", "-w", s.path("ws"), "--base-url", "http://127.0.0.1:1/v1", "--model", "m"}, nil, "goal"},
		{"no goal", []string{"run"}, nil, "GOAL"},
		{"unknown policy", run("--policy", "lax"), nil, `"lax"`},
		{"malformed policy", run("--policy", s.file("bad.toml", "[[layer]]\nname = \"x\"\nwhat = 1\n")), nil, "bad.toml:3"},
		{"malformed configuration", run("--config", s.file("conf.toml", "provider = \"anthropic\"\ncolour = 1\n")), nil, "conf.toml:2"},
		{"configuration that is not TOML", run("--config", s.file("conf2.toml", "= = =")), nil, "conf2.toml:1"},
		{"missing configuration", run("--config", s.path("none.toml")), nil, "none.toml"},
		{"malformed recording", []string{"run", "x", "-w", s.path("ws"), "--replay", s.file("r.json", "{")}, nil, "r.json"},
		{"missing recording", []string{"run", "x", "-w", s.path("ws"), "--replay", s.path("none.json")}, nil, "none.json"},
		{"unwritable recording", run("--record", s.path("nowhere", "r.json")), nil, "--record"},
		{"unknown flag", []string{"run", "x", "--frobnicate"}, nil, "--frobnicate"},
		{"flag that is not built yet", []string{"run", "x", "--tree"}, nil, "--tree"},
		{"unknown command", []string{"frobnicate"}, nil, `"frobnicate"`},
		{"unknown approve", run("--approve", "maybe"), nil, `"maybe"`},
		{"ask without a terminal", run("--approve", "ask"), nil, "terminal"},
		{"negative limit", run("--tokens", "-1"), nil, "negative"},
		{"bad check", run("--verify", "'"), nil, "--verify"},
		{"bad contains", run("--contains", "nope"), nil, "FILE:TEXT"},
		{"foreign store", []string{"runs", "--db", foreign}, nil, "not a tillerman store"},
		{"store that is no database", []string{"runs", "--db", s.file("text.db", strings.Repeat("no database ", 100))}, nil, "not a tillerman store"},
		{"newer store", []string{"runs", "--db", newer}, nil, "newer"},
		{"missing store", []string{"runs", "--db", s.path("none.db")}, nil, "none.db"},
		{"no such run", []string{"show", "12", "--db", s.store()}, nil, "no run 12"},
		{"no run number", []string{"show", "twelve", "--db", s.store()}, nil, `"twelve"`},
		{"bad since", []string{"runs", "--since", "tomorrow", "--db", s.store()}, nil, `"tomorrow"`},
		{"bad act", []string{"policy", "explain", "dance", "x"}, nil, `"dance"`},
		{"resolve without a reason", []string{"resolve", "1", "--done", "--db", s.store()}, nil, "--reason"},
		{"unknown shell", []string{"completion", "tcsh"}, nil, `"tcsh"`},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			code, out, errOut := s.run(tc.args...)
			line := strings.TrimSuffix(errOut, "\n")
			if code != 2 || strings.Contains(line, "\n") || line == "" || !strings.Contains(line, tc.want) {
				t.Errorf("exit %d, stdout %q, stderr %q; want exit 2 and one line with %q", code, out, errOut, tc.want)
			}
		})
	}
}

// store is an empty store.
func (s *shell) store() string {
	s.t.Helper()
	path := s.path("empty.db")
	st, err := db.Open(context.Background(), path, db.Options{})
	if err != nil {
		s.t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		s.t.Fatal(err)
	}
	return path
}

func TestNoArgumentWithoutATerminalPrintsHelp(t *testing.T) {
	code, out, _ := newShell(t).run()
	if code != 2 || !strings.Contains(out, "demo") {
		t.Errorf("exit %d, %q", code, out)
	}
}

func TestDemoThenLookAround(t *testing.T) {
	s := newShell(t)
	out := s.ok("demo", "--plain")
	for _, want := range []string{"scripted", "scratch folder", "approve", "refused", "check passed", "run 1: done (success)"} {
		if !strings.Contains(out, want) {
			t.Errorf("the demo does not say %q", want)
		}
	}
	first := s.ok("show", "1", "--canonical")
	s.ok("demo")
	if second := s.ok("show", "2", "--canonical"); second != first {
		t.Error("two demos have different canonical traces")
	}
	var shown struct {
		Outcome string
		Summary *struct {
			Steps   int
			Success bool
		}
	}
	decode(t, s.ok("show", "1", "--json"), &shown)
	if shown.Summary == nil || !shown.Summary.Success || shown.Summary.Steps < 10 || shown.Summary.Steps > 15 || shown.Outcome != "success" {
		t.Errorf("show --json: %+v", shown)
	}
	if out := s.ok("show", "1", "--steps"); !strings.Contains(out, "lib/duration.sh") {
		t.Errorf("show --steps: %s", out)
	}
	var rows []struct {
		RunID int64 `json:"run_id"`
	}
	decode(t, s.ok("runs", "nap", "--json"), &rows)
	if len(rows) != 2 || rows[0].RunID != 2 {
		t.Errorf("runs --json: %+v", rows)
	}
	if out := s.ok("runs", "nothing-like-it"); out != "no runs\n" {
		t.Errorf("runs: %q", out)
	}
	if out := s.ok("inbox"); out != "nothing waits\n" {
		t.Errorf("inbox: %q", out)
	}
	if out := s.ok("watch", "1", "--plain"); !strings.Contains(out, "run 1: done (success)") {
		t.Errorf("watch: %s", out)
	}
	if code, _, errOut := s.run("cancel", "1"); code != 4 || !strings.Contains(errOut, "already ended") {
		t.Errorf("cancel of an ended run: exit %d, %s", code, errOut)
	}
}

func TestDemoJSONIsEventsOnly(t *testing.T) {
	s := newShell(t)
	out := s.ok("demo", "--json")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	var last struct{ Event string }
	for i, l := range lines {
		var ev struct {
			Event string
			Seq   int
		}
		decode(t, l, &ev)
		if ev.Seq != i+1 {
			t.Fatalf("line %d has seq %d", i+1, ev.Seq)
		}
		last.Event = ev.Event
	}
	if last.Event != "finished" {
		t.Errorf("the last event is %q", last.Event)
	}
}

func decode(t *testing.T, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
}

func TestAskedLaterFromAnotherTerminal(t *testing.T) {
	s := newShell(t)
	code, _, errOut := s.run("demo", "--approve", "defer")
	if code != 3 || !strings.Contains(errOut, "tillerman approve 1") {
		t.Fatalf("exit %d, %s", code, errOut)
	}
	var inbox []struct{ Request, Act, Target, Payload string }
	decode(t, s.ok("inbox", "--json"), &inbox)
	if len(inbox) != 1 || inbox[0].Act == "" || inbox[0].Payload == "" {
		t.Fatalf("inbox %+v", inbox)
	}
	if code, _, errOut := s.run("approve", "1"); code != 2 || !strings.Contains(errOut, inbox[0].Request) {
		t.Errorf("approve without a name and without a terminal: exit %d, %s", code, errOut)
	}
	id, digest, _ := strings.Cut(inbox[0].Request, "@")
	wrong := id + "@" + strings.Repeat("0", len(digest))
	if code, _, errOut := s.run("approve", "1", wrong); code != 4 {
		t.Errorf("approve of something else: exit %d, %s", code, errOut)
	}
	if out := s.ok("approve", "1", inbox[0].Request); !strings.Contains(out, "tillerman resume 1") {
		t.Errorf("approve: %s", out)
	}
	if code, _, errOut := s.run("deny", "1", inbox[0].Request); code != 4 || !strings.Contains(errOut, "already decided: approve by") {
		t.Errorf("a late deny: exit %d, %s", code, errOut)
	}
	if code, _, _ := s.run("resume", "1", "--approve", "defer"); code != 3 {
		t.Errorf("the next question: exit %d", code)
	}
	s.ok("resume", "1", "--approve", "all")
	if out := s.ok("show", "1"); !strings.Contains(out, "success") {
		t.Errorf("show: %s", out)
	}
}

func TestDecisionsByReasonAndStop(t *testing.T) {
	s := newShell(t)
	s.run("demo", "--approve", "defer")
	s.ok("deny", "1", "--reason", "not now", "--stop")
	code, out, _ := s.run("resume", "1", "--approve", "defer")
	if code != 1 || !strings.Contains(out, "exec denied") {
		t.Errorf("exit %d, %s", code, out)
	}
	if out := s.ok("show", "1"); !strings.Contains(out, "denied") {
		t.Errorf("show: %s", out)
	}
}

func TestServerThatDoesNotAnswer(t *testing.T) {
	s := newShell(t)
	code, _, _ := s.run("run", "x", "-w", s.path("ws"), "--base-url", "http://127.0.0.1:1/v1", "--model", "m", "--max-retries", "1")
	if code != 1 {
		t.Errorf("exit %d", code)
	}
	if out := s.ok("show", "1", "--json"); !strings.Contains(out, "escalated_retryable") {
		t.Errorf("show: %s", out)
	}
}

// TestRecordThenReplay runs against a local server that speaks the real wire, records, and answers from the recording
// with the server gone.
func TestRecordThenReplay(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.Header().Set("content-type", "text/event-stream")
		if asked == 1 {
			fmt.Fprint(w, `data: {"model":"m-7","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"write_file","arguments":"{\"path\":\"a.txt\",\"content\":\"héllo\"}"}}]},"finish_reason":null}]}`+"\n\n")
			fmt.Fprint(w, `data: {"model":"m-7","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`+"\n\n")
		} else {
			fmt.Fprint(w, `data: {"model":"m-7","choices":[{"index":0,"delta":{"content":"done"},"finish_reason":"stop"}]}`+"\n\n")
		}
		fmt.Fprint(w, `data: {"model":"m-7","choices":[],"usage":{"prompt_tokens":50,"completion_tokens":5,"total_tokens":55}}`+"\n\ndata: [DONE]\n\n")
	}))
	s := newShell(t)
	rec := s.path("rec.json")
	s.ok("run", "write it", "-w", s.path("ws"), "--base-url", server.URL+"/v1", "--model", "m", "--approve", "all", "--contains", "a.txt:héllo", "--record", rec)
	server.Close()
	info, err := os.Stat(rec)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("recording: %v %v", info, err)
	}
	want := s.ok("show", "1", "--canonical")
	if err := os.Remove(s.path("ws", "a.txt")); err != nil {
		t.Fatal(err)
	}
	s.ok("run", "write it", "-w", s.path("ws"), "--replay", rec, "--approve", "all", "--contains", "a.txt:héllo")
	if got := s.ok("show", "2", "--canonical"); got != want {
		t.Errorf("the replay's trace differs:\n%s\n%s", want, got)
	}
	code, out, _ := s.run("run", "write something else", "-w", s.path("ws"), "--replay", rec, "--approve", "all")
	if code != 1 {
		t.Errorf("a miss: exit %d, %s", code, out)
	}
}

func TestPolicyExplain(t *testing.T) {
	s := newShell(t)
	for _, tc := range []struct{ act, target, want string }{
		{"read", "a.go", "allow"},
		{"read", ".env", "deny"},
		{"write", "a.go", "ask"},
		{"exec", "go test ./...", "ask"},
		{"net", "example.com", "deny"},
	} {
		out := s.ok("policy", "explain", tc.act, tc.target)
		if !strings.HasPrefix(out, tc.want) {
			t.Errorf("%s %s: %s", tc.act, tc.target, out)
		}
	}
}

func TestHostileTextIsShownAsText(t *testing.T) {
	s := newShell(t)
	hostile := "x\r\x1b[2K\x1b]52;c;aGk=\x07y"
	s.run("run", hostile, "-w", s.path("ws"), "--base-url", "http://127.0.0.1:1/v1", "--model", "m", "--max-retries", "0")
	for _, args := range [][]string{{"show", "1"}, {"runs"}, {"watch", "1"}} {
		_, out, errOut := s.run(args...)
		if strings.ContainsAny(out+errOut, "\x1b\r\x07") {
			t.Errorf("%v lets control bytes through: %q", args, out)
		}
	}
}

// TestSettingsThatCannotBeUsed wants one line that names file, setting and what would be right, from a command that does
// not need the setting.
func TestSettingsThatCannotBeUsed(t *testing.T) {
	for setting, says := range map[string]string{
		`approve = "yes"`:                          `approve: "yes" is none of ask, all, none, defer`,
		`provider = "antropic"`:                    `provider: there is no "antropic"; use one of anthropic`,
		`base_url = "ftp://models"`:                "base_url: ",
		`base_url = "https://me:secret@models/v1"`: "must not hold a user name or password",
		`fallback = ["openai", "acme:m"]`:          `fallback: there is no provider "acme"`,
		`fallback = ["none", "openai"]`:            `fallback: there is no provider "none"`,
		"[prices.m]\ninput = -1":                   "prices.m: ",
		`sandbox = "docker"`:                       "sandbox: ",
		"[limits]\nsteps = -1":                     "limits",
		`theme = "/nonexistent"`:                   "theme",
		"[keys]\nfly = [\"x\"]":                    "fly",
	} {
		s := newShell(t)
		file := s.file("config/tillerman/config.toml", setting+"\n")
		code, out, errOut := s.run("runs")
		if code != 2 || out != "" || !strings.HasPrefix(errOut, "tillerman: "+file) || !strings.Contains(errOut, says) || strings.Count(errOut, "\n") != 1 || strings.Contains(errOut, "secret") {
			t.Errorf("%s: exit %d, %q", setting, code, errOut)
		}
		if code, out, _ := s.run("doctor"); code != 1 || !strings.Contains(out, says) {
			t.Errorf("%s: doctor exits %d and says %q", setting, code, out)
		}
	}
	s := newShell(t)
	s.file("config/tillerman/config.toml", `policy = "gone.toml"`+"\n")
	s.ok("policy", "explain", "--policy", "standard", "read", "x")
	if code, out, _ := s.run("doctor"); code != 1 || !strings.Contains(out, "gone.toml") {
		t.Errorf("a policy that is not there: exit %d, %s", code, out)
	}
}
