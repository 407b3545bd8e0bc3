package script

import (
	"encoding/json"
	"strings"

	"tillerman/core/provider"
	"tillerman/core/wording"
)

// scene is what a conversation comes to, for a script.
type scene struct {
	calls    []call
	said     []string // the text of each answer so far
	operator []string // all that the operator said, in order
	reasons  []string // of denials, in order
	checks   int      // checks that failed

	// Since the last answer:
	told       []string // what the operator said
	gateFailed bool     // a check failed
	stuck      bool     // the note about lacking progress came
}

// call is one call of the conversation and what became of it.
type call struct {
	made
	target  string
	id      string
	outcome string
	text    string // of its result, without the tag
}

// read makes a scene of a conversation, whose first message is the goal.
func read(messages []provider.Message) *scene {
	sc := &scene{}
	for i, m := range messages {
		switch m.Role {
		case provider.RoleAssistant:
			sc.answer(m)
		case provider.RoleTool:
			for _, p := range m.Parts {
				if p.Kind == provider.PartResult {
					sc.result(p)
				}
			}
		case provider.RoleUser:
			for _, p := range m.Parts {
				if i > 0 && p.Kind == provider.PartText {
					sc.note(p.Text)
				}
			}
		}
	}
	return sc
}

func (sc *scene) answer(m provider.Message) {
	sc.said = append(sc.said, m.Text())
	sc.told, sc.gateFailed, sc.stuck = nil, false, false
	for _, p := range m.Calls() {
		made := made{tool: p.Name, arguments: p.Arguments}
		sc.calls = append(sc.calls, call{made: made, target: target(p.Arguments), id: p.ID, outcome: notRun})
	}
}

// result goes to the newest call with its id.
func (sc *scene) result(p provider.Part) {
	for i := len(sc.calls) - 1; i >= 0; i-- {
		if c := &sc.calls[i]; c.id == p.ID {
			c.outcome, c.text = outcome(p)
			if c.outcome == denied {
				sc.reasons = append(sc.reasons, c.text)
			}
			return
		}
	}
}

// outcome reads a result's tag.
func outcome(p provider.Part) (what, rest string) {
	for _, tagged := range []struct{ tag, what string }{
		{wording.Refused, refused},
		{wording.Denied, denied},
		{wording.Cancelled, cancelled},
		{wording.Interrupted, interrupted},
		{wording.Killed, killed},
		{wording.FileChanged, fileChanged},
		{wording.NotRun, notRun},
		{wording.OutcomeUnknown, unknown},
		{wording.ChangedByOperator, changed},
	} {
		rest, is := wording.Cut(p.Text, tagged.tag)
		if is && !(tagged.what == changed && p.Failed) {
			return tagged.what, rest
		}
	}
	if p.Failed {
		return failed, p.Text
	}
	return ok, p.Text
}

// note is a user message after the goal.
func (sc *scene) note(text string) {
	if said, is := wording.Cut(text, wording.Operator); is {
		sc.operator = append(sc.operator, said)
		sc.told = append(sc.told, said)
	}
	if _, is := wording.Cut(text, wording.CheckFailed); is {
		sc.checks++
		sc.gateFailed = true
	}
	if _, is := wording.Cut(text, wording.NoProgress); is {
		sc.stuck = true
	}
}

// newest is the newest call, nil before the first.
func (sc *scene) newest() *call {
	if len(sc.calls) == 0 {
		return nil
	}
	return &sc.calls[len(sc.calls)-1]
}

// count is how many calls fit.
func (sc *scene) count(p *pattern) int {
	n := 0
	for i := range sc.calls {
		if p.fits(&sc.calls[i]) {
			n++
		}
	}
	return n
}

// target is what a call points at, as patterns write it.
func target(arguments string) string {
	var args map[string]json.RawMessage
	if json.Unmarshal([]byte(arguments), &args) != nil {
		return ""
	}
	var argv []string
	if json.Unmarshal(args["argv"], &argv) == nil && argv != nil {
		return strings.Join(argv, " ")
	}
	for _, name := range []string{"pattern", "glob", "path", "url", "question", "name", "key"} {
		var text string
		if json.Unmarshal(args[name], &text) == nil {
			return text
		}
	}
	return ""
}
