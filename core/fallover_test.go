package core_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tillerman/core"
	"tillerman/core/policy"
	"tillerman/core/provider"
	"tillerman/core/provider/fallback"
	"tillerman/core/provider/record"
	"tillerman/core/provider/replay"
	"tillerman/db"
	"tillerman/observer"
)

// leaf is a model under a name of its own.
type leaf struct {
	*turns
	name string
	host string
}

func (l *leaf) Name() string { return l.name }

func (l *leaf) Endpoints() []string {
	if l.host == "" {
		return nil
	}
	return []string{l.host}
}

func (l *leaf) Complete(ctx context.Context, req provider.Request, call provider.Call) (provider.Answer, error) {
	a, err := l.turns.Complete(ctx, req, call)
	a.Served, a.Model = l.name, req.Model+"-answered"
	if e, ok := provider.As(err); ok {
		named := *e
		named.Provider = l.name
		return a, &named
	}
	return a, err
}

// pair is a chain of two: openai with the contract's model, then anthropic with m2.
func pair(t *testing.T, first, second *turns) (p *fallback.Chain, c core.Contract) {
	t.Helper()
	p, err := fallback.New(nil,
		fallback.Member{Provider: &leaf{turns: first, name: "openai"}},
		fallback.Member{Provider: &leaf{turns: second, name: "anthropic"}, Model: "m2"})
	must(t, err)
	return p, core.Contract{
		Provider: core.Source{Kind: "openai"}, Model: "m1", Fallback: []core.Source{{Kind: "anthropic", Model: "m2"}},
	}
}

// chained is the rig's contract for a chain.
func (r *rig) chained(of core.Contract) core.Contract {
	c := quick(r.contract())
	c.Provider, c.Model, c.Fallback = of.Provider, of.Model, of.Fallback
	return c
}

func attempts(t *testing.T, store *db.Store, run int64) []db.Attempt {
	t.Helper()
	all, err := store.Attempts(context.Background(), run)
	must(t, err)
	return all
}

