package anthropic

import (
	"encoding/json"

	"tillerman/core/provider"
	"tillerman/core/provider/endpoint"
)

// tokens are the counts as last reported. message_start carries the first, message_delta later ones; they are
// cumulative, so a later count replaces an earlier one.
type tokens struct {
	Input      endpoint.Count `json:"input_tokens"`
	Output     endpoint.Count `json:"output_tokens"`
	CacheRead  endpoint.Count `json:"cache_read_input_tokens"`
	CacheWrite endpoint.Count `json:"cache_creation_input_tokens"`
}

// take reads a usage object over what was there. One that cannot be read is one that was not reported.
func (t *tokens) take(raw json.RawMessage) {
	next := *t
	if json.Unmarshal(raw, &next) == nil {
		*t = next
	}
}

// usage is nil when nothing was reported, or only zeros: no call takes no tokens. The API counts input without what the
// cache gave or took, and thinking as output.
func (t tokens) usage() *provider.Usage {
	if t.Input.N+t.Output.N+t.CacheRead.N+t.CacheWrite.N == 0 {
		return nil
	}
	return &provider.Usage{
		Input:      t.Input.N,
		Output:     t.Output.N,
		CacheRead:  t.CacheRead.Reported(),
		CacheWrite: t.CacheWrite.Reported(),
	}
}
