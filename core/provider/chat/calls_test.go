package chat_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tillerman/core/provider"
)

// piece is one fragment of a call: index, id, name and arguments, each left out when it is "-". An index is written as
// it is given.
func piece(index, id, name, args string) string {
	var fields, function []string
	if index != "-" {
		fields = append(fields, `"index":`+index)
	}
	switch id {
	case "-":
	case "null":
		fields = append(fields, `"id":null`)
	default:
		fields = append(fields, fmt.Sprintf(`"id":%q`, id))
	}
	if name != "-" {
		function = append(function, fmt.Sprintf(`"name":%q`, name))
	}
	if args != "-" {
		function = append(function, fmt.Sprintf(`"arguments":%q`, args))
	}
	fields = append(fields, `"function":{`+strings.Join(function, ",")+`}`)
	return said(`{"tool_calls":[{` + strings.Join(fields, ",") + `}]}`)
}

// Fragments that can be told apart make the calls that were meant.
func TestCallsToldApart(t *testing.T) {
	a, b := called("A", "f", `{"a":1}`), called("B", "g", `{"b":2}`)
	for _, c := range []struct {
		name   string
		pieces []string
		want   []provider.Part
	}{
		{"one after another", []string{piece("0", "A", "f", ""), piece("0", "-", "-", `{"a"`), piece("0", "-", "-", `:1}`), piece("1", "B", "g", `{"b":2}`)}, []provider.Part{a, b}},
		{"mixed", []string{piece("0", "A", "f", ""), piece("1", "B", "g", ""), piece("1", "-", "-", `{"b"`), piece("0", "-", "-", `{"a"`), piece("1", "-", "-", `:2}`), piece("0", "-", "-", `:1}`)}, []provider.Part{a, b}},
		{"in one chunk", []string{said(`{"tool_calls":[{"index":0,"id":"A","function":{"name":"f","arguments":"{\"a\":1}"}},{"index":1,"id":"B","function":{"name":"g","arguments":"{\"b\":2}"}}]}`)}, []provider.Part{a, b}},
		{"name repeated, id null", []string{piece("0", "A", "f", `{"a"`), piece("0", "null", "f", `:1}`)}, []provider.Part{a}},
		{"id and name repeated", []string{piece("0", "A", "f", `{"a"`), piece("0", "A", "f", `:1}`), piece("0", "A", "f", "")}, []provider.Part{a}},
		{"id and name empty later", []string{piece("0", "A", "f", `{"a"`), piece("0", "", "", `:1}`)}, []provider.Part{a}},
		{"name after the id", []string{piece("0", "A", "-", ""), piece("0", "-", "f", `{"a":1}`)}, []provider.Part{a}},
		{"id after the name", []string{piece("0", "-", "f", ""), piece("0", "A", "-", `{"a":1}`)}, []provider.Part{a}},
		{"indexes from 1, with gaps", []string{piece("1", "A", "f", `{"a":1}`), piece("9", "B", "g", `{"b":2}`)}, []provider.Part{a, b}},
		{"index as text", []string{piece(`"0"`, "A", "f", `{"a"`), piece("0", "-", "-", `:1}`), piece(`"1"`, "B", "g", `{"b":2}`)}, []provider.Part{a, b}},
		{"index null", []string{piece("null", "A", "f", `{"a":1}`)}, []provider.Part{a}},
		{"one whole call, no index", []string{piece("-", "A", "f", `{"a":1}`)}, []provider.Part{a}},
		{"whole calls, no index", []string{piece("-", "A", "f", `{"a":1}`), piece("-", "B", "g", `{"b":2}`)}, []provider.Part{a, b}},
		{"whole calls, no index, no id", []string{piece("-", "-", "f", `{"a":1}`), piece("-", "", "g", `{"b":2}`)}, []provider.Part{called("call_0", "f", `{"a":1}`), called("call_1", "g", `{"b":2}`)}},
		{"pieces by id, no index", []string{piece("-", "A", "f", ""), piece("-", "B", "g", ""), piece("-", "B", "-", `{"b":2}`), piece("-", "A", "-", `{"a":1}`)}, []provider.Part{a, b}},
		{"whole calls, all numbered 0", []string{piece("0", "A", "f", `{"a":1}`), piece("0", "B", "g", `{"b":2}`)}, []provider.Part{a, b}},
		{"id empty", []string{piece("0", "", "f", `{"a":1}`)}, []provider.Part{called("call_0", "f", `{"a":1}`)}},
		{"a made-up id gives way", []string{piece("0", "", "f", `{}`), piece("1", "call_0", "g", `{}`)}, []provider.Part{called("call_1", "f", `{}`), called("call_0", "g", `{}`)}},
		{"tool that nobody has", []string{piece("0", "A", "no_such_tool", `{}`)}, []provider.Part{called("A", "no_such_tool", `{}`)}},
		{"no arguments", []string{piece("0", "A", "f", "-")}, []provider.Part{called("A", "f", "")}},
		{"arguments as an object", []string{said(`{"tool_calls":[{"id":"A","function":{"name":"f","arguments":{"a": 1}}}]}`)}, []provider.Part{called("A", "f", `{"a": 1}`)}},
		{"broken arguments are kept", []string{piece("0", "A", "f", `{"a":"# 1`), piece("0", "-", "-", "\n# 2")}, []provider.Part{called("A", "f", "{\"a\":\"# 1\n# 2")}},
		{"more than an object is kept", []string{piece("0", "A", "f", `{"a":1}}`)}, []provider.Part{called("A", "f", `{"a":1}}`)}},
		{"brackets and quotes inside text", []string{piece("0", "A", "f", `{"a":"}\"`), piece("0", "-", "-", `]{"`), piece("0", "-", "-", `}`)}, []provider.Part{called("A", "f", `{"a":"}\"]{"}`)}},
		{"blanks after the end", []string{piece("0", "A", "f", `{"a":1}`), piece("0", "-", "-", " \n")}, []provider.Part{called("A", "f", "{\"a\":1} \n")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			answer, err := complete(t, events(append(c.pieces, ended("tool_calls"), done)...))
			if err != nil || !reflect.DeepEqual(answer.Parts, c.want) {
				t.Errorf("got %+v, %v, want %+v", answer.Parts, err, c.want)
			}
		})
	}
}

