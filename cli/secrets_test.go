package cli_test

import (
	"encoding/base64"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// A key is found nowhere in what a run leaves or prints, however the endpoint gives it back: in a cookie, in an error that
// quotes the request, in an answer.
func TestTheKeyIsLeftNowhere(t *testing.T) {
	const canary = "CANARY-7f3a-0123456789"
	coded := base64.StdEncoding.EncodeToString([]byte("Bearer " + canary))
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.Header.Get("Authorization"), canary) {
			t.Errorf("the key was not sent: %v", r.Header)
		}
		http.SetCookie(w, &http.Cookie{Name: "session", Value: canary})
		w.Header().Set("X-Request-Id", canary)
		switch asked++; asked {
		case 1:
			w.Header().Set("content-type", "text/event-stream")
			fmt.Fprintf(w, `data: {"model":"m-%s","choices":[{"index":0,"delta":{"content":"The key is CANARY-7f"},"finish_reason":null}]}`+"\n\n", canary)
			fmt.Fprintf(w, `data: {"model":"m","choices":[{"index":0,"delta":{"content":"3a-0123456789 or %s.","tool_calls":[{"index":0,"id":"c1","function":{"name":"exec","arguments":"{\"argv\":[\"sh\",\"-c\",\"env; cat leak\"]}"}}]},"finish_reason":"tool_calls"}]}`+"\n\ndata: [DONE]\n\n", coded)
		default:
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(w, `{"error":{"message":"bad header AUTHORIZATION: Bearer %s (%s)"}}`, canary, coded)
		}
	}))
	defer server.Close()
	s := newShell(t)
	s.env["TILLERMAN_COMPATIBLE_KEY"] = canary
	s.env["SOME_PASSWORD"] = "another-" + canary
	ws := s.path("ws")
	const auditKey = "AUDIT-0123456789-abcdef-KEY"
	keyFile := s.file("keys/audit", auditKey)
	s.file("config/tillerman/config.toml", "[audit]\nkey_file = "+strconv.Quote(keyFile)+"\n")
	leak := filepath.Join(ws, "leak")
	if err := os.WriteFile(leak, []byte(coded+"\n"+canary+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	printed := ""
	for _, args := range [][]string{
		{"run", "look at " + canary + " and " + auditKey, "-w", ws, "--base-url", server.URL + "/v1", "--model", "m", "--approve", "all", "--max-retries", "0", "--record", s.path("recording.json")},
		{"run", "look", "-w", ws, "--base-url", strings.Replace(server.URL, "http://", "http://user:"+canary+"@", 1), "--model", "m"},
		{"run", "look", "-w", ws, "--base-url", server.URL + "/v1?key=" + canary, "--model", "m"},
		{"run", "look", "-w", ws, "--base-url", server.URL + "/v1", "--model", "m", "--verify", "echo " + canary},
		{"show", "last", "--steps"},
		{"runs"},
		{"policy", "explain", "exec", canary},
		{"cancel", "last", "--reason", "because " + canary},
	} {
		_, out, errOut := s.run(args...)
		printed += out + errOut
	}
	if asked < 2 {
		t.Fatalf("the endpoint was asked %d times:\n%s", asked, printed)
	}
	if strings.Contains(printed, canary) || strings.Contains(printed, coded) || strings.Contains(printed, auditKey) {
		t.Errorf("printed:\n%s", printed)
	}
	files := 0
	err := filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || path == leak || path == keyFile {
			return err
		}
		files++
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if strings.Contains(string(b), canary) || strings.Contains(string(b), coded[:20]) || strings.Contains(string(b), auditKey) {
			t.Errorf("%s holds the key", path)
		}
		return nil
	})
	if err != nil || files < 2 {
		t.Errorf("%d files were looked at: %v", files, err)
	}
}
