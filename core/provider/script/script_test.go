package script_test

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
	"tillerman/core/provider/script"
	"tillerman/core/wording"
)

func parse(t testing.TB, text string) *script.Script {
	t.Helper()
	s, err := script.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// talk is a conversation in the making.
type talk struct {
	t    testing.TB
	p    provider.Provider
	msgs []provider.Message
}

func begin(t testing.TB, text string) *talk {
	return &talk{
		t: t, p: script.New(parse(t, text), script.Options{Fast: true}),
		msgs: []provider.Message{provider.Say(provider.RoleUser, "the goal")},
	}
}

func (k *talk) request() provider.Request {
	return provider.Request{Model: "asked", MaxOutput: 10, System: "s", Messages: k.msgs}
}

// hear gives the next answer and puts it into the conversation.
func (k *talk) hear() provider.Answer {
	k.t.Helper()
	a, err := k.p.Complete(context.Background(), k.request(), provider.Call{Agent: "0", Step: 1})
	if err != nil {
		k.t.Fatal(err)
	}
	k.msgs = append(slices.Clip(k.msgs), provider.Message{Role: provider.RoleAssistant, Parts: a.Parts})
	return a
}

// gets puts a result of every call of the newest answer into the conversation.
func (k *talk) gets(text string, failed bool) *talk {
	m := provider.Message{Role: provider.RoleTool}
	for _, c := range k.msgs[len(k.msgs)-1].Calls() {
		m.Parts = append(m.Parts, provider.Part{Kind: provider.PartResult, ID: c.ID, Name: c.Name, Text: text, Failed: failed})
	}
	k.msgs = append(slices.Clip(k.msgs), m)
	return k
}

func (k *talk) told(tag, text string) *talk {
	k.msgs = append(slices.Clip(k.msgs), provider.Say(provider.RoleUser, wording.Tag(tag, text)))
	return k
}

func (k *talk) says(want string) *talk {
	k.t.Helper()
	if got := k.hear().Text(); got != want {
		k.t.Fatalf("says %q, want %q", got, want)
	}
	return k
}

func TestAnAnswerIsWhole(t *testing.T) {
	k := begin(t, `
name = "demo"
model = "scripted"
[[turn]]
say = "two calls"
calls = [
  { tool = "exec", args = { argv = ["sh", "check.sh"] } },
  { tool = "edit", args = { path = "a", old = "<x>", new = "y", deep = { n = 1, yes = true } } },
]
[turn.when]
turns = { max = 0 }
[[turn]]
calls = [{ tool = "list" }]
[turn.when]
turns = { max = 1 }
[[turn]]
say = "done"
`)
	a := k.hear()
	want := []provider.Part{
		{Kind: provider.PartText, Text: "two calls"},
		{Kind: provider.PartCall, ID: "call_1", Name: "exec", Arguments: `{"argv":["sh","check.sh"]}`},
		{Kind: provider.PartCall, ID: "call_2", Name: "edit", Arguments: `{"deep":{"n":1,"yes":true},"new":"y","old":"<x>","path":"a"}`},
	}
	if !slices.Equal(a.Parts, want) {
		t.Errorf("parts %+v", a.Parts)
	}
	if a.Stop != provider.StopCalls || a.Finish != "tool_calls" || a.Model != "scripted" || a.Served != "demo" {
		t.Errorf("%+v", a)
	}
	k.gets("ok", false)
	a = k.hear()
	if want := []provider.Part{{Kind: provider.PartCall, ID: "call_3", Name: "list", Arguments: "{}"}}; !slices.Equal(a.Parts, want) {
		t.Errorf("parts %+v", a.Parts)
	}
	k.gets("ok", false)
	if a = k.hear(); a.Stop != provider.StopEnd || a.Finish != "stop" || a.Text() != "done" {
		t.Errorf("%+v", a)
	}
	if k.p.Name() != "demo" || len(k.p.Endpoints()) != 0 || k.p.LastServed() != "demo" || k.p.AcceptsImages() {
		t.Error("what it reports of itself")
	}
}

func TestDefaults(t *testing.T) {
	k := begin(t, `turn = [{ say = "hello" }]`)
	if k.p.Name() != "script" || k.p.LastServed() != "" {
		t.Errorf("%q, served %q", k.p.Name(), k.p.LastServed())
	}
	if a := k.hear(); a.Model != "asked" {
		t.Errorf("model %q", a.Model)
	}
}

func TestTheSameQuestionHasTheSameAnswer(t *testing.T) {
	text := `
[[turn]]
say = "b"
when.last = ["list"]
[[turn]]
say = "a"
calls = [{ tool = "list" }]
`
	k := begin(t, text)
	first := k.hear()
	k.msgs = k.msgs[:1]
	again := k.hear()
	k.msgs = k.msgs[:1]
	k.p = script.New(parse(t, text), script.Options{})
	other := k.hear()
	for _, a := range []provider.Answer{again, other} {
		a.FirstMillis, a.TotalMillis = first.FirstMillis, first.TotalMillis
		if x, y := asJSON(first), asJSON(a); x != y {
			t.Errorf("%s and %s", x, y)
		}
	}
}

func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func TestUsageComesFromSizes(t *testing.T) {
	k := begin(t, `turn = [{ say = "hello" }]`)
	first := k.request()
	u := k.hear().Usage
	if total := provider.Estimate(len(first.Canonical())); u.Input != total || *u.CacheRead != 0 || u.CacheWrite != nil {
		t.Errorf("%+v for a request of %d", u, total)
	}
	answer := k.msgs[1]
	if u.Output != provider.Estimate(len(answer.Canonical())) {
		t.Errorf("output %d", u.Output)
	}
	k.told(wording.Operator, "go on")
	second := k.request()
	u = k.hear().Usage
	if *u.CacheRead != provider.Estimate(len(first.Canonical())) || u.Input+*u.CacheRead != provider.Estimate(len(second.Canonical())) {
		t.Errorf("%+v: cached %d", u, *u.CacheRead)
	}
	k.told(wording.Operator, "and on")
	if u = k.hear().Usage; *u.CacheRead != provider.Estimate(len(second.Canonical())) {
		t.Errorf("%+v: cached %d", u, *u.CacheRead)
	}
}

func TestAHoleInTheScriptIsNamed(t *testing.T) {
	k := begin(t, `
[[turn]]
calls = [{ tool = "list", args = { path = "a\u001b[2J" } }]
when.turns = { max = 0 }
`)
	k.hear()
	k.gets("[denied by the operator] no", true)
	_, err := k.p.Complete(context.Background(), k.request(), provider.Call{Step: 7})
	e, ok := provider.As(err)
	if !ok || e.Kind != provider.BadRequest || e.Provider != "script" {
		t.Fatalf("%v", err)
	}
	for _, want := range []string{"step 7", `list a\x1b[2J`, "denied"} {
		if !strings.Contains(e.Message, want) {
			t.Errorf("%q does not say %q", e.Message, want)
		}
	}
	if k.p.LastServed() != "" {
		t.Error("served after a failure")
	}
	_, err = begin(t, `turn = [{ say = "x", when = { gate = "failed" } }]`).p.Complete(context.Background(), provider.Request{}, provider.Call{})
	if err == nil {
		t.Error("answered an empty conversation")
	}
}

// clock counts what was slept and can end a context meanwhile.
type clock struct {
	now   time.Time
	slept []time.Duration
	wake  func()
}

func (c *clock) Now() time.Time { return c.now }

func (c *clock) Sleep(ctx context.Context, d time.Duration) error {
	c.slept = append(c.slept, d)
	c.now = c.now.Add(d)
	if c.wake != nil {
		c.wake()
	}
	return context.Cause(ctx)
}

func TestAPacedAnswerComesInPieces(t *testing.T) {
	s := parse(t, "pace = \"1s\"\n[[turn]]\nsay = \""+strings.Repeat("word ", 45)+"\"")
	c := &clock{now: time.Unix(0, 0)}
	var live []string
	a, err := script.New(s, script.Options{Clock: c}).Complete(context.Background(), provider.Request{}, provider.Call{
		Delta: func(kind provider.PartKind, text string) { live = append(live, text) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Join(live, "") != a.Text() || len(live) < 10 || len(live) > 20 {
		t.Errorf("%d pieces: %q", len(live), live)
	}
	if a.FirstMillis != 500 || a.TotalMillis < 990 || a.TotalMillis > 1000 {
		t.Errorf("first after %d ms, last after %d ms", a.FirstMillis, a.TotalMillis)
	}
}

func TestFastSleepsNever(t *testing.T) {
	s := parse(t, "[[turn]]\nsay = \"a b\"\npace = \"1h\"")
	c := &clock{}
	if _, err := script.New(s, script.Options{Fast: true, Clock: c}).Complete(context.Background(), provider.Request{}, provider.Call{}); err != nil || len(c.slept) != 0 {
		t.Errorf("%v, slept %v", err, c.slept)
	}
}

func TestAContextThatEndsIsNoAnswer(t *testing.T) {
	cause := errors.New("gone")
	ctx, cancel := context.WithCancelCause(context.Background())
	s := parse(t, "[[turn]]\nsay = \"a b\"\npace = \"1h\"")
	p := script.New(s, script.Options{Clock: &clock{wake: func() { cancel(cause) }}})
	for range 2 { // while it waits, and before it begins
		if _, err := p.Complete(ctx, provider.Request{}, provider.Call{}); !errors.Is(err, cause) || p.LastServed() != "" {
			t.Errorf("%v", err)
		}
	}
	ctx, cancel = context.WithCancelCause(context.Background())
	time.AfterFunc(time.Millisecond, func() { cancel(cause) })
	if _, err := script.New(s, script.Options{}).Complete(ctx, provider.Request{}, provider.Call{}); !errors.Is(err, cause) {
		t.Errorf("with the system's clock: %v", err)
	}
}

func TestManyAskAtOnce(t *testing.T) {
	p := script.New(parse(t, "[[turn]]\nsay = \"a b c\"\npace = \"1ms\""), script.Options{})
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			a, err := p.Complete(context.Background(), provider.Request{Model: fmt.Sprint(i)}, provider.Call{})
			if err != nil || a.Model != fmt.Sprint(i) {
				t.Errorf("%v %v", a, err)
			}
			_ = p.LastServed()
		})
	}
	wait.Wait()
}
