package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// canonical brings a tool's schema into the one form that requests hold: keys sorted, no space, numbers as written. A
// schema is part of every request, so equal schemas must be equal bytes.
func canonical(schema json.RawMessage) (json.RawMessage, error) {
	if !utf8.Valid(schema) {
		return nil, errors.New("its schema is not valid UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(schema))
	dec.UseNumber()
	var value any
	if err := dec.Decode(&value); err != nil {
		return nil, fmt.Errorf("its schema is not JSON: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows its schema")
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, errors.New("its schema is not a JSON object")
	}
	if object["type"] != "object" {
		return nil, errors.New(`its schema is not of "type": "object"`)
	}
	return encode(object), nil
}

// encode writes JSON with sorted keys, no space and no HTML escapes. It is given only what JSON can hold: values that
// were decoded from JSON, and maps, strings and whole numbers of ours.
func encode(value any) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return json.RawMessage("null")
	}
	return json.RawMessage(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}