// What cannot be told apart fails the answer: nothing of it may run.
func TestCallsNotToldApart(t *testing.T) {
	for _, c := range []struct {
		name   string
		pieces []string
		want   string
	}{
		{"second call's head with index 0, tail with index 1", []string{piece("0", "A", "f", `{"a":1}`), piece("0", "B", "g", `{"b"`), piece("1", "-", "-", `:2}`)}, "never began"},
		{"the same while the first is open", []string{piece("0", "A", "f", `{"a"`), piece("0", "B", "g", `{"b"`), piece("1", "-", "-", `:2}`)}, "two tool calls under one index"},
		{"two heads under one index, then a tail", []string{piece("0", "A", "f", `{"a":1}`), piece("0", "B", "g", `{"b"`), piece("0", "-", "-", `:2}`)}, "may belong to two calls"},
		{"no index, in pieces", []string{piece("-", "A", "f", `{"a"`), piece("-", "-", "-", `:1}`)}, "without index or id"},
		{"no index, two calls in pieces", []string{piece("-", "A", "f", ""), piece("-", "B", "g", ""), piece("-", "-", "-", `{"a":1}`)}, "without index or id"},
		{"no index, no id, in pieces", []string{piece("-", "-", "f", `{"a"`), piece("-", "-", "f", `:1}`)}, "in pieces without index or id"},
		{"no index, no id, after an open call", []string{piece("-", "A", "f", ""), piece("-", "null", "f", `{"a":1}`)}, "in pieces without index or id"},
		{"an id twice", []string{piece("0", "A", "f", `{}`), piece("1", "A", "g", `{}`)}, "under two indexes"},
		{"an id twice, no index", []string{piece("-", "A", "f", `{}`), piece("-", "A", "f", `{}`)}, "same id"},
		{"an id twice under one index", []string{piece("0", "A", "f", `{"a":1}`), piece("0", "A", "f", `{"a":2}`)}, "go on after their end"},
		{"two whole calls under one index without ids", []string{piece("0", "-", "f", `{"a":1}`), piece("0", "-", "-", `{"a":2}`)}, "go on after their end"},
		{"an id twice among calls numbered 0", []string{piece("0", "A", "f", `{}`), piece("0", "B", "g", `{}`), piece("0", "A", "f", `{}`)}, "go on after their end"},
		{"two names in one call", []string{piece("0", "A", "f", ""), piece("0", "-", "g", `{}`)}, "two tool names"},
		{"id and name empty", []string{piece("0", "", "", `{}`)}, "never began"},
		{"name empty", []string{piece("0", "A", "", `{}`)}, "without a name"},
		{"an index that is none", []string{piece(`"x"`, "A", "f", `{}`)}, "cannot be read"},
		{"a negative index", []string{piece("-1", "A", "f", `{}`)}, "cannot be read"},
		{"half an index", []string{piece("0.5", "A", "f", `{}`)}, "cannot be read"},
		{"arguments that are neither text nor object", []string{said(`{"tool_calls":[{"index":0,"id":"A","function":{"name":"f","arguments":7}}]}`)}, "cannot be read"},
	} {
		t.Run(c.name, func(t *testing.T) {
			answer, err := complete(t, events(append(c.pieces, ended("tool_calls"), done)...))
			failed, ok := provider.As(err)
			if !ok || failed.Kind != provider.Malformed || !strings.Contains(failed.Message, c.want) {
				t.Errorf("got %+v, %v, want %q", answer.Parts, err, c.want)
			}
		})
	}
}

// Calls that are cut into pieces anywhere, and sent in any order that keeps each call's own, come out whole.
func TestCallsAnyOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 4).Draw(rt, "calls")
		var want []provider.Part
		var queues [][]string
		for i := range n {
			args := fmt.Sprintf(`{"n":%d,"s":%q}`, i, rapid.StringMatching(`[a-z{}"\\杭]{0,8}`).Draw(rt, "text"))
			want = append(want, called(fmt.Sprintf("id%d", i), fmt.Sprintf("f%d", i), args))
			index := fmt.Sprint(i)
			pieces := []string{piece(index, want[i].ID, want[i].Name, "")}
			for rest := []rune(args); len(rest) > 0; {
				k := rapid.IntRange(1, len(rest)).Draw(rt, "cut")
				pieces = append(pieces, piece(index, "-", "-", string(rest[:k])))
				rest = rest[k:]
			}
			queues = append(queues, pieces)
		}
		// Heads come in order, the rest in any.
		var sent []string
		for i := range queues {
			sent = append(sent, queues[i][0])
			queues[i] = queues[i][1:]
		}
		for len(queues) > 0 {
			i := rapid.IntRange(0, len(queues)-1).Draw(rt, "next")
			sent = append(sent, queues[i][0])
			if queues[i] = queues[i][1:]; len(queues[i]) == 0 {
				queues = append(queues[:i], queues[i+1:]...)
			}
		}
		answer, err := complete(t, events(append(sent, ended("tool_calls"), done)...))
		if err != nil || !reflect.DeepEqual(answer.Parts, want) {
			rt.Fatalf("got %+v, %v, want %+v", answer.Parts, err, want)
		}
	})
}
