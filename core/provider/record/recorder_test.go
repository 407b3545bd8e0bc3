package record_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tillerman/core/provider"
	"tillerman/core/provider/record"
)

// fake answers with what its function gives.
type fake func(ctx context.Context, req provider.Request, call provider.Call) (provider.Answer, error)

func (f fake) Complete(ctx context.Context, req provider.Request, call provider.Call) (provider.Answer, error) {
	return f(ctx, req, call)
}
func (fake) Name() string        { return "fake" }
func (fake) Endpoints() []string { return []string{"a.example:443", "b.example:443"} }
func (fake) LastServed() string  { return "b" }
func (fake) AcceptsImages() bool { return true }

func overloaded() *provider.Error {
	return &provider.Error{Kind: provider.Overloaded, Provider: "a", Status: 529, Message: "busy"}
}

func at(step int) provider.Call { return provider.Call{Agent: "0", Step: step} }

// ask puts a request to the recorder and ignores what comes.
func ask(r *record.Recorder, step int, req provider.Request) {
	_, _ = r.Complete(context.Background(), req, at(step))
}

func TestTheRecorderReportsWhatTheInnerProviderReports(t *testing.T) {
	r := record.New(fake(nil), version, record.Options{})
	if r.Name() != "fake" || !slices.Equal(r.Endpoints(), []string{"a.example:443", "b.example:443"}) ||
		r.LastServed() != "b" || !r.AcceptsImages() {
		t.Errorf("%s %v %s %v", r.Name(), r.Endpoints(), r.LastServed(), r.AcceptsImages())
	}
}

func TestTheRecorderAltersNothing(t *testing.T) {
	var told []string
	given := answer("hello")
	given.FirstMillis, given.TotalMillis = 3, 9
	r := record.New(fake(func(_ context.Context, req provider.Request, call provider.Call) (provider.Answer, error) {
		if req.Messages[0].Text() != "goal" || call.Agent != "0" || call.Step != 4 {
			t.Errorf("asked %v by %v", req, call)
		}
		_ = call.Failed(overloaded(), provider.Asked{})
		call.Delta(provider.PartText, "hel")
		return given, nil
	}), version, record.Options{})
	got, err := r.Complete(context.Background(), request("goal"), provider.Call{
		Agent: "0", Step: 4,
		Failed: func(e *provider.Error, _ provider.Asked) error { told = append(told, e.Message); return nil },
		Delta:  func(_ provider.PartKind, text string) { told = append(told, text) },
	})
	if err != nil || got.Text() != "hello" || got.TotalMillis != 9 || got.FirstMillis != 3 {
		t.Errorf("%v, %v", got, err)
	}
	if !slices.Equal(told, []string{"busy", "hel"}) {
		t.Errorf("told %q", told)
	}
	ex := r.File().Exchanges[0]
	if ex.Answer.TotalMillis != 0 || ex.Answer.FirstMillis != 0 {
		t.Error("a recording holds times")
	}
	if len(ex.Attempts) != 1 || !ex.Attempts[0].Inner {
		t.Errorf("attempts %+v", ex.Attempts)
	}
	given.Parts[0].Text = "changed"
	if ex.Answer.Text() != "hello" {
		t.Error("the recording follows the caller's answer")
	}
}

func TestFailuresOfOneRequestAreOneExchange(t *testing.T) {
	calls := 0
	r := record.New(fake(func(_ context.Context, _ provider.Request, call provider.Call) (provider.Answer, error) {
		calls++
		if calls%3 != 0 {
			_ = call.Failed(overloaded(), provider.Asked{})
			return provider.Answer{}, fmt.Errorf("wrapped: %w", &provider.Error{Kind: provider.Server, Provider: "b", Status: 500})
		}
		return answer("at last"), nil
	}), version, record.Options{})
	for range 3 {
		ask(r, 1, request("goal"))
		r.Delay("0", 1, 250)
	}
	ask(r, 2, request("goal"))
	f := r.File()
	if len(f.Exchanges) != 2 {
		t.Fatalf("%d exchanges", len(f.Exchanges))
	}
	first := f.Exchanges[0]
	var got []string
	for _, a := range first.Attempts {
		got = append(got, fmt.Sprintf("%s %s %v %d", a.Provider, a.Kind, a.Inner, a.DelayMS))
	}
	want := []string{"a overloaded true 0", "b server false 250", "a overloaded true 0", "b server false 250"}
	if !slices.Equal(got, want) || first.Answer == nil {
		t.Errorf("attempts %q, answer %v", got, first.Answer)
	}
	if f.Exchanges[1].Answer != nil || len(f.Exchanges[1].Attempts) != 2 {
		t.Errorf("the second exchange is %+v", f.Exchanges[1])
	}
}

