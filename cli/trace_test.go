package cli_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"tillerman/db"
	"tillerman/observer"
)

// trace is show --trace --json.
type trace struct {
	Spans []struct {
		Span       *int64
		Parent     *int64
		Depth      int
		Kind, Name string
		Step       int
		Drive      int
		StartMS    *int64 `json:"start_ms"`
		DurationMS *int64 `json:"duration_ms"`
		State      string
		Outcome    string
		Model      *struct {
			Asked    string
			Answered *string
			Tokens   *int64
			Failure  string
			FellBack []struct{ Provider, Failure string } `json:"fell_back"`
		}
		Call *struct {
			Tool     string
			Verdict  *string
			Decision string
			Files    []struct{ Path, Change, Source string }
		}
		Question *struct{ Decision string }
	}
	Drives     []struct{ Ended string }
	DurationMS int64 `json:"duration_ms"`
	Time       map[string]int64
	Files      []string
	Slowest    *int64 `json:"slowest_span"`
}

func (s *shell) trace(run string) (tr trace, text string) {
	s.t.Helper()
	decode(s.t, s.ok("show", run, "--trace", "--json"), &tr)
	return tr, s.ok("show", run, "--trace")
}

// A trace alone answers: why slow, why this cost, which files.
func TestTraceOfTheDemo(t *testing.T) {
	s := newShell(t)
	s.ok("demo", "--plain")
	tr, text := s.trace("1")
	kinds, verdicts := map[string]int{}, map[string]int{}
	var files []string
	depth := map[string]int{"run": 0, "step": 1, "model": 2, "call": 2, "question": 2, "gate": 1}
	for _, sp := range tr.Spans {
		kinds[sp.Kind]++
		if want, ok := depth[sp.Kind]; !ok || sp.Depth != want {
			t.Errorf("%s %s is at depth %d", sp.Kind, sp.Name, sp.Depth)
		}
		if sp.State != "ended" && sp.State != "not begun" || (sp.State == "ended") != (sp.DurationMS != nil) {
			t.Errorf("%s %s: %s, %v", sp.Kind, sp.Name, sp.State, sp.DurationMS)
		}
		switch {
		case sp.Kind == "model" && (sp.Model == nil || sp.Model.Tokens == nil || *sp.Model.Answered != "scripted"):
			t.Errorf("a model call without its facts: %+v", sp)
		case sp.Kind == "call":
			verdicts[*sp.Call.Verdict]++
			for _, f := range sp.Call.Files {
				files = append(files, f.Path)
			}
		case sp.Kind == "question" && sp.Question.Decision != "approve":
			t.Errorf("a question without its answer: %+v", sp)
		}
	}
	if kinds["run"] != 1 || kinds["step"] != 12 || kinds["model"] != 12 || kinds["call"] != 10 || kinds["question"] != 4 || kinds["gate"] != 2 {
		t.Errorf("kinds: %v", kinds)
	}
	if verdicts["denied"] != 1 || verdicts["asked"] != 4 || verdicts["allowed"] != 5 {
		t.Errorf("verdicts: %v", verdicts)
	}
	if len(files) != 2 || files[0] != "lib/duration.sh" || len(tr.Files) != 1 {
		t.Errorf("files: %v, %v", files, tr.Files)
	}
	sum := int64(0)
	for _, ms := range tr.Time {
		sum += ms
	}
	if len(tr.Time) != 7 || sum != tr.DurationMS || tr.Slowest == nil {
		t.Errorf("time %v does not add up to %d ms", tr.Time, tr.DurationMS)
	}
	for _, want := range []string{
		"drive 1 in process ", "ended: success", "scripted-demo → scripted · 1,997 tokens", "write_file .env · denied", "not begun", "asked, approve by ",
		"sh check.sh · failed", "lib/duration.sh modified", "time      ", "engine ", "slowest   ", "cost      unknown", "tokens    34,320",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the trace does not say %q:\n%s", want, text)
		}
	}
}

