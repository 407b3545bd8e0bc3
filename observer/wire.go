package observer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"unicode/utf8"
)

// head and tail are the envelope's fields, before and after the kind's own. No kind may use one of their names.
type head struct {
	RunID int64  `json:"run_id"`
	Step  int    `json:"step"`
	Depth int    `json:"depth"`
	Tag   string `json:"event"`
}

type tail struct {
	Seq       int64  `json:"seq"`
	Cursor    int64  `json:"cursor"`
	At        int64  `json:"at"`
	Drive     int    `json:"drive"`
	Agent     string `json:"agent"`
	RequestID *int64 `json:"request_id"`
}

// MarshalJSON writes the event as one flat object on one line, in a fixed order: run_id, step, depth, event, the
// kind's fields, seq, cursor, at, drive, agent, request_id. What is absent is null. Control characters that a terminal
// acts on are escaped, < > and & are not; json.Marshal escapes those again, so call this method where it matters.
func (e Event) MarshalJSON() ([]byte, error) {
	fields, err := wireFields(e.Kind)
	if err != nil {
		return nil, err
	}
	parts := []any{
		head{RunID: e.RunID, Step: e.Step, Depth: e.Depth, Tag: e.Kind.Tag()},
		fields,
		tail{Seq: e.Seq, Cursor: e.Cursor, At: e.At, Drive: e.Drive, Agent: e.Agent, RequestID: e.RequestID},
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	for _, part := range parts {
		start := buf.Len()
		if err := enc.Encode(part); err != nil {
			return nil, fmt.Errorf("observer: marshal %s event: %w", e.Kind.Tag(), err)
		}
		// Each part came as {...} and a newline; take off the end and join it to the part before.
		if end := buf.Len() - len("}\n"); end == start+len("{") {
			buf.Truncate(start)
		} else {
			buf.Truncate(end)
			buf.Bytes()[start] = ','
		}
	}
	buf.WriteByte('}')
	line := buf.Bytes()
	line[0] = '{'
	return escapeControls(line), nil
}

// UnmarshalJSON reads what MarshalJSON wrote, in any order of the fields; fields that are missing are zero, which makes
// an event of a foreign writer without our additions readable. A kind that this build does not know becomes Unknown. An
// object without a tag, a tag with fields of another type, and anything but an object are errors and leave e as it was.
func (e *Event) UnmarshalJSON(data []byte) error {
	var env struct {
		head
		tail
	}
	if err := json.Unmarshal(data, &env); err != nil {
		return fmt.Errorf("observer: read event: %w", err)
	}
	if env.Tag == "" {
		return errors.New("observer: read event: no event tag")
	}
	kind, err := readKind(env.Tag, data)
	if err != nil {
		return fmt.Errorf("observer: read %.40q event: %w", env.Tag, err)
	}
	*e = Event{
		RunID: env.RunID, Step: env.Step, Depth: env.Depth, Kind: kind,
		Seq: env.Seq, Cursor: env.Cursor, At: env.At, Drive: env.Drive, Agent: env.Agent, RequestID: env.RequestID,
	}
	return nil
}

// wireFields is the value whose JSON object holds the kind's own fields.
func wireFields(k Kind) (any, error) {
	if k == nil {
		return nil, errors.New("observer: marshal event: no kind")
	}
	if u, ok := k.(Unknown); ok {
		if u.Name == "" {
			return nil, errors.New("observer: marshal event: unknown kind without a name")
		}
		raw, err := ownFields(u.Raw)
		if err != nil {
			return nil, fmt.Errorf("observer: marshal %.40q event: %w", u.Name, err)
		}
		return raw, nil
	}
	// A pointer to a kind, or a foreign struct with a kind inside, has the methods of one, but would read back as
	// something else than was written.
	if t := reflect.TypeOf(k); t.Kind() == reflect.Pointer || knownKinds()[k.Tag()] != t {
		return nil, fmt.Errorf("observer: marshal event: %s is not one of the kinds", t)
	}
	return k, nil
}

func readKind(tag string, data []byte) (Kind, error) {
	t, known := knownKinds()[tag]
	if !known {
		raw, err := ownFields(data)
		return Unknown{Name: tag, Raw: raw}, err
	}
	v := reflect.New(t)
	if err := json.Unmarshal(data, v.Interface()); err != nil {
		return nil, err
	}
	return v.Elem().Interface().(Kind), nil
}

// escapeControls escapes DEL and the controls above it (U+007F to U+009F), which JSON allows as they are and a terminal
// acts on: U+009B alone opens a control sequence (ECMA-48). In valid JSON they occur inside of strings only.
func escapeControls(line []byte) []byte {
	control := func(r rune) bool { return r >= 0x7f && r <= 0x9f }
	if !bytes.ContainsFunc(line, control) {
		return line
	}
	out := make([]byte, 0, len(line)+64)
	for _, r := range string(line) {
		if control(r) {
			out = fmt.Appendf(out, `\u%04x`, r)
		} else {
			out = utf8.AppendRune(out, r)
		}
	}
	return out
}
