package cli_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tillerman/db"
)

// TestRunOverCapturedWire runs against a local server that plays captured exchanges back, byte for byte: those we wrote,
// and with TILLERMAN_WIRE set those of real endpoints. The tools that a capture calls do not exist here, which the model
// is told; what the capture's model said, called and reported has to be in the store as it was given.
func TestRunOverCapturedWire(t *testing.T) {
	dirs := []string{"../testdata/wire"}
	if real := os.Getenv("TILLERMAN_WIRE"); real != "" {
		dirs = append(dirs, real)
	}
	ran := 0
	for _, dir := range dirs {
		for api, provider := range map[string]string{"anthropic-messages": "anthropic", "chat-completions": "compatible"} {
			firsts, err := filepath.Glob(filepath.Join(dir, api, "*.1.response.sse"))
			if err != nil {
				t.Fatal(err)
			}
			for _, first := range firsts {
				ran++
				t.Run(filepath.Base(dir)+"/"+filepath.Base(first), func(t *testing.T) { playBack(t, provider, strings.TrimSuffix(first, ".1.response.sse")) })
			}
		}
	}
	if ran == 0 {
		t.Error("no capture was found")
	}
}

func playBack(t *testing.T, provider, base string) {
	served := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		served++
		body, err := os.ReadFile(base + "." + string(rune('0'+min(served, 2))) + ".response.sse")
		if err != nil {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set("content-type", "text/event-stream")
		_, _ = w.Write(body)
	}))
	defer server.Close()
	url := server.URL
	if provider == "compatible" {
		url += "/v1"
	}
	s := newShell(t)
	path := s.path("runs.db")
	s.ok("run", "use the tools", "-w", s.path("ws"), "--provider", provider, "--base-url", url, "--model", "asked", "--db", path, "--max-retries", "0")
	store, err := db.Open(context.Background(), path, db.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	attempts, err := store.Attempts(context.Background(), 1)
	if err != nil {
		t.Fatal(err)
	}
	calls, err := store.Calls(context.Background(), 1)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(base + ".1.response.sse")
	if err != nil {
		t.Fatal(err)
	}
	if len(calls) == 0 {
		t.Error("no call was stored")
	}
	for _, c := range calls {
		if !strings.Contains(string(raw), `"`+c.CallID+`"`) || !strings.Contains(string(raw), `"`+c.Name+`"`) {
			t.Errorf("call %s %s is not in the capture", c.CallID, c.Name)
		}
	}
	reports := strings.Contains(string(raw), `"usage":{`)
	for _, a := range attempts {
		if a.State != db.AttemptAnswered || a.Measured() != reports || a.AnsweredModel == "" || !strings.Contains(string(raw), a.AnsweredModel) {
			t.Errorf("attempt %+v", a)
		}
	}
}
