package anthropic

import (
	"bytes"
	"encoding/json"
	"strings"

	"tillerman/core/provider"
	"tillerman/core/provider/endpoint"
)

// start is the content_block of a content_block_start event.
type start struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	Data      string          `json:"data"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
}

// content is one block while it arrives.
type content struct {
	start
	text      strings.Builder // text, thinking or a call's arguments
	signature strings.Builder
	closed    bool
}

// begin opens a block. A number that was there already would join two blocks.
func (d *decoder) begin(e event) (endpoint.Mark, error) {
	if !e.Index.Set || d.byN[e.Index.N] != nil {
		return endpoint.Idle, endpoint.Malformed("a content block whose index is missing or not its own")
	}
	c := &content{start: e.ContentBlock}
	if d.byN == nil {
		d.byN = map[int]*content{}
	}
	d.byN[e.Index.N] = c
	d.blocks = append(d.blocks, c)
	switch c.Type {
	case "text":
		return d.add(c, provider.PartText, c.Text), nil
	case "thinking":
		c.signature.WriteString(c.Signature)
		return d.add(c, provider.PartThinking, c.Thinking), nil
	case "tool_use", "redacted_thinking":
		return endpoint.Content, nil
	}
	return endpoint.Idle, nil
}

// extend adds to an open block.
func (d *decoder) extend(e event) (endpoint.Mark, error) {
	c := d.byN[e.Index.N]
	if !e.Index.Set || c == nil || c.closed {
		return endpoint.Idle, endpoint.Malformed("content for a block that is not open")
	}
	var fits string
	mark := endpoint.Idle
	switch e.Delta.Type {
	case "text_delta":
		fits, mark = "text", d.add(c, provider.PartText, e.Delta.Text)
	case "thinking_delta":
		fits, mark = "thinking", d.add(c, provider.PartThinking, e.Delta.Thinking)
	case "signature_delta":
		fits, mark = "thinking", endpoint.Content
		c.signature.WriteString(e.Delta.Signature)
	case "input_json_delta":
		fits, mark = "tool_use", d.add(c, provider.PartCall, e.Delta.PartialJSON)
	default:
		return endpoint.Idle, nil
	}
	if c.Type != fits {
		return endpoint.Idle, endpoint.Malformed("%s in a block of type %s", e.Delta.Type, c.Type)
	}
	return mark, nil
}

// add appends to the block's text and shows what is readable of it.
func (d *decoder) add(c *content, kind provider.PartKind, s string) endpoint.Mark {
	if s == "" {
		return endpoint.Idle
	}
	c.text.WriteString(s)
	if d.delta != nil && kind != provider.PartCall {
		d.delta(kind, s)
	}
	return endpoint.Content
}

func (d *decoder) close(e event) error {
	c := d.byN[e.Index.N]
	if !e.Index.Set || c == nil || c.closed {
		return endpoint.Malformed("the end of a block that is not open")
	}
	c.closed = true
	return nil
}

// part is the finished block. Blocks of types that we did not ask for, and empty text, are no parts.
func (c *content) part() (provider.Part, bool) {
	switch c.Type {
	case "text":
		return provider.Part{Kind: provider.PartText, Text: c.text.String()}, c.text.Len() > 0
	case "thinking":
		p := provider.Part{Kind: provider.PartThinking, Text: c.text.String(), Signature: c.signature.String()}
		return p, p.Text != "" || p.Signature != ""
	case "redacted_thinking":
		return provider.Part{Kind: provider.PartRedacted, Data: c.Data}, c.Data != ""
	case "tool_use":
		return provider.Part{Kind: provider.PartCall, ID: c.ID, Name: c.Name, Arguments: c.arguments()}, true
	}
	return provider.Part{}, false
}

// arguments are the bytes that came piece by piece, else those that the block began with (servers that do not stream
// them), else an empty object, which is how the API says "none".
func (c *content) arguments() string {
	input := bytes.TrimSpace(c.Input)
	switch {
	case c.text.Len() > 0:
		return c.text.String()
	case len(input) > 0 && string(input) != "null":
		return string(input)
	}
	return "{}"
}
