package endpoint

import (
	"bytes"
	"encoding/json"
	"strings"

	"tillerman/core/provider"
)

// report is what an endpoint says about a failure, in any of the forms that are about:
// {"error":{"type","code","message"}} (Anthropic, OpenAI, OpenRouter, llama.cpp), {"error":"text"} (Ollama),
// {"object":"error","message",…} (vLLM), {"detail":…} (FastAPI servers).
type report struct {
	words   []string // type and code, as words
	status  int      // code, when it is an HTTP status
	message string
}

// readReport reads a body or an event. A body that is not of a known form is its own message.
func readReport(raw []byte) report {
	raw = bytes.TrimSpace(raw)
	var body struct {
		Error   json.RawMessage `json:"error"`
		Message json.RawMessage `json:"message"`
		Detail  json.RawMessage `json:"detail"`
		Type    json.RawMessage `json:"type"`
		Code    json.RawMessage `json:"code"`
	}
	if json.Unmarshal(raw, &body) != nil {
		return report{message: string(raw)}
	}
	if present(body.Error) {
		inner := body.Error
		body.Error = nil
		if json.Unmarshal(inner, &body) != nil {
			body.Message = inner
		}
	}
	r := report{message: text(body.Message)}
	if r.message == "" {
		r.message = text(body.Detail)
	}
	if r.message == "" {
		r.message = string(raw)
	}
	for _, word := range []json.RawMessage{body.Type, body.Code} {
		var number Index
		if json.Unmarshal(word, &number) == nil && number.Set {
			if number.N >= 400 && number.N < 600 {
				r.status = number.N
			}
		} else if s := text(word); s != "" {
			r.words = append(r.words, strings.ToLower(s))
		}
	}
	return r
}

// present says whether a JSON value is there and not null.
func present(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// text is a JSON string's value, or the JSON itself of another value.
func text(raw json.RawMessage) string {
	var s string
	if !present(raw) {
		return ""
	}
	if json.Unmarshal(raw, &s) != nil {
		return string(raw)
	}
	return s
}

// overflow are the ways in which servers say that a request does not fit the model's window.
var overflow = [...]string{
	"context_length_exceeded",       // OpenAI, Groq
	"prompt is too long",            // Anthropic
	"exceed context limit",          // Anthropic, with max_tokens
	"maximum context length",        // OpenAI, vLLM, OpenRouter
	"exceed_context_size",           // llama.cpp
	"exceeds the available context", // llama.cpp
	"context window",
	"input is too long",
	"request_too_large", // Anthropic
}

func (r report) tooLong() bool {
	all := strings.ToLower(strings.Join(r.words, " ") + " " + r.message)
	for _, phrase := range overflow {
		if strings.Contains(all, phrase) {
			return true
		}
	}
	return false
}

// refusal is the word under which an endpoint's own filter declined the request, "" when it did not.
func (r report) refusal() string {
	for _, word := range r.words {
		switch word {
		case "content_filter", "content_policy_violation", "responsibleaipolicyviolation":
			return word
		}
	}
	return ""
}

// kindOfStatus classes an HTTP status.
func kindOfStatus(status int) provider.Kind {
	switch {
	case status == 401 || status == 403:
		return provider.Auth
	case status == 413:
		return provider.ContextLength
	case status == 429:
		return provider.RateLimited
	case status == 503 || status == 529:
		return provider.Overloaded
	case status >= 500:
		return provider.Server
	case status/100 == 2: // it was accepted, and nothing that can be read came of it
		return provider.Malformed
	}
	return provider.BadRequest
}

// kindOfWords classes a failure that came without a status, by the words of Anthropic's and OpenAI's error types. What
// is not known is the server's fault: it had accepted the request.
func kindOfWords(words []string) provider.Kind {
	for _, word := range words {
		switch word {
		case "rate_limit_error", "rate_limit_exceeded", "rate_limited", "too_many_requests", "insufficient_quota":
			return provider.RateLimited
		case "overloaded_error", "overloaded", "service_unavailable", "unavailable", "unavailable_error":
			return provider.Overloaded
		case "authentication_error", "permission_error", "invalid_api_key", "permission_denied":
			return provider.Auth
		case "invalid_request_error", "not_found_error", "billing_error", "model_not_found", "bad_request":
			return provider.BadRequest
		}
	}
	return provider.Server
}

// failure classes what a report says. status is the response's, or 0 for an error inside a stream; the code that such an
// error may carry classes it, but it is no HTTP status.
func failure(status int, raw []byte) *provider.Error {
	r := readReport(raw)
	e := &provider.Error{Kind: kindOfWords(r.words), Status: status, Message: r.message}
	if status != 0 {
		e.Kind = kindOfStatus(status)
	} else if r.status != 0 {
		e.Kind = kindOfStatus(r.status)
	}
	switch {
	case e.Kind == provider.Auth || e.Kind == provider.RateLimited:
	case r.tooLong():
		e.Kind = provider.ContextLength
	case r.refusal() != "":
		e.Kind, e.Finish = provider.ModelRefused, r.refusal()
	}
	return e
}

// ErrorEvent is the failure that an event inside a stream reports; data is the event's whole JSON.
func ErrorEvent(data []byte) *provider.Error { return failure(0, data) }

// isErrorBody says whether a body that came with a good status is an error all the same.
func isErrorBody(raw []byte) bool {
	var body struct {
		Error  json.RawMessage `json:"error"`
		Object string          `json:"object"`
		Type   string          `json:"type"`
	}
	return json.Unmarshal(raw, &body) == nil && (present(body.Error) || body.Object == "error" || body.Type == "error")
}
