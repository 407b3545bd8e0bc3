package observer

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestUnknownKindsMarshalBackAsTheyWere(t *testing.T) {
	for name, fields := range map[string]string{
		"nothing of its own": ``,
		"scalars":            `"colour":"red <b>","big":123456789012345678901234567890,"exp":1.50e+2,"none":null,`,
		"nested":             `"list":[1,{"seq":2,"run_id":[]}],"empty":{},`,
		"escapes":            `"a":"\u009b\u003c\\","\u0062":1,`,
		"unsorted":           `"z":1,"a":2,`,
	} {
		line := `{"run_id":4,"step":2,"depth":0,"event":"teleported",` + fields +
			`"seq":7,"cursor":90,"at":5,"drive":1,"agent":"0","request_id":null}`
		e := mustUnmarshal(t, line)
		if e.Kind.Tag() != "teleported" || e.Seq != 7 || e.RunID != 4 {
			t.Errorf("%s: read as %+v", name, e)
		}
		if got := mustMarshal(t, e); got != line {
			t.Errorf("%s\n got %s\nwant %s", name, got, line)
		}
	}
}

func TestUnknownKindsStayOnOneLineWithOneEnvelope(t *testing.T) {
	e := mustUnmarshal(t, "{ \"event\" : \"new\",\n \"a\" : [ 1,\n 2 ], \"Seq\":3, \"b\":\"\u009b\xff\" }")
	e.Seq = 9
	want := `{"run_id":0,"step":0,"depth":0,"event":"new","a":[1,2],"b":"\u009b` + "\ufffd" +
		`","seq":9,"cursor":0,"at":0,"drive":0,"agent":"","request_id":null}`
	if got := mustMarshal(t, e); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

func TestUnknownKindsAreWrittenAsUTF8(t *testing.T) {
	e := mustUnmarshal(t, "{\"event\":\"new\",\"\xc3\":\"a\xff\"}")
	if got := mustMarshal(t, e); !strings.Contains(got, "\"event\":\"new\",\"\ufffd\":\"a\ufffd\",\"seq\"") {
		t.Errorf("got %q", got)
	}
}

func TestUnknownMadeByHand(t *testing.T) {
	got := mustMarshal(t, Event{RunID: 1, Kind: Unknown{Name: "x", Raw: json.RawMessage("{\"run_id\":2,\n\"y\":3}")}})
	if !strings.HasPrefix(got, `{"run_id":1,"step":0,"depth":0,"event":"x","y":3,"seq":0,`) {
		t.Errorf("got %s", got)
	}
	for _, raw := range []string{`null`, `{`, `{"a":1}{}`, `{"a":1,}`, `{"a" 1}`, `{"a":1} x`} {
		if data, err := (Event{Kind: Unknown{Name: "x", Raw: json.RawMessage(raw)}}).MarshalJSON(); err == nil {
			t.Errorf("%s marshalled to %s", raw, data)
		}
	}
}
