package chat_test

import (
	"context"
	"io"
	"reflect"
	"strings"
	"testing"

	"tillerman/core/provider"
	"tillerman/core/provider/chat"
	"tillerman/core/provider/endpoint"
	"tillerman/core/provider/internal/wiretest"
)

// said is a chunk with a delta, ended one with a finish reason.
func said(delta string) string {
	return `{"model":"m-1","choices":[{"index":0,"delta":` + delta + `,"finish_reason":null}],"usage":null}`
}

func ended(reason string) string {
	return `{"model":"m-1","choices":[{"index":0,"delta":{},"finish_reason":"` + reason + `"}]}`
}

const (
	hi    = `{"model":"m-1","choices":[{"index":0,"delta":{"role":"assistant","content":"hi"}}]}`
	spent = `{"model":"m-1","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":2,"total_tokens":12}}`
	done  = "[DONE]"
)

// events makes a stream of data, one event each. "@name data" is an event with a name.
func events(data ...string) string {
	var b strings.Builder
	for _, line := range data {
		if named, ok := strings.CutPrefix(line, "@"); ok {
			name, data, _ := strings.Cut(named, " ")
			b.WriteString("event: " + name + "\n")
			line = data
		}
		b.WriteString("data: " + line + "\n\n")
	}
	return b.String()
}

func complete(t *testing.T, response string, end ...wiretest.Step) (provider.Answer, error) {
	t.Helper()
	script := &wiretest.Script{Steps: append([]wiretest.Step{wiretest.Say(response)}, end...)}
	c, err := chat.New(chat.Config{Config: endpoint.Config{
		Name: "own", BaseURL: "http://endpoint.test", Transport: script,
	}})
	if err != nil {
		t.Fatal(err)
	}
	return c.Complete(context.Background(), provider.Request{}, provider.Call{})
}

func words(s string) provider.Part   { return provider.Part{Kind: provider.PartText, Text: s} }
func thought(s string) provider.Part { return provider.Part{Kind: provider.PartThinking, Text: s} }
func called(id, name, args string) provider.Part {
	return provider.Part{Kind: provider.PartCall, ID: id, Name: name, Arguments: args}
}

