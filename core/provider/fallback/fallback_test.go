package fallback_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tillerman/core/provider"
	"tillerman/core/provider/fallback"
	"tillerman/core/provider/internal/wiretest"
	"tillerman/core/provider/stream"
	"tillerman/core/retry"
)

// A stream that is cut, stalls or reports an error is a failure and never half an answer; the next provider is asked, in
// either API.
func TestBrokenStreamsFallOver(t *testing.T) {
	for i, first := range dialects {
		second := dialects[1-i]
		clock := wiretest.NewClock()
		stall := func() { clock.Advance(stream.FirstContent); clock.Advance(stream.NextContent) }
		for _, c := range []struct {
			name  string
			reply reply
			kind  provider.Kind
			says  string
		}{
			{"cut in the middle", cut(first.half), provider.Transport, "stream ended early"},
			{"ends in the middle", streamed(first.half), provider.Transport, "stream ended early"},
			{"an error in the middle", streamed(first.half + first.errorEvent), provider.Overloaded, "Overloaded"},
			{"an error at once", streamed(first.errorEvent), provider.Overloaded, "Overloaded"},
			{"silent from the start", silent("", stall), provider.Timeout, "no content"},
			{"stalls in the middle", silent(first.half, stall), provider.Timeout, "content within"},
			{"no connection", cut(""), provider.Transport, ""},
			{"429", status(429, ""), provider.RateLimited, "no"},
			{"429 with a long wait", status(429, "277403"), provider.RateLimited, "no"},
			{"503", status(503, ""), provider.Overloaded, "no"},
			{"529", status(529, "1e9"), provider.Overloaded, "no"},
			{"500", status(500, ""), provider.Server, "no"},
			{"no stream", streamed("<html>"), provider.Malformed, "not an event stream"},
		} {
			t.Run(first.name+"/"+c.name, func(t *testing.T) {
				a := first.serve(t, "a", clock, c.reply)
				b := second.serve(t, "b", nil, streamed(second.whole("all of it")))
				p := chain(t, fallback.Member{Provider: a}, fallback.Member{Provider: b, Model: "m2"})
				answer, h, err := ask(p)
				if err != nil || answer.Text() != "all of it" || answer.Served != "b" || answer.Asked != "m2" || p.LastServed() != "b" {
					t.Fatalf("%+v, %v, last served %q", answer, err, p.LastServed())
				}
				if len(h.failures) != 1 || !strings.HasPrefix(h.failures[0], "a "+string(c.kind)+" ") || !strings.Contains(h.failures[0], c.says) {
					t.Errorf("told %q", h.failures)
				}
				if h.next[0] != (provider.Asked{Provider: "b", Model: "m2"}) {
					t.Errorf("next is %+v", h.next[0])
				}
				if !slices.Equal(a.asked(), []string{"m1"}) || !slices.Equal(b.asked(), []string{"m2"}) {
					t.Errorf("asked for %v and %v", a.asked(), b.asked())
				}
			})
		}
	}
}

