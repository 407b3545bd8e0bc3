package chat

import (
	"crypto/sha256"
	"encoding/hex"

	"tillerman/core/provider"
	"tillerman/core/provider/endpoint"
)

// history makes the API's messages of ours: the system text first, one tool message for each result. Thinking stays
// here: the API has no place for it in a request. Messages that would be empty are left out.
func history(system string, messages []provider.Message) []message {
	out := []message{}
	if system != "" {
		out = append(out, message{Role: "system", Content: &system})
	}
	for _, m := range messages {
		if m.Role == provider.RoleAssistant {
			out = appendSaid(out, m)
		} else {
			out = appendTold(out, m)
		}
	}
	return out
}

func appendSaid(out []message, m provider.Message) []message {
	said := message{Role: "assistant"}
	if text := m.Text(); text != "" {
		said.Content = &text
	}
	for _, p := range m.Calls() {
		said.ToolCalls = append(said.ToolCalls, toolCall{
			ID: callID(p.ID), Type: "function",
			Function: toolFunction{Name: p.Name, Arguments: endpoint.Arguments(p.Arguments)},
		})
	}
	if said.Content == nil && said.ToolCalls == nil {
		return out
	}
	return append(out, said)
}

// appendTold puts results before text: they must follow the calls they answer.
func appendTold(out []message, m provider.Message) []message {
	for _, p := range m.Parts {
		if p.Kind == provider.PartResult {
			out = append(out, message{Role: "tool", Content: &p.Text, ToolCallID: callID(p.ID)})
		}
	}
	if text := m.Text(); text != "" {
		out = append(out, message{Role: "user", Content: &text})
	}
	return out
}

// idLength is the longest call id that OpenAI takes.
const idLength = 40

// callID is the id as it is sent: as it is, or shortened in a way that still pairs a result with its call.
func callID(id string) string {
	if len(id) <= idLength {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "call_" + hex.EncodeToString(sum[:16])
}
