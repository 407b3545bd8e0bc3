package provider

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
)

// Role says who speaks.
type Role string

// The roles of a conversation. Tool results travel in a RoleTool message, one message for all results of a step.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// PartKind tells the parts of a message apart.
type PartKind string

// What a message can hold.
const (
	PartText     PartKind = "text"
	PartThinking PartKind = "thinking" // with a signature where the endpoint gives one
	PartRedacted PartKind = "redacted" // thinking the endpoint gives only in sealed form, in Data
	PartCall     PartKind = "call"
	PartResult   PartKind = "result"
)

// Message is one turn.
type Message struct {
	Role  Role   `json:"role"`
	Parts []Part `json:"parts"`
}

// Part is one piece of a turn. Which fields are used depends on Kind.
type Part struct {
	Kind      PartKind `json:"kind"`
	Text      string   `json:"text,omitempty"`      // text, thinking, result
	Signature string   `json:"signature,omitempty"` // thinking
	Data      string   `json:"data,omitempty"`      // redacted
	ID        string   `json:"id,omitempty"`        // call, result: pairs them
	Name      string   `json:"name,omitempty"`      // call, result: the tool
	Arguments string   `json:"arguments,omitempty"` // call: the exact bytes the model gave, never repaired
	Failed    bool     `json:"failed,omitempty"`    // result: the tool reported an error
}

// ToolSpec is one tool as the model sees it. Schema is a JSON schema in canonical form (sorted keys, no space).
type ToolSpec struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
}

// Say is a message with one text part.
func Say(role Role, text string) Message {
	return Message{Role: role, Parts: []Part{{Kind: PartText, Text: text}}}
}

// Text joins the message's text parts with newlines.
func (m Message) Text() string {
	var texts []string
	for _, p := range m.Parts {
		if p.Kind == PartText && p.Text != "" {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// Calls lists the message's tool calls in order.
func (m Message) Calls() []Part {
	var calls []Part
	for _, p := range m.Parts {
		if p.Kind == PartCall {
			calls = append(calls, p)
		}
	}
	return calls
}

// Canonical is the request as JSON with a fixed field order and no insignificant space: the key under which a
// recording finds its answer, and what request digests are made of.
func (r Request) Canonical() []byte { return encode(r) }

// Digest is the SHA-256 of Canonical, in hex.
func (r Request) Digest() string { return digest(r.Canonical()) }

// Canonical is the message as JSON, for content-addressed storage.
func (m Message) Canonical() []byte { return encode(m) }

// Digest is the SHA-256 of Canonical, in hex.
func (m Message) Digest() string { return digest(m.Canonical()) }

// Estimate is a token count for text whose real count is not known: bytes divided by four, rounded up.
func Estimate(bytes int) int64 { return int64((bytes + 3) / 4) }

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// encode marshals without HTML escaping. The types it is used on cannot fail, save for a schema that is not JSON:
// tools check theirs when they are registered. Bytes that are not UTF-8 become the replacement character itself and not
// its escape, so that a value and the same value read back from its JSON encode alike.
func encode(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return []byte(err.Error())
	}
	return unescapeReplacement(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

// unescapeReplacement turns every escape of U+FFFD in JSON into the character.
func unescapeReplacement(b []byte) []byte {
	const escape = `\ufffd`
	if !bytes.Contains(b, []byte(escape)) {
		return b
	}
	out := make([]byte, 0, len(b))
	for len(b) > 0 {
		switch {
		case bytes.HasPrefix(b, []byte(escape)):
			out, b = append(out, "\uFFFD"...), b[len(escape):]
		case b[0] == '\\' && len(b) > 1:
			out, b = append(out, b[:2]...), b[2:]
		default:
			out, b = append(out, b[0]), b[1:]
		}
	}
	return out
}
