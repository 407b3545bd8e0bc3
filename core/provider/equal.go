package provider

import (
	"bytes"
	"slices"
)

// Equal says whether two messages are the same, that is, whether their canonical forms are.
func (m Message) Equal(other Message) bool {
	return m.Role == other.Role && (m.Parts == nil) == (other.Parts == nil) && slices.Equal(m.Parts, other.Parts)
}

// Clone is a copy that shares nothing that can be changed.
func (m Message) Clone() Message {
	return Message{Role: m.Role, Parts: slices.Clone(m.Parts)}
}

// Common is how many messages two conversations share from their start.
func Common(a, b []Message) int {
	n := min(len(a), len(b))
	for i := range n {
		if !a[i].Equal(b[i]) {
			return i
		}
	}
	return n
}

// Equal says whether two tools look the same to a model.
func (t ToolSpec) Equal(other ToolSpec) bool {
	return t.Name == other.Name && t.Description == other.Description && bytes.Equal(t.Schema, other.Schema)
}
