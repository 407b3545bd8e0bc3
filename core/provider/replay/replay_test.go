package replay_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tillerman/core/provider"
	"tillerman/core/provider/record"
	"tillerman/core/provider/replay"
)

const version = "0.1.0"

var tools = []provider.ToolSpec{
	{Name: "read_file", Description: "Reads a file.", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`)},
	{Name: "edit", Description: "Edits a file.", Schema: json.RawMessage(`{"type":"object"}`)},
}

func request(texts ...string) provider.Request {
	req := provider.Request{Model: "m", MaxOutput: 100, System: "be kind\nand brief", Tools: tools}
	for _, text := range texts {
		req.Messages = append(req.Messages, provider.Say(provider.RoleUser, text))
	}
	return req
}

func answer(text string) *provider.Answer {
	return &provider.Answer{
		Parts: []provider.Part{{Kind: provider.PartText, Text: text}}, Stop: provider.StopEnd, Finish: "stop", Model: "m-1",
		Served: "leaf-" + text, Usage: &provider.Usage{Input: 1, Output: 2},
	}
}

func failed(message string, inner bool) record.Attempt {
	return record.Attempt{Provider: "a", Kind: provider.Overloaded, Status: 529, Message: message, Inner: inner}
}

// tape builds a recording.
type tape struct{ *record.Builder }

func newTape() tape { return tape{record.NewBuilder(version, nil)} }

// add records one exchange; an empty text is no answer.
func (b tape) add(agent string, step int, req provider.Request, text string, attempts ...record.Attempt) {
	ex := b.Add(agent, step, req)
	ex.Attempts = attempts
	if text != "" {
		ex.Answer = answer(text)
	}
}

func (b tape) replay(t testing.TB) *replay.Replay {
	t.Helper()
	path := t.TempDir() + "/r.json"
	if err := b.File().Save(path); err != nil {
		t.Fatal(err)
	}
	r, err := replay.Load(path, version)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// ask returns the answer's text, or "kind: message" of the error.
func ask(t testing.TB, r *replay.Replay, agent string, req provider.Request) string {
	t.Helper()
	a, err := r.Complete(context.Background(), req, provider.Call{Agent: agent, Step: 1})
	if err == nil {
		return a.Text()
	}
	e, ok := provider.As(err)
	if !ok {
		t.Fatalf("the error is a %T: %v", err, err)
	}
	return fmt.Sprintf("%s: %s", e.Kind, e.Message)
}

func expect(t *testing.T, r *replay.Replay, agent string, req provider.Request, want ...string) {
	t.Helper()
	for i, text := range want {
		if got := ask(t, r, agent, req); got != text {
			t.Fatalf("ask %d of %q by %s gives %q, want %q", i+1, req.Messages[0].Text(), agent, got, text)
		}
	}
}

func TestAnAnswerComesBackWhole(t *testing.T) {
	read := int64(9)
	given := provider.Answer{
		Parts: []provider.Part{
			{Kind: provider.PartThinking, Text: "hm", Signature: "sig"},
			{Kind: provider.PartText, Text: "beside | the calls"},
			{Kind: provider.PartCall, ID: "1", Name: "edit", Arguments: `{"a": "x | y", "b":1.0}`},
			{Kind: provider.PartRedacted, Data: "sealed"},
		},
		Stop: provider.StopLength, Finish: "max_tokens", Model: "m-2", Served: "leaf",
		Usage: &provider.Usage{Input: 1, Output: 2, CacheRead: &read},
	}
	b := newTape()
	b.Add("0", 1, request("goal")).Answer = b.Answer(given)
	r := b.replay(t)
	var live []string
	got, err := r.Complete(context.Background(), request("goal"), provider.Call{
		Agent: "0", Step: 1, Delta: func(kind provider.PartKind, text string) { live = append(live, string(kind)+" "+text) },
	})
	if err != nil {
		t.Fatal(err)
	}
	a, _ := json.Marshal(got)
	w, _ := json.Marshal(given)
	if string(a) != string(w) {
		t.Errorf("got %s, want %s", a, w)
	}
	if !slices.Equal(live, []string{"thinking hm", "text beside | the calls"}) {
		t.Errorf("live text %q", live)
	}
	got.Parts[1].Text = "changed"
	again, _ := r.Complete(context.Background(), request("goal"), provider.Call{Agent: "0", Step: 1})
	if again.Text() != "beside | the calls" {
		t.Error("the recording follows the caller's answer")
	}
}

func TestAReplayHasNothingToDial(t *testing.T) {
	r := newTape().replay(t)
	if r.Name() != "replay" || len(r.Endpoints()) != 0 || r.LastServed() != "" || r.AcceptsImages() {
		t.Errorf("%s %v %s %v", r.Name(), r.Endpoints(), r.LastServed(), r.AcceptsImages())
	}
}

func TestEqualRequestsGetTheirAnswersInOrder(t *testing.T) {
	b := newTape()
	for i, text := range []string{"one", "two", "three"} {
		b.add("0", i*2+1, request("same"), text)
		b.add("0", i*2+2, request("other"), "between")
	}
	r := b.replay(t)
	same, other := request("same"), request("other")
	expect(t, r, "0", same, "one", "one", "one")
	expect(t, r, "0", other, "between")
	expect(t, r, "0", same, "two", "two")
	expect(t, r, "0", other, "between")
	expect(t, r, "0", same, "three")
	expect(t, r, "0", other, "between")
	expect(t, r, "0", same, "three", "three")
	if r.LastServed() != "leaf-three" {
		t.Errorf("last served %q", r.LastServed())
	}
}

func TestAMissStandsBetweenEqualRequestsLikeAnyOther(t *testing.T) {
	b := newTape()
	b.add("0", 1, request("same"), "one")
	b.add("0", 2, request("other"), "between")
	b.add("0", 3, request("same"), "two")
	r := b.replay(t)
	expect(t, r, "0", request("same"), "one")
	ask(t, r, "0", request("unknown"))
	expect(t, r, "0", request("same"), "two")
}

func TestAFailureIsUsedUpByBeingGiven(t *testing.T) {
	b := newTape()
	b.add("0", 1, request("goal"), "at last", failed("first", false), failed("second", false))
	r := b.replay(t)
	expect(t, r, "0", request("goal"), "overloaded: first", "overloaded: second", "at last", "at last")
	ask(t, r, "0", request("other"))
	if r.LastServed() != "" {
		t.Errorf("last served %q after a failure", r.LastServed())
	}
	expect(t, r, "0", request("goal"), "at last")
}

func TestTheLastFailureRepeats(t *testing.T) {
	b := newTape()
	b.add("0", 1, request("goal"), "", failed("first", false), failed("second", false))
	expect(t, b.replay(t), "0", request("goal"), "overloaded: first", "overloaded: second", "overloaded: second")
}

func TestAFailureIsTypedAndMarked(t *testing.T) {
	hint := int64(2500)
	b := newTape()
	b.add("0", 1, request("goal"), "", record.Attempt{
		Provider: "a", Kind: provider.RateLimited, Status: 429, RetryAfter: &hint, DelayMS: 2500, Message: "slow", Finish: "f",
	})
	_, err := b.replay(t).Complete(context.Background(), request("goal"), provider.Call{Agent: "0", Step: 1})
	e, ok := provider.As(err)
	if !ok || e.Kind != provider.RateLimited || e.Provider != "a" || e.Status != 429 || *e.Hint != 2500*time.Millisecond ||
		e.Message != "slow" || e.Finish != "f" || !e.Replayed {
		t.Errorf("%+v", e)
	}
}

func TestInnerFailuresAreReportedAndPassed(t *testing.T) {
	b := newTape()
	b.add("0", 1, request("goal"), "b answers",
		failed("a 1", true), failed("b 1", false), failed("a 2", true))
	r := b.replay(t)
	var told []string
	call := provider.Call{Agent: "0", Step: 1, Failed: func(e *provider.Error, next provider.Asked) error {
		if next.Model != request("goal").Model {
			t.Errorf("next is %+v", next)
		}
		if !e.Replayed {
			t.Error("an inner failure is not marked as replayed")
		}
		told = append(told, e.Message)
		return nil
	}}
	_, err := r.Complete(context.Background(), request("goal"), call)
	if e, _ := provider.As(err); e == nil || e.Message != "b 1" || !slices.Equal(told, []string{"a 1"}) {
		t.Errorf("first: %v, told %q", err, told)
	}
	a, err := r.Complete(context.Background(), request("goal"), call)
	if err != nil || a.Text() != "b answers" || !slices.Equal(told, []string{"a 1", "a 2"}) {
		t.Errorf("second: %v %v, told %q", a, err, told)
	}
}

func TestInnerFailuresOfACallThatWasGivenUpGoToTheNext(t *testing.T) {
	b := newTape()
	b.add("0", 1, request("goal"), "", failed("lost", true))
	b.add("0", 1, request("goal"), "answer", failed("again", true))
	var told []string
	a, err := b.replay(t).Complete(context.Background(), request("goal"), provider.Call{
		Agent: "0", Step: 1, Failed: func(e *provider.Error, _ provider.Asked) error { told = append(told, e.Message); return nil },
	})
	if err != nil || a.Text() != "answer" || !slices.Equal(told, []string{"lost", "again"}) {
		t.Errorf("%v %v, told %q", a, err, told)
	}
}

func TestChildrenWithEqualRequestsGetTheirOwnAnswers(t *testing.T) {
	b := newTape()
	b.add("0.1", 1, request("same"), "second child's")
	b.add("0.0", 1, request("same"), "first child's")
	b.add("0.0", 2, request("other"), "other")
	b.add("0.1", 2, request("same"), "second child's next")
	r := b.replay(t)
	expect(t, r, "0.0", request("same"), "first child's")
	expect(t, r, "0.1", request("same"), "second child's", "second child's")
	expect(t, r, "0.0", request("other"), "other")
	expect(t, r, "0.0", request("same"), "first child's")
	// An agent that the recording does not know gets everybody's, in order, and disturbs nobody.
	expect(t, r, "0.7", request("same"), "second child's")
	expect(t, r, "0.7", request("other"), "other")
	expect(t, r, "0.7", request("same"), "first child's")
	// And so does an agent that the recording knows for a request that it does not have of it.
	expect(t, r, "0.1", request("other"), "other")
	expect(t, r, "0.1", request("same"), "second child's next")
}

func TestACallWithoutAnAgent(t *testing.T) {
	b := newTape()
	b.add("", 0, request("same"), "one")
	b.add("", 0, request("other"), "between")
	b.add("", 0, request("same"), "two")
	r := b.replay(t)
	expect(t, r, "", request("same"), "one")
	expect(t, r, "", request("other"), "between")
	expect(t, r, "", request("same"), "two")
}

func TestAdvanceGoesOnWhereAHistoryStands(t *testing.T) {
	build := func() tape {
		b := newTape()
		b.add("0", 1, request("same"), "one", failed("first", false), failed("second", false))
		b.add("0", 2, request("other"), "between")
		b.add("0", 3, request("same"), "two", failed("third", false))
		return b
	}
	type told struct {
		text   string
		failed bool
	}
	for name, test := range map[string]struct {
		history []told
		want    []string // of "same"
	}{
		"nothing":        {nil, []string{"overloaded: first", "overloaded: second", "one", "one"}},
		"one failure":    {[]told{{"same", true}}, []string{"overloaded: second", "one"}},
		"two failures":   {[]told{{"same", true}, {"same", true}}, []string{"one"}},
		"an answer":      {[]told{{"same", true}, {"same", true}, {"same", false}}, []string{"one"}},
		"answer at once": {[]told{{"same", false}}, []string{"one"}},
		"after another":  {[]told{{"same", true}, {"same", true}, {"same", false}, {"other", false}}, []string{"overloaded: third", "two"}},
		"in step three":  {[]told{{"same", false}, {"other", false}, {"same", true}}, []string{"two", "two"}},
		"at the end":     {[]told{{"same", false}, {"other", false}, {"same", true}, {"same", false}}, []string{"two"}},
		"one more":       {[]told{{"same", false}, {"other", false}, {"same", false}, {"other", false}, {"same", false}}, []string{"two"}},
		"more failures":  {[]told{{"same", true}, {"same", true}, {"same", true}, {"same", true}}, []string{"one"}},
		"unknown":        {[]told{{"same", false}, {"unknown", false}}, []string{"overloaded: third", "two"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := build().replay(t)
			for _, h := range test.history {
				r.Advance("0", request(h.text), h.failed)
			}
			expect(t, r, "0", request("same"), test.want...)
		})
	}
}

// A history told by Advance and the same asked by Complete lead to the same place.
func TestAdvanceEqualsAsking(t *testing.T) {
	texts := []string{"a", "b", "a", "a", "c", "b", "a", "b"}
	b := newTape()
	for i, text := range texts {
		b.add("0", i+1, request(text), fmt.Sprint("answer ", i), failed(fmt.Sprint("failure ", i), false))
	}
	for cut := range 2 * len(texts) {
		asked, advanced := b.replay(t), b.replay(t)
		for i := range cut {
			req := request(texts[i/2])
			got := ask(t, asked, "0", req)
			advanced.Advance("0", req, strings.HasPrefix(got, "overloaded"))
		}
		for i := cut; i < 2*len(texts); i++ {
			req := request(texts[i/2])
			if x, y := ask(t, asked, "0", req), ask(t, advanced, "0", req); x != y {
				t.Fatalf("cut at %d, ask %d: %q after asking, %q after advancing", cut, i, x, y)
			}
		}
	}
}

func TestAnEndedContextUsesNothingUp(t *testing.T) {
	b := newTape()
	b.add("0", 1, request("goal"), "ok", failed("first", false))
	r := b.replay(t)
	cause := errors.New("gone")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cause)
	if _, err := r.Complete(ctx, request("goal"), provider.Call{Agent: "0"}); !errors.Is(err, cause) {
		t.Errorf("%v", err)
	}
	expect(t, r, "0", request("goal"), "overloaded: first")
}

func TestConcurrentAgents(t *testing.T) {
	b := newTape()
	for agent := range 4 {
		for step := range 20 {
			b.add(fmt.Sprint("0.", agent), step+1, request("same", fmt.Sprint(step%3)), fmt.Sprint(agent, " ", step))
		}
	}
	r := b.replay(t)
	var wait sync.WaitGroup
	for agent := range 4 {
		wait.Go(func() {
			for step := range 20 {
				got := ask(t, r, fmt.Sprint("0.", agent), request("same", fmt.Sprint(step%3)))
				if want := fmt.Sprint(agent, " ", step); got != want {
					t.Errorf("agent %d, step %d gets %q", agent, step, got)
				}
				_ = r.LastServed()
			}
		})
	}
	wait.Wait()
}

func TestARecorderRecordsAReplay(t *testing.T) {
	b := newTape()
	b.add("0", 1, request("goal"), "ok", failed("inner", true), failed("first", false))
	again := record.New(b.replay(t), version, record.Options{})
	for range 2 {
		_, _ = again.Complete(context.Background(), request("goal"), provider.Call{Agent: "0", Step: 1})
	}
	var first, second strings.Builder
	if err := errors.Join(b.File().Encode(&first), again.File().Encode(&second)); err != nil {
		t.Fatal(err)
	}
	if first.String() != second.String() {
		t.Errorf("recorded again:\n%s\nwas\n%s", second.String(), first.String())
	}
}

func TestWhatDoesNotFitIsNoReplay(t *testing.T) {
	f := newTape().File()
	f.Exchanges = []record.Exchange{{Agent: "0", Step: 1}}
	if _, err := replay.New(f); err == nil {
		t.Error("accepted")
	}
	if _, err := replay.Load(t.TempDir()+"/none", version); err == nil {
		t.Error("loaded what is not there")
	}
}

func BenchmarkReplayStep(b *testing.B) {
	build := newTape()
	req := request()
	for i := range 1000 {
		req.Messages = append(req.Messages, provider.Say(provider.RoleUser, fmt.Sprint(i, strings.Repeat(" word", 200))))
		build.add("0", i+1, req, "ok")
	}
	f := build.File()
	messages := req.Messages
	for b.Loop() {
		r, err := replay.New(f)
		if err != nil {
			b.Fatal(err)
		}
		for i := range 1000 {
			req.Messages = messages[:i+1]
			if got := ask(b, r, "0", req); got != "ok" {
				b.Fatal(got)
			}
		}
	}
}
