package chat_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"tillerman/core/provider"
	"tillerman/core/provider/chat"
	"tillerman/core/provider/endpoint"
	"tillerman/core/provider/internal/wiretest"
)

// send returns the request that is made of req.
func send(t *testing.T, c chat.Config, req provider.Request) wiretest.Request {
	t.Helper()
	script := &wiretest.Script{Steps: []wiretest.Step{wiretest.Say(events(hi, ended("stop"), done))}}
	c.Transport = script
	client, err := chat.New(c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Complete(context.Background(), req, provider.Call{}); err != nil {
		t.Fatal(err)
	}
	return script.Requests()[0]
}

func own() chat.Config {
	return chat.Config{Config: endpoint.Config{Name: "own", BaseURL: "http://endpoint.test/v1"}}
}

func says(role provider.Role, parts ...provider.Part) provider.Message {
	return provider.Message{Role: role, Parts: parts}
}

func TestRequestIsExact(t *testing.T) {
	req := provider.Request{
		Model: "m-1", MaxOutput: 100, System: "Be <brief> & kind.",
		Messages: []provider.Message{
			provider.Say(provider.RoleUser, "go 杭州"),
			says(
				provider.RoleAssistant, provider.Part{Kind: provider.PartThinking, Text: "hm", Signature: "c2ln"},
				provider.Part{Kind: provider.PartRedacted, Data: "c2VhbA=="}, words("one <b>"),
				called("c1", "f", `{"b": 1e2, "a":"<"}`), called("c2", "g", ""),
			),
			says(
				provider.RoleTool, provider.Part{Kind: provider.PartResult, ID: "c1", Name: "f", Text: "ok"},
				provider.Part{Kind: provider.PartResult, ID: "c2", Name: "g", Text: "", Failed: true},
			),
			provider.Say(provider.RoleUser, "and then?"),
		},
		Tools: []provider.ToolSpec{
			{Name: "f", Description: "does f", Schema: json.RawMessage(`{"type":"object"}`)},
			{Name: "g"},
		},
	}
	const want = `{"model":"m-1","messages":[{"role":"system","content":"Be <brief> & kind."},{"role":"user","content":"go 杭州"},` +
		`{"role":"assistant","content":"one <b>","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"b\": 1e2, \"a\":\"<\"}"}},` +
		`{"id":"c2","type":"function","function":{"name":"g","arguments":"{}"}}]},` +
		`{"role":"tool","content":"ok","tool_call_id":"c1"},{"role":"tool","content":"","tool_call_id":"c2"},{"role":"user","content":"and then?"}],` +
		`"tools":[{"type":"function","function":{"name":"f","description":"does f","parameters":{"type":"object"}}},` +
		`{"type":"function","function":{"name":"g","parameters":{"type":"object","properties":{}}}}],` +
		`"max_tokens":100,"stream":true,"stream_options":{"include_usage":true}}`
	for range 2 {
		if got := string(send(t, own(), req).Body); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
}

func TestHistory(t *testing.T) {
	long := strings.Repeat("x", 64)
	result := func(id, s string) provider.Part { return provider.Part{Kind: provider.PartResult, ID: id, Text: s} }
	for _, c := range []struct {
		name     string
		messages []provider.Message
		want     string
	}{
		{"none", nil, `[]`},
		{"several texts", []provider.Message{says(provider.RoleUser, words("a"), words("b"))}, `[{"role":"user","content":"a\nb"}]`},
		{"nothing to say", []provider.Message{says(provider.RoleUser), says(provider.RoleAssistant, thought("hm")), says(provider.RoleUser, words("a"))}, `[{"role":"user","content":"a"}]`},
		{
			"results before text",
			[]provider.Message{says(provider.RoleTool, words("a"), result("c1", "1"))},
			`[{"role":"tool","content":"1","tool_call_id":"c1"},{"role":"user","content":"a"}]`,
		},
		{
			"arguments that are no object",
			[]provider.Message{says(provider.RoleAssistant, called("c1", "f", `{"a":"# 1`), called("c2", "f", "7"))},
			`[{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"unparsed_arguments\":\"{\\\"a\\\":\\\"# 1\"}"}},` +
				`{"id":"c2","type":"function","function":{"name":"f","arguments":"{\"unparsed_arguments\":\"7\"}"}}]}]`,
		},
		{
			"ids that are too long still pair",
			[]provider.Message{says(provider.RoleAssistant, called(long, "f", "{}")), says(provider.RoleTool, result(long, "1"))},
			`[{"role":"assistant","tool_calls":[{"id":"call_7ce100971f64e7001e8fe5a51973ecdf","type":"function","function":{"name":"f","arguments":"{}"}}]},` +
				`{"role":"tool","content":"1","tool_call_id":"call_7ce100971f64e7001e8fe5a51973ecdf"}]`,
		},
	} {
		var body struct{ Messages json.RawMessage }
		if err := json.Unmarshal(send(t, own(), provider.Request{Messages: c.messages}).Body, &body); err != nil {
			t.Fatal(err)
		}
		if string(body.Messages) != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, body.Messages, c.want)
		}
	}
}

