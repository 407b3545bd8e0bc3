package policy

import (
	"errors"
	"net/netip"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// httpsPort and httpPort are the ports meant where an action names none (RFC 9110, section 4.2).
const (
	httpsPort = 443
	httpPort  = 80
)

var (
	errHost = flaw{"no host has such a name", "write a name, an address, *. and a domain, or *, without a scheme or path"}
	errPort = flaw{"a port is a number from 1 to 65535", "correct it, or leave it out for every port"}
)

// endpoint is a host in its one form: an address, or a name in ASCII and lower case without the final dot.
type endpoint struct {
	addr netip.Addr
	name string
	port int // 0 when none was given
}

// hostGlob is a compiled pattern of a net rule.
type hostGlob struct {
	text   string
	any    bool // every host
	suffix bool // the subdomains of name
	endpoint
}

// compileHost reads a pattern of a net rule.
func compileHost(text string) (hostGlob, error) {
	g := hostGlob{text: text}
	host := text
	if rest, ok := strings.CutSuffix(host, ":*"); ok {
		host = rest
	}
	if rest, ok := strings.CutPrefix(host, "*"); ok && (rest == "" || rest[0] == ':') {
		g.any = true
		if rest == "" {
			return g, nil
		}
		var err error
		g.port, err = parsePort(rest[1:])
		return g, err
	}
	if rest, ok := strings.CutPrefix(host, "*."); ok {
		g.suffix, host = true, rest
	}
	var err error
	if g.endpoint, err = parseEndpoint(host); err != nil {
		return g, err
	}
	if g.suffix && g.addr.IsValid() {
		return g, errHost
	}
	return g, nil
}

// fits reports whether the pattern fits an endpoint. An endpoint without a port is one of https; a rule that asks or
// denies holds for the one of http as well.
func (g hostGlob) fits(e endpoint, effect Effect) bool {
	if g.port != 0 && g.port != e.port {
		implied := g.port == httpsPort || g.port == httpPort && effect != Allow
		if e.port != 0 || !implied {
			return false
		}
	}
	switch {
	case g.any:
		return true
	case g.addr.IsValid() || e.addr.IsValid():
		return g.addr == e.addr
	case g.suffix:
		return strings.HasSuffix(e.name, "."+g.name)
	}
	return g.name == e.name
}

// parseEndpoint reads host or host:port. IPv6 addresses may stand in brackets and must where a port follows.
func parseEndpoint(text string) (endpoint, error) {
	var e endpoint
	host, port := text, ""
	switch {
	case strings.ContainsAny(text, "/@?#"), !utf8.ValidString(text): // the rest of a URL, or no text
		return e, errHost
	case strings.HasPrefix(text, "["):
		inner, rest, ok := strings.Cut(text[1:], "]")
		if !ok || rest != "" && rest[0] != ':' || !strings.Contains(inner, ":") {
			return e, errHost
		}
		host, port = inner, rest
	case strings.Count(text, ":") == 1:
		i := strings.IndexByte(text, ':')
		host, port = text[:i], text[i:]
	}
	if port != "" {
		var err error
		if e.port, err = parsePort(port[1:]); err != nil {
			return e, err
		}
	}
	if strings.Contains(host, ":") {
		addr, err := netip.ParseAddr(host)
		if err != nil {
			return e, errHost
		}
		e.addr = addr.WithZone("").Unmap()
		return e, nil
	}
	return e, e.setName(host)
}

// CanonicalHost brings host:port into the one form in which rules compare it: an address as addresses are written, a name
// in ASCII and lower case without a final dot. Whoever connects to that form connects to what was judged.
func CanonicalHost(hostPort string) (string, error) {
	e, err := parseEndpoint(hostPort)
	switch {
	case err != nil:
		return "", errors.New("no host and port are written like this")
	case e.port == 0:
		return "", errors.New("it has no port")
	case e.addr.IsValid():
		return netip.AddrPortFrom(e.addr, uint16(e.port)).String(), nil
	}
	return e.name + ":" + strconv.Itoa(e.port), nil
}

// setName folds a name (UTS 46, as browsers look names up) or reads an IPv4 address.
func (e *endpoint) setName(host string) error {
	profile := idna.New(idna.MapForLookup(), idna.BidiRule(), idna.StrictDomainName(false))
	name, err := profile.ToASCII(host)
	if err != nil {
		return errHost
	}
	name = strings.TrimSuffix(name, ".")
	if addr, err := netip.ParseAddr(name); err == nil && addr.Is4() {
		e.addr = addr
		return nil
	}
	// RFC 1035, section 2.3.4.
	if name == "" || len(name) > 253 {
		return errHost
	}
	labels := strings.Split(name, ".")
	for _, label := range labels {
		if label == "" || len(label) > 63 || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return errHost
		}
	}
	// A last label that is a number makes resolvers read the whole as an address, in forms that differ between them
	// (0x7f.1, 2130706433): such a host is none.
	if last := labels[len(labels)-1]; strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x") {
		return errHost
	}
	e.name = name
	return nil
}

func parsePort(text string) (int, error) {
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil || port == 0 {
		return 0, errPort
	}
	return int(port), nil
}

// net judges connecting to a host.
func (b *Boundary) net(host string) Verdict {
	e, err := parseEndpoint(host)
	if err != nil {
		return Verdict{Effect: Deny, Layer: HostLayer, Part: "no host and port are written like this"}
	}
	return b.decide(Net, func(r *rule) (string, string, bool) {
		for _, glob := range r.hosts {
			if glob.fits(e, r.effect) {
				return glob.text, "", true
			}
		}
		return "", "", false
	})
}
