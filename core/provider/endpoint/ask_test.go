package endpoint_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"tillerman/core/provider"
	"tillerman/core/provider/endpoint"
	"tillerman/core/provider/internal/wiretest"
	"tillerman/core/provider/stream"
)

// refuse is a transport that reaches nobody.
type refuse struct{}

func (refuse) RoundTrip(*http.Request) (*http.Response, error) { return nil, syscall.ECONNREFUSED }

// echo is a decoder: the data "end" closes, "ping" is nothing, "bad" cannot be read, anything else is text.
type echo struct {
	text  strings.Builder
	whole bool
	seen  func(string)
}

func (e *echo) Event(ev stream.Event) (endpoint.Mark, error) {
	data := string(ev.Data)
	if e.seen != nil {
		e.seen(data)
	}
	switch data {
	case "end":
		return endpoint.Last, nil
	case "ping":
		return endpoint.Idle, nil
	case "bad":
		return endpoint.Idle, endpoint.Malformed("bad event")
	case "error":
		return endpoint.Idle, endpoint.ErrorEvent([]byte(`{"error":{"type":"overloaded_error","message":"busy"}}`))
	}
	e.text.WriteString(data)
	return endpoint.Content, nil
}

func (e *echo) Whole() bool { return e.whole }

func (e *echo) Answer() (provider.Answer, error) {
	if e.text.Len() == 0 {
		return provider.Answer{}, endpoint.Malformed("nothing")
	}
	return provider.Answer{Parts: []provider.Part{{Kind: provider.PartText, Text: e.text.String()}}}, nil
}

func (e *echo) Reported() (string, *provider.Usage) { return "model-x", &provider.Usage{Input: 5} }

func ask(t *testing.T, c endpoint.Config, dec *echo) (provider.Answer, error) {
	t.Helper()
	answer, _, err := askOf(t, context.Background(), c, dec)
	return answer, err
}

func askOf(t *testing.T, ctx context.Context, c endpoint.Config, dec *echo) (provider.Answer, *endpoint.Endpoint, error) {
	t.Helper()
	c.Name = "own"
	if c.BaseURL == "" {
		c.BaseURL = "http://endpoint.test"
	}
	e, err := endpoint.New(c)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	answer, err := e.Ask(ctx, "/ask", http.Header{"X-Test": {"1"}}, []byte(`{}`), dec)
	if _, ok := provider.As(err); err != nil && ok && e.LastServed() != "" {
		t.Errorf("served by %q after a failure", e.LastServed())
	}
	return answer, e, err
}

func TestAsk(t *testing.T) {
	clock := wiretest.NewClock()
	wait := func(d time.Duration) wiretest.Step { return wiretest.Do(func() { clock.Advance(d) }) }
	script := &wiretest.Script{
		Header: http.Header{"Set-Cookie": {"session=CANARY"}},
		Steps: []wiretest.Step{
			wait(2 * time.Second), wiretest.Say("data: ping\n\n"),
			wait(time.Second), wiretest.Say("data: a\n\n"),
			wait(time.Second), wiretest.Say("data: b\n\ndata: end\n\ndata: after\n\n"),
			wait(time.Second),
		},
	}
	answer, e, err := askOf(t, context.Background(), endpoint.Config{
		BaseURL: "http://endpoint.test/v1//", Transport: script, Clock: clock,
	}, &echo{})
	if err != nil || answer.Text() != "ab" || answer.Served != "own" || e.LastServed() != "own" {
		t.Fatalf("%+v, %v", answer, err)
	}
	if answer.FirstMillis != 3000 || answer.TotalMillis != 4000 {
		t.Errorf("first content after %d ms, last after %d ms", answer.FirstMillis, answer.TotalMillis)
	}
	if n := clock.Waiting(); n != 0 {
		t.Errorf("%d timers still run", n)
	}
	if _, err := e.Ask(context.Background(), "/ask", nil, nil, &echo{}); err != nil {
		t.Fatal(err)
	}
	sent := script.Requests()
	if sent[0].URL != "http://endpoint.test/v1/ask" || sent[0].Header.Get("X-Test") != "1" ||
		sent[0].Header.Get("Accept") != "text/event-stream" || sent[0].Header.Get("Content-Type") != "application/json" {
		t.Errorf("sent %+v", sent[0])
	}
	if sent[1].Header.Get("Cookie") != "" {
		t.Error("the cookie was kept")
	}
}