// brief is what a test looks at of attempts.
func brief(all []db.Attempt) string {
	var b strings.Builder
	for _, a := range all {
		fmt.Fprintf(&b, "%d %s %s %s", a.Attempt, a.Provider, a.Model, a.State)
		if a.Inner {
			b.WriteString(" inner")
		}
		if a.Kind != "" {
			b.WriteString(" " + a.Kind + ": " + a.Message)
		}
		if a.Served != "" {
			b.WriteString(" by " + a.Served)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func wantAttempts(t *testing.T, all []db.Attempt, want ...string) {
	t.Helper()
	if got := brief(all); got != strings.Join(want, "\n")+"\n" {
		t.Errorf("attempts are\n%s, want\n%s", got, strings.Join(want, "\n"))
	}
}

// Each provider that is asked is an attempt of its own, under its own name and model; the failure before it is stored, and
// it has begun, when it is asked.
func TestEachProviderAskedIsAnAttempt(t *testing.T) {
	r := newRig(t)
	first := answers(fail(provider.Overloaded), say("done"))
	second := answers(call("list", `{"path":"."}`))
	p, chained := pair(t, first, second)
	other, seen := r.elsewhere(), &collect{}
	looked := false
	second.before = func(context.Context, int) {
		looked = true
		all := attempts(t, other, 1)
		wantAttempts(t, all, "1 openai m1 failed inner overloaded: no", "2 anthropic m2 open")
		if len(all) == 2 && (all[0].TotalMS == nil || all[0].Hold != 0 || all[1].Hold == 0 || len(all[0].Append) != 1 || all[1].Keep != 1 || len(all[1].Append) != 0) {
			t.Errorf("attempts %+v", all)
		}
		spans, err := other.RecentSpans(context.Background(), 1, 3)
		must(t, err)
		if spans[0].Kind != "model" || spans[0].Name != "m2" || spans[0].DurationMS != nil || spans[1].Name != "m1" || spans[1].DurationMS == nil {
			t.Errorf("spans %+v", spans)
		}
	}
	res, err := r.engine(p, core.WithObserver(seen)).Run(context.Background(), r.chained(chained))
	must(t, err)
	if res.Outcome != observer.OutcomeSuccess || !looked {
		t.Fatalf("%s: %s", res.Outcome, res.Message)
	}
	wantAttempts(t, attempts(t, r.store, res.RunID),
		"1 openai m1 failed inner overloaded: no", "2 anthropic m2 answered by anthropic", "3 openai m1 answered by openai")
	if !slices.Equal(res.Summary.ModelsAsked, []string{"m1", "m2"}) || res.Summary.Retries != 1 {
		t.Errorf("summary %+v", res.Summary)
	}
	tags := slices.DeleteFunc(seen.tags(), func(tag string) bool {
		return !strings.HasPrefix(tag, "model") && tag != "fell_back_to" && tag != "retry"
	})
	if want := "model_asked model_call model_asked model_call fell_back_to model_asked model_call"; strings.Join(tags, " ") != want {
		t.Errorf("events %v, want %s", tags, want)
	}
	for _, ev := range seen.events {
		switch k := ev.Kind.(type) {
		case observer.FellBackTo:
			if k.Provider != "anthropic" || ev.Step != 1 {
				t.Errorf("%+v at step %d", k, ev.Step)
			}
		case observer.Started:
			if k.Provider != "openai -> anthropic" {
				t.Errorf("started with %s", k.Provider)
			}
		}
	}
	run, err := r.store.Run(context.Background(), res.RunID)
	must(t, err)
	if run.Provider != "openai" { // what a list of runs is searched by
		t.Errorf("the run's provider is %q", run.Provider)
	}
}

// When nobody answers the whole chain is one try of the engine's, and a refusal stays the first one's.
func TestTriesOfAChain(t *testing.T) {
	for _, c := range []struct {
		name          string
		first, second provider.Kind
		want          observer.Outcome
		calls         [2]int
	}{
		{"both down", provider.Server, provider.Overloaded, observer.OutcomeEscalatedRetryable, [2]int{3, 3}},
		{"the second refuses the key", provider.Server, provider.Auth, observer.OutcomeEscalatedTerminal, [2]int{1, 1}},
		{"the first refuses the key", provider.Auth, provider.Server, observer.OutcomeEscalatedTerminal, [2]int{1, 0}},
		{"the first refuses", provider.ModelRefused, provider.Server, observer.OutcomeRefused, [2]int{1, 0}},
		{"the second refuses", provider.Timeout, provider.ModelRefused, observer.OutcomeRefused, [2]int{1, 1}},
		{"too long", provider.ContextLength, provider.Server, observer.OutcomeEscalatedTerminal, [2]int{2, 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			first, second := answers(fail(c.first)), answers(fail(c.second))
			p, chained := pair(t, first, second)
			seen := &collect{}
			res, err := r.engine(p, core.WithObserver(seen)).Run(context.Background(), r.chained(chained))
			must(t, err)
			if res.Outcome != c.want || [2]int{first.calls, second.calls} != c.calls {
				t.Errorf("%s (%s) after %d and %d calls", res.Outcome, res.Message, first.calls, second.calls)
			}
			if slices.Contains(seen.tags(), "fell_back_to") {
				t.Error("fell back to somebody who did not answer")
			}
		})
	}
}

// The answer is priced by what the provider that served it charges.
func TestTheAnsweringProvidersPriceRules(t *testing.T) {
	const model = "claude-haiku-4-5" // the catalog has it for anthropic, and not for openai
	cost := func(first *turns) (*int64, []db.Attempt) {
		r := newRig(t)
		p, err := fallback.New(nil,
			fallback.Member{Provider: &priced{leaf{turns: first, name: "openai"}, model}},
			fallback.Member{Provider: &priced{leaf{turns: answers(say("done")), name: "anthropic:" + model}, model}, Model: model})
		must(t, err)
		_, chained := pair(t, first, first)
		chained.Fallback[0] = core.Source{Kind: "anthropic", Model: model, Name: "anthropic:" + model}
		res, err := r.engine(p).Run(context.Background(), r.chained(chained))
		must(t, err)
		all := attempts(t, r.store, res.RunID)
		if res.Outcome != observer.OutcomeSuccess {
			t.Fatal(res.Message)
		}
		file, err := core.Recording(context.Background(), r.store, res.RunID)
		must(t, err)
		again := replayed(t, file)
		if (again.CostMicros == nil) != (res.Summary.CostMicros == nil) || again.CostMicros != nil && *again.CostMicros != *res.Summary.CostMicros {
			t.Errorf("the replay costs %v, the run %v", again.CostMicros, res.Summary.CostMicros)
		}
		return res.Summary.CostMicros, all
	}
	if got, all := cost(answers(fail(provider.Server))); got == nil || *got != 100+10*5 {
		t.Errorf("answered by the fallback it costs %v\n%s", got, brief(all))
	}
	if got, all := cost(answers(say("done"))); got != nil {
		t.Errorf("an openai model with anthropic's price: %d\n%s", *got, brief(all))
	}
}

// priced answers under a model's real name.
type priced struct {
	leaf
	model string
}

func (p *priced) Complete(ctx context.Context, req provider.Request, call provider.Call) (provider.Answer, error) {
	a, err := p.leaf.Complete(ctx, req, call)
	a.Model = p.model
	return a, err
}

// A cancel that comes while a provider is asked holds before the next is.
func TestCancelBetweenProviders(t *testing.T) {
	r := newRig(t)
	first, second := answers(fail(provider.Server)), answers(say("done"))
	p, chained := pair(t, first, second)
	obs := cancelWhen(t, r.elsewhere(), tagged("model_asked"))
	res, err := r.engine(p, core.WithObserver(obs)).Run(context.Background(), r.chained(chained))
	must(t, err)
	if res.Outcome != observer.OutcomeCancelled || second.calls != 0 || !strings.Contains(res.Message, "between providers") {
		t.Fatalf("%s (%s), the second was asked %d times", res.Outcome, res.Message, second.calls)
	}
	checkCancelled(t, r, res, observer.OutcomeCancelled)
	wantAttempts(t, attempts(t, r.store, res.RunID), "1 openai m1 failed inner server: no")
}

// What a failed provider reported counts: the next is not asked beyond the budget.
func TestTokensBetweenProviders(t *testing.T) {
	r := newRig(t)
	costly := func(provider.Request) (provider.Answer, error) {
		return provider.Answer{}, &provider.Error{Kind: provider.Malformed, Message: "no", Usage: &provider.Usage{Input: 90_000, Output: 9_990}}
	}
	second := answers(say("done"))
	p, chained := pair(t, answers(costly), second)
	c := r.chained(chained)
	c.Tokens = 100_000
	res, err := r.engine(p).Run(context.Background(), c)
	must(t, err)
	if res.Outcome != observer.OutcomeCostBudgetExceeded || second.calls != 0 || res.Summary.TokensBilled != 99_990 {
		t.Errorf("%s (%s), the second was asked %d times, billed %d", res.Outcome, res.Message, second.calls, res.Summary.TokensBilled)
	}
}

// Every host of the chain is judged before the first step: with one that is denied, nobody is asked.
func TestNoHostThatThePolicyDenies(t *testing.T) {
	for _, denied := range []string{"first.test:443", "second.test:443"} {
		r := newRig(t)
		first, second := answers(fail(provider.Server)), answers(say("done"))
		p, err := fallback.New(nil,
			fallback.Member{Provider: &leaf{turns: first, name: "a", host: "first.test:443"}},
			fallback.Member{Provider: &leaf{turns: second, name: "b", host: "second.test:443"}})
		must(t, err)
		pol := trusting(t)
		pol.Layers = append(pol.Layers, policy.Layer{Name: "mine", Rules: []policy.Rule{{Act: policy.Net, Effect: policy.Deny, Match: []string{denied}}}})
		res, err := r.engine(p, core.WithPolicy(pol)).Run(context.Background(), quick(r.contract()))
		must(t, err)
		if res.Outcome != observer.OutcomeRefused || !strings.Contains(res.Message, denied) || first.calls+second.calls != 0 {
			t.Errorf("%s denied: %s (%s) after %d and %d calls", denied, res.Outcome, res.Message, first.calls, second.calls)
		}
	}
}

// replayed runs the rig's task again from a recording and returns the summary.
func replayed(t *testing.T, file *record.File) *db.Summary {
	t.Helper()
	_, res := replayOf(t, file)
	return res.Summary
}

func replayOf(t *testing.T, file *record.File) (trace string, res core.Result) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "r.json")
	must(t, file.Save(path))
	p, err := replay.Load(path, core.Version)
	must(t, err)
	r := newRig(t)
	c := r.contract() // with the waits of a real run: none of them is slept
	c.Provider = core.Source{Kind: "replay", Ref: path}
	began := time.Now()
	res, err = r.engine(p).Run(context.Background(), c)
	must(t, err)
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("the replay took %s: it waits", took)
	}
	return r.trace(res.RunID), res
}

