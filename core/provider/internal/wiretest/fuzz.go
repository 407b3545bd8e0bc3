package wiretest

import (
	"context"
	"encoding/json"
	"testing"

	"tillerman/core/provider"
	"tillerman/core/provider/endpoint"
)

// CheckStream has any bytes read as an answer: what comes of it is a typed error or an answer that keeps its promises
// and can be sent back.
func CheckStream(t *testing.T, d Dialect, response []byte) {
	t.Helper()
	script := &Script{Steps: []Step{Say(string(response))}}
	p, err := d.New(endpoint.Config{Name: "own", BaseURL: "http://endpoint.test", Transport: script, MaxEvent: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := p.Complete(context.Background(), provider.Request{}, provider.Call{})
	if err != nil {
		if _, ok := provider.As(err); !ok {
			t.Fatalf("an error without a kind: %v", err)
		}
		return
	}
	said := provider.Message{Role: provider.RoleAssistant, Parts: answer.Parts}
	results := provider.Message{Role: provider.RoleTool}
	ids := map[string]bool{}
	for _, c := range answer.Calls() {
		if c.Name == "" || c.ID == "" || ids[c.ID] {
			t.Fatalf("call %+v", c)
		}
		ids[c.ID] = true
		results.Parts = append(results.Parts, provider.Part{Kind: provider.PartResult, ID: c.ID, Text: "ok"})
	}
	u := answer.Usage
	if u != nil && (u.Input < 0 || u.Output < 0 || u.Total() < 0) {
		t.Fatalf("usage %+v", u)
	}
	switch {
	case answer.Finish == "", answer.Stop == provider.StopCalls && len(ids) == 0, answer.Stop == provider.StopEnd && len(ids) > 0:
		t.Fatalf("answer %+v", answer)
	}
	req := provider.Request{Messages: []provider.Message{provider.Say(provider.RoleUser, "go"), said, results}}
	if _, err := p.Complete(context.Background(), req, provider.Call{}); err != nil {
		t.Fatalf("the same bytes again: %v", err)
	}
	if sent := script.Requests(); !json.Valid(sent[len(sent)-1].Body) {
		t.Fatalf("sent back as %s", sent[len(sent)-1].Body)
	}
}
