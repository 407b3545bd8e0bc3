package anthropic_test

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"tillerman/core/provider"
	"tillerman/core/provider/anthropic"
	"tillerman/core/provider/endpoint"
	"tillerman/core/provider/internal/wiretest"
)

// send returns the request that is made of req.
func send(t *testing.T, c endpoint.Config, req provider.Request) wiretest.Request {
	t.Helper()
	script := &wiretest.Script{Steps: []wiretest.Step{wiretest.Say(events(begin, text(0, "hi"), endTurn, over))}}
	c.Transport = script
	client, err := anthropic.New(c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Complete(context.Background(), req, provider.Call{}); err != nil {
		t.Fatal(err)
	}
	return script.Requests()[0]
}

func TestRequestIsExact(t *testing.T) {
	req := provider.Request{
		Model: "m-1", MaxOutput: 100, System: "Be <brief> & kind.",
		Messages: []provider.Message{
			provider.Say(provider.RoleUser, "go 杭州"),
			{Role: provider.RoleAssistant, Parts: []provider.Part{
				{Kind: provider.PartThinking, Text: "hm", Signature: "c2ln"},
				{Kind: provider.PartRedacted, Data: "c2VhbA=="},
				{Kind: provider.PartText, Text: "one <b>"},
				{Kind: provider.PartCall, ID: "t1", Name: "f", Arguments: `{"b": 1e2, "a":"<"}`},
				{Kind: provider.PartCall, ID: "t2", Name: "g"},
			}},
			{Role: provider.RoleTool, Parts: []provider.Part{
				{Kind: provider.PartResult, ID: "t1", Name: "f", Text: "ok"},
				{Kind: provider.PartResult, ID: "t2", Name: "g", Text: "no", Failed: true},
			}},
			provider.Say(provider.RoleUser, "and then?"),
		},
		Tools: []provider.ToolSpec{
			{Name: "f", Description: "does f", Schema: json.RawMessage(`{"type":"object"}`)},
			{Name: "g"},
		},
	}
	const want = `{"model":"m-1","max_tokens":100,` +
		`"system":[{"type":"text","text":"Be <brief> & kind.","cache_control":{"type":"ephemeral"}}],` +
		`"tools":[{"name":"f","description":"does f","input_schema":{"type":"object"}},` +
		`{"name":"g","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral"}}],` +
		`"messages":[{"role":"user","content":[{"type":"text","text":"go 杭州","cache_control":{"type":"ephemeral"}}]},` +
		`{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"redacted_thinking","data":"c2VhbA=="},` +
		`{"type":"text","text":"one <b>"},{"type":"tool_use","id":"t1","name":"f","input":{"b":1e2,"a":"<"}},{"type":"tool_use","id":"t2","name":"g","input":{}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"ok"}]},` +
		`{"type":"tool_result","tool_use_id":"t2","content":[{"type":"text","text":"no"}],"is_error":true},` +
		`{"type":"text","text":"and then?","cache_control":{"type":"ephemeral"}}]}],"stream":true}`
	for range 2 {
		if got := string(send(t, endpoint.Config{Name: "own", BaseURL: "http://endpoint.test"}, req).Body); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
}

// sent returns the messages that are made of ours, without cache marks.
func sent(t *testing.T, messages ...provider.Message) string {
	t.Helper()
	var body map[string]any
	raw := send(t, endpoint.Config{Name: "own", BaseURL: "http://endpoint.test"}, provider.Request{Messages: messages}).Body
	if err := json.Unmarshal(raw, &body); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	b, err := json.Marshal(unmarked(body["messages"]))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func says(role provider.Role, parts ...provider.Part) provider.Message {
	return provider.Message{Role: role, Parts: parts}
}

func TestHistory(t *testing.T) {
	user, assistant, tool := provider.RoleUser, provider.RoleAssistant, provider.RoleTool
	words := func(s string) provider.Part { return provider.Part{Kind: provider.PartText, Text: s} }
	calls := func(id, args string) provider.Part {
		return provider.Part{Kind: provider.PartCall, ID: id, Name: "f", Arguments: args}
	}
	result := func(id, s string) provider.Part { return provider.Part{Kind: provider.PartResult, ID: id, Text: s} }
	for _, c := range []struct {
		name     string
		messages []provider.Message
		want     string
	}{
		{"none", nil, `[]`},
		{
			"neighbours are joined",
			[]provider.Message{says(user, words("a")), says(user, words("b")), says(assistant, words("c")), says(assistant, words("d"))},
			`[{"content":[{"text":"a","type":"text"},{"text":"b","type":"text"}],"role":"user"},{"content":[{"text":"c","type":"text"},{"text":"d","type":"text"}],"role":"assistant"}]`,
		},
		{
			"empty text is left out",
			[]provider.Message{says(user, words("a"), words(""), words(" \n")), says(assistant, words("")), says(user, words("b"))},
			`[{"content":[{"text":"a","type":"text"},{"text":"b","type":"text"}],"role":"user"}]`,
		},
		{
			"results first",
			[]provider.Message{says(user, words("a"), result("t1", "1")), says(tool, result("t2", ""))},
			`[{"content":[{"content":[{"text":"1","type":"text"}],"tool_use_id":"t1","type":"tool_result"},{"tool_use_id":"t2","type":"tool_result"},{"text":"a","type":"text"}],"role":"user"}]`,
		},
		{
			"others' thinking stays here",
			[]provider.Message{says(assistant, provider.Part{Kind: provider.PartThinking, Text: "hm"}, words("a"))},
			`[{"content":[{"text":"a","type":"text"}],"role":"assistant"}]`,
		},
		{
			"signed thinking without words",
			[]provider.Message{says(assistant, provider.Part{Kind: provider.PartThinking, Signature: "c2ln"})},
			`[{"content":[{"signature":"c2ln","thinking":"","type":"thinking"}],"role":"assistant"}]`,
		},
		{
			"arguments that are no object",
			[]provider.Message{says(assistant, calls("t1", `{"path":"a.md","content":"# 1`), calls("t2", "[1]"), calls("t3", "null"), calls("t4", ` {"a":1} `))},
			`[{"content":[{"id":"t1","input":{"unparsed_arguments":"{\"path\":\"a.md\",\"content\":\"# 1"},"name":"f","type":"tool_use"},` +
				`{"id":"t2","input":{"unparsed_arguments":"[1]"},"name":"f","type":"tool_use"},{"id":"t3","input":{"unparsed_arguments":"null"},"name":"f","type":"tool_use"},` +
				`{"id":"t4","input":{"a":1},"name":"f","type":"tool_use"}],"role":"assistant"}]`,
		},
		{
			"bytes that are no UTF-8",
			[]provider.Message{says(assistant, calls("t1", "{\"a\":\"\xff\"}"), words("\xff"))},
			`[{"content":[{"id":"t1","input":{"a":"�"},"name":"f","type":"tool_use"},{"text":"�","type":"text"}],"role":"assistant"}]`,
		},
	} {
		if got := sent(t, c.messages...); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

// Ids of other vendors, and ids that come again in a later turn, go out as ids that the API takes; each result still
// names its call.
func TestForeignIDs(t *testing.T) {
	turn := func(id, result string) []provider.Message {
		return []provider.Message{
			says(provider.RoleAssistant, provider.Part{Kind: provider.PartCall, ID: id, Name: "f"}),
			says(provider.RoleTool, provider.Part{Kind: provider.PartResult, ID: id, Text: result}),
		}
	}
	messages := append(turn("functions.f:0", "1"), append(turn("functions.f:0", "2"), append(turn("functions_f_0", "3"), turn("ok-1", "4")...)...)...)
	var blocks []struct {
		Content []struct{ Type, ID, ToolUseID string }
	}
	raw := strings.ReplaceAll(sent(t, messages...), "tool_use_id", "ToolUseID")
	if err := json.Unmarshal([]byte(raw), &blocks); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for i := 0; i < len(blocks); i += 2 {
		id := blocks[i].Content[0].ID
		if seen[id] || id == "" || strings.ContainsAny(id, ".:") || blocks[i+1].Content[0].ToolUseID != id {
			t.Errorf("turn %d: %s", i/2, raw)
		}
		seen[id] = true
	}
	if !seen["ok-1"] || !seen["functions_f_0"] {
		t.Errorf("ids that are fine were changed: %s", raw)
	}
	if again := strings.ReplaceAll(sent(t, messages...), "tool_use_id", "ToolUseID"); again != raw {
		t.Error("the ids differ from one request to the next")
	}
}

// The API allows four marks. Where this request ended, the next one finds its cache.
func TestCacheMarks(t *testing.T) {
	req := provider.Request{System: "s", Tools: []provider.ToolSpec{{Name: "f"}, {Name: "g"}}}
	var last string
	for turn := range 5 {
		req.Messages = append(req.Messages, provider.Say(provider.RoleUser, "go"))
		body := string(send(t, endpoint.Config{Name: "own", BaseURL: "http://endpoint.test"}, req).Body)
		if n := strings.Count(body, "cache_control"); n != min(3+turn, 4) {
			t.Errorf("turn %d: %d marks", turn, n)
		}
		if !strings.HasSuffix(body, `"cache_control":{"type":"ephemeral"}}]}],"stream":true}`) {
			t.Errorf("turn %d: the end is not marked: %s", turn, body)
		}
		// All that the last request held, marks aside, begins this one, and its end is marked.
		plain := strings.ReplaceAll(body, `,"cache_control":{"type":"ephemeral"}`, "")
		if last != "" && !strings.HasPrefix(plain, last) {
			t.Errorf("turn %d: %s does not go on after %s", turn, plain, last)
		}
		last = strings.TrimSuffix(plain, `],"stream":true}`)
		req.Messages = append(req.Messages, provider.Say(provider.RoleAssistant, "done"))
	}
	// A conversation that ends with the assistant has its marks on what the user said.
	body := string(send(t, endpoint.Config{Name: "own", BaseURL: "http://endpoint.test"}, provider.Request{Messages: req.Messages}).Body)
	if n := strings.Count(body, "cache_control"); n != 2 {
		t.Errorf("%d marks: %s", n, body)
	}
}

func TestHeaders(t *testing.T) {
	for base, url := range map[string]string{
		"https://api.anthropic.com":     "https://api.anthropic.com/v1/messages",
		"https://api.anthropic.com/":    "https://api.anthropic.com/v1/messages",
		"https://api.anthropic.com/v1/": "https://api.anthropic.com/v1/messages",
		"http://localhost:1/proxy":      "http://localhost:1/proxy/v1/messages",
	} {
		r := send(t, endpoint.Config{Name: "anthropic", BaseURL: base, Key: "sk-test"}, provider.Request{})
		if r.URL != url || r.Header.Get("x-api-key") != "sk-test" || r.Header.Get("anthropic-version") != "2023-06-01" ||
			r.Header.Get("Authorization") != "" {
			t.Errorf("%s: %s %v", base, r.URL, r.Header)
		}
	}
	if r := send(t, endpoint.Config{Name: "own", BaseURL: "http://localhost:1"}, provider.Request{}); r.Header["X-Api-Key"] != nil {
		t.Errorf("a key header without a key: %v", r.Header)
	}
}

func TestDefaults(t *testing.T) {
	r := send(t, endpoint.Config{Name: "own", BaseURL: "http://localhost:1"}, provider.Request{Model: "m"})
	if want := `{"model":"m","max_tokens":8192,"messages":[],"stream":true}`; string(r.Body) != want {
		t.Errorf("got %s", r.Body)
	}
}

func TestBrokenSchema(t *testing.T) {
	client, err := anthropic.New(endpoint.Config{Name: "own", BaseURL: "http://localhost:1"})
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
	client, err := anthropic.New(endpoint.Config{Name: "anthropic", BaseURL: anthropic.DefaultBase, Transport: &wiretest.Script{}})
	if err != nil {
		t.Fatal(err)
	}
	var p provider.Provider = client
	if p.Name() != "anthropic" || !reflect.DeepEqual(p.Endpoints(), []string{"api.anthropic.com:443"}) || p.LastServed() != "" {
		t.Errorf("%q %q %q", p.Name(), p.Endpoints(), p.LastServed())
	}
	if _, err := anthropic.New(endpoint.Config{Name: "anthropic", BaseURL: "api.anthropic.com"}); err == nil {
		t.Error("a base URL without a scheme was taken")
	}
}
