package anthropic_test

import (
	"context"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"tillerman/core/provider"
	"tillerman/core/provider/anthropic"
	"tillerman/core/provider/endpoint"
	"tillerman/core/provider/internal/wiretest"
)

// The pieces that streams are made of.
const (
	begin   = `{"type":"message_start","message":{"model":"m-1","usage":{"input_tokens":10,"output_tokens":1}}}`
	endTurn = `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":5}}`
	toolUse = `{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":5}}`
	over    = `{"type":"message_stop"}`
)

func block(n int, content string) string {
	return fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, n, content)
}

func delta(n int, content string) string {
	return fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":%s}`, n, content)
}

func closed(n int) string { return fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, n) }

func text(n int, s string) string {
	return strings.Join([]string{
		block(n, `{"type":"text","text":""}`), delta(n, fmt.Sprintf(`{"type":"text_delta","text":%q}`, s)), closed(n),
	}, "\n")
}

func call(n int, id, name, args string) string {
	return strings.Join([]string{
		block(n, fmt.Sprintf(`{"type":"tool_use","id":%q,"name":%q,"input":{}}`, id, name)),
		delta(n, fmt.Sprintf(`{"type":"input_json_delta","partial_json":%q}`, args)), closed(n),
	}, "\n")
}

// events makes a stream of data, one event a line. "@name data" is an event with a name.
func events(data ...string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(strings.Join(data, "\n"), "\n") {
		if named, ok := strings.CutPrefix(line, "@"); ok {
			name, data, _ := strings.Cut(named, " ")
			b.WriteString("event: " + name + "\n")
			line = data
		}
		b.WriteString("data: " + line + "\n\n")
	}
	return b.String()
}

func complete(t *testing.T, response string, req provider.Request, end ...wiretest.Step) (provider.Answer, error) {
	t.Helper()
	script := &wiretest.Script{Steps: append([]wiretest.Step{wiretest.Say(response)}, end...)}
	c, err := anthropic.New(endpoint.Config{Name: "own", BaseURL: "http://endpoint.test", Transport: script})
	if err != nil {
		t.Fatal(err)
	}
	return c.Complete(context.Background(), req, provider.Call{})
}

