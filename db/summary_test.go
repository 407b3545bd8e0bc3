package db

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tillerman/observer"
)

// Only an ending has a summary.
func TestSummaryIsAbsent(t *testing.T) {
	s := opened(t, Options{})
	cases := map[string]func(Lease){
		"running": func(Lease) {},
		"crashed": func(lease Lease) { raw(t, s, "UPDATE leases SET pid = 1073741824 WHERE run_id = ?", lease.RunID) },
		"let go":  func(lease Lease) { must(t, s.LetGo(t.Context(), lease, "interrupted")) },
		"row gone": func(lease Lease) {
			ended(t, s, lease, Ending{Outcome: "success", Status: Completed, Success: true})
			raw(t, s, "DELETE FROM summaries WHERE run_id = ?", lease.RunID)
		},
		"taken up again": func(lease Lease) {
			ended(t, s, lease, Ending{Outcome: "step_cap_reached", Status: Completed})
			_, _, err := s.TakeUp(t.Context(), lease.RunID, tester, "floor", false, nothing)
			must(t, err)
		},
	}
	paused := 0
	for _, row := range observer.Outcomes() {
		if row.Status == observer.StatusPaused {
			paused++
			cases[string(row.Outcome)] = func(lease Lease) { ended(t, s, lease, Ending{Outcome: string(row.Outcome), Status: Paused}) }
		}
	}
	if paused != 4 {
		t.Errorf("%d paused words", paused)
	}
	for name, prepare := range cases {
		lease := begun(t, s)
		prepare(lease)
		if sum, err := s.Summary(t.Context(), lease.RunID); !errors.Is(err, ErrNotFound) || !reflect.DeepEqual(sum, Summary{}) {
			t.Errorf("%s: %+v %v", name, sum, err)
		}
		if l, err := s.Listed(t.Context(), lease.RunID); err != nil || l.Ended {
			t.Errorf("%s: listed as ended: %v", name, err)
		}
	}
	if _, err := s.Summary(t.Context(), 999); !errors.Is(err, ErrNotFound) {
		t.Errorf("no run: %v", err)
	}
}

func TestSecondEndingReplaces(t *testing.T) {
	c := newClock()
	s := opened(t, Options{Now: c.now})
	d := newStepper(t, s)
	d.step(t, 1)
	c.move(2000)
	ended(t, s, d.lease, Ending{Outcome: "step_cap_reached", Status: Completed, StopReason: "all 1 steps are used up"})
	c.move(10_000)
	var err error
	d.lease, _, err = s.TakeUp(t.Context(), d.lease.RunID, tester, "floor", false, nothing)
	must(t, err)
	d.step(t, 2)
	c.move(500)
	want := ended(t, s, d.lease, Ending{Outcome: "success", Status: Completed, Success: true, Said: "done", Verified: ptr(true)})
	if want.Steps != 2 || want.Tokens != 8400 || want.DurationMS != 12_500 || want.Time.Away != 10_000 || want.FinishedAt != c.at.UnixMilli() || want.StopReason != "" {
		t.Errorf("%+v", want)
	}
	got, err := s.Summary(t.Context(), d.lease.RunID)
	must(t, err)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("stored %+v, returned %+v", got, want)
	}
	if n := number(t, s, "SELECT count(*) FROM summaries"); n != 1 {
		t.Errorf("%d rows", n)
	}
	run, err := s.Run(t.Context(), d.lease.RunID)
	must(t, err)
	if run.Outcome != "success" || run.Said != "done" || run.FinishedAt != c.at.UnixMilli() || run.Sealed != 2 {
		t.Errorf("%+v", run)
	}
}