func TestAskStreams(t *testing.T) {
	say := wiretest.Say
	for _, c := range []struct {
		name  string
		steps []wiretest.Step
		whole bool // what the decoder says of a body that ends
		kind  provider.Kind
		text  string // the answer's, or part of the message
	}{
		{"whole", []wiretest.Step{say("data: a\n\ndata: end\n\n")}, false, "", "a"},
		{"the closing event lacks its blank line", []wiretest.Step{say("data: a\n\ndata: end\n")}, false, "", "a"},
		{"the closing line lacks its end", []wiretest.Step{say("data: a\n\ndata: end")}, false, "", "a"},
		{"a clean end that the decoder takes", []wiretest.Step{say("data: a\n\n")}, true, "", "a"},
		{"a clean end", []wiretest.Step{say("data: a\n\n")}, false, provider.Transport, "stream ended early"},
		{"nothing at all", nil, false, provider.Transport, "stream ended early"},
		{"only comments", []wiretest.Step{say(": ping\n\n: ping")}, false, provider.Transport, "stream ended early"},
		{"cut inside an event", []wiretest.Step{say("data: a\n\ndata: b")}, true, provider.Transport, "stream ended early"},
		{"cut inside an event that cannot be read", []wiretest.Step{say("data: a\n\ndata: bad")}, true, provider.Transport, "stream ended early"},
		{"cut by the transport", []wiretest.Step{say("data: a\n\n"), wiretest.Fail(io.ErrUnexpectedEOF)}, true, provider.Transport, "stream ended early"},
		{"reset", []wiretest.Step{say("data: a\n\n"), wiretest.Fail(syscall.ECONNRESET)}, true, provider.Transport, "connection reset"},
		{"an event that cannot be read", []wiretest.Step{say("data: bad\n\ndata: end\n\n")}, false, provider.Malformed, "bad event"},
		{"an error event", []wiretest.Step{say("data: a\n\ndata: error\n\n")}, false, provider.Overloaded, "busy"},
		{"an empty answer", []wiretest.Step{say("data: end\n\n")}, false, provider.Malformed, "nothing"},
		{"JSON", []wiretest.Step{say(`{"choices":[]}`)}, true, provider.Malformed, "not an event stream"},
		{"a page", []wiretest.Step{say("<!doctype html>")}, true, provider.Malformed, "not an event stream"},
		{"an error with a good status", []wiretest.Step{say(`{"error":{"code":429,"message":"slow down"}}`)}, true, provider.RateLimited, "slow down"},
		{"an event over the limit", []wiretest.Step{say("data: " + strings.Repeat("x", 2000) + "\n\ndata: end\n\n")}, true, provider.Malformed, "longer than 1024 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			answer, err := ask(t, endpoint.Config{
				Transport: &wiretest.Script{Steps: c.steps}, MaxEvent: 1024,
			}, &echo{whole: c.whole})
			if c.kind == "" {
				if err != nil || answer.Text() != c.text {
					t.Fatalf("%q, %v", answer.Text(), err)
				}
				return
			}
			failed, ok := provider.As(err)
			if !ok || failed.Kind != c.kind || !strings.Contains(failed.Message, c.text) {
				t.Fatalf("got %v, want %s, %q", err, c.kind, c.text)
			}
			if failed.Provider != "own" || failed.Model != "model-x" || failed.Usage == nil || len(answer.Parts) != 0 {
				t.Errorf("%+v with %+v", failed, answer)
			}
		})
	}
}

func TestAskNeverEnds(t *testing.T) {
	steps := make([]wiretest.Step, 0, 300)
	for range 300 {
		steps = append(steps, wiretest.Say(strings.Repeat(":", 1<<20)+"\n"))
	}
	_, err := ask(t, endpoint.Config{Transport: &wiretest.Script{Steps: steps}}, &echo{})
	if failed, ok := provider.As(err); !ok || failed.Kind != provider.Malformed {
		t.Fatal(err)
	}
}

func TestAskConnection(t *testing.T) {
	_, err := ask(t, endpoint.Config{Transport: refuse{}}, &echo{})
	if failed, ok := provider.As(err); !ok || failed.Kind != provider.Transport || !errors.Is(err, syscall.ECONNREFUSED) ||
		failed.Message != "connection refused" {
		t.Errorf("%v", err)
	}
}

func TestAskStalls(t *testing.T) {
	clock := wiretest.NewClock()
	wait := func(d time.Duration) wiretest.Step { return wiretest.Do(func() { clock.Advance(d) }) }
	say := wiretest.Say
	for _, c := range []struct {
		name  string
		steps []wiretest.Step
		want  string // part of the message, "" for an answer
	}{
		{"slow but alive", []wiretest.Step{
			wait(9 * time.Minute), say("data: a\n\n"), wait(59 * time.Second), say("data: b\n\n"), wait(59 * time.Second), say("data: end\n\n"),
		}, ""},
		{"no first content", []wiretest.Step{wait(10 * time.Minute), say("data: a\n\ndata: end\n\n")}, "no content within 10m0s"},
		{"comments and pings are no content", []wiretest.Step{
			wait(5 * time.Minute), say(": ping\n\n"), wait(4 * time.Minute), say("data: ping\n\n"), wait(time.Minute), say("data: end\n\n"),
		}, "no content within 10m0s"},
		{"stalled", []wiretest.Step{say("data: a\n\n"), wait(time.Minute), say("data: end\n\n")}, "stalled"},
		{"stalled with pings", []wiretest.Step{
			say("data: a\n\n"), wait(30 * time.Second), say("data: ping\n\n: x\n\n"), wait(30 * time.Second), say("data: end\n\n"),
		}, "stalled"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ask(t, endpoint.Config{Transport: &wiretest.Script{Steps: c.steps}, Clock: clock}, &echo{})
			if c.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if failed, ok := provider.As(err); !ok || failed.Kind != provider.Timeout || !strings.Contains(failed.Message, c.want) {
				t.Fatalf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestAskAbandoned(t *testing.T) {
	cause := errors.New("operator left")
	ctx, cancel := context.WithCancelCause(context.Background())
	dec := &echo{seen: func(string) { cancel(cause) }}
	script := &wiretest.Script{Steps: []wiretest.Step{wiretest.Say("data: a\n\n"), wiretest.Hang()}}
	_, _, err := askOf(t, ctx, endpoint.Config{Transport: script}, dec)
	if _, ok := provider.As(err); ok || !errors.Is(err, cause) {
		t.Errorf("got %v", err)
	}
	// A cause that is itself a failed call stays the cause.
	ctx, cancel = context.WithCancelCause(context.Background())
	cancel(fmt.Errorf("ended: %w", &provider.Error{Kind: provider.Auth, Provider: "other"}))
	_, _, err = askOf(t, ctx, endpoint.Config{Transport: script}, &echo{})
	if failed, ok := provider.As(err); !ok || failed.Provider != "other" || failed.Model != "" {
		t.Errorf("got %v", err)
	}
}
