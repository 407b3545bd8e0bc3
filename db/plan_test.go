package db

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the pinned plans anew")

// Every query of a list or screen goes through an index; what each does is pinned. A change here is to be looked at: a
// store may hold a million runs, and a run a hundred thousand steps.
func TestPlans(t *testing.T) {
	s, run := populated(t)
	rec := recorded(t, s)
	whole := regexp.MustCompile(`^SCAN (\w+)( |$)`)
	var b strings.Builder
	for _, r := range reads {
		if err := r.do(t.Context(), s, run); err != nil && !strings.Contains(err.Error(), ErrNotFound.Error()) {
			t.Errorf("%s: %v", r.name, err)
		}
		b.WriteString(r.name + "\n")
		queries := rec.take()
		if len(queries) == 0 {
			t.Errorf("%s asks nothing", r.name)
		}
		for _, q := range queries {
			for i, line := range plan(t, s, q) {
				indent := "    "
				if i == 0 {
					indent = "  - "
				}
				b.WriteString(indent + line + "\n")
				// The newest of all runs are read from the table's end until the page is full; open questions are few, and so
				// are runs that are driven.
				if table := whole.FindStringSubmatch(line); table != nil && r.name != "Runs with children" && !strings.Contains(line, "INDEX requests_open") && table[1] != "leases" {
					t.Errorf("%s reads all of %s: %s", r.name, table[1], q.text)
				}
			}
		}
	}
	file := filepath.Join("testdata", "plans.txt")
	if *update {
		must(t, os.MkdirAll("testdata", 0o755))
		must(t, os.WriteFile(file, []byte(b.String()), 0o644))
	}
	want, err := os.ReadFile(file)
	must(t, err)
	if got := b.String(); got != string(want) {
		t.Errorf("the plans are\n%s\nwant\n%s", got, want)
	}
}

// What a commit reads and changes is found by an index too: a step costs the same in a long run as in a short one.
func TestCommitPlans(t *testing.T) {
	s, run := populated(t)
	_, err := s.Decide(t.Context(), 1, Decision{Answer: "approve"}, tester)
	must(t, err)
	_, _, err = s.Control(t.Context(), Control{RunID: run, Kind: "cancel", By: tester})
	must(t, err)
	scan := regexp.MustCompile(`^SCAN \w+$|AUTOMATIC`)
	checked := 0
	for text := range s.writer.stmts {
		if strings.HasPrefix(text, "BEGIN") || strings.HasPrefix(text, "COMMIT") || strings.HasPrefix(text, "PRAGMA") {
			continue
		}
		for _, line := range plan(t, s, query{text, make([]any, 40)}) {
			if scan.MatchString(line) && !strings.HasSuffix(text, "LIMIT 1") { // the newest row is at the table's end
				t.Errorf("%s\n%s", line, text)
			}
		}
		checked++
	}
	if checked < 20 {
		t.Errorf("only %d statements were checked", checked)
	}
}
