package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// param is one argument of a built-in tool. The table of a tool's params is the only source of both its schema and its
// decoding, so the two cannot disagree.
type param struct {
	name  string
	about string // for the model
	into  any    // *string, *int or *[]string, holding the default
	need  bool
	min   int // integers
	max   int
	hint  string // added to what a wrong type is told
}

// ArgumentError says what is wrong with the arguments of a call, in words for the model that wrote them.
type ArgumentError struct {
	Tool     string
	Problems []string // at least one, in the order of the arguments, then what is missing
}

func (e *ArgumentError) Error() string {
	return e.Tool + ": " + strings.Join(e.Problems, "; ")
}

// decode reads arguments into params. It takes nothing on trust: keys are compared exactly (encoding/json folds case), a
// key given twice is an error, and so is text that JSON decoding would quietly replace. No arguments at all are the
// empty object, which is what some models send for it.
func decode(tool string, raw json.RawMessage, params []param) error {
	if len(bytes.TrimSpace(raw)) == 0 {
		raw = json.RawMessage("{}")
	}
	refuse := func(problem string) error { return &ArgumentError{Tool: tool, Problems: []string{problem}} }
	if problem := unsoundText(raw); problem != "" {
		return refuse(problem)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return refuse("the arguments must be one JSON object")
	}
	var problems []string
	seen := map[string]bool{}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return refuse("the arguments are not valid JSON: " + err.Error())
		}
		name := key.(string) //nolint:errcheck // the decoder gives keys as strings
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return refuse("the arguments are not valid JSON: " + err.Error())
		}
		at := slices.IndexFunc(params, func(p param) bool { return p.name == name })
		switch {
		case at < 0:
			problems = append(problems, fmt.Sprintf("there is no argument %s (there are: %s)", clip(strconv.Quote(name)), names(params)))
		case seen[name]:
			problems = append(problems, fmt.Sprintf("%q is given twice", name))
		default:
			if problem := params[at].set(value); problem != "" {
				problems = append(problems, problem)
			}
		}
		seen[name] = true
	}
	if _, err := dec.Token(); err != nil {
		return refuse("the arguments are not valid JSON: " + err.Error())
	}
	if _, err := dec.Token(); err == nil || dec.More() {
		return refuse("something follows the JSON object of the arguments")
	}
	for _, p := range params {
		if p.need && !seen[p.name] {
			problems = append(problems, fmt.Sprintf("%q is missing", p.name))
		}
	}
	if problems != nil {
		return &ArgumentError{Tool: tool, Problems: problems}
	}
	return nil
}

// set decodes one value and says what is wrong with it, "" for nothing.
func (p param) set(value json.RawMessage) string {
	switch into := p.into.(type) {
	case *string:
		if value[0] != '"' {
			return p.wrong("a string", value)
		}
		if err := json.Unmarshal(value, into); err != nil {
			return p.wrong("a string", value)
		}
	case *int:
		n, ok := integer(value)
		if !ok {
			return p.wrong("a whole number", value)
		}
		if n < p.min || n > p.max {
			return fmt.Sprintf("%q must be from %d to %d", p.name, p.min, p.max)
		}
		*into = n
	case *[]string:
		var items []json.RawMessage
		if value[0] != '[' || json.Unmarshal(value, &items) != nil {
			return p.wrong("a list of strings", value)
		}
		list := make([]string, len(items))
		for i, item := range items {
			if item[0] != '"' || json.Unmarshal(item, &list[i]) != nil {
				return fmt.Sprintf("%q must be a list of strings, but item %d is %s", p.name, i+1, kindOf(item))
			}
		}
		*into = list
	}
	return ""
}

func (p param) wrong(want string, value json.RawMessage) string {
	text := fmt.Sprintf("%q must be %s, not %s", p.name, want, kindOf(value))
	if !p.need && value[0] == 'n' {
		text += " (leave it out for the default)"
	}
	return text + p.hint
}

// integer reads a JSON number without a fraction. 10.0 and 1e1 are whole numbers, as in JSON Schema.
func integer(value json.RawMessage) (int, bool) {
	if n, err := strconv.Atoi(string(value)); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(string(value), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, false
	}
	return int(f), true
}

func kindOf(value json.RawMessage) string {
	switch value[0] {
	case '"':
		return "a string"
	case '[':
		return "a list"
	case '{':
		return "an object"
	case 't', 'f':
		return "a truth value"
	case 'n':
		return "null"
	}
	return "the number " + clip(string(value))
}

func names(params []param) string {
	list := make([]string, len(params))
	for i, p := range params {
		list[i] = p.name
	}
	return strings.Join(list, ", ")
}

// clip keeps a piece of a model's text short inside a message.
func clip(s string) string {
	const limit = 80
	if len(s) <= limit {
		return s
	}
	return s[:runeStart(s, limit)] + "…"
}

// unsoundText finds text that Go's decoder would replace by U+FFFD without a word: invalid UTF-8, and escapes of one
// half of a surrogate pair (RFC 8259, section 8.2). A file must never be written with such a replacement.
func unsoundText(raw []byte) string {
	if !utf8.Valid(raw) {
		return "the arguments are not valid UTF-8"
	}
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		i++
		unit, ok := escapedUnit(raw, i)
		if !ok || unit < 0xd800 || unit > 0xdfff {
			continue
		}
		low, paired := escapedUnit(raw, i+6)
		if unit > 0xdbff || !paired || raw[i+5] != '\\' || low < 0xdc00 || low > 0xdfff {
			return "the arguments hold half of a surrogate pair, which is no character"
		}
		i += 10
	}
	return ""
}

// escapedUnit reads "uXXXX" at i.
func escapedUnit(raw []byte, i int) (uint64, bool) {
	if i+5 > len(raw) || raw[i] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(raw[i+1:i+5]), 16, 16)
	return n, err == nil
}

// schema writes the JSON schema of params, in canonical form.
func schema(params []param) json.RawMessage {
	properties := map[string]any{}
	required := []string{}
	for _, p := range params {
		about := map[string]any{"description": p.about}
		switch into := p.into.(type) {
		case *string:
			about["type"] = "string"
			if *into != "" {
				about["default"] = *into
			}
		case *int:
			about["type"], about["minimum"], about["maximum"] = "integer", p.min, p.max
			if *into != 0 {
				about["default"] = *into
			}
		case *[]string:
			about["type"], about["items"], about["minItems"] = "array", map[string]any{"type": "string"}, 1
		default:
			// Only a mistake in this package gets here; the test of all schemas meets it.
			about["type"] = reflect.TypeOf(p.into).String()
		}
		properties[p.name] = about
		if p.need {
			required = append(required, p.name)
		}
	}
	return encode(map[string]any{
		"type": "object", "properties": properties, "required": required, "additionalProperties": false,
	})
}
