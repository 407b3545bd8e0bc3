package tool

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"time"

	"tillerman/core/policy"
)

// dialer connects to addresses that were judged. A name is looked up once, and what is dialled is an address out of that
// answer: a name server that answers otherwise the next time changes nothing.
type dialer struct {
	// lookup finds a name's addresses; nil asks the system.
	lookup func(ctx context.Context, name string) ([]netip.Addr, error)
}

// addressError says that an address is not dialled.
type addressError struct{ why string }

func (e *addressError) Error() string { return e.why }

// dial returns the function that connects to host, a name or address with a port that was judged before.
func (d dialer) dial(env Env, host string) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		name, port, err := net.SplitHostPort(host)
		if err != nil {
			return nil, err
		}
		addrs, err := d.find(ctx, name)
		if err != nil {
			return nil, err
		}
		var problem error
		for _, addr := range addrs {
			target := net.JoinHostPort(addr.String(), port)
			if err := env.reachable(host, name, addr, target); err != nil {
				problem = err
				continue
			}
			conn, err := (&net.Dialer{Timeout: 15 * time.Second}).DialContext(ctx, "tcp", target)
			if err == nil {
				return conn, nil
			}
			problem = err
		}
		if problem == nil {
			problem = errors.New("the host has no address")
		}
		return nil, problem
	}
}

// find lists the addresses of a name, or the one that it is.
func (d dialer) find(ctx context.Context, name string) ([]netip.Addr, error) {
	if addr, err := netip.ParseAddr(name); err == nil {
		return []netip.Addr{addr.Unmap()}, nil
	}
	lookup := d.lookup
	if lookup == nil {
		lookup = func(ctx context.Context, name string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", name)
		}
	}
	addrs, err := lookup(ctx, name)
	for i := range addrs {
		addrs[i] = addrs[i].Unmap().WithZone("")
	}
	return addrs, err
}

// reachable judges an address that a host was found at. A rule that stops the address holds, and an address that is not of
// the public internet is dialled only where a rule names it, or a person was shown it: it is where a name can be made to
// lead to what trusts whoever is near.
func (env Env) reachable(host, name string, addr netip.Addr, target string) error {
	literal := name == addr.String()
	v := env.may(policy.Action{Act: policy.Net, Host: target})
	named := v.Effect != policy.Deny && v.Rule != "" && !strings.HasPrefix(v.Rule, "*")
	switch {
	case v.Effect == policy.Deny && v.Layer != "":
		return &addressError{fmt.Sprintf("%s is at %s, which the policy denies (rule %q, layer %q)", name, addr, v.Rule, v.Layer)}
	case v.Effect == policy.Ask && v.Rule != "" && !literal:
		return &addressError{fmt.Sprintf("%s is at %s, and the policy asks before that address; call fetch with the address itself to be asked", name, addr)}
	case !special(addr) || named:
		return nil
	case literal && v.Effect == policy.Ask: // whoever approved the call saw the address
		return nil
	case addr.IsLoopback() && (name == "localhost" || strings.HasSuffix(name, ".localhost")):
		v := env.may(policy.Action{Act: policy.Net, Host: host})
		if v.Effect == policy.Ask || v.Effect == policy.Allow && v.Rule != "" && !strings.HasPrefix(v.Rule, "*") {
			return nil
		}
	}
	return &addressError{fmt.Sprintf("%s is at %s, an address that is not public; the policy has to name the address itself", name, addr)}
}

// specialRanges are blocks beside those that netip knows which lead to the own machine, its network or its host: IANA's
// special-purpose registries, and the addresses at which clouds serve credentials to their machines.
var specialRanges = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("198.51.100.0/24"),
	netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("240.0.0.0/4"), netip.MustParsePrefix("168.63.129.16/32"),
	netip.MustParsePrefix("64:ff9b::/96"), netip.MustParsePrefix("64:ff9b:1::/48"), netip.MustParsePrefix("100::/64"),
	netip.MustParsePrefix("2001::/23"), netip.MustParsePrefix("2001:db8::/32"), netip.MustParsePrefix("2002::/16"),
	netip.MustParsePrefix("fec0::/10"), netip.MustParsePrefix("::/96"),
}

// special reports whether an address is none of the public internet.
func special(addr netip.Addr) bool {
	if !addr.IsGlobalUnicast() || addr.IsPrivate() || addr.IsLoopback() || addr.IsLinkLocalUnicast() {
		return true
	}
	for _, block := range specialRanges {
		if block.Contains(addr) {
			return true
		}
	}
	return false
}

// webTrouble words a failed request for the model: nothing in it depends on time, and nothing is about this machine.
func webTrouble(err error, name string) string {
	var (
		refused *addressError
		dns     *net.DNSError
		timeout net.Error
	)
	switch {
	case errors.As(err, &refused):
		return refused.why
	case errors.As(err, &dns) && dns.IsNotFound:
		return "there is no host " + name
	case errors.As(err, &dns):
		return "the name of the host " + name + " could not be looked up"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return name + " did not answer in time"
	case errors.Is(err, syscall.ECONNREFUSED):
		return name + " refuses the connection"
	case errors.Is(err, syscall.ECONNRESET):
		return name + " broke the connection"
	}
	text, _ := escapeInvalid([]byte(err.Error()))
	return clip(text)
}
