package wiretest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// Turn is one exchange as it went over the wire.
type Turn struct {
	Request  map[string]any
	Response string
}

// Exchange is a conversation of two turns: one that may call tools, and one that has their results.
type Exchange struct {
	Name  string
	Turns []Turn
	// Answers are the answers we wrote down beside captures of our own; nil for others.
	Answers []json.RawMessage
}

// Own are the captures written for this project.
func Own(t *testing.T, api string) []Exchange {
	t.Helper()
	_, file, _, _ := runtime.Caller(0)
	root := filepath.Join(filepath.Dir(file), "..", "..", "..", "..", "testdata", "wire")
	return read(t, filepath.Join(root, api))
}

// Real are captures of real endpoints, below the folder that TILLERMAN_WIRE names. Without it the test is skipped.
func Real(t *testing.T, api string) []Exchange {
	t.Helper()
	root := os.Getenv("TILLERMAN_WIRE")
	if root == "" {
		t.Skip("TILLERMAN_WIRE is not set: no captures of real endpoints")
	}
	return read(t, filepath.Join(root, api))
}

func read(t *testing.T, dir string) []Exchange {
	t.Helper()
	firsts, err := filepath.Glob(filepath.Join(dir, "*.1.response.sse"))
	if err != nil || len(firsts) == 0 {
		t.Fatalf("no captures in %s (%v)", dir, err)
	}
	var all []Exchange
	for _, first := range firsts {
		stem := strings.TrimSuffix(first, "1.response.sse")
		x := Exchange{Name: strings.TrimSuffix(filepath.Base(stem), ".")}
		for _, n := range []string{"1", "2"} {
			turn := Turn{Response: string(load(t, stem+n+".response.sse"))}
			if err := json.Unmarshal(load(t, stem+n+".request.json"), &turn.Request); err != nil {
				t.Fatalf("%s: %v", stem, err)
			}
			x.Turns = append(x.Turns, turn)
			if raw, err := os.ReadFile(stem + n + ".answer.json"); err == nil {
				x.Answers = append(x.Answers, raw)
			}
		}
		all = append(all, x)
	}
	return all
}

func load(t *testing.T, path string) []byte {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// Data are the JSON objects of a response's data lines, read in the plainest way there is: every event of a capture has
// one such line.
func Data(t *testing.T, response string) []map[string]any {
	t.Helper()
	var all []map[string]any
	for line := range strings.SplitSeq(strings.TrimPrefix(response, "\uFEFF"), "\n") {
		text, ok := strings.CutPrefix(strings.TrimSuffix(line, "\r"), "data:")
		if text = strings.TrimSpace(text); !ok || text == "[DONE]" {
			continue
		}
		var object map[string]any
		if err := json.Unmarshal([]byte(text), &object); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		all = append(all, object)
	}
	return all
}
