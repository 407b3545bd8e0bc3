package tool

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func registered(change func(*Spec)) Tool {
	spec := Spec{Name: "mine", Description: "Mine.", Schema: json.RawMessage(`{"type":"object"}`), Safety: Pure, Reach: ReachNone}
	change(&spec)
	return Func(spec, func(context.Context, string, json.RawMessage) (string, error) { return "", nil })
}

// remote is a tool of an MCP server.
type remote struct {
	Tool
	server string
}

func (r remote) Server() string { return r.server }

func TestNewToolboxRefuses(t *testing.T) {
	ok := func(*Spec) {}
	cases := map[string]struct {
		tools []Tool
		why   string
	}{
		"nil":                 {[]Tool{nil}, "it is nil"},
		"no name":             {[]Tool{registered(func(s *Spec) { s.Name = "" })}, "1 to 64"},
		"a space in the name": {[]Tool{registered(func(s *Spec) { s.Name = "a b" })}, "1 to 64"},
		"a newline at the end": {
			[]Tool{registered(func(s *Spec) { s.Name = "a\n" })}, "1 to 64",
		},
		"a long name":     {[]Tool{registered(func(s *Spec) { s.Name = strings.Repeat("a", 65) })}, "1 to 64"},
		"twice":           {[]Tool{registered(ok), registered(ok)}, "taken twice"},
		"a built-in name": {[]Tool{registered(func(s *Spec) { s.Name = "exec" })}, "reserved"},
		"a name kept for later": {
			[]Tool{registered(func(s *Spec) { s.Name = "spawn_agent" })}, "reserved",
		},
		"the prefix": {[]Tool{registered(func(s *Spec) { s.Name = "mcp__a__b" })}, "MCP"},
		"a remote tool of another server": {
			[]Tool{remote{registered(func(s *Spec) { s.Name = "mcp__a__b" }), "b"}}, "mcp__server__tool",
		},
		"a remote tool without the prefix": {[]Tool{remote{registered(ok), "a"}}, "mcp__server__tool"},
		"no safety":                        {[]Tool{registered(func(s *Spec) { s.Safety = "" })}, "does not declare its safety"},
		"an unknown safety":                {[]Tool{registered(func(s *Spec) { s.Safety = "safe" })}, "unknown"},
		"no reach":                         {[]Tool{registered(func(s *Spec) { s.Reach = "" })}, "does not declare its reach"},
		"an unknown reach":                 {[]Tool{registered(func(s *Spec) { s.Reach = "far" })}, "unknown"},
		"a reach that nobody can keep":     {[]Tool{registered(func(s *Spec) { s.Reach = ReachProcess })}, "supervisor"},
		"no schema":                        {[]Tool{registered(func(s *Spec) { s.Schema = nil })}, "not JSON"},
		"a schema that is a list":          {[]Tool{registered(func(s *Spec) { s.Schema = json.RawMessage(`[]`) })}, "not a JSON object"},
		"a schema of another type": {
			[]Tool{registered(func(s *Spec) { s.Schema = json.RawMessage(`{"type":"string"}`) })}, "of \"type\"",
		},
		"two schemas": {
			[]Tool{registered(func(s *Spec) { s.Schema = json.RawMessage(`{"type":"object"}{}`) })}, "follows",
		},
		"a description of bytes": {[]Tool{registered(func(s *Spec) { s.Description = "\xff" })}, "UTF-8"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := NewToolbox(c.tools...)
			var typed *RegistrationError
			if !errors.As(err, &typed) || !strings.Contains(typed.Why, c.why) {
				t.Errorf("got %v, want a refusal with %q", err, c.why)
			}
		})
	}
}

func TestNewToolboxNamesEveryProblem(t *testing.T) {
	_, err := NewToolbox(registered(func(s *Spec) { s.Name = "one"; s.Safety = "" }), registered(func(s *Spec) { s.Name = "two"; s.Reach = "" }))
	if err == nil || !strings.Contains(err.Error(), "one") || !strings.Contains(err.Error(), "two") {
		t.Errorf("got %v", err)
	}
}

func TestToolboxOrder(t *testing.T) {
	mine := func(name string) Tool { return registered(func(s *Spec) { s.Name = name }) }
	tools := []Tool{mine("zeta"), execTool{}, remote{mine("mcp__srv__x"), "srv"}, readTool{}, mine("alpha"), grepTool{}}
	box, err := NewToolbox(tools...)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range box.Specs() {
		got = append(got, s.Name)
	}
	if want := "grep read_file exec zeta mcp__srv__x alpha"; strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
	if _, ok := box.Get("zeta"); !ok {
		t.Error("a tool is not found")
	}
	if _, ok := box.Get("none"); ok {
		t.Error("a tool is found that is not there")
	}
}

func TestToolboxKeepsTheCanonicalSchema(t *testing.T) {
	schema := json.RawMessage("{ \"type\" : \"object\", \"properties\": {\"b\": {\"maximum\": 1e400, \"about\": \"<é>\"}, \"a\": true} }\n")
	box, err := NewToolbox(registered(func(s *Spec) { s.Schema = schema }))
	if err != nil {
		t.Fatal(err)
	}
	spec, _ := box.Spec("mine")
	if want := `{"properties":{"a":true,"b":{"about":"<é>","maximum":1e400}},"type":"object"}`; string(spec.Schema) != want {
		t.Errorf("got %s, want %s", spec.Schema, want)
	}
}

func TestBuiltinToolsAreSound(t *testing.T) {
	box, err := NewToolbox(Builtin()...)
	if err != nil {
		t.Fatal(err)
	}
	want := []struct {
		name   string
		safety Safety
		reach  Reach
	}{
		{"grep", Pure, ReachCooperative},
		{"find", Pure, ReachCooperative},
		{"list", Pure, ReachCooperative},
		{"read_file", Pure, ReachCooperative},
		{"write_file", Idempotent, ReachNone},
		{"edit", Idempotent, ReachNone},
		{"exec", Once, ReachProcess},
		{"fetch", Idempotent, ReachCooperative},
		{"ask_operator", Pure, ReachCooperative},
	}
	specs := box.Specs()
	if len(specs) != len(want) {
		t.Fatalf("%d tools, want %d", len(specs), len(want))
	}
	for i, w := range want {
		s := specs[i]
		if s.Name != w.name || s.Safety != w.safety || s.Reach != w.reach {
			t.Errorf("tool %d: %s, %s, %s; want %+v", i, s.Name, s.Safety, s.Reach, w)
		}
		if declared := Builtin()[i].Spec().Schema; string(declared) != string(s.Schema) {
			t.Errorf("%s: its schema is not in canonical form: %s", s.Name, declared)
		}
		if strings.Contains(string(s.Schema), "*") && strings.Contains(string(s.Schema), `"type":"*`) {
			t.Errorf("%s: an argument of no known type: %s", s.Name, s.Schema)
		}
	}
}