// A run row, its summary, last event and audit row, and the end of the lease, are one commit.
func TestFinishIsOneCommit(t *testing.T) {
	var commits int64
	s := opened(t, Options{AfterCommit: func(n int64) { commits = n }})
	lease := begun(t, s)
	if commits != 1 {
		t.Fatalf("a start is %d commits", commits)
	}
	refused := errors.New("no")
	finish := func(last error) func(*Tx) error {
		return func(tx *Tx) error {
			if _, err := tx.Finish(Ending{Outcome: "success", Status: Completed, Success: true}); err != nil {
				return err
			}
			must(t, tx.Event(0, 0, observer.Finished{Outcome: "success"}))
			must(t, tx.Audit(AuditRow{Action: "end", Actor: tester}))
			return last
		}
	}
	before := dump(t, s)
	if _, err := s.Commit(t.Context(), lease, finish(refused)); err != refused {
		t.Fatal(err)
	}
	if after := dump(t, s); after != before || commits != 1 {
		t.Errorf("an ending that failed left something, %d commits", commits)
	}
	commit(t, s, lease, finish(nil))
	if commits != 2 {
		t.Errorf("an ending is %d commits", commits-1)
	}
	if _, _, driven, err := s.Driver(t.Context(), lease.RunID); driven || err != nil {
		t.Errorf("driven %v, %v", driven, err)
	}
	if _, err := s.Summary(t.Context(), lease.RunID); err != nil {
		t.Error(err)
	}
	if ds, err := s.Drives(t.Context(), lease.RunID); err != nil || ds[0].Ended != "success" {
		t.Errorf("%+v %v", ds, err)
	}
}

// The first seven keys are what every reader knows; all of them are there, measured or not.
func TestSummaryKeys(t *testing.T) {
	body, err := json.Marshal(Summary{})
	must(t, err)
	keys := regexp.MustCompile(`"([a-z_]+)":`).FindAllStringSubmatch(string(body), -1)
	var got []string
	for _, k := range keys {
		got = append(got, k[1])
	}
	want := strings.Fields(`run_id outcome success steps tokens duration_ms finished_at
 stop_reason said verified gate_changed input output cache_read cache_write reasoning tokens_billed calls unmeasured cost_micros
 subtree_tokens subtree_cost_micros time model_ms tool_ms person_ms retry_ms gate_ms away_ms engine_ms
 refusals approvals files models_asked models_answered retries cancel_latency_ms cancelled_by late`)
	if !slices.Equal(got, want) {
		t.Errorf("keys\n%v\nwant\n%v", got, want)
	}
}

func TestSummaryOfWhatWasNotMeasured(t *testing.T) {
	s := opened(t, Options{})
	finish := func(attempts ...Attempt) Summary {
		t.Helper()
		lease := begun(t, s)
		commit(t, s, lease, func(tx *Tx) error {
			for _, a := range attempts {
				var err error
				if a.Attempt, err = tx.AddAttempt(a); err != nil {
					return err
				}
				if a.State != AttemptOpen {
					if err := tx.EndAttempt(a); err != nil {
						return err
					}
				}
			}
			return nil
		})
		return ended(t, s, lease, Ending{Outcome: "success", Status: Completed, Success: true})
	}
	n := func(v int64) *int64 { return &v }
	whole := Attempt{State: AttemptAnswered, Model: "m", AnsweredModel: "m-1", Input: n(10), Output: n(2), CacheRead: n(0), CostMicros: n(7), Estimate: 100, Hold: 50}
	bare := Attempt{State: AttemptAnswered, Model: "m", Estimate: 100, Hold: 50}
	for name, c := range map[string]struct {
		got, want Summary
	}{
		"no calls":   {finish(), Summary{}},
		"measured":   {finish(whole), Summary{SummaryDetail: SummaryDetail{Input: n(10), Output: n(2), CacheRead: n(0), TokensBilled: 12, Calls: 1, CostMicros: n(7), ModelsAsked: []string{"m"}, ModelsServed: []string{"m-1"}}}},
		"unmeasured": {finish(bare), Summary{SummaryDetail: SummaryDetail{TokensBilled: 150, Calls: 1, Unmeasured: 1, ModelsAsked: []string{"m"}}}},
		"one of two": {finish(whole, bare), Summary{SummaryDetail: SummaryDetail{Input: n(10), Output: n(2), CacheRead: n(0), TokensBilled: 162, Calls: 2, Unmeasured: 1, ModelsAsked: []string{"m"}, ModelsServed: []string{"m-1"}}}},
		"no price":   {finish(Attempt{State: AttemptAnswered, Model: "m", Input: n(1), Output: n(1)}, whole), Summary{SummaryDetail: SummaryDetail{Input: n(11), Output: n(3), CacheRead: n(0), TokensBilled: 14, Calls: 2, ModelsAsked: []string{"m"}, ModelsServed: []string{"m-1"}}}},
		"failed":     {finish(Attempt{State: AttemptFailed, Model: "m", Estimate: 100}), Summary{SummaryDetail: SummaryDetail{Calls: 1, Retries: 1, ModelsAsked: []string{"m"}}}},
		"refused":    {finish(Attempt{State: AttemptFailed, Kind: "model_refused", Model: "m", Estimate: 100}), Summary{SummaryDetail: SummaryDetail{Calls: 1, Retries: 1, Unmeasured: 1, ModelsAsked: []string{"m"}}}},
		"lost":       {finish(Attempt{State: AttemptLost, Model: "m", Estimate: 100}), Summary{SummaryDetail: SummaryDetail{Calls: 1, Unmeasured: 1, ModelsAsked: []string{"m"}}}},
		"open":       {finish(Attempt{State: AttemptOpen, Model: "m", Estimate: 100, Hold: 150}), Summary{SummaryDetail: SummaryDetail{TokensBilled: 150, Calls: 1, Unmeasured: 1, ModelsAsked: []string{"m"}}}},
		"beyond all": {
			finish(Attempt{State: AttemptAnswered, Model: "m", Input: n(math.MaxInt64), Output: n(math.MaxInt64), CostMicros: n(math.MaxInt64)}, whole),
			Summary{SummaryDetail: SummaryDetail{Input: n(9e18), Output: n(9e18), CacheRead: n(0), TokensBilled: 9e18, Calls: 2, CostMicros: n(9e18), ModelsAsked: []string{"m"}, ModelsServed: []string{"m-1"}}},
		},
	} {
		got, want := c.got, c.want
		want.RunID, want.Outcome, want.Success, want.FinishedAt, want.Approvals, want.Files = got.RunID, "success", true, got.FinishedAt, []ApprovalCount{}, []string{}
		want.DurationMS, want.Time = got.DurationMS, got.Time
		want.SubtreeTokens, want.SubtreeCost = want.TokensBilled, want.CostMicros
		if want.ModelsAsked == nil {
			want.ModelsAsked = []string{}
		}
		if want.ModelsServed == nil {
			want.ModelsServed = []string{}
		}
		if !reflect.DeepEqual(got, want) {
			a, _ := json.Marshal(got)
			b, _ := json.Marshal(want)
			t.Errorf("%s:\n%s\nwant\n%s", name, a, b)
		}
	}
}

