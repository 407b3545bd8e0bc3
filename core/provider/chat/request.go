package chat

import (
	"bytes"
	"encoding/json"
	"fmt"

	"tillerman/core/provider"
)

// request is the body of POST /chat/completions. The order of the fields is that of the bytes.
type request struct {
	Model               string        `json:"model"`
	Messages            []message     `json:"messages"`
	Tools               []tool        `json:"tools,omitempty"`
	MaxTokens           int           `json:"max_tokens,omitempty"`
	MaxCompletionTokens int           `json:"max_completion_tokens,omitempty"`
	Stream              bool          `json:"stream"`
	StreamOptions       streamOptions `json:"stream_options"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type tool struct {
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
}

type message struct {
	Role       string     `json:"role"`
	Content    *string    `json:"content,omitempty"`
	ToolCalls  []toolCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

type toolCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function toolFunction `json:"function"`
}

type toolFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// encode makes the body: the same bytes for the same request.
func encode(req provider.Request, limit LimitField) ([]byte, error) {
	r := request{
		Model:         req.Model,
		Messages:      history(req.System, req.Messages),
		Stream:        true,
		StreamOptions: streamOptions{IncludeUsage: true},
	}
	if limit == MaxCompletionTokens {
		r.MaxCompletionTokens = max(req.MaxOutput, 0)
	} else {
		r.MaxTokens = max(req.MaxOutput, 0)
	}
	for _, spec := range req.Tools {
		schema := spec.Schema
		if len(schema) == 0 {
			schema = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		if !json.Valid(schema) {
			return nil, fmt.Errorf("the schema of tool %s is not JSON", spec.Name)
		}
		r.Tools = append(r.Tools, tool{
			Type:     "function",
			Function: function{Name: spec.Name, Description: spec.Description, Parameters: schema},
		})
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r); err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
