package observer

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func mustMarshal(t testing.TB, e Event) string {
	t.Helper()
	data, err := e.MarshalJSON()
	if err != nil {
		t.Fatalf("marshal %+v: %v", e, err)
	}
	return string(data)
}

func mustUnmarshal(t testing.TB, line string) Event {
	t.Helper()
	var e Event
	if err := json.Unmarshal([]byte(line), &e); err != nil {
		t.Fatalf("unmarshal %s: %v", line, err)
	}
	return e
}

func TestEveryKindRoundTrips(t *testing.T) {
	for _, k := range Kinds() {
		for _, kind := range []Kind{k, reflect.Zero(reflect.TypeOf(k)).Interface().(Kind)} {
			e := Event{RunID: 1, Step: 2, Depth: 3, Kind: kind, Seq: 4, Cursor: 5, At: 6, Drive: 7, Agent: "0", RequestID: new(int64(8))}
			if back := mustUnmarshal(t, mustMarshal(t, e)); !reflect.DeepEqual(back, e) {
				t.Errorf("%s came back as %+v", mustMarshal(t, e), back)
			}
		}
	}
}

// hostile is text as models and tools produce it.
var hostile = rapid.OneOf(
	rapid.String(),
	rapid.SampledFrom([]string{"<&>", "\x1b[2J", "\u009b31m", "\x7f", "\u2028", "\x00", "a\nb", `"}{`, "\ufffd", "杭州"}),
)

func TestAnyEventRoundTripsOnOneSafeLine(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		kind := reflect.New(reflect.TypeOf(rapid.SampledFrom(Kinds()).Draw(rt, "kind"))).Elem()
		for i := range kind.NumField() {
			fill(rt, kind.Field(i))
		}
		var e Event
		fill(rt, reflect.ValueOf(&e).Elem().FieldByName("RunID"))
		for _, name := range []string{"Step", "Depth", "Seq", "Cursor", "At", "Drive", "Agent", "RequestID"} {
			fill(rt, reflect.ValueOf(&e).Elem().FieldByName(name))
		}
		e.Kind = kind.Interface().(Kind)
		data, err := e.MarshalJSON()
		if err != nil {
			rt.Fatalf("marshal %+v: %v", e, err)
		}
		var back Event
		if err := json.Unmarshal(data, &back); err != nil || !reflect.DeepEqual(back, e) {
			rt.Fatalf("%s came back as %+v, %v", data, back, err)
		}
		if bytes.ContainsFunc(data, func(r rune) bool { return r < ' ' || r >= 0x7f && r <= 0x9f }) {
			rt.Fatalf("control character in %q", data)
		}
	})
}

func fill(rt *rapid.T, v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(hostile.Draw(rt, "text"))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(rt, "bool"))
	case reflect.Int, reflect.Int64:
		v.SetInt(rapid.Int64().Draw(rt, "int"))
	case reflect.Pointer:
		if rapid.Bool().Draw(rt, "present") {
			v.Set(reflect.New(v.Type().Elem()))
			fill(rt, v.Elem())
		}
	default:
		rt.Fatalf("a field of type %s is not filled", v.Type())
	}
}

func TestNoHTMLEscaping(t *testing.T) {
	got := mustMarshal(t, Event{Kind: Told{By: "<ann>", Text: "a && b"}, Agent: "<0>"})
	for _, want := range []string{`"by":"<ann>"`, `"text":"a && b"`, `"agent":"<0>"`} {
		if !strings.Contains(got, want) {
			t.Errorf("%s lacks %s", got, want)
		}
	}
}

func TestForeignEventsWithoutOurFields(t *testing.T) {
	got := mustUnmarshal(t, `{"run_id": 7, "step": 3, "depth": 1, "event": "step",
		"decision": "d", "tool_call": "t", "tokens": 412, "changed": true}`)
	want := Event{RunID: 7, Step: 3, Depth: 1, Kind: Step{Decision: "d", ToolCall: "t", Tokens: 412, Changed: true}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
	// Fields in another order, and one that a newer build added to a kind that we know.
	got = mustUnmarshal(t, `{"colour":1,"window":3,"agent":"0","event":"replan","run_id":7}`)
	if want := (Event{RunID: 7, Agent: "0", Kind: Replan{Window: 3}}); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
}

func TestBadEvents(t *testing.T) {
	for name, line := range map[string]string{
		"nothing":             ``,
		"null":                `null`,
		"array":               `[]`,
		"no tag":              `{"run_id":1}`,
		"null tag":            `{"run_id":1,"event":null}`,
		"tag of another type": `{"run_id":1,"event":3}`,
		"field of a kind":     `{"run_id":1,"event":"step","tokens":"many"}`,
		"field of envelope":   `{"run_id":"1","event":"stalled"}`,
		"fraction":            `{"run_id":1.5,"event":"stalled"}`,
		"too large":           `{"run_id":9223372036854775808,"event":"stalled"}`,
		"cut":                 `{"run_id":1,"event":"stal`,
		"two":                 `{"event":"stalled"}{"event":"stalled"}`,
	} {
		e := Event{RunID: 42}
		if err := e.UnmarshalJSON([]byte(line)); err == nil {
			t.Errorf("%s: read as %+v", name, e)
		}
		if !reflect.DeepEqual(e, Event{RunID: 42}) {
			t.Errorf("%s: left %+v behind", name, e)
		}
	}
}

type foreign struct {
	Replan
	Step int `json:"step"`
}

func TestOnlyKindsAreMarshalled(t *testing.T) {
	for _, k := range []Kind{nil, &Step{}, (*Step)(nil), foreign{}, Unknown{}, Unknown{Name: "x", Raw: json.RawMessage(`[1]`)}} {
		if data, err := (Event{Kind: k}).MarshalJSON(); err == nil {
			t.Errorf("%#v marshalled to %s", k, data)
		}
	}
}

func FuzzEventUnmarshal(f *testing.F) {
	for _, k := range Kinds() {
		f.Add([]byte(mustMarshal(f, Event{RunID: 1, Kind: k, Agent: "0", RequestID: new(int64(1))})))
	}
	for _, line := range []string{
		`{"event":"new","a":[1,{"b":"\u009b"}],"z":1e400,"a":2}`,
		`{"event":"new","Seq":3,"\u0073eq":4,"run_id":1, "x" : "` + "\xff\u009b" + `"}`,
		`{"event":"","event":"stalled"}`,
		`{"event":"step","tokens":-0}`,
		"{\"event\":\"n\",\"\xff\":1,\"ſeq\":2}",
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var first, second Event
		if first.UnmarshalJSON(data) != nil {
			return
		}
		line := mustMarshal(t, first)
		if !json.Valid([]byte(line)) || strings.ContainsAny(line, "\r\n") {
			t.Fatalf("not one line of JSON: %q", line)
		}
		if err := json.Unmarshal([]byte(line), &second); err != nil || !reflect.DeepEqual(first, second) {
			t.Fatalf("%s\nread as %+v\n then as %+v, %v", line, first, second, err)
		}
		if again := mustMarshal(t, second); again != line {
			t.Fatalf("written as %s\n  then as %s", line, again)
		}
	})
}