func TestSummaryOfDecisionsAndFiles(t *testing.T) {
	s := opened(t, Options{})
	lease, ids := asked(t, s, 4)
	for i, answer := range []string{"approve", "approve", "deny"} {
		_, err := s.Decide(t.Context(), ids[i], Decision{Answer: answer}, tester)
		must(t, err)
	}
	commit(t, s, lease, func(tx *Tx) error {
		for _, effect := range []string{"deny", "allow", "deny", "ask"} {
			if err := tx.AddVerdict(Verdict{Step: 1, Act: "exec", Target: "x", Effect: effect}); err != nil {
				return err
			}
		}
		for i, f := range []File{
			{Path: "b.go", Change: "added", Done: true},
			{Path: "a.go", Change: "modified", Done: true},
			{Path: "a.go", Change: "modified", Done: true},
			{Path: "same.go", Change: "none", Done: true},
			{Path: "never.go", Change: "added"},
		} {
			f.Step, f.Position, f.Source = 1, i+1, "write"
			if err := tx.AddFile(f); err != nil {
				return err
			}
		}
		return nil
	})
	sum := ended(t, s, lease, Ending{Outcome: "success", Status: Completed, Success: true})
	if sum.Refusals != 2 || !slices.Equal(sum.Files, []string{"a.go", "b.go"}) ||
		fmt.Sprint(sum.Approvals) != "[{ann (test) approve 2} {ann (test) deny 1}]" {
		t.Errorf("%+v", sum)
	}
}

