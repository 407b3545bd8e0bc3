// Package endpoint is what model APIs over HTTP have in common: one POST whose answer is an event stream. It checks the
// configuration, sends, times, watches for silence, classes failures and keeps the key out of every text. What the
// events mean is the business of the packages that use it.
package endpoint

import (
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"tillerman/core/provider"
	"tillerman/core/provider/stream"
)

// Config is one endpoint as the operator sets it up.
type Config struct {
	// Name is what the operator calls the endpoint: "anthropic", "openai", "compatible".
	Name string
	// BaseURL is http or https with a host and a path at most.
	BaseURL string
	// Key is the API key; without one no key header is sent, as local servers want it.
	Key string
	// Limits are how long the stream may be silent.
	Limits stream.Limits
	// Transport carries the requests; nil means one of the endpoint's own, which keeps connections and uses the proxy
	// of the environment (HTTPS_PROXY, HTTP_PROXY, NO_PROXY).
	Transport http.RoundTripper
	// Clock measures and times out; nil means the system's.
	Clock stream.Clock
	// MaxEvent is the most bytes of one event; below 1 means stream.MaxEvent.
	MaxEvent int64
}

// CheckBase says what is wrong with a base URL of a provider, nil for nothing. Like New's, its errors never hold any of it.
func CheckBase(provider, base string) error {
	_, err := parseBase(Config{Name: provider, BaseURL: base})
	return err
}

// parseBase checks the base URL and takes trailing slashes off. Its errors never hold any of the text: a key pasted
// into the wrong place is a secret too.
func parseBase(c Config) (*url.URL, error) {
	wrong := func(problem string) (*url.URL, error) {
		return nil, &provider.ConfigError{Provider: c.Name, Setting: "base URL", Problem: problem}
	}
	text := strings.TrimSpace(c.BaseURL)
	if text == "" {
		return wrong("is missing")
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return wrong("cannot be read as a URL")
	case u.Scheme != "http" && u.Scheme != "https":
		return wrong("must begin with http:// or https://")
	case u.Hostname() == "":
		return wrong("names no host")
	case u.User != nil:
		return wrong("must not hold a user name or password; set the key instead")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.HasSuffix(text, "#"):
		return wrong("must not hold a query or a fragment")
	}
	if port := u.Port(); port != "" || strings.HasSuffix(u.Host, ":") {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return wrong("names a port that does not exist")
		}
	}
	for _, b := range []byte(u.Hostname()) {
		if b <= ' ' || b > '~' {
			return wrong("names a host with characters beyond ASCII; write it in its xn-- form")
		}
	}
	u.Path = strings.TrimRight(u.Path, "/")
	u.RawPath = strings.TrimRight(u.RawPath, "/")
	return u, nil
}

// checkKey refuses what could not be sent in a header.
func checkKey(c Config) error {
	for _, b := range []byte(c.Key) {
		if b < ' ' || b > '~' {
			return &provider.ConfigError{
				Provider: c.Name, Setting: "key", Problem: "holds a line break or another character that no key has",
			}
		}
	}
	return nil
}

// address is the host:port that u dials.
func address(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}[u.Scheme]
	}
	return net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}
