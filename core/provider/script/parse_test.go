package script_test

import (
	"context"
	"strings"
	"testing"

	"tillerman/core/provider"
	"tillerman/core/provider/script"
)

func TestWhatIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		``:                                   "no turn",
		`turn = []`:                          "no turn",
		"turn = [":                           "line 1",
		"name = 3\nturn = [{ say = \"x\" }]": "line 1",
		"[[turn]]\nsay = \"x\"\nwhat = 1":    `line 3, column 1: unknown key "turn.what"`,
		"[[turn]]\nsay = \"x\"\n[turn.when]\nsaw = []":                           "line 4, column 1",
		"[[turn]]\nname = \"n\"":                                                 `turn 1, "n": it neither says nor calls`,
		"[[turn]]\nsay = \" \\n\"":                                               "neither says nor calls",
		"[[turn]]\ncalls = [{ }]":                                                "turn 1: a call names no tool",
		"[[turn]]\nsay = \"x\"\npace = \"soon\"":                                 "pace",
		"pace = \"-1s\"\n[[turn]]\nsay = \"x\"":                                  "negative",
		"[[turn]]\nsay = \"x\"\nwhen.gate = \"open\"":                            `"failed" or "quiet"`,
		"[[turn]]\nsay = \"x\"\nwhen.last = [\"\"]":                              "names no call",
		"[[turn]]\nsay = \"x\"\nwhen.last = [\"odd: exec\"]":                     `no outcome is called "odd"`,
		"[[turn]]\nsay = \"x\"\nwhen.seen = [\"@none\"]":                         `no turn called "none"`,
		"[[turn]]\nname = \"n\"\nsay = \"x\"\nwhen.unseen = [\"@n\"]":            "makes a call",
		"[[turn]]\nsay = \"x\"\nwhen.told = [\"...\"]":                           "has no words",
		"[[turn]]\nsay = \"x\"\nwhen.unless_later = [\"a\"]":                     "needs heard",
		"[[turn]]\nsay = \"x\"\nwhen.turns = { min = 2, max = 1 }":               "above max",
		"[[turn]]\nsay = \"x\"\nwhen.count = [{ of = \"a\", min = 2, max = 1 }]": "above max",
		"[[turn]]\ncalls = [{ tool = \"x\", args = { n = nan } }]":               "arguments of x",
	} {
		s, err := script.Parse([]byte(text))
		if err == nil || s != nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "script: ") {
			t.Errorf("%q gives %v, want something with %q", text, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("name = \"n\"\n[[turn]]\nsay = \"{told}\"\npace = \"1s\"\nwhen.last = [\"ok|failed: exec sh *\"]")
	f.Add("[[turn]]\nname = \"n\"\ncalls = [{ tool = \"x\", args = { a = [1, 2.5, true, { b = 1979-05-27 }] } }]\n[turn.when]\nunseen = [\"@n\"]\nturns = { max = 0 }")
	f.Add("[[turn]]\nsay = \"x\"\nwhen.heard = [\"stop\", \"!don't stop\"]\nwhen.count = [{ of = \"* *\", min = 1 }]")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := script.Parse([]byte(text))
		if err != nil {
			return
		}
		p := script.New(s, script.Options{Fast: true})
		req := provider.Request{Messages: []provider.Message{provider.Say(provider.RoleUser, "goal")}}
		for range 3 {
			a, err := p.Complete(context.Background(), req, provider.Call{})
			if err != nil {
				if _, ok := provider.As(err); !ok {
					t.Fatalf("an untyped error: %v", err)
				}
				return
			}
			if len(a.Parts) == 0 {
				t.Fatal("an empty answer")
			}
			req.Messages = append(req.Messages, provider.Message{Role: provider.RoleAssistant, Parts: a.Parts})
			results := provider.Message{Role: provider.RoleTool}
			for _, c := range a.Calls() {
				results.Parts = append(results.Parts, provider.Part{Kind: provider.PartResult, ID: c.ID, Name: c.Name, Text: text})
			}
			req.Messages = append(req.Messages, results, provider.Say(provider.RoleUser, "[operator] "+text))
		}
	})
}