// What asking another cannot help, or must not be asked of another, stays with the first.
func TestFailuresThatNeverFallOver(t *testing.T) {
	tooLong := func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"error":{"code":"context_length_exceeded","message":"prompt is too long"}}`)
	}
	for i, d := range dialects {
		for name, c := range map[string]struct {
			reply reply
			kind  provider.Kind
		}{
			"wrong key":       {status(401, ""), provider.Auth},
			"forbidden":       {status(403, ""), provider.Auth},
			"bad request":     {status(400, "3"), provider.BadRequest},
			"redirect":        {status(307, ""), provider.BadRequest},
			"too long":        {tooLong, provider.ContextLength},
			"refused":         {streamed(d.refusal), provider.ModelRefused},
			"no such address": {status(404, ""), provider.BadRequest},
		} {
			t.Run(d.name+"/"+name, func(t *testing.T) {
				a := d.serve(t, "a", nil, c.reply)
				b := dialects[1-i].serve(t, "b", nil, streamed(dialects[1-i].whole("x")))
				p := chain(t, fallback.Member{Provider: a}, fallback.Member{Provider: b})
				_, h, err := ask(p)
				failed, ok := provider.As(err)
				if !ok || failed.Kind != c.kind || failed.Provider != "a" || len(h.failures) != 0 || len(b.asked()) != 0 || p.LastServed() != "" {
					t.Errorf("%v, told %q, b asked %d times", err, h.failures, len(b.asked()))
				}
			})
		}
	}
}

// told is a provider that answers as it is told to, without a socket.
type told struct {
	name     string
	outcomes []error // in order, the last for ever; nil is an answer
	images   bool
	hosts    []string

	mu    sync.Mutex
	asked int
}

func (p *told) Complete(_ context.Context, req provider.Request, _ provider.Call) (provider.Answer, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	err := p.outcomes[min(p.asked, len(p.outcomes)-1)]
	p.asked++
	if err != nil {
		return provider.Answer{}, err
	}
	return provider.Answer{Served: p.name, Model: req.Model}, nil
}

func (p *told) Name() string        { return p.name }
func (p *told) Endpoints() []string { return p.hosts }
func (p *told) LastServed() string  { return "" }
func (p *told) AcceptsImages() bool { return p.images }

func failing(name string, kind provider.Kind, hint time.Duration) *told {
	e := &provider.Error{Kind: kind, Provider: name, Message: "busy"}
	if hint > 0 {
		e.Hint = &hint
	}
	return &told{name: name, outcomes: []error{e}}
}

func TestWhatAChainReports(t *testing.T) {
	a := &told{name: "a", hosts: []string{"h1:443", "h2:443"}, images: true}
	b := &told{name: "b", hosts: []string{"h2:443", "h3:80"}, images: true}
	c := &told{name: "c"}
	p := chain(t, fallback.Member{Provider: a}, fallback.Member{Provider: b})
	if p.Name() != "a -> b" || !slices.Equal(p.Endpoints(), []string{"h1:443", "h2:443", "h3:80"}) || !p.AcceptsImages() || p.LastServed() != "" {
		t.Errorf("%s %v %t %q", p.Name(), p.Endpoints(), p.AcceptsImages(), p.LastServed())
	}
	nested := chain(t, fallback.Member{Provider: p}, fallback.Member{Provider: c})
	if nested.Name() != "a -> b -> c" || nested.AcceptsImages() || len(nested.Endpoints()) != 3 {
		t.Errorf("%s %v %t", nested.Name(), nested.Endpoints(), nested.AcceptsImages())
	}
	if _, err := fallback.New(nil); err == nil {
		t.Error("a chain of nobody")
	}
}

func TestTheChainsErrorSaysWhenSomebodyMayBeAsked(t *testing.T) {
	const long = 277403 * time.Second
	for _, c := range []struct {
		name string
		a, b time.Duration
		want time.Duration // 0: no hint, the drawn wait holds
	}{
		{"nobody asks for a wait", 0, 0, 0},
		{"only the first does", 3 * time.Second, 0, 0},
		{"only the last does", 0, long, 0},
		{"the first for less", 2 * time.Second, 5 * time.Second, 2 * time.Second},
		{"the last for less", 5 * time.Second, 2 * time.Second, 2 * time.Second},
		{"both for long", 2 * long, long, long},
		{"both for long, the first for less", long, 2 * long, long},
	} {
		clock := wiretest.NewClock()
		a, b := failing("a", provider.RateLimited, c.a), failing("b", provider.Overloaded, c.b)
		p, err := fallback.New(clock.Now, fallback.Member{Provider: a}, fallback.Member{Provider: b})
		if err != nil {
			t.Fatal(err)
		}
		_, h, err := ask(p)
		failed, ok := provider.As(err)
		if !ok || failed.Provider != "b" || failed.Kind != provider.Overloaded || len(h.failures) != 1 {
			t.Fatalf("%s: %v, told %q", c.name, err, h.failures)
		}
		got := time.Duration(0)
		if failed.Hint != nil {
			got = *failed.Hint
		}
		if got != c.want {
			t.Errorf("%s: hint %s, want %s (%s)", c.name, got, c.want, failed.Message)
		}
		if own, _ := provider.As(b.outcomes[0]); own.Message != "busy" || (own.Hint == nil) != (c.b == 0) {
			t.Errorf("%s: the member's own error was changed: %+v", c.name, own)
		}
	}
}

// Who asked to be left alone is passed over, told of, and asked again when the time is over.
func TestAHintIsKeptTo(t *testing.T) {
	clock := wiretest.NewClock()
	a := failing("a", provider.RateLimited, 3*time.Second)
	a.outcomes = append(a.outcomes, nil)
	b := &told{name: "b", outcomes: []error{nil}}
	p, err := fallback.New(clock.Now, fallback.Member{Provider: a}, fallback.Member{Provider: b})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"a rate_limited busy", "a rate_limited not asked: it wants no request for 2s"} {
		answer, h, err := ask(p)
		if err != nil || answer.Served != "b" || !slices.Equal(h.failures, []string{want}) {
			t.Fatalf("call %d: %+v, %v, told %q", i+1, answer, err, h.failures)
		}
		clock.Advance(time.Second)
	}
	clock.Advance(time.Second)
	if answer, h, err := ask(p); err != nil || answer.Served != "a" || len(h.failures) != 0 || a.asked != 2 {
		t.Errorf("%+v, %v, told %q", answer, err, h.failures)
	}
}

func TestTheBreakerPassesOver(t *testing.T) {
	clock := wiretest.NewClock()
	a := failing("a", provider.Server, 0)
	b := &told{name: "b", outcomes: []error{nil}}
	p, err := fallback.New(clock.Now, fallback.Member{Provider: a}, fallback.Member{Provider: b})
	if err != nil {
		t.Fatal(err)
	}
	var last string
	for range retry.BreakerFailures {
		_, h, _ := ask(p)
		last = h.failures[0]
	}
	if last != "a server busy; circuit open after 5 failures, next probe in 30s" {
		t.Errorf("the failure that opened it reads %q", last)
	}
	clock.Advance(10 * time.Second)
	answer, h, err := ask(p)
	if err != nil || answer.Served != "b" || a.asked != retry.BreakerFailures {
		t.Fatalf("%+v, %v, asked %d times", answer, err, a.asked)
	}
	if want := "a overloaded not asked: circuit open after 5 failures, next probe in 20s (last: server)"; h.failures[0] != want {
		t.Errorf("told %q, want %q", h.failures[0], want)
	}
	clock.Advance(20 * time.Second)
	a.outcomes = []error{nil}
	if answer, _, err := ask(p); err != nil || answer.Served != "a" {
		t.Errorf("the probe: %+v, %v", answer, err)
	}
	if answer, h, err := ask(p); err != nil || answer.Served != "a" || len(h.failures) != 0 {
		t.Errorf("after the probe: %+v, %v, %q", answer, err, h.failures)
	}
}

// With one provider the open breaker is a failure that may pass, with the time to the probe as its hint.
func TestABreakerAlone(t *testing.T) {
	clock := wiretest.NewClock()
	a := failing("a", provider.Transport, 0)
	p, err := fallback.New(clock.Now, fallback.Member{Provider: a})
	if err != nil {
		t.Fatal(err)
	}
	hint := func() time.Duration {
		t.Helper()
		_, h, err := ask(p)
		failed, ok := provider.As(err)
		if !ok || !failed.Kind.Retryable() || len(h.failures) != 0 {
			t.Fatalf("%v, told %q", err, h.failures)
		}
		if failed.Hint == nil {
			return 0
		}
		return *failed.Hint
	}
	for i := range retry.BreakerFailures {
		want := time.Duration(0)
		if i == retry.BreakerFailures-1 {
			want = retry.BreakerCooldown
		}
		if got := hint(); got != want {
			t.Fatalf("failure %d: hint %s, want %s", i+1, got, want)
		}
	}
	clock.Advance(12 * time.Second)
	if got := hint(); got != retry.BreakerCooldown-12*time.Second || a.asked != retry.BreakerFailures {
		t.Errorf("hint %s after %d calls", got, a.asked)
	}
	clock.Advance(18 * time.Second)
	if got := hint(); got != retry.BreakerCooldown || a.asked != retry.BreakerFailures+1 {
		t.Errorf("the failed probe: hint %s after %d calls", got, a.asked)
	}
}

// A server's own hint reaches the caller of a lone provider as it was given, however long, and does not keep it from asking.
func TestAHintAlone(t *testing.T) {
	const long = 277403 * time.Second
	a := failing("a", provider.RateLimited, long)
	p := chain(t, fallback.Member{Provider: a})
	for range 2 {
		_, _, err := ask(p)
		if failed, ok := provider.As(err); !ok || failed.Hint == nil || *failed.Hint != long || failed.Message != "busy" {
			t.Fatalf("%+v", failed)
		}
	}
	if a.asked != 2 {
		t.Errorf("asked %d times", a.asked)
	}
}

func TestNobodyElseIsAskedOnceTheCallerSaysSo(t *testing.T) {
	enough := errors.New("enough")
	a, b := failing("a", provider.Server, 0), &told{name: "b", outcomes: []error{nil}}
	p := chain(t, fallback.Member{Provider: a}, fallback.Member{Provider: b})
	_, err := p.Complete(context.Background(), question(), provider.Call{Failed: func(*provider.Error, provider.Asked) error { return enough }})
	if !errors.Is(err, enough) || b.asked != 0 {
		t.Errorf("%v, b asked %d times", err, b.asked)
	}
}

// The caller's going away is no failure of a provider: nobody else is asked, and no breaker counts it.
func TestACallThatIsGivenUpFallsOverToNobody(t *testing.T) {
	for i, d := range dialects {
		for name, half := range map[string]string{"before the first byte": "", "between two parts": d.half} {
			t.Run(d.name+"/"+name, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(context.Background())
				gone := errors.New("the process goes away")
				a := d.serve(t, "a", nil, silent(half, func() { cancel(gone) }))
				b := dialects[1-i].serve(t, "b", nil, streamed(dialects[1-i].whole("x")))
				p := chain(t, fallback.Member{Provider: a}, fallback.Member{Provider: b})
				h := &heard{}
				_, err := p.Complete(ctx, question(), h.call())
				if _, ok := provider.As(err); ok || !errors.Is(err, gone) || len(h.failures) != 0 || len(b.asked()) != 0 {
					t.Errorf("%v, told %q, b asked %d times", err, h.failures, len(b.asked()))
				}
			})
		}
	}
}

// Children share one chain: each gets whole answers, and at most one probe is under way.
func TestManyAtOnce(t *testing.T) {
	a := &told{name: "a", outcomes: []error{nil, &provider.Error{Kind: provider.Server, Provider: "a"}, nil, nil}}
	b := &told{name: "b", outcomes: []error{nil}}
	p := chain(t, fallback.Member{Provider: a}, fallback.Member{Provider: b, Model: "m2"})
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range 50 {
				answer, _, err := ask(p)
				if err != nil || answer.Served == "a" && answer.Model != "m1" || answer.Served == "b" && answer.Model != "m2" {
					t.Errorf("%+v, %v", answer, err)
					return
				}
				if s := p.LastServed(); s != "a" && s != "b" && s != "" {
					t.Errorf("last served %q", s)
				}
			}
		})
	}
	wait.Wait()
}
