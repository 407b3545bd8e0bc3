package anthropic_test

import (
	"encoding/json"
	"testing"

	"go.uber.org/goleak"

	"tillerman/core/provider"
	"tillerman/core/provider/anthropic"
	"tillerman/core/provider/endpoint"
	"tillerman/core/provider/internal/wiretest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var dialect = wiretest.Dialect{
	New:    func(c endpoint.Config) (provider.Provider, error) { return anthropic.New(c) },
	Expect: plainly,
}

func TestOwnCaptures(t *testing.T) { captures(t, wiretest.Own(t, "anthropic-messages")) }

func TestRealCaptures(t *testing.T) { captures(t, wiretest.Real(t, "anthropic-messages")) }

func captures(t *testing.T, exchanges []wiretest.Exchange) {
	for _, x := range exchanges {
		t.Run(x.Name, func(t *testing.T) {
			wiretest.CheckSplits(t, x, dialect)
			conversation(t, x)
		})
	}
}

// plainly reads a response in the plainest way: block by block, delta by delta.
func plainly(t *testing.T, response string) provider.Answer {
	t.Helper()
	a := provider.Answer{Stop: provider.StopUnknown}
	usage := map[string]any{}
	var inputs []bool
	for _, e := range wiretest.Data(t, response) {
		if u, ok := e["usage"].(map[string]any); ok {
			merge(usage, u)
		}
		switch e["type"] {
		case "message_start":
			m := e["message"].(map[string]any)
			a.Model = m["model"].(string)
			merge(usage, m["usage"].(map[string]any))
		case "content_block_start":
			b := e["content_block"].(map[string]any)
			switch b["type"] {
			case "text":
				a.Parts = append(a.Parts, provider.Part{Kind: provider.PartText})
			case "thinking":
				a.Parts = append(a.Parts, provider.Part{Kind: provider.PartThinking})
			case "redacted_thinking":
				a.Parts = append(a.Parts, provider.Part{Kind: provider.PartRedacted, Data: b["data"].(string)})
			case "tool_use":
				a.Parts = append(a.Parts, provider.Part{
					Kind: provider.PartCall, ID: b["id"].(string), Name: b["name"].(string),
				})
			}
			inputs = append(inputs, b["type"] == "tool_use")
		case "content_block_delta":
			p := &a.Parts[int(e["index"].(float64))]
			d := e["delta"].(map[string]any)
			for field, to := range map[string]*string{
				"text": &p.Text, "thinking": &p.Text, "signature": &p.Signature, "partial_json": &p.Arguments,
			} {
				if s, ok := d[field].(string); ok {
					*to += s
				}
			}
		case "message_delta":
			a.Finish = e["delta"].(map[string]any)["stop_reason"].(string)
		}
	}
	for i, call := range inputs {
		if call && a.Parts[i].Arguments == "" {
			a.Parts[i].Arguments = "{}"
		}
	}
	a.Stop = map[string]provider.Stop{"end_turn": provider.StopEnd, "tool_use": provider.StopCalls}[a.Finish]
	a.Usage = &provider.Usage{
		Input: int64(usage["input_tokens"].(float64)), Output: int64(usage["output_tokens"].(float64)),
		CacheRead: number(usage["cache_read_input_tokens"]), CacheWrite: number(usage["cache_creation_input_tokens"]),
	}
	return a
}

func merge(into, from map[string]any) {
	for k, v := range from {
		into[k] = v
	}
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
	req := provider.Request{
		Model:     first["model"].(string),
		MaxOutput: int(first["max_tokens"].(float64)),
		System:    first["system"].([]any)[0].(map[string]any)["text"].(string),
		Tools:     specs(t, first["tools"].([]any)),
	}
	user := first["messages"].([]any)[0].(map[string]any)["content"].([]any)[0].(map[string]any)["text"].(string)
	req.Messages = []provider.Message{provider.Say(provider.RoleUser, user)}
	answer, sent := wiretest.Ask(t, dialect, x.Turns[0].Response, req)
	compare(t, sent, first)

	req.Messages = append(req.Messages, provider.Message{Role: provider.RoleAssistant, Parts: answer.Parts})
	second := x.Turns[1].Request["messages"].([]any)
	results := provider.Message{Role: provider.RoleTool}
	for _, r := range second[len(second)-1].(map[string]any)["content"].([]any) {
		r := r.(map[string]any)
		failed, _ := r["is_error"].(bool)
		results.Parts = append(results.Parts, provider.Part{
			Kind: provider.PartResult, ID: r["tool_use_id"].(string), Failed: failed,
			Text: r["content"].([]any)[0].(map[string]any)["text"].(string),
		})
	}
	req.Messages = append(req.Messages, results)
	_, sent = wiretest.Ask(t, dialect, x.Turns[1].Response, req)
	compare(t, sent, x.Turns[1].Request)
}

func specs(t *testing.T, tools []any) []provider.ToolSpec {
	t.Helper()
	var all []provider.ToolSpec
	for _, tool := range tools {
		tool := tool.(map[string]any)
		schema, err := json.Marshal(tool["input_schema"])
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, provider.ToolSpec{
			Name: tool["name"].(string), Description: tool["description"].(string), Schema: schema,
		})
	}
	return all
}

// compare leaves out cache marks, and the settings that we have no say in.
func compare(t *testing.T, sent, want map[string]any) {
	t.Helper()
	for _, key := range []string{"model", "max_tokens", "system", "tools", "messages", "stream"} {
		wiretest.CheckSame(t, key, unmarked(sent[key]), unmarked(want[key]))
	}
}

func unmarked(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = unmarked(v[i])
		}
	case map[string]any:
		delete(v, "cache_control")
		for k := range v {
			v[k] = unmarked(v[k])
		}
	}
	return v
}