func TestLimitField(t *testing.T) {
	for _, c := range []struct {
		name  string
		limit chat.LimitField
		most  int
		want  string
	}{
		{"openai", "", 7, `"max_completion_tokens":7`},
		{"openrouter", "", 7, `"max_tokens":7`},
		{"compatible", "", 7, `"max_tokens":7`},
		{"openai", chat.MaxTokens, 7, `"max_tokens":7`},
		{"compatible", chat.MaxCompletionTokens, 7, `"max_completion_tokens":7`},
		{"compatible", "", 0, ""},
		{"openai", "", -1, ""},
	} {
		config := own()
		config.Name, config.Limit = c.name, c.limit
		body := string(send(t, config, provider.Request{MaxOutput: c.most}).Body)
		if strings.Count(body, "max_") != strings.Count(c.want, "max_") || !strings.Contains(body, c.want) {
			t.Errorf("%s %s: %s", c.name, c.limit, body)
		}
	}
	config := own()
	config.Limit = "most"
	var wrong *provider.ConfigError
	if _, err := chat.New(config); !errors.As(err, &wrong) {
		t.Errorf("an unknown limit field: %v", err)
	}
}

func TestHeaders(t *testing.T) {
	config := own()
	if r := send(t, config, provider.Request{}); r.URL != "http://endpoint.test/v1/chat/completions" || r.Header["Authorization"] != nil {
		t.Errorf("%s %v", r.URL, r.Header)
	}
	config.Key = "sk-test"
	if r := send(t, config, provider.Request{}); r.Header.Get("Authorization") != "Bearer sk-test" || r.Header["X-Api-Key"] != nil {
		t.Errorf("%v", r.Header)
	}
}

func TestBrokenSchema(t *testing.T) {
	client, err := chat.New(own())
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.Complete(context.Background(), provider.Request{
		Tools: []provider.ToolSpec{{Name: "f", Schema: json.RawMessage(`{`)}},
	}, provider.Call{})
	if failed, ok := provider.As(err); !ok || failed.Kind != provider.BadRequest || !strings.Contains(failed.Message, "tool f") {
		t.Errorf("got %v", err)
	}
}

func TestIsAProvider(t *testing.T) {
	for base, want := range map[string]string{chat.OpenAIBase: "api.openai.com:443", chat.OpenRouterBase: "openrouter.ai:443"} {
		config := own()
		config.BaseURL, config.Transport = base, &wiretest.Script{}
		client, err := chat.New(config)
		if err != nil {
			t.Fatal(err)
		}
		var p provider.Provider = client
		if p.Name() != "own" || !reflect.DeepEqual(p.Endpoints(), []string{want}) || p.LastServed() != "" {
			t.Errorf("%q %q %q", p.Name(), p.Endpoints(), p.LastServed())
		}
	}
	if _, err := chat.New(chat.Config{Config: endpoint.Config{Name: "own"}}); err == nil {
		t.Error("no base URL was taken")
	}
}
