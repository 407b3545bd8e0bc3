package anthropic

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"tillerman/core/provider"
	"tillerman/core/provider/endpoint"
)

// history makes the API's messages of ours. The API wants user and assistant by turns, so neighbours of one role
// become one message, and in a user message tool results before anything else. It refuses empty text, so such text
// is left out, and with it messages that hold nothing more.
func history(messages []provider.Message) []message {
	out := []message{}
	ids := callIDs{now: map[string]string{}, used: map[string]bool{}}
	for _, m := range messages {
		role, blocks := "user", []block(nil)
		if m.Role == provider.RoleAssistant {
			role, blocks = "assistant", said(m, &ids)
		} else {
			blocks = told(m, &ids)
		}
		if len(blocks) == 0 {
			continue
		}
		if n := len(out); n > 0 && out[n-1].Role == role {
			out[n-1].Content = append(out[n-1].Content, blocks...)
			continue
		}
		out = append(out, message{Role: role, Content: blocks})
	}
	for i := range out {
		resultsFirst(out[i].Content)
	}
	return out
}

// said are the blocks of an assistant's turn. Thinking goes back only as the API gave it, sealed or signed; that of
// other vendors has no signature and would be refused.
func said(m provider.Message, ids *callIDs) []block {
	var blocks []block
	for _, p := range m.Parts {
		switch p.Kind {
		case provider.PartText:
			blocks = appendText(blocks, p.Text)
		case provider.PartThinking:
			if p.Signature != "" {
				blocks = append(blocks, block{Type: "thinking", Thinking: &p.Text, Signature: p.Signature})
			}
		case provider.PartRedacted:
			blocks = append(blocks, block{Type: "redacted_thinking", Data: p.Data})
		case provider.PartCall:
			input := strings.ToValidUTF8(endpoint.Arguments(p.Arguments), "\uFFFD")
			blocks = append(blocks, block{Type: "tool_use", ID: ids.call(p.ID), Name: p.Name, Input: json.RawMessage(input)})
		}
	}
	return blocks
}

// told are the blocks of a user's turn or of tool results.
func told(m provider.Message, ids *callIDs) []block {
	var blocks []block
	for _, p := range m.Parts {
		switch p.Kind {
		case provider.PartText:
			blocks = appendText(blocks, p.Text)
		case provider.PartResult:
			blocks = append(blocks, block{
				Type: "tool_result", ToolUseID: ids.result(p.ID), Content: appendText(nil, p.Text), IsError: p.Failed,
			})
		}
	}
	return blocks
}

func appendText(blocks []block, text string) []block {
	if strings.TrimSpace(text) == "" {
		return blocks
	}
	return append(blocks, textBlock(text))
}

// resultsFirst moves tool results to the front and keeps the order otherwise.
func resultsFirst(blocks []block) {
	var results, others []block
	for _, b := range blocks {
		if b.Type == "tool_result" {
			results = append(results, b)
		} else {
			others = append(others, b)
		}
	}
	copy(blocks, append(results, others...))
}

// callIDs gives calls ids that the API takes: letters, digits, - and _ only, each once in a conversation. Other vendors'
// ids ("functions.add:0", counted anew every turn) would have the conversation refused after a change of provider.
type callIDs struct {
	now  map[string]string // our id → the id on the wire of the latest call that has it
	used map[string]bool
}

func (c *callIDs) call(id string) string {
	wire := id
	for n := 0; wire == "" || c.used[wire] || !plain(wire); n++ {
		sum := sha256.Sum256([]byte{byte(n), byte(n >> 8)})
		sum = sha256.Sum256(append(sum[:], id...))
		wire = "call_" + hex.EncodeToString(sum[:12])
	}
	c.used[wire] = true
	c.now[id] = wire
	return wire
}

func (c *callIDs) result(id string) string {
	if wire, ok := c.now[id]; ok {
		return wire
	}
	return id
}

func plain(id string) bool {
	for _, b := range []byte(id) {
		switch {
		case 'a' <= b && b <= 'z', 'A' <= b && b <= 'Z', '0' <= b && b <= '9', b == '-', b == '_':
		default:
			return false
		}
	}
	return true
}
