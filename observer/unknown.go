package observer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// Unknown is an event of a kind that this build does not know, written by a newer one. It marshals to what it was read
// from, so a reader can pass it on.
type Unknown struct {
	// Name is what the event's Tag method returns and what the wire calls it.
	Name string
	// Raw is an object of the kind's own fields in the order they came. Names of the envelope in it are left out when
	// it is marshalled: the Event's own fields count.
	Raw json.RawMessage
}

// Tag returns the tag that the newer build wrote.
func (u Unknown) Tag() string { return u.Name }

func (Unknown) kind() {}

// ownFields returns object without the members that belong to the envelope, the others in their order and their own
// spelling of numbers, on one line. Nothing at all counts as an object without members.
func ownFields(object []byte) (json.RawMessage, error) {
	if len(object) == 0 {
		return json.RawMessage("{}"), nil
	}
	object = bytes.ToValidUTF8(object, []byte(string(utf8.RuneError)))
	dec := json.NewDecoder(bytes.NewReader(object))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return nil, errors.New("the fields of an event are an object")
	}
	var members [][]byte
	for dec.More() {
		start := dec.InputOffset()
		name, err := dec.Token()
		if err != nil {
			return nil, fmt.Errorf("fields of an event: %w", err)
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, fmt.Errorf("fields of an event: %w", err)
		}
		if !inEnvelope(name) {
			members = append(members, bytes.TrimLeft(object[start:dec.InputOffset()], ", \t\r\n"))
		}
	}
	if _, err := dec.Token(); err != nil {
		return nil, fmt.Errorf("fields of an event: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("the fields of an event are one object")
	}
	var buf bytes.Buffer
	if err := json.Compact(&buf, slices.Concat([]byte("{"), bytes.Join(members, []byte(",")), []byte("}"))); err != nil {
		return nil, fmt.Errorf("fields of an event: %w", err)
	}
	return escapeControls(buf.Bytes()), nil
}

// inEnvelope compares as encoding/json does when it reads the envelope: without regard to case.
func inEnvelope(name json.Token) bool {
	s, _ := name.(string)
	return slices.ContainsFunc([]string{
		"run_id", "step", "depth", "event", "seq", "cursor", "at", "drive", "agent", "request_id",
	}, func(own string) bool { return strings.EqualFold(s, own) })
}
