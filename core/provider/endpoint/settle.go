package endpoint

import (
	"encoding/json"
	"fmt"
	"strings"

	"tillerman/core/provider"
)

// Malformed is an answer that cannot be read.
func Malformed(format string, args ...any) *provider.Error {
	return &provider.Error{Kind: provider.Malformed, Message: fmt.Sprintf(format, args...)}
}

// mostContent is the most bytes of text, thinking and calls of one answer: some sixty times what the longest answers of
// models hold. Each byte is kept several times over until the answer is stored.
const mostContent = 32 << 20

// Size counts what an answer holds while it arrives.
type Size int

// Add counts more of it. An answer that is too large is malformed: the endpoint would fill the memory.
func (s *Size) Add(texts ...string) error {
	for _, text := range texts {
		*s += Size(len(text))
	}
	if *s > mostContent {
		return Malformed("the answer holds more than %d bytes", mostContent)
	}
	return nil
}

// Refused is an answer that the model or the endpoint's filter declined to give. word is the endpoint's own for it,
// why what it said about it, if anything.
func Refused(word, why string) *provider.Error {
	if why == "" {
		why = "the model declined to answer"
	}
	return &provider.Error{Kind: provider.ModelRefused, Finish: word, Message: why}
}

// Settle checks a finished answer as every API needs it and returns it fit for storing and for sending back:
//
//   - every call has a name, and an id that no other call of the answer has; a missing id is made up as call_N, N being
//     the number of calls before it in the conversation, counted on until no call of the conversation has it
//   - calls make a normal stop StopCalls, whatever word the endpoint chose; a stop for calls without one is malformed
//   - an answer that stops normally and holds neither text nor call is malformed
func Settle(a provider.Answer, history []provider.Message) (provider.Answer, error) {
	if err := settleCalls(a.Parts, history); err != nil {
		return provider.Answer{}, err
	}
	switch calls := len(a.Calls()); {
	case calls > 0 && a.Stop == provider.StopEnd:
		a.Stop = provider.StopCalls
	case calls == 0 && a.Stop == provider.StopCalls:
		return provider.Answer{}, Malformed("finish reason %q, but no tool call came", a.Finish)
	case calls == 0 && a.Stop == provider.StopEnd && strings.TrimSpace(a.Text()) == "":
		return provider.Answer{}, Malformed("the answer holds neither text nor a tool call")
	}
	return a, nil
}

func settleCalls(parts []provider.Part, history []provider.Message) error {
	ids := map[string]bool{}
	for _, p := range parts {
		if p.Kind != provider.PartCall {
			continue
		}
		if p.Name == "" {
			return Malformed("a tool call without a name")
		}
		if p.ID != "" && ids[p.ID] {
			return Malformed("two tool calls with the same id")
		}
		ids[p.ID] = true
	}
	n := 0
	for _, m := range history {
		for _, p := range m.Calls() {
			ids[p.ID] = true
			n++
		}
	}
	for i, p := range parts {
		if p.Kind != provider.PartCall {
			continue
		}
		if p.ID == "" {
			for at := n; p.ID == "" || ids[p.ID]; at++ {
				p.ID = fmt.Sprintf("call_%d", at)
			}
			ids[p.ID] = true
			parts[i].ID = p.ID
		}
		n++
	}
	return nil
}

// Arguments makes a call's arguments fit to be sent back: those that are a JSON object as they are, none as {}. Others
// (cut, broken, not an object) would have the request refused for good, so they travel as the text they are in an
// object with the one field unparsed_arguments. Nothing is repaired.
func Arguments(args string) string {
	switch {
	case args == "":
		return "{}"
	case strings.HasPrefix(strings.TrimLeft(args, " \t\r\n"), "{") && json.Valid([]byte(args)):
		return args
	}
	text, _ := json.Marshal(args) // a string always marshals
	return `{"unparsed_arguments":` + string(text) + `}`
}
