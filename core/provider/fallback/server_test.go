package fallback_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"tillerman/core/provider"
	"tillerman/core/provider/anthropic"
	"tillerman/core/provider/chat"
	"tillerman/core/provider/endpoint"
	"tillerman/core/provider/fallback"
	"tillerman/core/provider/stream"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// dialect is one API as it goes over the wire.
type dialect struct {
	name string
	// whole is an answer that says text; half is its beginning, errorEvent what reports a failure inside it.
	whole            func(text string) string
	half, errorEvent string
	refusal          string
	make             func(endpoint.Config) (provider.Provider, error)
}

var dialects = []dialect{
	{
		name: "anthropic",
		whole: func(text string) string {
			return events(
				`{"type":"message_start","message":{"model":"m-served","role":"assistant","content":[],"usage":{"input_tokens":9,"output_tokens":1}}}`,
				`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
				`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"`+text+`"}}`,
				`{"type":"content_block_stop","index":0}`,
				`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":5}}`,
				`{"type":"message_stop"}`)
		},
		half: events(
			`{"type":"message_start","message":{"model":"m-served","role":"assistant","content":[],"usage":{"input_tokens":9,"output_tokens":1}}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"half an ans"}}`),
		errorEvent: events(`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`),
		refusal: events(
			`{"type":"message_start","message":{"model":"m-served","role":"assistant","content":[],"usage":{"input_tokens":9,"output_tokens":1}}}`,
			`{"type":"message_delta","delta":{"stop_reason":"refusal"},"usage":{"output_tokens":5}}`,
			`{"type":"message_stop"}`),
		make: func(c endpoint.Config) (provider.Provider, error) { return anthropic.New(c) },
	},
	{
		name: "chat",
		whole: func(text string) string {
			return events(
				`{"model":"m-served","choices":[{"index":0,"delta":{"content":"`+text+`"},"finish_reason":null}]}`,
				`{"model":"m-served","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`,
				`{"model":"m-served","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":5,"total_tokens":14}}`, `[DONE]`)
		},
		half:       events(`{"model":"m-served","choices":[{"index":0,"delta":{"content":"half an ans"},"finish_reason":null}]}`),
		errorEvent: events(`{"error":{"code":503,"message":"Overloaded","type":"overloaded_error"}}`),
		refusal:    events(`{"model":"m-served","choices":[{"index":0,"delta":{},"finish_reason":"content_filter"}]}`, `[DONE]`),
		make:       func(c endpoint.Config) (provider.Provider, error) { return chat.New(chat.Config{Config: c}) },
	},
}

func events(data ...string) string {
	var b strings.Builder
	for _, d := range data {
		b.WriteString("data: " + d + "\n\n")
	}
	return b.String()
}

// reply is how a server answers one request.
type reply func(w http.ResponseWriter, r *http.Request)

func streamed(body string) reply {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, body)
	}
}

// silent sends a beginning and then nothing, until the client leaves. sent is called when the beginning is out.
func silent(body string, sent func()) reply {
	return func(w http.ResponseWriter, r *http.Request) {
		streamed(body)(w, r)
		_ = http.NewResponseController(w).Flush()
		sent()
		<-r.Context().Done()
	}
}

// cut breaks the connection after a beginning.
func cut(body string) reply {
	return func(w http.ResponseWriter, r *http.Request) {
		streamed(body)(w, r)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

func status(code int, after string) reply {
	return func(w http.ResponseWriter, _ *http.Request) {
		if after != "" {
			w.Header().Set("Retry-After", after)
		}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, `{"error":{"message":"no","type":"x"}}`)
	}
}

// server is a local endpoint with a provider for it. It gives its replies in order, the last for ever.
type server struct {
	provider.Provider
	host string

	mu     sync.Mutex
	bodies []string
}

func (d dialect) serve(t *testing.T, name string, clock stream.Clock, replies ...reply) *server {
	t.Helper()
	s := &server{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		s.mu.Lock()
		s.bodies = append(s.bodies, string(body))
		n := min(len(s.bodies), len(replies)) - 1
		s.mu.Unlock()
		replies[n](w, r)
	}))
	p, err := d.make(endpoint.Config{Name: name, BaseURL: srv.URL, Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	s.Provider, s.host = p, strings.TrimPrefix(srv.URL, "http://")
	t.Cleanup(func() {
		if closer, ok := p.(interface{ Close() }); ok {
			closer.Close()
		}
		srv.Close()
	})
	return s
}

// asked are the models that the server was asked for.
func (s *server) asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var models []string
	for _, b := range s.bodies {
		_, rest, _ := strings.Cut(b, `"model":"`)
		model, _, _ := strings.Cut(rest, `"`)
		models = append(models, model)
	}
	return models
}

// heard is what a chain told of through the call.
type heard struct {
	failures []string
	next     []provider.Asked
	text     string
}

func (h *heard) call() provider.Call {
	return provider.Call{
		Agent: "0", Step: 1,
		Failed: func(e *provider.Error, next provider.Asked) error {
			h.failures = append(h.failures, fmt.Sprintf("%s %s %s", e.Provider, e.Kind, e.Message))
			h.next = append(h.next, next)
			return nil
		},
		Delta: func(_ provider.PartKind, text string) { h.text += text },
	}
}

func question() provider.Request {
	return provider.Request{Model: "m1", MaxOutput: 100, System: "s", Messages: []provider.Message{provider.Say(provider.RoleUser, "go")}}
}

func chain(t *testing.T, members ...fallback.Member) *fallback.Chain {
	t.Helper()
	c, err := fallback.New(nil, members...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func ask(c *fallback.Chain) (provider.Answer, *heard, error) {
	h := &heard{}
	a, err := c.Complete(context.Background(), question(), h.call())
	return a, h, err
}
