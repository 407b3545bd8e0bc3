package endpoint_test

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"tillerman/core/provider"
	"tillerman/core/provider/endpoint"
	"tillerman/core/provider/internal/wiretest"
)

func TestStatus(t *testing.T) {
	for _, c := range []struct {
		status  int
		body    string
		kind    provider.Kind
		message string
	}{
		{401, `{"error":{"message":"Incorrect API key","code":"invalid_api_key"}}`, provider.Auth, "Incorrect API key"},
		{403, `{"type":"error","error":{"type":"permission_error","message":"no"}}`, provider.Auth, "no"},
		{403, `the prompt is too long`, provider.Auth, "the prompt is too long"},
		{429, `{"error":{"message":"slow down","type":"rate_limit_error"}}`, provider.RateLimited, "slow down"},
		{429, `{"error":{"message":"tokens per minute exceed the context window"}}`, provider.RateLimited, "tokens per minute exceed the context window"},
		{503, ``, provider.Overloaded, "Service Unavailable"},
		{529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, provider.Overloaded, "Overloaded"},
		{500, `oops`, provider.Server, "oops"},
		{502, `<html>bad gateway</html>`, provider.Server, "<html>bad gateway</html>"},
		{504, `{"detail":"upstream"}`, provider.Server, "upstream"},
		{599, ``, provider.Server, ""},
		{400, `{"error":"model not found"}`, provider.BadRequest, "model not found"},
		{400, `{"error":{"message":null}}`, provider.BadRequest, `{"error":{"message":null}}`},
		{404, `null`, provider.BadRequest, "null"},
		{404, `[1]`, provider.BadRequest, "[1]"},
		{402, `{"error":{"code":402,"message":"credits"}}`, provider.BadRequest, "credits"},
		{408, ``, provider.BadRequest, "Request Timeout"},
		{422, `{"detail":[{"msg":"field required"}]}`, provider.BadRequest, `[{"msg":"field required"}]`},
		{413, ``, provider.ContextLength, "Request Entity Too Large"},
		{400, `{"error":{"code":"context_length_exceeded","message":"too many tokens"}}`, provider.ContextLength, "too many tokens"},
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`, provider.ContextLength, "prompt is too long: 210000 tokens > 200000 maximum"},
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"input length and max_tokens exceed context limit: 1 + 2 > 2"}}`, provider.ContextLength, ""},
		{400, `{"object":"error","message":"This model's maximum context length is 2048 tokens.","code":400}`, provider.ContextLength, "This model's maximum context length is 2048 tokens."},
		{400, `{"error":{"code":400,"message":"request (9000 tokens) exceeds the available context size (4096 tokens)","type":"exceed_context_size_error"}}`, provider.ContextLength, ""},
		{500, `{"error":{"code":500,"message":"x","type":"exceed_context_size_error"}}`, provider.ContextLength, "x"},
		{400, `{"error":{"code":"content_filter","message":"filtered"}}`, provider.ModelRefused, "filtered"},
		{400, "\xff\x1b[31m", provider.BadRequest, "\uFFFD\x1b[31m"},
		{204, ``, provider.Malformed, "No Content"},
		{201, `data: a`, provider.Malformed, "data: a"},
	} {
		_, err := ask(t, endpoint.Config{Transport: wiretest.Status(c.status, nil, c.body)}, &echo{})
		failed, ok := provider.As(err)
		if !ok || failed.Kind != c.kind || failed.Status != c.status || failed.Hint != nil {
			t.Errorf("%d %s: %v", c.status, c.body, err)
			continue
		}
		if c.message != "" && failed.Message != c.message {
			t.Errorf("%d %s: message %q", c.status, c.body, failed.Message)
		}
		if (failed.Finish != "") != (c.kind == provider.ModelRefused) {
			t.Errorf("%d %s: finish %q", c.status, c.body, failed.Finish)
		}
	}
}

func TestErrorEvent(t *testing.T) {
	for data, want := range map[string]provider.Kind{
		`{"type":"error","error":{"type":"overloaded_error","message":"m"}}`:         provider.Overloaded,
		`{"type":"error","error":{"type":"rate_limit_error","message":"m"}}`:         provider.RateLimited,
		`{"type":"error","error":{"type":"api_error","message":"m"}}`:                provider.Server,
		`{"type":"error","error":{"type":"timeout_error","message":"m"}}`:            provider.Server,
		`{"type":"error","error":{"type":"authentication_error","message":"m"}}`:     provider.Auth,
		`{"type":"error","error":{"type":"invalid_request_error","message":"m"}}`:    provider.BadRequest,
		`{"type":"error","error":{"type":"request_too_large","message":"m"}}`:        provider.ContextLength,
		`{"type":"error","error":{"type":"brand_new_error","message":"m"}}`:          provider.Server,
		`{"error":{"message":"m","type":"server_error"}}`:                            provider.Server,
		`{"error":{"message":"m","code":"rate_limit_exceeded"}}`:                     provider.RateLimited,
		`{"error":{"message":"m","code":502},"choices":[{"finish_reason":"error"}]}`: provider.Server,
		`{"error":{"message":"m","code":"429"}}`:                                     provider.RateLimited,
		`{"error":{"message":"m","code":503}}`:                                       provider.Overloaded,
		`{"error":{"message":"m","code":400}}`:                                       provider.BadRequest,
		`{"error":{"message":"m","code":403}}`:                                       provider.Auth,
		`{"error":{"message":"m","code":-32603}}`:                                    provider.Server,
		`{"error":{"message":"m: maximum context length is 10","code":400}}`:         provider.ContextLength,
		`{"error":"m"}`: provider.Server,
		`{"object":"error","message":"m","type":"BadRequestError","code":400}`: provider.BadRequest,
		`{"message":"m"}`: provider.Server,
		`m`:               provider.Server,
		`{"error":{"message":"m","code":"content_filter"}}`: provider.ModelRefused,
	} {
		got := endpoint.ErrorEvent([]byte(data))
		if got.Kind != want || got.Status != 0 || !strings.HasPrefix(got.Message, "m") {
			t.Errorf("%s: %+v, want %s", data, got, want)
		}
	}
}