func TestDelayKnowsOnlyFailures(t *testing.T) {
	r := record.New(fake(func(context.Context, provider.Request, provider.Call) (provider.Answer, error) {
		return answer("ok"), nil
	}), version, record.Options{})
	r.Delay("0", 1, 5)
	ask(r, 1, request("goal"))
	r.Delay("0", 1, 5)
	r.Delay("0", 9, 5)
	if n := len(r.File().Exchanges[0].Attempts); n != 0 {
		t.Errorf("%d attempts", n)
	}
}

func TestACallThatWasGivenUpHasNoOutcome(t *testing.T) {
	cause := errors.New("the process goes away")
	ctx, cancel := context.WithCancelCause(context.Background())
	r := record.New(fake(func(ctx context.Context, req provider.Request, call provider.Call) (provider.Answer, error) {
		if len(req.Messages) > 1 {
			_ = call.Failed(overloaded(), provider.Asked{})
		}
		cancel(cause)
		return provider.Answer{}, &provider.Error{Kind: provider.Transport, Err: context.Cause(ctx)}
	}), version, record.Options{})
	if _, err := r.Complete(ctx, request("goal"), at(1)); !errors.Is(err, cause) {
		t.Errorf("the error is %v", err)
	}
	if n := len(r.File().Exchanges); n != 0 {
		t.Errorf("%d exchanges", n)
	}
	_, _ = r.Complete(ctx, request("goal", "more"), at(1))
	f := r.File()
	if len(f.Exchanges) != 1 || len(f.Exchanges[0].Attempts) != 1 || !f.Exchanges[0].Attempts[0].Inner || f.Exchanges[0].Answer != nil {
		t.Errorf("%+v", f.Exchanges)
	}
}

func TestAFailureWhileTheContextEndsIsStillAFailure(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	r := record.New(fake(func(context.Context, provider.Request, provider.Call) (provider.Answer, error) {
		cancel()
		return provider.Answer{}, overloaded()
	}), version, record.Options{})
	_, _ = r.Complete(ctx, request("goal"), at(1))
	if f := r.File(); len(f.Exchanges) != 1 || len(f.Exchanges[0].Attempts) != 1 {
		t.Errorf("%+v", f.Exchanges)
	}
}

func TestTheSameRequestAtAnotherStepIsAnotherExchange(t *testing.T) {
	r := record.New(fake(func(context.Context, provider.Request, provider.Call) (provider.Answer, error) {
		return provider.Answer{}, overloaded()
	}), version, record.Options{})
	ask(r, 1, request("goal"))
	ask(r, 2, request("goal"))
	if n := len(r.File().Exchanges); n != 2 {
		t.Errorf("%d exchanges", n)
	}
}

func TestNobodyWaitsAfterAnInnerFailure(t *testing.T) {
	r := record.New(fake(func(_ context.Context, _ provider.Request, call provider.Call) (provider.Answer, error) {
		_ = call.Failed(overloaded(), provider.Asked{})
		return provider.Answer{}, errors.New("no outcome")
	}), version, record.Options{})
	ask(r, 1, request("goal"))
	r.Delay("0", 1, 5)
	if a := r.File().Exchanges[0].Attempts; len(a) != 1 || a[0].DelayMS != 0 {
		t.Errorf("%+v", a)
	}
}

func TestASnapshotStandsStill(t *testing.T) {
	r := record.New(fake(func(context.Context, provider.Request, provider.Call) (provider.Answer, error) {
		return provider.Answer{}, overloaded()
	}), version, record.Options{})
	ask(r, 1, request("goal"))
	before := r.File()
	r.Delay("0", 1, 7)
	ask(r, 1, request("goal"))
	ask(r, 2, request("goal", "more"))
	if len(before.Exchanges) != 1 || len(before.Exchanges[0].Attempts) != 1 || before.Exchanges[0].Attempts[0].DelayMS != 0 {
		t.Errorf("the snapshot moved: %+v", before.Exchanges)
	}
}

