package replay_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode"

	"tillerman/core/provider"
)

// history is a recording of three steps with tool calls and results.
func history() (tape, provider.Request) {
	b := newTape()
	req := request("goal")
	b.add("0", 1, req, "reading")
	req.Messages = append(req.Messages,
		provider.Message{Role: provider.RoleAssistant, Parts: []provider.Part{
			{Kind: provider.PartText, Text: "reading"},
			{Kind: provider.PartCall, ID: "1", Name: "read_file", Arguments: `{"path":"a"}`},
		}},
		provider.Message{Role: provider.RoleTool, Parts: []provider.Part{
			{Kind: provider.PartResult, ID: "1", Name: "read_file", Text: "line one\nline two\nline three"},
		}})
	b.add("0", 2, req, "editing")
	req.Messages = append(req.Messages, provider.Say(provider.RoleUser, "more"))
	b.add("0", 3, req, "done")
	return b, req
}

// changed is the request with its lists copied, so that a test may change it.
func changed(req provider.Request, change func(*provider.Request)) provider.Request {
	req.Messages = slices.Clone(req.Messages)
	for i := range req.Messages {
		req.Messages[i] = req.Messages[i].Clone()
	}
	req.Tools = slices.Clone(req.Tools)
	change(&req)
	return req
}

func TestAMissNamesWhatDiffers(t *testing.T) {
	b, req := history()
	for name, test := range map[string]struct {
		change func(*provider.Request)
		want   []string
	}{
		"the model":            {func(r *provider.Request) { r.Model = "n" }, []string{`model: recorded "m", asked "n"`}},
		"the output limit":     {func(r *provider.Request) { r.MaxOutput = 5 }, []string{"max_output: recorded 100, asked 5"}},
		"one word of system":   {func(r *provider.Request) { r.System = "be kind\nand long" }, []string{`system, line 2: recorded "and brief", asked "and long"`}},
		"a line less":          {func(r *provider.Request) { r.System = "be kind" }, []string{`system, line 2: recorded, not asked with: "and brief"`}},
		"a line more":          {func(r *provider.Request) { r.System += "\nplease" }, []string{`system, line 3: asked with, not recorded: "please"`}},
		"a schema":             {func(r *provider.Request) { r.Tools[1].Schema = json.RawMessage(`{"type":"array"}`) }, []string{`tool "edit", schema: recorded`, `object`, `array`}},
		"a description":        {func(r *provider.Request) { r.Tools[0].Description = "Reads files." }, []string{`tool "read_file", description, line 1: recorded "Reads a file.", asked "Reads files."`}},
		"a tool more":          {func(r *provider.Request) { r.Tools = append(r.Tools, provider.ToolSpec{Name: "grep"}) }, []string{`tool "grep": asked with, not recorded`}},
		"a tool less":          {func(r *provider.Request) { r.Tools = r.Tools[:1] }, []string{`tool "edit": recorded, not asked with`}},
		"tools in other order": {func(r *provider.Request) { slices.Reverse(r.Tools) }, []string{`tools, order, place 1: recorded "read_file", asked "edit"`}},
		"a tool twice":         {func(r *provider.Request) { r.Tools = append(r.Tools, r.Tools[1]) }, []string{"tools: recorded 2, asked 3"}},
		"a result's line":      {func(r *provider.Request) { r.Messages[2].Parts[0].Text = "line one\nline 2\nline three" }, []string{`message 3 (tool), part 1: result of "read_file", text, line 2: recorded "line two", asked "line 2"`}},
		"a call's arguments":   {func(r *provider.Request) { r.Messages[1].Parts[1].Arguments = `{"path":"b"}` }, []string{`message 2 (assistant), part 2: call of "read_file", arguments, line 1`}},
		"a flag":               {func(r *provider.Request) { r.Messages[2].Parts[0].Failed = true }, []string{`failed, line 1: recorded "false", asked "true"`}},
		"a role":               {func(r *provider.Request) { r.Messages[3].Role = provider.RoleAssistant }, []string{`message 4: role: recorded "user", asked "assistant"`}},
		"a part more":          {func(r *provider.Request) { m := &r.Messages[3]; m.Parts = append(m.Parts, m.Parts[0]) }, []string{"message 4 (user): recorded 1 parts, asked 2"}},
		"a message more":       {func(r *provider.Request) { r.Messages = append(r.Messages, provider.Say("user", "even more")) }, []string{`message 5 (user): asked with, not recorded: "text even more"`}},
		"a message less":       {func(r *provider.Request) { r.Messages = r.Messages[:2] }, []string{`message 3 (tool): recorded, not asked with: "result read_file line one line two line three"`}},
		"the goal":             {func(r *provider.Request) { r.Messages[0] = provider.Say("user", "another goal") }, []string{`message 1 (user), part 1: text, line 1: recorded "goal", asked "another goal"`}},
		"several fields":       {func(r *provider.Request) { r.Model, r.System = "n", "s" }, []string{"model:", "system, line 1"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := b.replay(t)
			_, err := r.Complete(context.Background(), changed(req, test.change), provider.Call{Agent: "0", Step: 3})
			e, ok := provider.As(err)
			if !ok || e.Kind != provider.BadRequest || e.Kind.Retryable() || e.Provider != "replay" || e.Replayed {
				t.Fatalf("the error is %+v", err)
			}
			for _, want := range append(test.want, `agent "0", step 3`) {
				if !strings.Contains(e.Message, want) {
					t.Errorf("the miss says\n%s\nwithout %q", e.Message, want)
				}
			}
			if lines := strings.Count(e.Message, "\n") + 1; lines > 6 || len(e.Message) > 2000 {
				t.Errorf("a miss of %d lines, %d bytes", lines, len(e.Message))
			}
			expect(t, r, "0", req, "done")
		})
	}
}