func TestAnswers(t *testing.T) {
	whole := said(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"f","arguments":"{\"a\":1}"}}]}`)
	for _, c := range []struct {
		name   string
		events []string
		stop   provider.Stop
		finish string
		parts  []provider.Part
	}{
		{"text", []string{hi, ended("stop"), spent, done}, provider.StopEnd, "stop", []provider.Part{words("hi")}},
		{"no [DONE]", []string{hi, ended("stop"), spent}, provider.StopEnd, "stop", []provider.Part{words("hi")}},
		{"finish in the last piece", []string{hi, `{"model":"m-1","choices":[{"delta":{"content":"!"},"finish_reason":"stop"}]}`, done}, provider.StopEnd, "stop", []provider.Part{words("hi!")}},
		{"finish repeated", []string{hi, ended("stop"), said(`{"content":""}`), ended("stop"), done}, provider.StopEnd, "stop", []provider.Part{words("hi")}},
		{"finish empty until the end", []string{strings.ReplaceAll(said(`{"content":"hi"}`), "null}", `""}`), ended("stop"), done}, provider.StopEnd, "stop", []provider.Part{words("hi")}},
		{"calls", []string{whole, ended("tool_calls"), done}, provider.StopCalls, "tool_calls", []provider.Part{called("c1", "f", `{"a":1}`)}},
		{"calls though the word is stop", []string{whole, ended("stop"), done}, provider.StopCalls, "stop", []provider.Part{called("c1", "f", `{"a":1}`)}},
		{"length", []string{hi, ended("length"), done}, provider.StopLength, "length", []provider.Part{words("hi")}},
		{"length, whole call", []string{whole, ended("length"), done}, provider.StopLength, "length", []provider.Part{called("c1", "f", `{"a":1}`)}},
		{"length, nothing said", []string{ended("max_tokens"), done}, provider.StopLength, "max_tokens", nil},
		{"unknown words", []string{hi, ended("model_length"), done}, provider.StopUnknown, "model_length", []provider.Part{words("hi")}},
		{"unknown words, call", []string{whole, ended("xyz"), done}, provider.StopUnknown, "xyz", []provider.Part{called("c1", "f", `{"a":1}`)}},
		{"unknown words, nothing", []string{ended("pause_turn"), done}, provider.StopUnknown, "pause_turn", nil},
		{"reasoning_content", []string{said(`{"reasoning_content":"h"}`), said(`{"reasoning_content":"m"}`), hi, ended("stop"), done}, provider.StopEnd, "stop", []provider.Part{thought("hm"), words("hi")}},
		{"reasoning", []string{said(`{"reasoning":"hm","content":""}`), hi, ended("stop"), done}, provider.StopEnd, "stop", []provider.Part{thought("hm"), words("hi")}},
		{"reasoning under both names", []string{said(`{"reasoning":"hm","reasoning_content":"hm"}`), hi, ended("stop"), done}, provider.StopEnd, "stop", []provider.Part{thought("hm"), words("hi")}},
		{"reasoning as an object", []string{said(`{"reasoning":{"effort":"low"}}`), hi, ended("stop"), done}, provider.StopEnd, "stop", []provider.Part{words("hi")}},
		{"content in typed parts", []string{said(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"hi"}]}`), ended("stop"), done}, provider.StopEnd, "stop", []provider.Part{thought("hm"), words("hi")}},
		{"a message at the end", []string{`{"model":"m-1","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}`, done}, provider.StopEnd, "stop", []provider.Part{words("hi")}},
		{"refusal null or empty", []string{said(`{"content":"hi","refusal":null}`), said(`{"refusal":""}`), ended("stop"), done}, provider.StopEnd, "stop", []provider.Part{words("hi")}},
		{"text, call, text", []string{hi, whole, said(`{"content":"!"}`), ended("tool_calls"), done}, provider.StopCalls, "tool_calls", []provider.Part{words("hi!"), called("c1", "f", `{"a":1}`)}},
		{"chunks that say nothing", []string{`{}`, `{"type":"ping"}`, `{"model":"m-1","choices":null}`, `{"model":"m-1","choices":[{"delta":null}]}`, " ", hi, ended("stop"), done, "after"}, provider.StopEnd, "stop", []provider.Part{words("hi")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, err := complete(t, events(c.events...))
			if err != nil {
				t.Fatal(err)
			}
			if a.Stop != c.stop || a.Finish != c.finish || a.Model != "m-1" || !reflect.DeepEqual(a.Parts, c.parts) {
				t.Errorf("got %+v", a)
			}
		})
	}
}