func TestHintOnlyWhereItHelps(t *testing.T) {
	clock := wiretest.NewClock()
	at := clock.Now().Add(5 * time.Second).Format("Mon, 02-Jan-06 15:04:05 GMT")
	for _, c := range []struct {
		status int
		header map[string]string
		want   time.Duration
	}{
		{429, map[string]string{"Retry-After": "3"}, 3 * time.Second},
		{503, map[string]string{"Retry-After": at}, 5 * time.Second},
		{529, map[string]string{"Retry-After-Ms": "1500", "Retry-After": "9"}, 1500 * time.Millisecond},
		{500, map[string]string{"Retry-After": "1e9"}, 1e9 * time.Second},
		{429, map[string]string{"Retry-After": "-5"}, 0},
		{429, map[string]string{"Retry-After": "soon"}, 0},
		{429, nil, 0},
		{400, map[string]string{"Retry-After": "3"}, 0},
	} {
		h := http.Header{}
		for name, value := range c.header {
			h.Set(name, value)
		}
		_, err := ask(t, endpoint.Config{Transport: wiretest.Status(c.status, h, ""), Clock: clock}, &echo{})
		failed, _ := provider.As(err)
		if (failed.Hint == nil) != (c.want == 0) || (failed.Hint != nil && *failed.Hint != c.want) {
			t.Errorf("%d %v: %v, want %s", c.status, c.header, failed.Hint, c.want)
		}
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	script := wiretest.Status(307, http.Header{"Location": {"http://elsewhere.test/CANARY-7f3a"}}, "see CANARY-7f3a")
	_, err := ask(t, endpoint.Config{Transport: script}, &echo{})
	failed, ok := provider.As(err)
	if !ok || failed.Kind != provider.BadRequest || failed.Status != 307 || strings.Contains(failed.Message, "CANARY") {
		t.Errorf("got %v", err)
	}
	if n := len(script.Requests()); n != 1 {
		t.Errorf("%d requests", n)
	}
}

// A server that quotes the key, in whatever encoding, must not bring it into an error.
func TestTheKeyIsConcealed(t *testing.T) {
	const key = `sk-CANARY"7f3a/&+x`
	for name, quoted := range map[string]string{
		"plain":       key,
		"JSON":        `sk-CANARY\"7f3a/&+x`,
		"JSON, HTML":  `sk-CANARY\"7f3a/\u0026+x`,
		"query":       url.QueryEscape(key),
		"path":        url.PathEscape(key),
		"base64":      base64.StdEncoding.EncodeToString([]byte(key)),
		"base64 URL":  base64.RawURLEncoding.EncodeToString([]byte(key)),
		"at the edge": strings.Repeat("x", 2040) + key,
	} {
		for _, script := range []*wiretest.Script{
			wiretest.Status(401, nil, "bad key "+quoted),
			wiretest.Status(200, nil, `{"error":"bad key `+strings.ReplaceAll(quoted, `"`, `\"`)+`"}`),
		} {
			_, err := ask(t, endpoint.Config{Transport: script, Key: key}, &echo{})
			failed, ok := provider.As(err)
			if !ok || strings.Contains(failed.Message, "CANARY") || strings.Contains(failed.Message, quoted) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	_, err := ask(t, endpoint.Config{Transport: wiretest.Status(401, nil, "no model none"), Key: "none"}, &echo{})
	if failed, _ := provider.As(err); failed.Message != "no model none" {
		t.Errorf("a placeholder was cut out: %v", err)
	}
}

func TestMessagesAreBounded(t *testing.T) {
	for _, body := range []string{strings.Repeat("杭", 100_000), strings.Repeat("x", 1<<20), `{"error":"` + strings.Repeat("é", 3000) + `"}`} {
		_, err := ask(t, endpoint.Config{Transport: wiretest.Status(500, nil, body)}, &echo{})
		failed, _ := provider.As(err)
		if n := len(failed.Message); n > 2<<10+len("…") || n < 2000 || !utf8.ValidString(failed.Message) {
			t.Errorf("message of %d bytes", n)
		}
	}
}