// Whatever happens to a run, and however the wall clock goes, the parts of its time add up and every call is billed.
func TestSummaryAddsUp(t *testing.T) {
	c := newClock()
	s := opened(t, Options{Now: c.now})
	rapid.Check(t, func(r *rapid.T) {
		lease := begun(t, s)
		var open []int64
		steps, tokens := 0, int64(0)
		in := func(fn func(*Tx) error) {
			_, err := s.Commit(t.Context(), lease, fn)
			must(r, err)
		}
		count := func(label string) *int64 {
			return rapid.Ptr(rapid.Int64Range(0, 1000), true).Draw(r, label)
		}
		r.Repeat(map[string]func(*rapid.T){
			"time":  func(r *rapid.T) { c.move(rapid.Int64Range(0, 5000).Draw(r, "ms")) },
			"clock": func(r *rapid.T) { c.move(rapid.Int64Range(-20_000, 20_000).Draw(r, "ms")) },
			"open": func(r *rapid.T) {
				in(func(tx *Tx) error {
					n, err := tx.OpenSpan(0, rapid.SampledFrom([]string{"run", "step", "model", "call", "question", "retry", "gate", "pause"}).Draw(r, "kind"), "x", 1, nil)
					open = append(open, n)
					return err
				})
			},
			"close": func(r *rapid.T) {
				if len(open) == 0 {
					r.Skip()
				}
				i := rapid.IntRange(0, len(open)-1).Draw(r, "i") // not always the innermost
				in(func(tx *Tx) error {
					_, err := tx.CloseSpan(open[i], "done")
					return err
				})
				open = slices.Delete(open, i, i+1)
			},
			"attempt": func(r *rapid.T) {
				a := Attempt{
					State: rapid.SampledFrom([]AttemptState{AttemptOpen, AttemptAnswered, AttemptFailed, AttemptLost}).Draw(r, "state"),
					Inner: rapid.Bool().Draw(r, "inner"), Estimate: *rapid.Ptr(rapid.Int64Range(0, 1000), false).Draw(r, "estimate"), Hold: 77,
					Input: count("input"), Output: count("output"), CacheRead: count("read"), CacheWrite: count("write"), CostMicros: count("cost"), Model: "m",
				}
				in(func(tx *Tx) error {
					var err error
					if a.Attempt, err = tx.AddAttempt(a); err != nil || a.State == AttemptOpen {
						return err
					}
					return tx.EndAttempt(a)
				})
			},
			"seal": func(r *rapid.T) {
				steps++
				n := rapid.Int64Range(0, 1000).Draw(r, "tokens")
				tokens += n
				in(func(tx *Tx) error { return tx.Seal(Step{Step: steps, Tokens: n}) })
			},
			"drive": func(r *rapid.T) { // die, let go or pause; time passes; taken up again
				switch rapid.IntRange(0, 2).Draw(r, "how") {
				case 0:
					raw(t, s, "DELETE FROM leases")
				case 1:
					must(r, s.LetGo(t.Context(), lease, "interrupted"))
				case 2:
					in(func(tx *Tx) error {
						_, err := tx.Finish(Ending{Outcome: "awaiting_approval", Status: Paused})
						return err
					})
				}
				open = nil
				c.move(rapid.Int64Range(-20_000, 20_000).Draw(r, "ms"))
				var err error
				lease, _, err = s.TakeUp(t.Context(), lease.RunID, tester, "floor", false, nothing)
				must(r, err)
			},
		})
		live, err := s.Figures(t.Context(), lease.RunID)
		must(r, err)
		var sum Summary
		in(func(tx *Tx) error {
			var err error
			sum, err = tx.Finish(Ending{Outcome: "success", Status: Completed, Success: true})
			return err
		})
		attempts, err := s.Attempts(t.Context(), lease.RunID)
		must(r, err)
		billed, unmeasured := int64(0), 0
		for _, a := range attempts {
			billed += a.Billed()
			if !a.Measured() && a.State != AttemptFailed {
				unmeasured++
			}
		}
		for _, sum := range []Summary{sum, live} {
			p := sum.Time
			parts := []int64{p.Model, p.Tool, p.Person, p.Retry, p.Gate, p.Away, p.Engine}
			total := int64(0)
			for _, ms := range parts {
				if total += ms; ms < 0 {
					r.Fatalf("a negative part: %+v", p)
				}
			}
			if total != sum.DurationMS {
				r.Fatalf("parts add up to %d of %d: %+v", total, sum.DurationMS, p)
			}
			if sum.TokensBilled != billed || sum.Unmeasured != unmeasured || sum.Calls != len(attempts) || sum.Tokens != tokens || sum.Steps != steps {
				r.Fatalf("billed %d unmeasured %d calls %d tokens %d steps %d in %+v", billed, unmeasured, len(attempts), tokens, steps, sum)
			}
		}
		if n := number(t, s, "SELECT tokens FROM runs WHERE id = ?", lease.RunID); n != tokens {
			r.Fatalf("the run's tokens are %d, want %d", n, tokens)
		}
	})
}