// replayInterrupted replays with the process going away at every failed call, and takes the run up with a new replay.
func replayInterrupted(t *testing.T, file *record.File) string {
	t.Helper()
	r := newRig(t)
	c := r.contract()
	c.Provider = core.Source{Kind: "replay"}
	var id int64
	for n := 0; ; n++ {
		p, err := replay.New(file)
		must(t, err)
		ctx, stop := context.WithCancel(context.Background())
		failures := 0
		e := r.engine(p, core.WithObserver(observer.Func(func(ev *observer.Event) observer.Flow {
			if k, ok := ev.Kind.(observer.ModelCall); ok && k.Failure != nil {
				if failures++; failures == 1 {
					stop()
				}
			}
			return observer.Continue
		})))
		var res core.Result
		if id == 0 {
			res, err = e.Run(ctx, c)
			id = res.RunID
		} else if n < 12 {
			res, err = e.Resume(ctx, id)
		} else { // an inner failure would come again for ever
			res, err = r.engine(p).Resume(context.Background(), id)
		}
		stop()
		must(t, err)
		if res.Outcome != "" {
			return r.trace(id)
		}
	}
}

// A run with fallbacks, recorded from the store or by a recorder around the chain, replays to the same trace, outcome and
// figures with nobody to ask.
func TestAFallbackReplaysTheSame(t *testing.T) {
	list := call("list", `{"path":"."}`)
	tries := 0
	flaky := func(req provider.Request) (provider.Answer, error) {
		if tries++; tries < 3 {
			return fail(provider.Timeout)(req)
		}
		return call("find", `{"glob":"*"}`)(req)
	}
	for name, c := range map[string]struct {
		first, second []func(provider.Request) (provider.Answer, error)
		want          observer.Outcome
	}{
		"the fallback answers": {
			[]func(provider.Request) (provider.Answer, error){fail(provider.Overloaded), list, fail(provider.RateLimited)},
			[]func(provider.Request) (provider.Answer, error){list, list, say("done")},
			observer.OutcomeSuccess,
		},
		"both fail, then one answers": {
			[]func(provider.Request) (provider.Answer, error){fail(provider.Server), say("done")},
			[]func(provider.Request) (provider.Answer, error){flaky},
			observer.OutcomeSuccess,
		},
		"both fail for good": {
			[]func(provider.Request) (provider.Answer, error){list, fail(provider.Server)},
			[]func(provider.Request) (provider.Answer, error){list, fail(provider.Transport)},
			observer.OutcomeEscalatedRetryable,
		},
		"the fallback refuses": {
			[]func(provider.Request) (provider.Answer, error){fail(provider.Server)},
			[]func(provider.Request) (provider.Answer, error){fail(provider.ModelRefused)},
			observer.OutcomeRefused,
		},
		"a provider is passed over": {
			slices.Repeat([]func(provider.Request) (provider.Answer, error){fail(provider.Server)}, 8),
			[]func(provider.Request) (provider.Answer, error){
				list, call("find", `{"glob":"*"}`), call("find", `{"glob":"a"}`), call("find", `{"glob":"b"}`), call("find", `{"glob":"c"}`), call("find", `{"glob":"d"}`), say("done"),
			},
			observer.OutcomeSuccess,
		},
	} {
		t.Run(name, func(t *testing.T) {
			tries = 0
			r := newRig(t)
			first, second := answers(c.first...), answers(c.second...)
			p, chained := pair(t, first, second)
			recorder := record.New(p, core.Version, record.Options{})
			task := r.chained(chained)
			task.Stall.Window = 0
			res, err := r.engine(recorder).Run(context.Background(), task)
			must(t, err)
			if res.Outcome != c.want {
				t.Fatalf("%s: %s\n%s", res.Outcome, res.Message, brief(attempts(t, r.store, res.RunID)))
			}
			if name == "a provider is passed over" && first.calls != 5 {
				t.Errorf("the first was asked %d times", first.calls)
			}
			stored, err := core.Recording(context.Background(), r.store, res.RunID)
			must(t, err)
			for from, file := range map[string]*record.File{"the store": stored, "the recorder": recorder.File()} {
				trace, again := replayOf(t, file)
				if want := r.trace(res.RunID); trace != want {
					t.Errorf("replayed from %s the trace differs:\n%s", from, firstDifference(want, trace))
				}
				if got := replayInterrupted(t, file); got != r.trace(res.RunID) {
					t.Errorf("replayed from %s and taken up on the way the trace differs:\n%s", from, firstDifference(r.trace(res.RunID), got))
				}
				was, is := res.Summary, again.Summary
				if again.Outcome != res.Outcome || is.Calls != was.Calls || is.Retries != was.Retries || is.TokensBilled != was.TokensBilled ||
					!slices.Equal(is.ModelsAsked, was.ModelsAsked) || !slices.Equal(is.ModelsServed, was.ModelsServed) {
					t.Errorf("replayed from %s: %s %+v, was %+v", from, again.Outcome, is, was)
				}
			}
		})
	}
}