func TestFailures(t *testing.T) {
	whole := said(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"f","arguments":"{}"}}]}`)
	cut := wiretest.Fail(io.ErrUnexpectedEOF)
	for _, c := range []struct {
		name    string
		events  []string
		end     []wiretest.Step
		kind    provider.Kind
		message string
		finish  string
	}{
		{"text, then nothing", []string{hi}, nil, provider.Transport, "stream ended early", ""},
		{"a whole call, then nothing", []string{whole}, nil, provider.Transport, "stream ended early", ""},
		{"a whole call, then cut", []string{whole}, []wiretest.Step{cut}, provider.Transport, "stream ended early", ""},
		{"finished, then cut", []string{hi, ended("stop")}, []wiretest.Step{cut}, provider.Transport, "stream ended early", ""},
		{"finished, then half an event", []string{hi, ended("stop")}, []wiretest.Step{wiretest.Say(`data: {"choi`)}, provider.Transport, "stream ended early", ""},
		{"finished inside an event", []string{hi}, []wiretest.Step{wiretest.Say("data: " + ended("stop") + "\n")}, provider.Transport, "stream ended early", ""},
		{"only [DONE]", []string{done}, nil, provider.Transport, "stream ended early", ""},
		{"[DONE] without a finish reason", []string{hi, done}, nil, provider.Transport, "stream ended early", ""},
		{"not JSON", []string{hi, "oops"}, nil, provider.Malformed, "cannot be read", ""},
		{"not an object", []string{hi, `"oops"`}, nil, provider.Malformed, "cannot be read", ""},
		{"text that is no text", []string{said(`{"content":1}`)}, nil, provider.Malformed, "cannot be read", ""},
		{"a second choice", []string{hi, `{"choices":[{"index":1,"delta":{"content":"ho"}}]}`}, nil, provider.Malformed, "second choice", ""},
		{"two finish reasons", []string{hi, ended("length"), ended("stop"), done}, nil, provider.Malformed, "two finish reasons", ""},
		{"more after the finish reason", []string{hi, ended("stop"), said(`{"content":"!"}`), done}, nil, provider.Malformed, "goes on", ""},
		{"a call after the finish reason", []string{hi, ended("stop"), whole, done}, nil, provider.Malformed, "goes on", ""},
		{"nothing said", []string{ended("stop"), done}, nil, provider.Malformed, "neither text nor a tool call", ""},
		{"only thought", []string{said(`{"reasoning_content":"hm"}`), ended("stop"), done}, nil, provider.Malformed, "neither text nor a tool call", ""},
		{"calls without a call", []string{hi, ended("tool_calls"), done}, nil, provider.Malformed, "no tool call came", ""},
		{"content_filter", []string{ended("content_filter"), done}, nil, provider.ModelRefused, "withheld", "content_filter"},
		{"content_filter after text", []string{hi, ended("content_filter"), done}, nil, provider.ModelRefused, "withheld", "content_filter"},
		{"refusal", []string{said(`{"refusal":"I can"}`), said(`{"refusal":"not"}`), ended("stop"), done}, nil, provider.ModelRefused, "I cannot", "refusal"},
		{"refusal in a message", []string{`{"choices":[{"message":{"content":null,"refusal":"no"},"finish_reason":"stop"}]}`, done}, nil, provider.ModelRefused, "no", "refusal"},
		{"refusal as the reason", []string{ended("refusal"), done}, nil, provider.ModelRefused, "withheld", "refusal"},
		{"an error chunk", []string{hi, `{"error":{"message":"busy","type":"overloaded_error"}}`}, nil, provider.Overloaded, "busy", ""},
		{"an error chunk with a code", []string{hi, `{"model":"m-1","error":{"code":502,"message":"upstream died"},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]}`}, nil, provider.Server, "upstream died", ""},
		{"an error chunk of another form", []string{hi, `{"object":"error","message":"maximum context length is 9","code":400}`}, nil, provider.ContextLength, "maximum context", ""},
		{"an error as text", []string{hi, `{"error":"no such model"}`}, nil, provider.Server, "no such model", ""},
		{"an error by its event's name", []string{hi, `@error {"message":"slow","code":"rate_limit_exceeded"}`}, nil, provider.RateLimited, "slow", ""},
		{"error as the finish reason", []string{hi, ended("error"), done}, nil, provider.Server, "ended with an error", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, err := complete(t, events(append([]string{spent}, c.events...)...), c.end...)
			failed, ok := provider.As(err)
			if !ok || failed.Kind != c.kind || !strings.Contains(failed.Message, c.message) || failed.Finish != c.finish {
				t.Fatalf("got %+v, %v, want %s %q", a, err, c.kind, c.message)
			}
			if failed.Model != "m-1" || failed.Usage == nil || failed.Usage.Input != 10 || failed.Provider != "own" {
				t.Errorf("reported %+v", failed)
			}
			if len(a.Parts) != 0 {
				t.Errorf("half an answer: %+v", a)
			}
		})
	}
}

