package chat

import (
	"bytes"
	"encoding/json"
	"strings"

	"tillerman/core/provider"
	"tillerman/core/provider/endpoint"
	"tillerman/core/provider/stream"
)

// decoder makes an answer of one stream of chunks. The API has one text, one reasoning text and one list of calls to an
// answer, so each of these becomes one part (a call each), in the order in which they began.
type decoder struct {
	history []provider.Message
	delta   func(provider.PartKind, string)

	model    string
	size     endpoint.Size
	usage    tokens
	finish   string
	refusal  strings.Builder
	text     strings.Builder
	thinking strings.Builder
	calls    *calls
	order    []piece // as they began
}

// piece is what one part is made of: a call, or a text of a kind.
type piece struct {
	call *call
	kind provider.PartKind
	text *strings.Builder
}

func (p piece) part() provider.Part {
	if p.call != nil {
		return p.call.part()
	}
	return provider.Part{Kind: p.kind, Text: p.text.String()}
}

func newDecoder(history []provider.Message, delta func(provider.PartKind, string)) *decoder {
	return &decoder{history: history, delta: delta, calls: newCalls()}
}

// Event takes one event.
func (d *decoder) Event(ev stream.Event) (endpoint.Mark, error) {
	data := bytes.TrimSpace(ev.Data)
	switch {
	case len(data) == 0:
		return endpoint.Idle, nil
	case string(data) == "[DONE]":
		if d.finish == "" {
			return endpoint.Idle, &provider.Error{Kind: provider.Transport, Message: endpoint.EndedEarly}
		}
		return endpoint.Last, nil
	case ev.Name == "error":
		return endpoint.Idle, endpoint.ErrorEvent(data)
	}
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return endpoint.Idle, endpoint.Malformed("an event that cannot be read: %v", err)
	}
	if d.model == "" {
		d.model = c.Model
	}
	d.usage.take(c.usage())
	mark := endpoint.Idle
	if present(c.Error) || c.Object == "error" {
		return endpoint.Idle, endpoint.ErrorEvent(data)
	}
	for _, ch := range c.Choices {
		some, err := d.take(ch)
		if err != nil {
			return endpoint.Idle, err
		}
		if some {
			mark = endpoint.Content
		}
	}
	return mark, nil
}

// take adds one choice and says whether it held anything.
func (d *decoder) take(ch choice) (bool, error) {
	if ch.Index.N != 0 {
		return false, endpoint.Malformed("a second choice that was not asked for")
	}
	said := ch.Delta
	if said == nil {
		said = ch.Message
	}
	some := false
	if said != nil {
		var err error
		if some, err = d.add(said); err != nil {
			return false, err
		}
		if some && d.finish != "" {
			return false, endpoint.Malformed("the answer goes on after its finish reason")
		}
	}
	switch {
	case ch.FinishReason == "":
		return some, nil
	case d.finish != "" && d.finish != ch.FinishReason:
		return false, endpoint.Malformed("two finish reasons, %q and %q", d.finish, ch.FinishReason)
	}
	d.finish = ch.FinishReason
	return true, nil
}

// add takes what a delta says.
func (d *decoder) add(said *delta) (bool, error) {
	if err := d.size.Add(said.thinking(), said.Content.said, said.Refusal); err != nil {
		return false, err
	}
	thought := d.write(&d.thinking, provider.PartThinking, said.thinking())
	spoke := d.write(&d.text, provider.PartText, said.Content.said)
	d.refusal.WriteString(said.Refusal)
	for _, f := range said.ToolCalls {
		if err := d.size.Add(f.ID, f.Function.Name, string(f.Function.Arguments)); err != nil {
			return false, err
		}
		c, begins, err := d.calls.add(f)
		if err != nil {
			return false, err
		}
		if begins {
			d.order = append(d.order, piece{call: c})
		}
	}
	return thought || spoke || said.Refusal != "" || len(said.ToolCalls) > 0, nil
}

func (d *decoder) write(to *strings.Builder, kind provider.PartKind, s string) bool {
	if s == "" {
		return false
	}
	if to.Len() == 0 {
		d.order = append(d.order, piece{kind: kind, text: to})
	}
	to.WriteString(s)
	if d.delta != nil {
		d.delta(kind, s)
	}
	return true
}

// Whole is true once a finish reason came: some servers send no [DONE].
func (d *decoder) Whole() bool { return d.finish != "" }

// Reported is what the endpoint said of itself so far.
func (d *decoder) Reported() (string, *provider.Usage) { return d.model, d.usage.normal() }

// Answer reads the finished stream.
func (d *decoder) Answer() (provider.Answer, error) {
	if d.refusal.Len() > 0 {
		return provider.Answer{}, endpoint.Refused("refusal", d.refusal.String())
	}
	a := provider.Answer{Stop: provider.StopUnknown, Finish: d.finish, Model: d.model, Usage: d.usage.normal()}
	switch d.finish {
	case "stop", "end_turn", "stop_sequence":
		a.Stop = provider.StopEnd
	case "tool_calls", "tool_use", "function_call":
		a.Stop = provider.StopCalls
	case "length", "max_tokens":
		a.Stop = provider.StopLength
	case "content_filter", "refusal":
		return provider.Answer{}, endpoint.Refused(d.finish, "the answer was withheld")
	case "error":
		return provider.Answer{}, &provider.Error{Kind: provider.Server, Message: "the answer ended with an error"}
	}
	for _, p := range d.order {
		a.Parts = append(a.Parts, p.part())
	}
	return endpoint.Settle(a, d.history)
}
