package endpoint

import (
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"tillerman/core/provider/stream"
)

// Endpoint is one checked endpoint. It is safe for concurrent use.
type Endpoint struct {
	name   string
	base   *url.URL
	proxy  *url.URL
	client *http.Client
	secret *strings.Replacer
	clock  stream.Clock
	limits stream.Limits
	max    int64
	served atomic.Bool // the last call was answered
}

// New checks the configuration; what is wrong with it is a *provider.ConfigError. It opens no connection.
func New(c Config) (*Endpoint, error) {
	base, err := parseBase(c)
	if err != nil {
		return nil, err
	}
	if err := checkKey(c); err != nil {
		return nil, err
	}
	e := &Endpoint{name: c.Name, base: base, secret: conceal(c.Key), clock: c.Clock, limits: c.Limits, max: c.MaxEvent}
	if e.clock == nil {
		e.clock = stream.RealClock{}
	}
	transport := c.Transport
	if transport == nil {
		transport = newTransport()
		if u, err := http.ProxyFromEnvironment(&http.Request{URL: base}); err == nil {
			e.proxy = u
		}
	}
	// No cookie jar, and no redirect: a key goes to the host it was meant for and to no other.
	e.client = &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return e, nil
}

func newTransport() *http.Transport {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:    15 * time.Second,
		ForceAttemptHTTP2:      true,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: 30 * time.Second},
		MaxIdleConns:           16,
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: 1 << 20,
		// A compressed stream would be held back by the compressor.
		DisableCompression: true,
	}
}

// Name is what the operator calls the endpoint.
func (e *Endpoint) Name() string { return e.name }

// PathEnds says whether the base URL's path ends in suffix, trailing slashes not counted.
func (e *Endpoint) PathEnds(suffix string) bool { return strings.HasSuffix(e.base.Path, suffix) }

// Endpoints is the host:port of the base URL and, when the environment sets one for it, that of the proxy.
func (e *Endpoint) Endpoints() []string {
	list := []string{address(e.base)}
	if e.proxy != nil {
		list = append(list, address(e.proxy))
	}
	return list
}

// LastServed is the endpoint's name when the last call was answered, else "".
func (e *Endpoint) LastServed() string {
	if e.served.Load() {
		return e.name
	}
	return ""
}

// AcceptsImages is false: there are no image parts.
func (e *Endpoint) AcceptsImages() bool { return false }

// Close drops the connections that are kept for the next call. The endpoint stays usable.
func (e *Endpoint) Close() { e.client.CloseIdleConnections() }
