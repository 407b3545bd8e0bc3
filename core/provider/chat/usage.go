package chat

import (
	"encoding/json"

	"tillerman/core/provider"
	"tillerman/core/provider/endpoint"
)

// tokens are the counts as last reported, in the API's own convention.
type tokens struct {
	Prompt     endpoint.Count `json:"prompt_tokens"`
	Completion endpoint.Count `json:"completion_tokens"`
	Total      endpoint.Count `json:"total_tokens"`
	CacheHit   endpoint.Count `json:"prompt_cache_hit_tokens"` // DeepSeek

	PromptDetails struct {
		Cached     endpoint.Count `json:"cached_tokens"`
		CacheWrite endpoint.Count `json:"cache_write_tokens"` // OpenRouter
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		Reasoning endpoint.Count `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// take reads a usage object in place of an earlier one. One that cannot be read is one that was not reported.
func (t *tokens) take(raw json.RawMessage) {
	var next tokens
	if present(raw) && json.Unmarshal(raw, &next) == nil {
		*t = next
	}
}

// normal is the usage in our convention; nil when nothing was reported, or only zeros: no call takes no tokens.
//
// prompt_tokens includes what was read from a cache and, with servers that tell, what was written to one.
// completion_tokens includes reasoning, save with servers whose total, or whose larger reasoning count, shows that they
// count it beside.
func (t tokens) normal() *provider.Usage {
	if t.Prompt.N+t.Completion.N+t.Total.N == 0 {
		return nil
	}
	cached, written := t.PromptDetails.Cached, t.PromptDetails.CacheWrite
	if !cached.Set {
		cached = t.CacheHit
	}
	inside := cached.N
	if inside+written.N <= t.Prompt.N {
		inside += written.N
	}
	reasoning := t.CompletionDetails.Reasoning
	output := t.Completion.N
	if reasoning.N > output || (reasoning.N > 0 && t.Total.N == t.Prompt.N+t.Completion.N+reasoning.N) {
		output += reasoning.N
	}
	return &provider.Usage{
		Input:      max(t.Prompt.N-inside, 0),
		Output:     output,
		CacheRead:  cached.Reported(),
		CacheWrite: written.Reported(),
		Reasoning:  reasoning.Reported(),
	}
}