func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		name   string
		events []string
		stop   provider.Stop
		finish string
		parts  []provider.Part
	}{
		{
			"text",
			[]string{begin, text(0, "hi"), endTurn, over},
			provider.StopEnd, "end_turn",
			[]provider.Part{{Kind: provider.PartText, Text: "hi"}},
		},
		{
			"stop sequence",
			[]string{begin, text(0, "hi"), strings.ReplaceAll(endTurn, "end_turn", "stop_sequence"), over},
			provider.StopEnd, "stop_sequence",
			[]provider.Part{{Kind: provider.PartText, Text: "hi"}},
		},
		{
			"call",
			[]string{begin, call(0, "t1", "f", `{"a":1}`), toolUse, over},
			provider.StopCalls, "tool_use",
			[]provider.Part{{Kind: provider.PartCall, ID: "t1", Name: "f", Arguments: `{"a":1}`}},
		},
		{
			"calls though the word is another",
			[]string{begin, call(0, "t1", "f", `{"a":1}`), endTurn, over},
			provider.StopCalls, "end_turn",
			[]provider.Part{{Kind: provider.PartCall, ID: "t1", Name: "f", Arguments: `{"a":1}`}},
		},
		{
			"no arguments",
			[]string{begin, call(0, "t1", "f", ""), toolUse, over},
			provider.StopCalls, "tool_use",
			[]provider.Part{{Kind: provider.PartCall, ID: "t1", Name: "f", Arguments: `{}`}},
		},
		{
			"arguments at the start",
			[]string{begin, block(0, `{"type":"tool_use","id":"t1","name":"f","input":{"a": 1}}`), closed(0), toolUse, over},
			provider.StopCalls, "tool_use",
			[]provider.Part{{Kind: provider.PartCall, ID: "t1", Name: "f", Arguments: `{"a": 1}`}},
		},
		{
			"arguments byte for byte",
			[]string{begin, call(0, "t1", "f", "{ \"a\" :\t1e400, \"a\":2}"), toolUse, over},
			provider.StopCalls, "tool_use",
			[]provider.Part{{Kind: provider.PartCall, ID: "t1", Name: "f", Arguments: "{ \"a\" :\t1e400, \"a\":2}"}},
		},
		{
			"cut by the limit",
			[]string{begin, call(0, "t1", "f", `{"path":"a.md","content":"# 1\n# 2`), strings.ReplaceAll(toolUse, "tool_use", "max_tokens"), over},
			provider.StopLength, "max_tokens",
			[]provider.Part{{Kind: provider.PartCall, ID: "t1", Name: "f", Arguments: `{"path":"a.md","content":"# 1\n# 2`}},
		},
		{
			"broken though it says calls",
			[]string{begin, call(0, "t1", "f", `{"path":"a.md","content":"# 1`), toolUse, over},
			provider.StopCalls, "tool_use",
			[]provider.Part{{Kind: provider.PartCall, ID: "t1", Name: "f", Arguments: `{"path":"a.md","content":"# 1`}},
		},
		{"nothing before the limit", []string{begin, strings.ReplaceAll(endTurn, "end_turn", "max_tokens"), over}, provider.StopLength, "max_tokens", nil},
		{
			"window full",
			[]string{begin, text(0, "hi"), strings.ReplaceAll(endTurn, "end_turn", "model_context_window_exceeded"), over},
			provider.StopLength, "model_context_window_exceeded",
			[]provider.Part{{Kind: provider.PartText, Text: "hi"}},
		},
		{
			"pause",
			[]string{begin, text(0, "hi"), strings.ReplaceAll(endTurn, "end_turn", "pause_turn"), over},
			provider.StopUnknown, "pause_turn",
			[]provider.Part{{Kind: provider.PartText, Text: "hi"}},
		},
		{
			"a word nobody knows",
			[]string{begin, text(0, "hi"), strings.ReplaceAll(endTurn, "end_turn", "xyz"), over},
			provider.StopUnknown, "xyz",
			[]provider.Part{{Kind: provider.PartText, Text: "hi"}},
		},
		{
			"mixed blocks are kept apart",
			[]string{
				begin,
				block(0, `{"type":"tool_use","id":"t1","name":"f","input":{}}`), block(1, `{"type":"tool_use","id":"t2","name":"g","input":{}}`),
				delta(1, `{"type":"input_json_delta","partial_json":"{\"b\""}`), delta(0, `{"type":"input_json_delta","partial_json":"{\"a\""}`),
				delta(1, `{"type":"input_json_delta","partial_json":":2}"}`), delta(0, `{"type":"input_json_delta","partial_json":":1}"}`),
				closed(1), closed(0), toolUse, over,
			},
			provider.StopCalls, "tool_use",
			[]provider.Part{{Kind: provider.PartCall, ID: "t1", Name: "f", Arguments: `{"a":1}`}, {Kind: provider.PartCall, ID: "t2", Name: "g", Arguments: `{"b":2}`}},
		},
		{
			"what is not known is passed over",
			[]string{
				begin, `{"type":"brand_new"}`, `{"type":"ping"}`, block(0, `{"type":"server_tool_use","id":"s1","name":"x","input":{}}`),
				delta(0, `{"type":"brand_new_delta"}`), closed(0), block(1, `{"type":"text","text":"h"}`), delta(1, `{"type":"citations_delta","citation":{}}`),
				delta(1, `{"type":"text_delta","text":"i"}`), closed(1), endTurn, over,
			},
			provider.StopEnd, "end_turn",
			[]provider.Part{{Kind: provider.PartText, Text: "hi"}},
		},
		{
			"a thought without words",
			[]string{
				begin, block(0, `{"type":"thinking","thinking":"","signature":""}`), delta(0, `{"type":"signature_delta","signature":"c2ln"}`), closed(0),
				text(1, "hi"), endTurn, over,
			},
			provider.StopEnd, "end_turn",
			[]provider.Part{{Kind: provider.PartThinking, Signature: "c2ln"}, {Kind: provider.PartText, Text: "hi"}},
		},
		{
			"no id",
			[]string{begin, call(0, "", "f", "{}"), call(1, "", "f", "{}"), toolUse, over},
			provider.StopCalls, "tool_use",
			[]provider.Part{{Kind: provider.PartCall, ID: "call_0", Name: "f", Arguments: "{}"}, {Kind: provider.PartCall, ID: "call_1", Name: "f", Arguments: "{}"}},
		},
		{
			"indexes as text",
			[]string{begin, strings.ReplaceAll(text(0, "hi"), `"index":0`, `"index":"0"`), endTurn, over},
			provider.StopEnd, "end_turn",
			[]provider.Part{{Kind: provider.PartText, Text: "hi"}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			// The last line feed is that of the closing event's blank line: no server needs to send it.
			a, err := complete(t, strings.TrimSuffix(events(c.events...), "\n"), provider.Request{})
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
	hi := text(0, "hi")
	for _, c := range []struct {
		name    string
		events  []string
		end     []wiretest.Step
		kind    provider.Kind
		message string
		finish  string
	}{
		{"text, then nothing", []string{begin, hi}, nil, provider.Transport, "stream ended early", ""},
		{"a whole call, then nothing", []string{begin, call(0, "t", "f", "{}")}, nil, provider.Transport, "stream ended early", ""},
		{"everything but the closing event", []string{begin, call(0, "t", "f", "{}"), toolUse}, nil, provider.Transport, "stream ended early", ""},
		{"cut", []string{begin, hi, endTurn}, []wiretest.Step{wiretest.Fail(io.ErrUnexpectedEOF)}, provider.Transport, "stream ended early", ""},
		{"another API's end", []string{begin, hi, endTurn, "[DONE]"}, nil, provider.Malformed, "cannot be read", ""},
		{"no stop reason", []string{begin, hi, over}, nil, provider.Malformed, "without a stop reason", ""},
		{"not JSON", []string{begin, "oops"}, nil, provider.Malformed, "cannot be read", ""},
		{"not an object", []string{begin, "[1]"}, nil, provider.Malformed, "cannot be read", ""},
		{"text that is no text", []string{begin, block(0, `{"type":"text","text":""}`), delta(0, `{"type":"text_delta","text":1}`)}, nil, provider.Malformed, "cannot be read", ""},
		{"nothing said", []string{begin, endTurn, over}, nil, provider.Malformed, "neither text nor a tool call", ""},
		{"only blanks said", []string{begin, text(0, " "), endTurn, over}, nil, provider.Malformed, "neither text nor a tool call", ""},
		{"only thought", []string{begin, block(0, `{"type":"thinking","thinking":"hm"}`), closed(0), endTurn, over}, nil, provider.Malformed, "neither text nor a tool call", ""},
		{"calls without a call", []string{begin, hi, toolUse, over}, nil, provider.Malformed, "no tool call came", ""},
		{"an index twice", []string{begin, call(0, "t1", "f", "{}"), call(0, "t2", "g", "{}"), toolUse, over}, nil, provider.Malformed, "index", ""},
		{"no index", []string{begin, strings.ReplaceAll(hi, `"index":0,`, ""), endTurn, over}, nil, provider.Malformed, "index", ""},
		{"an index that is none", []string{begin, strings.ReplaceAll(hi, `"index":0`, `"index":"x"`)}, nil, provider.Malformed, "cannot be read", ""},
		{"the rest of a call elsewhere", []string{begin, block(0, `{"type":"tool_use","id":"t","name":"f"}`), delta(1, `{"type":"input_json_delta","partial_json":"{}"}`)}, nil, provider.Malformed, "not open", ""},
		{"more after a block's end", []string{begin, hi, delta(0, `{"type":"text_delta","text":"!"}`)}, nil, provider.Malformed, "not open", ""},
		{"a block ends twice", []string{begin, hi, closed(0)}, nil, provider.Malformed, "not open", ""},
		{"arguments in a text", []string{begin, block(0, `{"type":"text"}`), delta(0, `{"type":"input_json_delta","partial_json":"{}"}`)}, nil, provider.Malformed, "in a block of type text", ""},
		{"an id twice", []string{begin, call(0, "t1", "f", "{}"), call(1, "t1", "g", "{}"), toolUse, over}, nil, provider.Malformed, "same id", ""},
		{"no name", []string{begin, call(0, "", "", "{}"), toolUse, over}, nil, provider.Malformed, "without a name", ""},
		{"refusal", []string{begin, strings.ReplaceAll(endTurn, "end_turn", "refusal"), over}, nil, provider.ModelRefused, "declined", "refusal"},
		{"refusal after text", []string{begin, hi, strings.ReplaceAll(endTurn, "end_turn", "refusal"), over}, nil, provider.ModelRefused, "declined", "refusal"},
		{"refusal with a reason", []string{begin, strings.ReplaceAll(endTurn, `"end_turn"`, `"refusal","stop_details":{"explanation":"too hot"}`), over}, nil, provider.ModelRefused, "too hot", "refusal"},
		{"refusal with another reason", []string{begin, strings.ReplaceAll(endTurn, `"end_turn"`, `"refusal","stop_details":"too hot"`), over}, nil, provider.ModelRefused, "declined", "refusal"},
		{"overloaded", []string{begin, hi, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`}, nil, provider.Overloaded, "Overloaded", ""},
		{"an error by its event's name", []string{begin, `@error {"error":{"type":"rate_limit_error","message":"slow"}}`}, nil, provider.RateLimited, "slow", ""},
		{"too long after all", []string{begin, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long"}}`}, nil, provider.ContextLength, "prompt is too long", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, err := complete(t, events(c.events...), provider.Request{}, c.end...)
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

// A made-up id is new in the whole conversation, or the API would refuse the next request for good.
func TestMadeUpIDs(t *testing.T) {
	history := []provider.Message{
		provider.Say(provider.RoleUser, "go"),
		{Role: provider.RoleAssistant, Parts: []provider.Part{{Kind: provider.PartCall, ID: "call_1", Name: "f"}}},
	}
	a, err := complete(t, events(begin, call(0, "", "f", "{}"), call(1, "call_3", "f", "{}"), call(2, "", "f", "{}"), toolUse, over),
		provider.Request{Messages: history})
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, c := range a.Calls() {
		ids = append(ids, c.ID)
	}
	if want := []string{"call_2", "call_3", "call_4"}; !reflect.DeepEqual(ids, want) {
		t.Errorf("%q, want %q", ids, want)
	}
}

func TestUsage(t *testing.T) {
	n := func(n int64) *int64 { return &n }
	start := func(usage string) string {
		return `{"type":"message_start","message":{"model":"m-1","usage":` + usage + `}}`
	}
	stop := func(usage string) string {
		return `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":` + usage + `}`
	}
	for _, c := range []struct {
		name   string
		events []string
		want   *provider.Usage
	}{
		{
			"cached",
			[]string{start(`{"input_tokens":19,"cache_read_input_tokens":30000,"cache_creation_input_tokens":9000,"output_tokens":1}`), stop(`{"output_tokens":50}`)},
			&provider.Usage{Input: 19, Output: 50, CacheRead: n(30000), CacheWrite: n(9000)},
		},
		{
			"repeated: the later replaces",
			[]string{start(`{"input_tokens":10,"output_tokens":1}`), stop(`{"input_tokens":12,"output_tokens":4}`), stop(`{"input_tokens":12,"output_tokens":9}`)},
			&provider.Usage{Input: 12, Output: 9},
		},
		{"only at the start", []string{start(`{"input_tokens":10,"output_tokens":3}`), stop("null")}, &provider.Usage{Input: 10, Output: 3}},
		{"only at the end", []string{start("null"), stop(`{"input_tokens":10,"output_tokens":3}`)}, &provider.Usage{Input: 10, Output: 3}},
		{"missing", []string{start("null"), stop("null")}, nil},
		{"zeros", []string{start(`{"input_tokens":0}`), stop(`{"output_tokens":0}`)}, nil},
		{"no object", []string{start(`"many"`), stop(`[1]`)}, nil},
		{"no numbers", []string{start(`{"input_tokens":"many","output_tokens":null}`), stop(`{"output_tokens":7}`)}, &provider.Usage{Output: 7}},
		{
			"negative and beyond",
			[]string{start(`{"input_tokens":-5,"cache_read_input_tokens":1e300}`), stop(`{"output_tokens":7.9}`)},
			&provider.Usage{Output: 7, CacheRead: n(1 << 53)},
		},
		{
			"null does not replace",
			[]string{start(`{"input_tokens":10,"cache_read_input_tokens":4}`), stop(`{"input_tokens":null,"cache_read_input_tokens":null,"output_tokens":1}`)},
			&provider.Usage{Input: 10, Output: 1, CacheRead: n(4)},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, err := complete(t, events(append(append([]string{}, c.events[0], text(0, "hi")), append(c.events[1:], over)...)...), provider.Request{})
			if err != nil || !reflect.DeepEqual(a.Usage, c.want) {
				t.Errorf("got %+v, %v, want %+v", a.Usage, err, c.want)
			}
		})
	}
}

func TestLongLines(t *testing.T) {
	for _, size := range []int{70_000, 5 << 20} {
		long := strings.Repeat("x", size)
		a, err := complete(t, events(begin, text(0, long), endTurn, over), provider.Request{})
		if err != nil || a.Text() != long {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
	_, err := complete(t, events(begin, text(0, strings.Repeat("x", 17<<20)), endTurn, over), provider.Request{})
	if failed, ok := provider.As(err); !ok || failed.Kind != provider.Malformed || !strings.Contains(failed.Message, "longer than 16777216 bytes") {
		t.Errorf("over the limit: %v", err)
	}
}

// An endpoint that never stops must not fill the memory, whatever it says.
func TestAnswersAreNotTooLarge(t *testing.T) {
	mebi := strings.Repeat("x", 1<<20)
	for kind, field := range map[string]string{"text": "text", "thinking": "thinking", "tool_use": "partial_json"} {
		list := []string{`{"type":"content_block_start","index":0,"content_block":{"type":"` + kind + `","id":"a","name":"f"}}`}
		delta := map[string]string{"text": "text_delta", "thinking": "thinking_delta", "tool_use": "input_json_delta"}[kind]
		for range 33 {
			list = append(list, `{"type":"content_block_delta","index":0,"delta":{"type":"`+delta+`","`+field+`":"`+mebi+`"}}`)
		}
		_, err := complete(t, events(list...), provider.Request{})
		if failed, ok := provider.As(err); !ok || failed.Kind != provider.Malformed || !strings.Contains(failed.Message, "more than") {
			t.Errorf("%s: %v", kind, err)
		}
	}
}
