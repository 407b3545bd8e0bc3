package chat_test

import (
	"encoding/json"
	"testing"

	"go.uber.org/goleak"

	"tillerman/core/provider"
	"tillerman/core/provider/chat"
	"tillerman/core/provider/endpoint"
	"tillerman/core/provider/internal/wiretest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func dialect(limit chat.LimitField) wiretest.Dialect {
	return wiretest.Dialect{
		New: func(c endpoint.Config) (provider.Provider, error) {
			return chat.New(chat.Config{Config: c, Limit: limit})
		},
		Expect: plainly,
	}
}

func TestOwnCaptures(t *testing.T) { captures(t, wiretest.Own(t, "chat-completions")) }

func TestRealCaptures(t *testing.T) { captures(t, wiretest.Real(t, "chat-completions")) }

func captures(t *testing.T, exchanges []wiretest.Exchange) {
	for _, x := range exchanges {
		t.Run(x.Name, func(t *testing.T) {
			wiretest.CheckSplits(t, x, dialect(""))
			conversation(t, x)
		})
	}
}

// plainly reads a response in the plainest way: delta by delta.
func plainly(t *testing.T, response string) provider.Answer {
	t.Helper()
	var a provider.Answer
	var order []string
	text := map[string]string{}
	say := func(kind, s string) {
		if s == "" {
			return
		}
		if text[kind] == "" {
			order = append(order, kind)
		}
		text[kind] += s
	}
	calls := map[string]*provider.Part{}
	for _, c := range wiretest.Data(t, response) {
		a.Model = c["model"].(string)
		if u, ok := c["usage"].(map[string]any); ok {
			a.Usage = usage(u)
		}
		for _, ch := range c["choices"].([]any) {
			ch := ch.(map[string]any)
			if s, ok := ch["finish_reason"].(string); ok {
				a.Finish = s
			}
			d := ch["delta"].(map[string]any)
			for _, field := range []string{"reasoning", "reasoning_content", "content"} {
				s, _ := d[field].(string)
				say(map[bool]string{true: "text", false: "thinking"}[field == "content"], s)
			}
			list, _ := d["tool_calls"].([]any)
			for _, f := range list {
				f := f.(map[string]any)
				key, _ := f["id"].(string)
				if n, ok := f["index"].(float64); ok {
					key = string(rune('0' + int(n)))
				}
				p := calls[key]
				if p == nil {
					p = &provider.Part{Kind: provider.PartCall, ID: f["id"].(string)}
					calls[key] = p
					order = append(order, "call"+key)
				}
				fn := f["function"].(map[string]any)
				if s, ok := fn["name"].(string); ok {
					p.Name = s
				}
				p.Arguments += fn["arguments"].(string)
			}
		}
	}
	for _, what := range order {
		if s, ok := text[what]; ok {
			a.Parts = append(a.Parts, provider.Part{Kind: provider.PartKind(what), Text: s})
		} else {
			a.Parts = append(a.Parts, *calls[what[len("call"):]])
		}
	}
	a.Stop = provider.StopEnd
	if len(calls) > 0 {
		a.Stop = provider.StopCalls
	}
	return a
}

func usage(u map[string]any) *provider.Usage {
	prompt, _ := u["prompt_tokens_details"].(map[string]any)
	completion, _ := u["completion_tokens_details"].(map[string]any)
	r := &provider.Usage{
		CacheRead: number(prompt["cached_tokens"]), CacheWrite: number(prompt["cache_write_tokens"]),
		Reasoning: number(completion["reasoning_tokens"]),
		Output:    *number(u["completion_tokens"]),
		Input:     *number(u["prompt_tokens"]),
	}
	for _, inside := range []*int64{r.CacheRead, r.CacheWrite} {
		if inside != nil {
			r.Input -= *inside
		}
	}
	return r
}

func number(v any) *int64 {
	f, ok := v.(float64)
	if !ok {
		return nil
	}
	n := int64(f)
	return &n
}

// conversation plays both turns and compares what we ask with what the capture asked.
func conversation(t *testing.T, x wiretest.Exchange) {
	first := x.Turns[0].Request
	limit := chat.MaxTokens
	if _, ok := first[string(chat.MaxCompletionTokens)]; ok {
		limit = chat.MaxCompletionTokens
	}
	d := dialect(limit)
	said := first["messages"].([]any)
	req := provider.Request{
		Model:     first["model"].(string),
		MaxOutput: int(first[string(limit)].(float64)),
		System:    said[0].(map[string]any)["content"].(string),
		Messages:  []provider.Message{provider.Say(provider.RoleUser, said[1].(map[string]any)["content"].(string))},
		Tools:     specs(t, first["tools"].([]any)),
	}
	answer, sent := wiretest.Ask(t, d, x.Turns[0].Response, req)
	compare(t, sent, first, string(limit))

	req.Messages = append(req.Messages, provider.Message{Role: provider.RoleAssistant, Parts: answer.Parts})
	results := provider.Message{Role: provider.RoleTool}
	for _, m := range x.Turns[1].Request["messages"].([]any)[3:] {
		m := m.(map[string]any)
		results.Parts = append(results.Parts, provider.Part{
			Kind: provider.PartResult, ID: m["tool_call_id"].(string), Text: m["content"].(string),
		})
	}
	req.Messages = append(req.Messages, results)
	_, sent = wiretest.Ask(t, d, x.Turns[1].Response, req)
	compare(t, sent, x.Turns[1].Request, string(limit))
}

func specs(t *testing.T, tools []any) []provider.ToolSpec {
	t.Helper()
	var all []provider.ToolSpec
	for _, tool := range tools {
		fn := tool.(map[string]any)["function"].(map[string]any)
		schema, err := json.Marshal(fn["parameters"])
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, provider.ToolSpec{
			Name: fn["name"].(string), Description: fn["description"].(string), Schema: schema,
		})
	}
	return all
}

// compare leaves out what we never send: reasoning goes to no server, strict schemas are not asked for.
func compare(t *testing.T, sent, want map[string]any, limit string) {
	t.Helper()
	for _, tool := range want["tools"].([]any) {
		delete(tool.(map[string]any)["function"].(map[string]any), "strict")
	}
	for _, m := range want["messages"].([]any) {
		delete(m.(map[string]any), "reasoning_content")
	}
	for _, key := range []string{"model", limit, "tools", "messages", "stream", "stream_options"} {
		wiretest.CheckSame(t, key, sent[key], want[key])
	}
}