func TestTheNearestRequestIsOfTheSameStepOrSharesMost(t *testing.T) {
	b, req := history()
	b.add("0.0", 1, request("child's goal"), "ok")
	r := b.replay(t)
	for name, test := range map[string]struct {
		agent string
		step  int
		req   provider.Request
		want  string
	}{
		"shares most":   {"0", 7, changed(req, func(r *provider.Request) { r.Messages[3] = provider.Say("user", "x") }), `nearest (agent "0", step 3)`},
		"same step":     {"0", 2, request("nothing in common"), `nearest (agent "0", step 2)`},
		"own agent":     {"0.0", 1, request("goal", "x"), `nearest (agent "0.0", step 1)`},
		"unknown agent": {"0.9", 2, changed(req, func(r *provider.Request) { r.Messages = r.Messages[:2] }), `nearest (agent "0", step 2)`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := r.Complete(context.Background(), test.req, provider.Call{Agent: test.agent, Step: test.step})
			if e, _ := provider.As(err); e == nil || !strings.Contains(e.Message, test.want) {
				t.Errorf("%v\nwant %s", err, test.want)
			}
		})
	}
}

func TestAMissIsBoundedAndPrintable(t *testing.T) {
	b := newTape()
	hostile := strings.Repeat("\x1b[2J\u202e\x00\xff", 200)
	b.add(hostile, 1, request(hostile+"a"), "ok")
	r := b.replay(t)
	req := request(hostile + "b")
	req.Model, req.System = hostile, hostile
	for i := range 50 {
		req.Tools = append(slices.Clone(req.Tools), provider.ToolSpec{Name: hostile + strings.Repeat("x", i), Schema: json.RawMessage(`"` + strings.Repeat("y", 9999) + `"`)})
	}
	_, err := r.Complete(context.Background(), req, provider.Call{Agent: "0", Step: 1})
	e, ok := provider.As(err)
	if !ok {
		t.Fatal(err)
	}
	if len(e.Message) > 5000 || strings.Count(e.Message, "\n") > 5 {
		t.Errorf("a miss of %d bytes", len(e.Message))
	}
	for _, c := range e.Message {
		if c != '\n' && !unicode.IsPrint(c) {
			t.Fatalf("a miss holds %U", c)
		}
	}
}

func TestAMissWithoutAnythingToCompare(t *testing.T) {
	if got := ask(t, newTape().replay(t), "0", request("goal")); !strings.Contains(got, "no exchange") {
		t.Error(got)
	}
	b := newTape()
	b.add("0", 1, request("goal"), "")
	if got := ask(t, b.replay(t), "0", request("goal")); !strings.Contains(got, "not what came of it") {
		t.Error(got)
	}
}
