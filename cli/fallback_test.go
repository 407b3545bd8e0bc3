package cli_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"tillerman/db"
)

// endpointServer is a local endpoint that remembers what it was sent.
type endpointServer struct {
	*httptest.Server
	mu   sync.Mutex
	keys []string // of each request
	asks []string // models
}

// serveModel answers like modelServer, or with a status where one is given.
func serveModel(t *testing.T, status int) *endpointServer {
	t.Helper()
	s := &endpointServer{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Model string `json:"model"`
		}
		_ = json.NewDecoder(r.Body).Decode(&body)
		s.mu.Lock()
		s.keys = append(s.keys, r.Header.Get("Authorization")+r.Header.Get("X-Api-Key"))
		s.asks = append(s.asks, body.Model)
		s.mu.Unlock()
		if status != 0 {
			w.WriteHeader(status)
			fmt.Fprint(w, `{"error":{"message":"come back later"}}`)
			return
		}
		modelServer(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *endpointServer) seen() (keys, asks []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.keys, s.asks
}

func TestRunWithFallbacks(t *testing.T) {
	s := newShell(t)
	for name, value := range map[string]string{
		"ANTHROPIC_API_KEY": "vendor-key-anthropic", "OPENAI_API_KEY": "vendor-key-openai", "TILLERMAN_COMPATIBLE_KEY": "own-key-compatible",
		"TILLERMAN_COMPATIBLE_MODEL": "from-the-variable",
	} {
		s.env[name] = value
	}
	down, up, unused := serveModel(t, 529), serveModel(t, 0), serveModel(t, 0)
	path, recording := s.path("runs.db"), s.path("r.json")
	out := s.ok("run", "say something", "-w", s.path("ws"), "--db", path, "--provider", "anthropic", "--base-url", down.URL, "--model", "m1",
		"--fallback", "compatible@"+down.URL+"/v1", "--fallback", "anthropic:claude:x@1@"+up.URL, "--fallback", "openai:never@"+unused.URL, "--record", recording)
	for _, want := range []string{
		"anthropic -> compatible -> anthropic@" + strings.TrimPrefix(up.URL, "http://") + " -> openai m1",
		"~  anthropic m1: overloaded (HTTP 529): come back later",
		"~  compatible from-the-variable: overloaded (HTTP 529): come back later",
		"answered by anthropic@" + strings.TrimPrefix(up.URL, "http://") + " instead",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the output lacks %q:\n%s", want, out)
		}
	}
	keys, asks := down.seen()
	upKeys, upAsks := up.seen()
	_, unusedAsks := unused.seen()
	if fmt.Sprint(asks, upAsks, unusedAsks) != "[m1 from-the-variable] [claude:x@1] []" {
		t.Errorf("asked for %v, %v and %v", asks, upAsks, unusedAsks)
	}
	for _, key := range append(keys, upKeys...) {
		if strings.Contains(key, "vendor-key") {
			t.Errorf("a vendor's key went to another host: %q", key)
		}
	}
	store, err := db.Open(context.Background(), path, db.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	run, err := store.Run(context.Background(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(run.Contract, "key") && strings.Contains(run.Contract, "own-key") || !strings.Contains(run.Contract, `"model":"claude:x@1"`) {
		t.Errorf("contract %s", run.Contract)
	}
	attempts, err := store.Attempts(context.Background(), 1)
	if err != nil || len(attempts) != 3 || !attempts[0].Inner || !attempts[1].Inner || attempts[1].Model != "from-the-variable" || attempts[2].Model != "claude:x@1" {
		t.Errorf("%+v, %v", attempts, err)
	}
	if !strings.Contains(s.ok("runs", "--db", path, "--provider", "anthropic"), "say something") {
		t.Error("the run is not found by its first provider")
	}

	// Replayed without anybody to ask, the trace is the same.
	want := s.ok("show", "1", "--canonical", "--db", path)
	down.Close()
	up.Close()
	s.ok("run", "say something", "-w", s.path("ws"), "--db", path, "--replay", recording)
	if got := s.ok("show", "2", "--canonical", "--db", path); got != want {
		t.Errorf("the replay's trace is\n%s, want\n%s", got, want)
	}
	s.env["TILLERMAN_COMPATIBLE_KEY"] = ""
	if code, _, errOut := s.run("run", "x", "-w", s.path("ws"), "--replay", recording, "--fallback", "openai:m"); code != 2 || !strings.Contains(errOut, "--fallback") {
		t.Errorf("exit %d: %s", code, errOut)
	}
}

func TestFallbacksOfTheConfiguration(t *testing.T) {
	s := newShell(t)
	down, up := serveModel(t, 503), serveModel(t, 0)
	conf := s.file("config.toml", "provider = \"compatible\"\nmodel = \"m\"\nbase_url = \""+down.URL+"/v1\"\nfallback = [\"compatible@"+up.URL+"/v1\"]\n")
	out := s.ok("run", "say something", "-w", s.path("ws"), "--config", conf)
	if _, asks := up.seen(); !strings.Contains(out, "instead") || len(asks) != 1 || asks[0] != "m" {
		t.Errorf("asked for %v:\n%s", asks, out)
	}
	code, _, _ := s.run("run", "say something", "-w", s.path("ws"), "--config", conf, "--fallback", "none", "--max-retries", "0")
	if _, asks := up.seen(); code != 1 || len(asks) != 1 {
		t.Errorf("with --fallback none: exit %d, asked for %v", code, asks)
	}
	// Whoever names a provider on the command line names all that are asked.
	code, _, _ = s.run("run", "say something", "-w", s.path("ws"), "--config", conf, "--base-url", down.URL+"/v1", "--max-retries", "0")
	if _, asks := up.seen(); code != 1 || len(asks) != 1 {
		t.Errorf("with --base-url: exit %d, asked for %v", code, asks)
	}
	same := s.file("same.toml", "provider = \"compatible\"\nmodel = \"m\"\nbase_url = \""+up.URL+"/v1\"\nfallback = [\"compatible:other@"+up.URL+"/v1\"]\n")
	if out := s.ok("run", "say something", "-w", s.path("ws"), "--config", same, "--model", "other"); strings.Contains(out, "->") {
		t.Errorf("a fallback to the same model:\n%s", out)
	}
	if code, _, errOut := s.run("run", "x", "-w", s.path("ws"), "--config", s.file("bad.toml", "provider = \"compatible\"\nmodel = \"m\"\nbase_url = \"http://x\"\nfallback = [\"acme\"]\n")); code != 2 ||
		!strings.Contains(errOut, "bad.toml: fallback: ") || !strings.Contains(errOut, `"acme"`) {
		t.Errorf("exit %d: %s", code, errOut)
	}
	// A workspace may not send the conversation elsewhere.
	if err := os.WriteFile(s.path("ws", ".tillerman.toml"), []byte("fallback = [\"compatible:m@"+up.URL+"\"]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, errOut := s.run("run", "x", "-w", s.path("ws"), "--config", conf); code != 2 || !strings.Contains(errOut, "fallback") {
		t.Errorf("exit %d: %s", code, errOut)
	}
}

// A resume makes the chain that the run was started with.
func TestAResumeMakesTheSameChain(t *testing.T) {
	s := newShell(t)
	down, up := serveModel(t, 503), serveModel(t, 0)
	path := s.path("runs.db")
	if code, out, errOut := s.run("run", "say something", "-w", s.path("ws"), "--db", path, "--base-url", down.URL+"/v1", "--model", "m1", "--max-steps", "1",
		"--fallback", "compatible:m2@"+up.URL, "--contains", "no.txt:x"); code != 1 {
		t.Fatalf("exit %d\n%s%s", code, out, errOut)
	}
	s.file("ws/no.txt", "x")
	out := s.ok("resume", "1", "--db", path, "--max-steps", "2")
	_, first := down.seen()
	if _, second := up.seen(); fmt.Sprint(first, second) != "[m1 m1] [m2 m2]" || !strings.Contains(out, "compatible -> compatible@"+strings.TrimPrefix(up.URL, "http://")) {
		t.Errorf("asked for %v and %v\n%s", first, second, out)
	}
}

func TestBadFallbacks(t *testing.T) {
	s := newShell(t)
	const secret = "user:CANARY-7f3a@"
	for spec, want := range map[string]string{
		"":                                       `there is no provider ""`,
		"acme":                                   `there is no provider "acme"`,
		"acme:m@http://x":                        `there is no provider "acme"`,
		"none,openai":                            "there is no provider",
		"openai":                                 "OPENAI_MODEL",
		"openai:":                                "model",
		"openai:m":                               "OPENAI_API_KEY",
		"compatible:m":                           "needs an address",
		"compatible@localhost:11434":             "http:// or https://",
		"compatible:m@http://":                   "base URL",
		"compatible:m@http://x:99999":            "base URL",
		"compatible:m@http://" + secret + "x/v1": "base URL",
		"compatible:m1@http://127.0.0.1:1/v1/":   "asked first anyway",
		"compatible@http://127.0.0.1:1/v1":       "asked first anyway",
	} {
		code, _, errOut := s.run("run", "x", "-w", s.path("ws"), "--base-url", "http://127.0.0.1:1/v1", "--model", "m1", "--fallback", spec)
		if code != 2 || strings.Count(errOut, "\n") != 1 || !strings.Contains(errOut, want) || !strings.Contains(errOut, "fallback") || strings.Contains(errOut, "CANARY") {
			t.Errorf("%q: exit %d: %s", spec, code, errOut)
		}
	}
	code, _, errOut := s.run("run", "x", "-w", s.path("ws"), "--base-url", "http://127.0.0.1:1/v1", "--model", "m1",
		"--fallback", "compatible:m2@http://127.0.0.1:2/v1", "--fallback", "compatible:m2@http://127.0.0.1:2/v1/")
	if code != 2 || !strings.Contains(errOut, "stands twice") {
		t.Errorf("exit %d: %s", code, errOut)
	}
	if _, err := os.Stat(s.path("runs.db")); err == nil {
		t.Error("a store was made")
	}
}