// fallbackCase is a run whose first provider fails and whose second answers.
func fallbackCase(ws string) (core.Contract, provider.Provider, error) {
	first := answers(fail(provider.Overloaded), call("write_file", `{"path":"b","content":"2"}`), fail(provider.Timeout))
	second := answers(call("list", `{"path":"."}`), nil, say("done"))
	p, err := fallback.New(nil,
		fallback.Member{Provider: &leaf{turns: first, name: "openai"}},
		fallback.Member{Provider: &leaf{turns: second, name: "anthropic"}, Model: "m2"})
	c := quick(core.Defaults())
	c.Goal, c.Workspace, c.Model, c.Provider = "fall back", ws, "m1", core.Source{Kind: "openai"}
	c.Fallback = []core.Source{{Kind: "anthropic", Model: "m2"}}
	return c, p, err
}

// TestFallingOverSurvivesAnyKill kills a run that falls over after every commit: resumed, its trace, its recording and its
// replay are those of a run that was never interrupted.
func TestFallingOverSurvivesAnyKill(t *testing.T) {
	if testing.Short() {
		t.Skip("kills many processes")
	}
	whole := newRig(t)
	c, p, err := fallbackCase(whole.ws)
	must(t, err)
	res, err := whole.engine(p).Run(context.Background(), c)
	must(t, err)
	want, commits := whole.trace(res.RunID), whole.store.Commits()
	for n := int64(2); n < commits; n++ {
		t.Run(fmt.Sprintf("after-%d", n), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			ws := filepath.Join(dir, "ws")
			must(t, os.Mkdir(ws, 0o755))
			kill(t, "fallback", dir, n)
			store := openStore(t, filepath.Join(dir, "runs.db"), db.Options{})
			run, err := store.LastRun(context.Background())
			if err != nil {
				return // it died before the run existed
			}
			_, p, err := fallbackCase(ws)
			must(t, err)
			res, err := core.New(store, p, core.WithState(filepath.Join(dir, "state"), os.Environ())).Resume(context.Background(), run.ID)
			must(t, err)
			if got := traceOf(t, store, run.ID); res.Outcome != observer.OutcomeSuccess || got != want {
				t.Fatalf("%s: the trace differs\n%s\n%s", res.Outcome, firstDifference(want, got), brief(attempts(t, store, run.ID)))
			}
			file, err := core.Recording(context.Background(), store, run.ID)
			must(t, err)
			r := newRig(t)
			again, err := replay.New(file)
			must(t, err)
			c := r.contract()
			c.Goal = "fall back"
			played, err := r.engine(again).Run(context.Background(), c)
			must(t, err)
			if got := r.trace(played.RunID); got != want {
				t.Errorf("the replay's trace differs:\n%s", firstDifference(want, got))
			}
			denseEvents(t, store, run.ID)
		})
	}
	t.Logf("killed after each of %d commits", commits-2)
}

