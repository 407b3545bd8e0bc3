// Package chat speaks the OpenAI chat completions API, streamed, as OpenAI, OpenRouter, Groq, llama.cpp, vLLM, Ollama
// and others offer it. Where they differ it takes what can be understood in one way only.
package chat

import (
	"context"
	"net/http"

	"tillerman/core/provider"
	"tillerman/core/provider/endpoint"
)

// The addresses of vendors whose provider has a name of its own.
const (
	OpenAIBase     = "https://api.openai.com/v1"
	OpenRouterBase = "https://openrouter.ai/api/v1"
)

// LimitField is the name under which a server takes the output limit.
type LimitField string

// The two names. OpenAI's reasoning models refuse max_tokens; most other servers know nothing else.
const (
	MaxTokens           LimitField = "max_tokens"
	MaxCompletionTokens LimitField = "max_completion_tokens"
)

// Config is an endpoint and how it wants to be asked. The base URL ends where "/chat/completions" follows, for most
// servers in /v1.
type Config struct {
	endpoint.Config
	// Limit is the field of the output limit; empty means max_completion_tokens for the provider named "openai" and
	// max_tokens for every other.
	Limit LimitField
}

// Client asks one endpoint. It is safe for concurrent use.
type Client struct {
	*endpoint.Endpoint
	header http.Header
	limit  LimitField
}

var _ provider.Provider = (*Client)(nil)

// New checks the configuration; what is wrong with it is a *provider.ConfigError.
func New(c Config) (*Client, error) {
	switch {
	case c.Limit == "" && c.Name == "openai":
		c.Limit = MaxCompletionTokens
	case c.Limit == "":
		c.Limit = MaxTokens
	case c.Limit != MaxTokens && c.Limit != MaxCompletionTokens:
		return nil, &provider.ConfigError{Provider: c.Name, Setting: "limit field", Problem: "is not one that the API has"}
	}
	e, err := endpoint.New(c.Config)
	if err != nil {
		return nil, err
	}
	header := http.Header{}
	if c.Key != "" {
		header.Set("Authorization", "Bearer "+c.Key)
	}
	return &Client{Endpoint: e, header: header, limit: c.Limit}, nil
}

// Complete asks for one answer, as provider.Provider says.
func (c *Client) Complete(ctx context.Context, req provider.Request, call provider.Call) (provider.Answer, error) {
	body, err := encode(req, c.limit)
	if err != nil {
		return provider.Answer{}, &provider.Error{
			Kind: provider.BadRequest, Provider: c.Name(), Message: err.Error(), Err: err,
		}
	}
	return c.Ask(ctx, "/chat/completions", c.header, body, newDecoder(req.Messages, call.Delta))
}
