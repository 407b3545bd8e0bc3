package anthropic

import (
	"bytes"
	"encoding/json"
	"fmt"

	"tillerman/core/provider"
)

// maxOutput is asked for when the request sets no limit: the API demands one.
const maxOutput = 8192

// request is the body of POST /v1/messages. The order of the fields is that of the bytes.
type request struct {
	Model     string    `json:"model"`
	MaxTokens int       `json:"max_tokens"`
	System    []block   `json:"system,omitempty"`
	Tools     []tool    `json:"tools,omitempty"`
	Messages  []message `json:"messages"`
	Stream    bool      `json:"stream"`
}

type tool struct {
	Name         string          `json:"name"`
	Description  string          `json:"description,omitempty"`
	InputSchema  json.RawMessage `json:"input_schema"`
	CacheControl *cacheControl   `json:"cache_control,omitempty"`
}

type message struct {
	Role    string  `json:"role"`
	Content []block `json:"content"`
}

// block is one content block of any type. Which fields it has depends on the type; those that the API demands even
// when empty are pointers.
type block struct {
	Type         string          `json:"type"`
	Text         *string         `json:"text,omitempty"`
	Thinking     *string         `json:"thinking,omitempty"`
	Signature    string          `json:"signature,omitempty"`
	Data         string          `json:"data,omitempty"`
	ID           string          `json:"id,omitempty"`
	Name         string          `json:"name,omitempty"`
	Input        json.RawMessage `json:"input,omitempty"`
	ToolUseID    string          `json:"tool_use_id,omitempty"`
	Content      []block         `json:"content,omitempty"`
	IsError      bool            `json:"is_error,omitempty"`
	CacheControl *cacheControl   `json:"cache_control,omitempty"`
}

type cacheControl struct {
	Type string `json:"type"`
}

// encode makes the body: the same bytes for the same request.
func encode(req provider.Request) ([]byte, error) {
	r := request{Model: req.Model, MaxTokens: req.MaxOutput, Messages: history(req.Messages), Stream: true}
	if r.MaxTokens <= 0 {
		r.MaxTokens = maxOutput
	}
	if req.System != "" {
		r.System = []block{textBlock(req.System)}
	}
	for _, spec := range req.Tools {
		schema := spec.Schema
		if len(schema) == 0 {
			schema = json.RawMessage(`{"type":"object"}`)
		}
		if !json.Valid(schema) {
			return nil, fmt.Errorf("the schema of tool %s is not JSON", spec.Name)
		}
		r.Tools = append(r.Tools, tool{Name: spec.Name, Description: spec.Description, InputSchema: schema})
	}
	r.mark()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r); err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

func textBlock(s string) block { return block{Type: "text", Text: &s} }

// mark sets the four breakpoints that prompt caching allows: after the tools, after the system text, at the end of the
// conversation, and at the end of what the request before this one ended with, so that its cache entry is found.
func (r *request) mark() {
	ephemeral := &cacheControl{Type: "ephemeral"}
	if n := len(r.Tools); n > 0 {
		r.Tools[n-1].CacheControl = ephemeral
	}
	if n := len(r.System); n > 0 {
		r.System[n-1].CacheControl = ephemeral
	}
	marks := 0
	for i := len(r.Messages) - 1; i >= 0 && marks < 2; i-- {
		m := r.Messages[i]
		last := &m.Content[len(m.Content)-1]
		// An assistant's turn ends no request, and a thinking block can carry no mark.
		if m.Role == "user" {
			last.CacheControl = ephemeral
			marks++
		}
	}
}