func TestUsage(t *testing.T) {
	n := func(n int64) *int64 { return &n }
	for _, c := range []struct {
		name   string
		usages []string
		want   *provider.Usage
	}{
		{"plain", []string{`{"prompt_tokens":10,"completion_tokens":2,"total_tokens":12}`}, &provider.Usage{Input: 10, Output: 2}},
		{
			"cached inside",
			[]string{`{"prompt_tokens":1000,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":800}}`},
			&provider.Usage{Input: 200, Output: 2, CacheRead: n(800)},
		},
		{
			"all cached",
			[]string{`{"prompt_tokens":1000,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":1000}}`},
			&provider.Usage{Input: 0, Output: 2, CacheRead: n(1000)},
		},
		{
			"more cached than asked",
			[]string{`{"prompt_tokens":1000,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":1200}}`},
			&provider.Usage{Input: 0, Output: 2, CacheRead: n(1200)},
		},
		{
			"written inside",
			[]string{`{"prompt_tokens":1000,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":100,"cache_write_tokens":300}}`},
			&provider.Usage{Input: 600, Output: 2, CacheRead: n(100), CacheWrite: n(300)},
		},
		{
			"written outside",
			[]string{`{"prompt_tokens":1000,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":800,"cache_write_tokens":300}}`},
			&provider.Usage{Input: 200, Output: 2, CacheRead: n(800), CacheWrite: n(300)},
		},
		{
			"cached under another name",
			[]string{`{"prompt_tokens":1000,"completion_tokens":2,"prompt_cache_hit_tokens":800,"prompt_cache_miss_tokens":200}`},
			&provider.Usage{Input: 200, Output: 2, CacheRead: n(800)},
		},
		{
			"reasoning inside",
			[]string{`{"prompt_tokens":10,"completion_tokens":50,"total_tokens":60,"completion_tokens_details":{"reasoning_tokens":40}}`},
			&provider.Usage{Input: 10, Output: 50, Reasoning: n(40)},
		},
		{
			"reasoning beside, by the total",
			[]string{`{"prompt_tokens":10,"completion_tokens":50,"total_tokens":100,"completion_tokens_details":{"reasoning_tokens":40}}`},
			&provider.Usage{Input: 10, Output: 90, Reasoning: n(40)},
		},
		{
			"reasoning beside, by its size",
			[]string{`{"prompt_tokens":10,"completion_tokens":5,"completion_tokens_details":{"reasoning_tokens":40}}`},
			&provider.Usage{Input: 10, Output: 45, Reasoning: n(40)},
		},
		{"repeated: the later replaces", []string{`{"prompt_tokens":10,"completion_tokens":1}`, `{"prompt_tokens":10,"completion_tokens":7}`}, &provider.Usage{Input: 10, Output: 7}},
		{"null does not replace", []string{`{"prompt_tokens":10,"completion_tokens":1}`, `null`}, &provider.Usage{Input: 10, Output: 1}},
		{"missing", []string{`null`}, nil},
		{"zeros", []string{`{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}`}, nil},
		{"no object", []string{`"many"`}, nil},
		{"no numbers", []string{`{"prompt_tokens":"many","completion_tokens":7,"prompt_tokens_details":null}`}, &provider.Usage{Output: 7}},
		{
			"negative and beyond",
			[]string{`{"prompt_tokens":-5,"completion_tokens":1e300,"prompt_tokens_details":{"cached_tokens":-1}}`},
			&provider.Usage{Output: 1 << 53, CacheRead: n(0)},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			stream := []string{hi, ended("stop")}
			for _, u := range c.usages {
				stream = append(stream, `{"choices":[],"usage":`+u+`}`)
			}
			a, err := complete(t, events(append(stream, done)...))
			if err != nil || !reflect.DeepEqual(a.Usage, c.want) {
				t.Errorf("got %+v, %v, want %+v", a.Usage, err, c.want)
			}
		})
	}
	a, err := complete(t, events(hi, `{"choices":[{"delta":{},"finish_reason":"stop"}],"x_groq":{"usage":{"prompt_tokens":10,"completion_tokens":2}}}`, done))
	if err != nil || a.Usage == nil || a.Usage.Input != 10 {
		t.Errorf("usage in x_groq: %+v, %v", a.Usage, err)
	}
}

func TestLongLines(t *testing.T) {
	for _, size := range []int{70_000, 5 << 20} {
		long := strings.Repeat("x", size)
		a, err := complete(t, events(said(`{"content":"`+long+`"}`), ended("stop"), done))
		if err != nil || a.Text() != long {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
	_, err := complete(t, events(said(`{"content":"`+strings.Repeat("x", 17<<20)+`"}`), ended("stop"), done))
	if failed, ok := provider.As(err); !ok || failed.Kind != provider.Malformed || !strings.Contains(failed.Message, "longer than 16777216 bytes") {
		t.Errorf("over the limit: %v", err)
	}
}

// An endpoint that never stops must not fill the memory, whatever it says.
func TestAnswersAreNotTooLarge(t *testing.T) {
	mebi := strings.Repeat("x", 1<<20)
	for name, delta := range map[string]string{
		"text": `{"content":"` + mebi + `"}`, "thinking": `{"reasoning_content":"` + mebi + `"}`, "refusal": `{"refusal":"` + mebi + `"}`,
		"arguments": `{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"` + mebi + `"}}]}`,
	} {
		var list []string
		for range 33 {
			list = append(list, said(delta))
		}
		_, err := complete(t, events(append(list, ended("stop"), done)...))
		if failed, ok := provider.As(err); !ok || failed.Kind != provider.Malformed || !strings.Contains(failed.Message, "more than") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
