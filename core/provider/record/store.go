package record

import (
	"bytes"
	"encoding/json"
	"slices"

	"tillerman/core/provider"
)

// store redacts a text and gives back one string for all texts of the same content. Short ones are not worth an entry.
func (b *Builder) store(text string) string {
	if b.redact != nil {
		text = b.redact(text)
	}
	if len(text) < 64 {
		return text
	}
	if known, ok := b.texts[text]; ok {
		return known
	}
	b.texts[text] = text
	return text
}

func (b *Builder) parts(parts []provider.Part) []provider.Part {
	stored := slices.Clone(parts)
	for i := range stored {
		p := &stored[i]
		for _, text := range []*string{&p.Text, &p.Signature, &p.Data, &p.ID, &p.Name, &p.Arguments} {
			*text = b.store(*text)
		}
	}
	return stored
}

// storeTools keeps a list of tools and returns the digest that names it.
func (b *Builder) storeTools(tools []provider.ToolSpec) string {
	stored := cloneTools(tools)
	for i := range stored {
		s := &stored[i]
		s.Name, s.Description, s.Schema = b.store(s.Name), b.store(s.Description), b.schema(s.Schema)
	}
	digest := toolsDigest(stored)
	b.tools[digest] = stored
	return digest
}

// schema redacts a schema as text. One that is no JSON afterwards is kept as a JSON string.
func (b *Builder) schema(schema json.RawMessage) json.RawMessage {
	text := b.store(string(compact(schema)))
	switch {
	case schema == nil:
		return nil
	case json.Valid([]byte(text)):
		return json.RawMessage(text)
	}
	quoted, err := json.Marshal(text)
	if err != nil { // a string always encodes
		return json.RawMessage("null")
	}
	return quoted
}

func cloneTools(tools []provider.ToolSpec) []provider.ToolSpec {
	cloned := make([]provider.ToolSpec, 0, len(tools))
	for _, t := range tools {
		t.Schema = bytes.Clone(t.Schema)
		cloned = append(cloned, t)
	}
	return cloned
}