// The process going away while the second provider is asked abandons that call and asks nobody else.
func TestTheEndOfTheProcessWhileFallingOver(t *testing.T) {
	r := newRig(t)
	ctx, stop := context.WithCancelCause(context.Background())
	first, second := answers(fail(provider.Server)), answers(say("done"))
	p, chained := pair(t, first, second)
	second.before = func(context.Context, int) { stop(errors.New("gone")) }
	res, err := r.engine(p).Run(ctx, r.chained(chained))
	must(t, err)
	wantAttempts(t, attempts(t, r.store, res.RunID), "1 openai m1 failed inner server: no", "2 anthropic m2 lost")
	second.before = nil
	res, err = r.engine(p).Resume(context.Background(), res.RunID)
	must(t, err)
	if res.Outcome != observer.OutcomeSuccess {
		t.Fatal(res.Message)
	}
	wantAttempts(t, attempts(t, r.store, res.RunID), "1 openai m1 failed inner server: no", "2 anthropic m2 lost",
		"3 openai m1 failed inner server: no", "4 anthropic m2 answered by anthropic")
	if got := r.trace(res.RunID); strings.Count(got, "\nattempt ") != 2 {
		t.Errorf("what was lost is in the trace:\n%s", got)
	}
}

func TestContractsWithFallbacks(t *testing.T) {
	for want, list := range map[string][]core.Source{
		`fallback: "anthropic" has no model`:   {{Kind: "anthropic"}},
		`fallback: "openai" stands twice`:      {{Kind: "openai", Model: "m"}},
		`fallback: "openai:m" stands twice`:    {{Kind: "openai", Model: "m", Name: "openai:m"}, {Kind: "openai", Model: "m", Name: "openai:m"}},
		`fallback: "compatible" has no model;`: {{Kind: "openai", Name: "openai:m", Model: "m"}, {Kind: "compatible", BaseURL: "http://x"}},
	} {
		r := newRig(t)
		c := r.contract()
		c.Provider, c.Fallback = core.Source{Kind: "openai"}, list
		_, err := r.engine(answers(say("done"))).Run(context.Background(), c)
		var bad *core.ContractError
		if !errors.As(err, &bad) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// A provider that took all the time there was leaves none to ask another in.
func TestTimeBetweenProviders(t *testing.T) {
	r := newRig(t)
	var late atomic.Int64
	first, second := answers(fail(provider.Timeout)), answers(say("done"))
	first.before = func(context.Context, int) { late.Store(int64(2 * time.Hour)) }
	p, chained := pair(t, first, second)
	c := r.chained(chained)
	c.Time = time.Hour
	now := func() time.Time { return time.Now().Add(time.Duration(late.Load())) }
	res, err := r.engine(p, core.WithClock(now)).Run(context.Background(), c)
	must(t, err)
	if res.Outcome != observer.OutcomeTimeBudgetExceeded || second.calls != 0 {
		t.Errorf("%s (%s), the second was asked %d times", res.Outcome, res.Message, second.calls)
	}
}