func TestTraceSaysWhatWasNotMeasured(t *testing.T) {
	fail := true
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if fail {
			fail = false
			w.Header().Set("retry-after-ms", "1")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		w.Header().Set("content-type", "text/event-stream")
		fmt.Fprint(w, `data: {"model":"other","choices":[{"index":0,"delta":{"content":"fine"},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	}))
	defer server.Close()
	s := newShell(t)
	s.ok("run", "look \x1b]0;x\x07around", "-w", s.path("ws"), "--base-url", server.URL+"/v1", "--model", "asked")
	tr, text := s.trace("1")
	var models []string
	for _, sp := range tr.Spans {
		if sp.Kind == "model" {
			if sp.Model.Tokens != nil {
				t.Errorf("tokens of a call that reported none: %d", *sp.Model.Tokens)
			}
			models = append(models, sp.Model.Failure)
		}
	}
	if len(models) != 2 || models[0] == "" || models[1] != "" {
		t.Errorf("model calls: %q", models)
	}
	for _, want := range []string{"asked → other · tokens not measured · answered", "failed: rate_limited", "retry    rate_limited (HTTP 429)", "tokens    not measured"} {
		if !strings.Contains(text, want) {
			t.Errorf("the trace does not say %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, " 0 tokens") || strings.ContainsAny(text, "\x1b\x07") {
		t.Errorf("the trace: %q", text)
	}
}

// A run that waited and was taken up again has two drives, each with what it came to.
func TestTraceOfSeveralDrives(t *testing.T) {
	s := newShell(t)
	s.run("demo", "--approve", "defer")
	_, text := s.trace("1")
	if !strings.Contains(text, "ended: awaiting_approval") || strings.Contains(text, "drive 2") {
		t.Errorf("a paused run:\n%s", text)
	}
	s.ok("resume", "1", "--approve", "all")
	tr, text := s.trace("1")
	if len(tr.Drives) != 2 || !strings.Contains(text, "drive 2 in process ") {
		t.Errorf("drives %+v:\n%s", tr.Drives, text)
	}
	if tr.Time["away_ms"] == 0 && tr.DurationMS > 10_000 {
		t.Errorf("time %v", tr.Time)
	}
}

// What a crash cut off is called so, and what is going on is called open.
func TestTraceOfWhatHasNotEnded(t *testing.T) {
	s := newShell(t)
	path := s.path("runs.db")
	ctx := context.Background()
	store, err := db.Open(ctx, path, db.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	lease := startRun(t, store, func(tx *db.Tx) error {
		run, err := tx.OpenSpan(0, "run", "goal", 0, nil)
		if err != nil {
			return err
		}
		step, err := tx.OpenSpan(run, "step", "step 1", 1, nil)
		if err != nil {
			return err
		}
		_, err = tx.OpenSpan(step, "model", "m", 1, nil)
		return err
	})
	tr, text := s.traceOf(path, "1")
	if len(tr.Spans) != 3 || tr.Spans[2].State != "open" || !strings.Contains(text, "open") || !strings.Contains(text, "goes on") {
		t.Errorf("a live run: %s", text)
	}
	if err := store.LetGo(ctx, lease, "interrupted"); err != nil {
		t.Fatal(err)
	}
	tr, text = s.traceOf(path, "1")
	if tr.Spans[2].State != "cut off" || !strings.Contains(text, "cut off") || !strings.Contains(text, "ended: interrupted") {
		t.Errorf("an interrupted run: %s", text)
	}
}

func (s *shell) traceOf(path, run string) (tr trace, text string) {
	s.t.Helper()
	decode(s.t, s.ok("show", run, "--trace", "--json", "--db", path), &tr)
	return tr, s.ok("show", run, "--trace", "--db", path)
}

// startRun stores a run that this process drives.
func startRun(t *testing.T, store *db.Store, fn func(*db.Tx) error) db.Lease {
	t.Helper()
	lease, _, err := store.Start(context.Background(), db.Run{
		Agent: "0", Goal: "make the tests pass", Workspace: "/w", Provider: "script", Model: "m", Contract: "{}", ContractDigest: "c", Policy: "{}", PolicyDigest: "p",
		Inputs: "{}", Version: "0",
	}, db.Here("test"), "floor", fn)
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

// Steps larger than a page and traces of many pages are shown whole, each span once and in order.
func TestTraceOfManyPages(t *testing.T) {
	s := newShell(t)
	path := s.path("runs.db")
	store, err := db.Open(context.Background(), path, db.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const steps, large, inLarge = 700, 300, 1300
	startRun(t, store, func(tx *db.Tx) error {
		run, err := tx.OpenSpan(0, "run", "goal", 0, nil)
		for n := 1; n <= steps && err == nil; n++ {
			var step int64
			if step, err = tx.OpenSpan(run, "step", fmt.Sprint("step ", n), n, nil); err != nil {
				return err
			}
			calls := 2
			if n == large {
				calls = inLarge
			}
			for c := 1; c <= calls && err == nil; c++ {
				_, err = tx.OpenSpan(step, "call", "read_file", n, &c)
			}
		}
		return err
	})
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	tr, _ := s.traceOf(path, "1")
	if want := 1 + steps + 2*(steps-1) + inLarge; len(tr.Spans) != want {
		t.Fatalf("%d spans, want %d", len(tr.Spans), want)
	}
	for i, sp := range tr.Spans {
		if *sp.Span != int64(i+1) || sp.Kind == "call" && sp.Depth != 2 {
			t.Fatalf("span %d is %+v", i+1, sp)
		}
	}
}

func TestStatsCancel(t *testing.T) {
	s := newShell(t)
	path := s.store()
	if out := s.ok("stats", "cancel", "--db", path); out != "no run was asked to stop\n" {
		t.Errorf("stats: %q", out)
	}
	var none struct {
		Asked   int
		Stopped map[string]any `json:"requested_to_stopped"`
	}
	decode(t, s.ok("stats", "cancel", "--db", path, "--json"), &none)
	if p50, ok := none.Stopped["p50_ms"]; !ok || p50 != nil {
		t.Errorf("without a cancel p50 is %v, want null", p50)
	}

	ctx := context.Background()
	now := time.UnixMilli(1_700_000_000_000)
	store, err := db.Open(ctx, path, db.Options{Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	stop := func(kind, point string, seen, took time.Duration) {
		lease := startRun(t, store, func(*db.Tx) error { return nil })
		c, _, err := store.Control(ctx, db.Control{RunID: lease.RunID, Kind: kind, By: db.Here("test")})
		if err != nil {
			t.Fatal(err)
		}
		at := now
		for _, fn := range []func(*db.Tx) error{
			func(tx *db.Tx) error { now = at.Add(seen); return nil },
			func(tx *db.Tx) error { return tx.ObserveControl(c.ID, point) },
			func(tx *db.Tx) error { now = at.Add(took); return nil },
			func(tx *db.Tx) error {
				if took == 0 {
					return nil
				}
				return tx.StopControl(c.ID)
			},
		} {
			if _, err := store.Commit(ctx, lease, fn); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i := 1; i <= 20; i++ {
		stop("cancel", "step boundary", time.Duration(i)*time.Millisecond, time.Duration(10*i)*time.Millisecond)
	}
	stop("kill", "tool", time.Millisecond, 3*time.Second)
	stop("cancel", db.TooLate, time.Millisecond, 0)
	lease := startRun(t, store, func(*db.Tx) error { return nil })
	if _, _, err := store.Control(ctx, db.Control{RunID: lease.RunID, Kind: "cancel", By: db.Here("test")}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := store.Control(ctx, db.Control{RunID: lease.RunID, Kind: "tell", Body: "no", By: db.Here("test")}); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}

	type spread struct {
		Count int
		P50   int64 `json:"p50_ms"`
		P95   int64 `json:"p95_ms"`
		Max   int64 `json:"max_ms"`
	}
	var got struct {
		Asked, Cancels, Kills, Pending int
		TooLate                        int               `json:"too_late"`
		Stopped                        spread            `json:"requested_to_stopped"`
		Observed                       spread            `json:"requested_to_observed"`
		ByPoint                        map[string]spread `json:"stopped_by_safe_point"`
	}
	decode(t, s.ok("stats", "cancel", "--db", path, "--json"), &got)
	if got.Asked != 23 || got.Cancels != 22 || got.Kills != 1 || got.Pending != 1 || got.TooLate != 1 {
		t.Errorf("counts: %+v", got)
	}
	if want := (spread{21, 110, 200, 3000}); got.Stopped != want {
		t.Errorf("stopped %+v, want %+v", got.Stopped, want)
	}
	if want := (spread{21, 10, 19, 20}); got.Observed != want {
		t.Errorf("observed %+v, want %+v", got.Observed, want)
	}
	if got.ByPoint["step boundary"].Count != 20 || got.ByPoint["step boundary"].Max != 200 || got.ByPoint["tool"].P50 != 3000 || len(got.ByPoint) != 2 {
		t.Errorf("by point: %+v", got.ByPoint)
	}
	out := s.ok("stats", "cancel", "--db", path)
	for _, want := range []string{"23 asked to stop (22 cancel, 1 kill): 21 stopped, 1 too late, 1 pending", "requested to stopped", "110 ms", "3.0 s", "at step boundary"} {
		if !strings.Contains(out, want) {
			t.Errorf("stats does not say %q:\n%s", want, out)
		}
	}
	if code, _, errOut := s.run("stats"); code != 2 || !strings.Contains(errOut, "stats cancel") {
		t.Errorf("stats alone: exit %d, %s", code, errOut)
	}
}

func TestPrune(t *testing.T) {
	s := newShell(t)
	for _, bad := range []string{"", "30", "soon", "-3d", "+3d", "1.5d", "-1h", "99999999999d"} {
		code, _, errOut := s.run("prune", "--older", bad)
		if code != 2 || strings.Count(errOut, "\n") != 1 {
			t.Errorf("--older %q: exit %d, %q", bad, code, errOut)
		}
	}
	if code, _, errOut := s.run("prune", "--older", "30d"); code != 2 || !strings.Contains(errOut, "no store") {
		t.Errorf("without a store: exit %d, %s", code, errOut)
	}
	s.ok("demo", "--plain")
	s.run("demo", "--approve", "defer") // run 2 waits
	if out := s.ok("prune", "--older", "30d"); !strings.Contains(out, "nothing to remove") {
		t.Errorf("prune: %s", out)
	}
	for _, age := range []string{"0d", "0h", "0m"} {
		if out := s.ok("prune", "--older", age, "--dry-run"); !strings.Contains(out, "would remove the trace of 1 run ") || !strings.Contains(out, "12 steps") {
			t.Errorf("prune --older %s --dry-run: %s", age, out)
		}
	}
	s.ok("show", "1", "--trace") // a dry run removes nothing
	summary := s.ok("show", "1")
	var removed struct {
		Verb        string
		Runs, Steps int
	}
	decode(t, s.ok("prune", "--older", "0d", "--json"), &removed)
	if removed.Verb != "removed" || removed.Runs != 1 || removed.Steps != 12 {
		t.Errorf("prune: %+v", removed)
	}
	today := time.Now().Format(time.DateOnly)
	note := "  trace     removed on " + today + "\n"
	if out := s.ok("show", "1"); strings.Replace(out, note, "", 1) != summary || !strings.Contains(out, note) {
		t.Errorf("show:\n%s\nbefore:\n%s", out, summary)
	}
	if out := s.ok("runs"); !strings.Contains(out, "(trace removed on "+today+")") {
		t.Errorf("runs: %s", out)
	}
	for _, args := range [][]string{
		{"show", "1", "--steps"},
		{"show", "1", "--trace"},
		{"show", "1", "--canonical"},
		{"show", "1", "--trace", "--json"},
		{"show", "1", "--steps", "--json"},
		{"resume", "1"},
		{"resume", "1", "--max-steps", "90"},
		{"watch", "1", "--plain"},
		{"watch", "1", "--json"},
	} {
		code, out, errOut := s.run(args...)
		if code != 1 || out != "" || errOut != "tillerman: the trace of run 1 was removed on "+today+"; what is kept is in tillerman show 1\n" {
			t.Errorf("%v: exit %d, %q, %q", args, code, out, errOut)
		}
	}
	var shown []struct {
		RunID   int64  `json:"run_id"`
		Removed *int64 `json:"trace_removed_at"`
	}
	decode(t, s.ok("runs", "--json"), &shown)
	if len(shown) != 2 || shown[0].Removed != nil || shown[1].Removed == nil {
		t.Errorf("runs --json: %+v", shown)
	}
	s.ok("resume", "2", "--approve", "all") // what waited goes on
	if out := s.ok("show", "2", "--trace"); !strings.Contains(out, string(observer.OutcomeSuccess)) {
		t.Errorf("run 2: %s", out)
	}
	if out := s.ok("doctor"); strings.Contains(out, "fail") {
		t.Errorf("doctor: %s", out)
	}
}