func TestASecretIsNowhereInTheFile(t *testing.T) {
	const canary = "CANARY-7f3a"
	redact := func(text string) string { return strings.ReplaceAll(text, canary, "[redacted]") }
	leak := canary + strings.Repeat(" and "+canary, 20)
	r := record.New(fake(func(_ context.Context, req provider.Request, call provider.Call) (provider.Answer, error) {
		if !strings.Contains(req.System, canary) {
			t.Error("the inner provider was asked something else")
		}
		_ = call.Failed(&provider.Error{Kind: provider.Auth, Provider: leak, Message: leak, Finish: leak, Model: leak, Asked: leak}, provider.Asked{})
		a := answer(leak)
		a.Finish, a.Model, a.Served, a.Asked = leak, leak, leak, leak
		a.Parts = append(a.Parts, provider.Part{
			Kind: provider.PartCall, ID: leak, Name: leak, Arguments: `{"a":"` + leak + `"}`, Signature: leak, Data: leak,
		})
		return a, nil
	}), version, record.Options{Redact: redact})
	req := request(leak)
	req.System, req.Model = leak, leak
	req.Tools = []provider.ToolSpec{{Name: leak, Description: leak, Schema: []byte(`{"default":"` + leak + `"}`)}}
	ask(r, 1, req)
	f := r.File()
	if text := encoded(t, f); strings.Contains(text, canary) || !strings.Contains(text, "[redacted]") {
		t.Errorf("the file leaks:\n%s", text)
	}
	f = record.New(fake(func(context.Context, provider.Request, provider.Call) (provider.Answer, error) {
		return answer("ok"), nil
	}), version, record.Options{Redact: func(text string) string { return strings.ReplaceAll(text, `{"type"`, "gone") }}).File()
	decoded(t, encoded(t, f))
}

func TestASchemaThatRedactionBreaksIsStillJSON(t *testing.T) {
	b := record.NewBuilder(version, func(text string) string { return strings.ReplaceAll(text, `"type"`, `"`) })
	b.Add("0", 1, request("goal"))
	text := encoded(t, b.File())
	if !strings.Contains(text, `"schema": "{\":\"object\"}"`) {
		t.Errorf("%s", text)
	}
	decoded(t, text)
}

func TestChildrenRecordAtTheSameTime(t *testing.T) {
	r := record.New(fake(func(_ context.Context, req provider.Request, _ provider.Call) (provider.Answer, error) {
		return answer(fmt.Sprint(len(req.Messages))), nil
	}), version, record.Options{})
	path := t.TempDir() + "/r.json"
	var wait sync.WaitGroup
	for agent := range 4 {
		wait.Go(func() {
			req := request()
			for step := range 25 {
				req.Messages = append(req.Messages, provider.Say(provider.RoleUser, "same for all"))
				call := provider.Call{Agent: fmt.Sprint("0.", agent), Step: step + 1}
				if _, err := r.Complete(context.Background(), req, call); err != nil {
					t.Error(err)
				}
				if step == 12 {
					if err := r.Save(path); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wait.Wait()
	if err := r.Save(path); err != nil {
		t.Fatal(err)
	}
	f, err := record.Load(path, version)
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Exchanges) != 100 {
		t.Errorf("%d exchanges", len(f.Exchanges))
	}
	for _, ex := range f.Exchanges {
		if len(ex.Request.Append) != 1 {
			t.Fatalf("agent %s, step %d tells %d messages anew", ex.Agent, ex.Step, len(ex.Request.Append))
		}
	}
}

func BenchmarkRecordStep(b *testing.B) {
	r := record.New(fake(func(context.Context, provider.Request, provider.Call) (provider.Answer, error) {
		return answer("ok"), nil
	}), version, record.Options{})
	req := request()
	started := time.Now()
	for i := range b.N {
		req.Messages = append(req.Messages, provider.Say(provider.RoleUser, fmt.Sprint(i, strings.Repeat(" word", 200))))
		ask(r, i+1, req)
	}
	b.ReportMetric(float64(time.Since(started).Microseconds())/float64(b.N), "µs/step")
}
