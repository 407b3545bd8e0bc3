package chat

import (
	"encoding/json"
	"errors"
	"strings"

	"tillerman/core/provider/endpoint"
)

// chunk is one event's data, as far as any server fills it.
type chunk struct {
	Model   string          `json:"model"`
	Choices []choice        `json:"choices"`
	Usage   json.RawMessage `json:"usage"`
	Error   json.RawMessage `json:"error"`
	Object  string          `json:"object"`
	XGroq   json.RawMessage `json:"x_groq"`
}

// usage is the chunk's usage, under either name.
func (c chunk) usage() json.RawMessage {
	if present(c.Usage) {
		return c.Usage
	}
	var groq struct {
		Usage json.RawMessage `json:"usage"`
	}
	_ = json.Unmarshal(c.XGroq, &groq) // unreadable is not reported
	return groq.Usage
}

type choice struct {
	Index        endpoint.Index `json:"index"`
	Delta        *delta         `json:"delta"`
	Message      *delta         `json:"message"` // some servers end with a whole message instead
	FinishReason string         `json:"finish_reason"`
}

type delta struct {
	Content          words           `json:"content"`
	ReasoningContent words           `json:"reasoning_content"` // llama.cpp, DeepSeek, vLLM
	Reasoning        json.RawMessage `json:"reasoning"`         // OpenRouter, Groq
	Refusal          string          `json:"refusal"`
	ToolCalls        []fragment      `json:"tool_calls"`
}

// thinking is the delta's reasoning. A server that fills both fields says the same in both.
func (d *delta) thinking() string {
	if d.ReasoningContent.said != "" {
		return d.ReasoningContent.said
	}
	if d.Content.thought != "" {
		return d.Content.thought
	}
	var s string
	_ = json.Unmarshal(d.Reasoning, &s) // an object describes, it does not say
	return s
}

// fragment is a piece of one tool call.
type fragment struct {
	Index    endpoint.Index `json:"index"`
	ID       string         `json:"id"`
	Function struct {
		Name      string    `json:"name"`
		Arguments arguments `json:"arguments"`
	} `json:"function"`
}

// words is text as a string, or as a list of typed parts (Mistral: "text", and "thinking" which holds such a list).
type words struct {
	said, thought string
}

// UnmarshalJSON accepts both forms and null.
func (w *words) UnmarshalJSON(b []byte) error {
	if !strings.HasPrefix(string(b), "[") {
		return json.Unmarshal(b, &w.said)
	}
	var parts []struct {
		Type     string `json:"type"`
		Text     string `json:"text"`
		Thinking *words `json:"thinking"`
	}
	if err := json.Unmarshal(b, &parts); err != nil {
		return err
	}
	for _, p := range parts {
		w.said += p.Text
		if p.Thinking != nil {
			w.thought += p.Thinking.said
		}
	}
	return nil
}

// arguments is a piece of a call's arguments: a string, or with some servers the object itself, taken byte for byte.
type arguments string

// UnmarshalJSON accepts a string, an object and null.
func (a *arguments) UnmarshalJSON(b []byte) error {
	switch {
	case string(b) == "null":
		return nil
	case b[0] == '{':
		*a = arguments(b)
		return nil
	case b[0] == '"':
		var s string
		err := json.Unmarshal(b, &s)
		*a = arguments(s)
		return err
	}
	return errors.New("tool arguments are neither text nor an object")
}

func present(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }
