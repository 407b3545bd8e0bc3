package script

import (
	"fmt"
	"strings"

	"tillerman/core/provider"
)

// answer makes a turn's answer to a request.
func (s *Script) answer(t *turn, sc *scene, req provider.Request) provider.Answer {
	a := provider.Answer{Stop: provider.StopEnd, Finish: "stop", Model: s.model, Served: s.name}
	if a.Model == "" {
		a.Model = req.Model
	}
	if text := s.text(t, sc); text != "" {
		a.Parts = append(a.Parts, provider.Part{Kind: provider.PartText, Text: text})
	}
	for i, c := range t.calls {
		a.Stop, a.Finish = provider.StopCalls, "tool_calls"
		a.Parts = append(a.Parts, provider.Part{
			Kind: provider.PartCall, ID: fmt.Sprintf("call_%d", len(sc.calls)+i+1), Name: c.tool, Arguments: c.arguments,
		})
	}
	a.Usage = usage(req, a.Parts)
	return a
}

// text is what a turn says, after an acknowledgement where the operator spoke and the turn does not look for their words
// itself.
func (s *Script) text(t *turn, sc *scene) string {
	text := t.say
	heeded := t.when.told.any() || t.when.heard.any()
	if len(sc.told) > 0 && !heeded && s.acknowledge != "" {
		text = strings.TrimSpace(s.acknowledge + "\n" + text)
	}
	fill := strings.NewReplacer("{told}", quoted(sc.told, "nothing"), "{reason}", quoted(sc.reasons, "no reason given"))
	return fill.Replace(text)
}

// quoted is the start of the newest text's first line, or what to say when there is none.
func quoted(texts []string, none string) string {
	const most = 160 // characters
	if len(texts) == 0 {
		return none
	}
	line, _, _ := strings.Cut(strings.TrimSpace(texts[len(texts)-1]), "\n")
	if line == "" {
		return none
	}
	if runes := []rune(line); len(runes) > most {
		line = string(runes[:most]) + "…"
	}
	return line
}

// usage is worked out from sizes.
func usage(req provider.Request, answer []provider.Part) *provider.Usage {
	total := provider.Estimate(len(req.Canonical()))
	var cached int64
	for i := len(req.Messages) - 1; i >= 0; i-- {
		if req.Messages[i].Role == provider.RoleAssistant {
			before := req
			before.Messages = req.Messages[:i]
			cached = min(total, provider.Estimate(len(before.Canonical())))
			break
		}
	}
	output := provider.Estimate(len(provider.Message{Role: provider.RoleAssistant, Parts: answer}.Canonical()))
	return &provider.Usage{Input: total - cached, Output: output, CacheRead: &cached}
}
