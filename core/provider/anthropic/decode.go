package anthropic

import (
	"encoding/json"

	"tillerman/core/provider"
	"tillerman/core/provider/endpoint"
	"tillerman/core/provider/stream"
)

// decoder makes an answer of one stream of events.
type decoder struct {
	history []provider.Message
	delta   func(provider.PartKind, string)

	model  string
	size   endpoint.Size
	blocks []*content
	byN    map[int]*content
	stop   string
	reason string // what the API says about a refusal
	tokens tokens
}

// event is any event's data.
type event struct {
	Type    string         `json:"type"`
	Index   endpoint.Index `json:"index"`
	Message struct {
		Model string          `json:"model"`
		Usage json.RawMessage `json:"usage"`
	} `json:"message"`
	ContentBlock start           `json:"content_block"`
	Delta        delta           `json:"delta"`
	Usage        json.RawMessage `json:"usage"`
}

type delta struct {
	Type        string `json:"type"`
	Text        string `json:"text"`
	Thinking    string `json:"thinking"`
	Signature   string `json:"signature"`
	PartialJSON string `json:"partial_json"`
	StopReason  string `json:"stop_reason"`

	StopDetails json.RawMessage `json:"stop_details"`
}

// Event takes one event. The type in the data counts; types that are not known are passed over, as the API's
// versioning policy asks.
func (d *decoder) Event(ev stream.Event) (endpoint.Mark, error) {
	var e event
	if err := json.Unmarshal(ev.Data, &e); err != nil {
		return endpoint.Idle, endpoint.Malformed("an event that cannot be read: %v", err)
	}
	c, more := e.ContentBlock, e.Delta
	if err := d.size.Add(c.Text, c.Thinking, c.Signature, c.Data, c.ID, c.Name, string(c.Input), more.Text, more.Thinking, more.Signature, more.PartialJSON); err != nil {
		return endpoint.Idle, err
	}
	if ev.Name == "error" {
		e.Type = "error"
	}
	switch e.Type {
	case "message_start":
		if e.Message.Model != "" {
			d.model = e.Message.Model
		}
		d.tokens.take(e.Message.Usage)
	case "content_block_start":
		return d.begin(e)
	case "content_block_delta":
		return d.extend(e)
	case "content_block_stop":
		return endpoint.Idle, d.close(e)
	case "message_delta":
		d.tokens.take(e.Usage)
		if e.Delta.StopReason != "" {
			d.stop, d.reason = e.Delta.StopReason, explanation(e.Delta.StopDetails)
		}
		return endpoint.Content, nil
	case "message_stop":
		return endpoint.Last, nil
	case "error":
		return endpoint.Idle, endpoint.ErrorEvent(ev.Data)
	}
	return endpoint.Idle, nil
}

// Whole is false: only message_stop completes an answer.
func (d *decoder) Whole() bool { return false }

// Reported is what the endpoint said of itself so far.
func (d *decoder) Reported() (string, *provider.Usage) { return d.model, d.tokens.usage() }

// Answer reads the finished stream.
func (d *decoder) Answer() (provider.Answer, error) {
	a := provider.Answer{Stop: provider.StopUnknown, Finish: d.stop, Model: d.model, Usage: d.tokens.usage()}
	switch d.stop {
	case "end_turn", "stop_sequence":
		a.Stop = provider.StopEnd
	case "tool_use":
		a.Stop = provider.StopCalls
	case "max_tokens", "model_context_window_exceeded":
		a.Stop = provider.StopLength
	case "refusal":
		return provider.Answer{}, endpoint.Refused(d.stop, d.reason)
	case "":
		return provider.Answer{}, endpoint.Malformed("the answer ends without a stop reason")
	}
	for _, c := range d.blocks {
		if part, ok := c.part(); ok {
			a.Parts = append(a.Parts, part)
		}
	}
	return endpoint.Settle(a, d.history)
}

// explanation is what stop_details says about a refusal, if it says anything that can be read.
func explanation(raw json.RawMessage) string {
	var details struct {
		Explanation string `json:"explanation"`
	}
	_ = json.Unmarshal(raw, &details)
	return details.Explanation
}
