// Package anthropic speaks Anthropic's Messages API, streamed.
package anthropic

import (
	"context"
	"net/http"

	"tillerman/core/provider"
	"tillerman/core/provider/endpoint"
)

const (
	// DefaultBase is the vendor's own address.
	DefaultBase = "https://api.anthropic.com"
	// version is the API version that requests and events here follow.
	version = "2023-06-01"
)

// Client asks one endpoint. It is safe for concurrent use.
type Client struct {
	*endpoint.Endpoint
	path   string
	header http.Header
}

var _ provider.Provider = (*Client)(nil)

// New checks the configuration; what is wrong with it is a *provider.ConfigError. The base URL may or may not end in
// /v1.
func New(c endpoint.Config) (*Client, error) {
	e, err := endpoint.New(c)
	if err != nil {
		return nil, err
	}
	header := http.Header{"Anthropic-Version": {version}}
	if c.Key != "" {
		header.Set("X-Api-Key", c.Key)
	}
	path := "/v1/messages"
	if e.PathEnds("/v1") {
		path = "/messages"
	}
	return &Client{Endpoint: e, path: path, header: header}, nil
}

// Complete asks for one answer, as provider.Provider says.
func (c *Client) Complete(ctx context.Context, req provider.Request, call provider.Call) (provider.Answer, error) {
	body, err := encode(req)
	if err != nil {
		return provider.Answer{}, &provider.Error{
			Kind: provider.BadRequest, Provider: c.Name(), Message: err.Error(), Err: err,
		}
	}
	return c.Ask(ctx, c.path, c.header, body, &decoder{history: req.Messages, delta: call.Delta})
}
