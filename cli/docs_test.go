package cli_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	words "mvdan.cc/sh/v3/shell"
)

// TestCommandsOfTheDocumentation runs every tillerman command of the README and the guides that stands in a sh block, in
// order, one store a document. `# exit N` behind a command names another exit code than 0.
func TestCommandsOfTheDocumentation(t *testing.T) {
	if testing.Short() {
		t.Skip("commands that other tests run")
	}
	server := httptest.NewServer(http.HandlerFunc(modelServer))
	defer server.Close()
	guides, err := filepath.Glob("../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, doc := range append(guides, "../README.md") {
		t.Run(filepath.Base(doc), func(t *testing.T) {
			s := newShell(t)
			for _, name := range []string{"ANTHROPIC_API_KEY", "OPENAI_API_KEY"} {
				s.env[name] = "not-a-real-key"
			}
			for _, line := range commands(t, doc) {
				ran++
				line = strings.ReplaceAll(line, "http://localhost:11434", server.URL)
				want := 0
				if line, comment, ok := strings.Cut(line, "#"); ok {
					_, _ = fmt.Sscanf(strings.TrimSpace(comment), "exit %d", &want)
					_ = line
				}
				args, err := words.Fields(line, nil)
				if err != nil {
					t.Fatalf("%s: %v", line, err)
				}
				if args[1] == "run" {
					args = append(args, "-w", s.path("ws"))
				}
				if code, out, errOut := s.run(args[1:]...); code != want {
					t.Errorf("%s: exit %d, want %d\n%s%s", line, code, want, out, errOut)
				}
			}
		})
	}
	if ran < 10 {
		t.Errorf("only %d commands were found", ran)
	}
}

var shBlock = regexp.MustCompile("(?ms)^```sh\n(.*?)^```")

func commands(t *testing.T, doc string) []string {
	t.Helper()
	body, err := os.ReadFile(doc)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range shBlock.FindAllStringSubmatch(string(body), -1) {
		for _, line := range strings.Split(m[1], "\n") {
			if strings.HasPrefix(line, "tillerman ") {
				out = append(out, line)
			}
		}
	}
	return out
}

// modelServer answers on both APIs with a final message.
func modelServer(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("content-type", "text/event-stream")
	if strings.HasSuffix(r.URL.Path, "/messages") {
		for _, ev := range []string{
			`{"type":"message_start","message":{"model":"m","role":"assistant","content":[],"usage":{"input_tokens":9,"output_tokens":1}}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"A small project."}}`,
			`{"type":"content_block_stop","index":0}`,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":5}}`,
			`{"type":"message_stop"}`,
		} {
			fmt.Fprintf(w, "data: %s\n\n", ev)
		}
		return
	}
	fmt.Fprint(w, `data: {"model":"m","choices":[{"index":0,"delta":{"content":"A small project."},"finish_reason":"stop"}]}`+"\n\n")
	fmt.Fprint(w, `data: {"model":"m","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":5,"total_tokens":14}}`+"\n\ndata: [DONE]\n\n")
}