// A moment that two spans cover is the inner one's.
func TestSplitOfNestedSpans(t *testing.T) {
	const never = math.MaxInt64
	for name, c := range map[string]struct {
		elapsed int64
		spans   []stretch
		want    map[string]int64
	}{
		"nothing":                       {100, nil, map[string]int64{}},
		"one after another":             {100, []stretch{{kind: "model", from: 0, to: 30}, {kind: "call", from: 30, to: 50}, {kind: "gate", from: 80, to: 90}}, map[string]int64{"model": 30, "call": 20, "gate": 10}},
		"a question of a tool":          {100, []stretch{{kind: "call", from: 10, to: 90}, {kind: "question", from: 20, to: 70}}, map[string]int64{"call": 30, "question": 50}},
		"overlapping":                   {100, []stretch{{kind: "call", from: 0, to: 60}, {kind: "retry", from: 40, to: 90}}, map[string]int64{"call": 40, "retry": 50}},
		"the same moment":               {100, []stretch{{kind: "call", from: 0, to: 50}, {kind: "question", from: 0, to: 50}}, map[string]int64{"question": 50}},
		"open to the end":               {100, []stretch{{kind: "pause", from: 40, to: never}}, map[string]int64{"pause": 60}},
		"longer than the drive":         {100, []stretch{{kind: "model", from: 40, to: 400}, {kind: "call", from: 200, to: 300}}, map[string]int64{"model": 60}},
		"out of order":                  {100, []stretch{{kind: "call", from: 50, to: 60}, {kind: "model", from: 0, to: 50}}, map[string]int64{"model": 50, "call": 10}},
		"ended while another goes on":   {100, []stretch{{kind: "call", from: 0, to: 100}, {kind: "retry", from: 10, to: 20}, {kind: "gate", from: 30, to: 40}}, map[string]int64{"call": 80, "retry": 10, "gate": 10}},
		"begun before, ended after all": {100, []stretch{{kind: "call", from: 0, to: never}, {kind: "call", from: 10, to: never}}, map[string]int64{"call": 100}},
	} {
		var got Split
		got.divide(c.spans, c.elapsed)
		have := maps.Collect(func(yield func(string, int64) bool) {
			for kind, ms := range map[string]int64{"model": got.Model, "call": got.Tool, "question": got.Person, "retry": got.Retry, "gate": got.Gate, "pause": got.Away} {
				if ms != 0 && !yield(kind, ms) {
					return
				}
			}
		})
		if !maps.Equal(have, c.want) {
			t.Errorf("%s: %v, want %v", name, have, c.want)
		}
	}
}

// A wall clock that goes back takes no time away that was counted, and gives none.
func TestClockThatGoesBack(t *testing.T) {
	c := newClock()
	s := opened(t, Options{Now: c.now})
	lease := begun(t, s)
	span := func(fn func(tx *Tx) error) { t.Helper(); commit(t, s, lease, fn) }
	var n int64
	span(func(tx *Tx) (err error) { n, err = tx.OpenSpan(0, "model", "m", 1, nil); return err })
	c.move(5000)
	span(nothing)
	c.move(-3_600_000)
	span(func(tx *Tx) error {
		took, err := tx.CloseSpan(n, "answered")
		if *took != 0 {
			t.Errorf("a span took %d ms", *took)
		}
		return err
	})
	must(t, s.LetGo(t.Context(), lease, "interrupted"))
	if ds, err := s.Drives(t.Context(), lease.RunID); err != nil || ds[0].ElapsedMS != 5000 {
		t.Errorf("%+v %v", ds, err)
	}
	var err error
	lease, _, err = s.TakeUp(t.Context(), lease.RunID, tester, "floor", false, nothing)
	must(t, err)
	if sum := ended(t, s, lease, Ending{Outcome: "success", Status: Completed, Success: true}); sum.DurationMS != 5000 || sum.Time != (Split{Engine: 5000}) {
		t.Errorf("%d ms, %+v", sum.DurationMS, sum.Time)
	}
}
