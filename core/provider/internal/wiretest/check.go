package wiretest

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"tillerman/core/provider"
	"tillerman/core/provider/endpoint"
)

// Dialect is one API as its tests see it.
type Dialect struct {
	New func(endpoint.Config) (provider.Provider, error)
	// Expect reads a capture's response without the code under test.
	Expect func(*testing.T, string) provider.Answer
}

// small is up to how many bytes a response is split at every place. Longer ones are split at every few dozen.
const small = 1600

// CheckSplits has every response of an exchange read whole, byte by byte over a socket, byte by byte without, and in
// two pieces: the answer is always the expected one.
func CheckSplits(t *testing.T, x Exchange, d Dialect) {
	t.Helper()
	for i, turn := range x.Turns {
		want := d.Expect(t, turn.Response)
		if len(x.Answers) > 0 {
			var written provider.Answer
			if err := json.Unmarshal(x.Answers[i], &written); err != nil {
				t.Fatal(err)
			}
			if !Equal(written, want) {
				t.Fatalf("turn %d: the plain reading of the capture gives\n%s, written down is\n%s", i+1, show(want), show(written))
			}
		}
		for _, size := range []int{1, 7, len(turn.Response)} {
			server := Serve(t, turn.Response, size)
			d.same(t, want, server.URL, nil)
		}
		d.same(t, want, "", Bytes(turn.Response))
		step := 1 + len(turn.Response)/small*23
		for at := 1; at < len(turn.Response); at += step {
			d.same(t, want, "", []Step{Say(turn.Response[:at]), Say(turn.Response[at:])})
		}
	}
}

func (d Dialect) same(t *testing.T, want provider.Answer, url string, steps []Step) {
	t.Helper()
	config := endpoint.Config{Name: "own", BaseURL: url}
	if url == "" {
		config.BaseURL, config.Transport = "http://endpoint.test", &Script{Steps: steps}
	}
	p, err := d.New(config)
	if err != nil {
		t.Fatal(err)
	}
	var text, thinking strings.Builder
	got, err := p.Complete(context.Background(), provider.Request{}, provider.Call{
		Delta: func(kind provider.PartKind, s string) {
			if kind == provider.PartThinking {
				thinking.WriteString(s)
			} else {
				text.WriteString(s)
			}
		},
	})
	if closer, ok := p.(interface{ Close() }); ok {
		closer.Close()
	}
	if err != nil {
		t.Fatalf("%d steps: %v", len(steps), err)
	}
	if !Equal(got, want) || got.Served != "own" {
		t.Fatalf("%d steps: got\n%s, want\n%s", len(steps), show(got), show(want))
	}
	for _, p := range want.Parts {
		if p.Kind == provider.PartText && p.Text != text.String() || p.Kind == provider.PartThinking && p.Text != thinking.String() {
			t.Fatalf("live text %q and thinking %q, want %q", text.String(), thinking.String(), p.Text)
		}
	}
}

// Equal compares what answers say, not who gave them and when.
func Equal(a, b provider.Answer) bool {
	a.Served, a.FirstMillis, a.TotalMillis = "", 0, 0
	b.Served, b.FirstMillis, b.TotalMillis = "", 0, 0
	return reflect.DeepEqual(a, b)
}

func show(v any) string {
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// Ask completes a request over the response and returns the answer and the body that was sent.
func Ask(t *testing.T, d Dialect, response string, req provider.Request) (provider.Answer, map[string]any) {
	t.Helper()
	script := &Script{Steps: []Step{Say(response)}}
	p, err := d.New(endpoint.Config{Name: "own", BaseURL: "http://endpoint.test", Transport: script})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := p.Complete(context.Background(), req, provider.Call{})
	if err != nil {
		t.Fatal(err)
	}
	var sent map[string]any
	if err := json.Unmarshal(script.Requests()[0].Body, &sent); err != nil {
		t.Fatal(err)
	}
	return answer, sent
}

// CheckSame compares two JSON values.
func CheckSame(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: got\n%s, want\n%s", what, show(got), show(want))
	}
}

// Status is a transport that answers with a status and a body.
func Status(status int, header http.Header, body string) *Script {
	return &Script{Status: status, Header: header, Steps: []Step{Say(body)}}
}
