// Package guard keeps connections to hosts and URLs given by users away from non-public addresses, unless the
// operator's Policy allows them. All outgoing connections, such as calls, token requests and databases, use its
// Transport or Dial.
package guard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"syscall"
	"time"

	"earshot/repositories/fault"
	"earshot/repositories/lists"
	"earshot/repositories/neterr"
)

// Policy is the operator's allowlist of non-public addresses. The zero value denies all.
type Policy struct {
	allow bool
	open  []netip.Prefix
}

// ParsePolicy reads EARSHOT_PRIVATE_URLS: deny (the default), allow, or comma-separated CIDRs. An IPv4 CIDR
// also allows IPv6 addresses that embed its addresses.
func ParsePolicy(text string) (Policy, error) {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "", "deny":
		return Policy{}, nil
	case "allow":
		return Policy{allow: true}, nil
	}
	var policy Policy
	for entry := range strings.SplitSeq(text, ",") {
		prefix, err := netip.ParsePrefix(strings.TrimSpace(entry))
		if err != nil {
			return Policy{}, fmt.Errorf(
				"private URLs: %q is no CIDR; give deny, allow, or CIDRs such as 10.1.0.0/16,192.168.7.20/32,fd00:7::/64", fault.Clip(strings.TrimSpace(entry)))
		}
		policy.open = append(policy.open, prefix.Masked())
	}
	return policy, nil
}

// String returns a text for ParsePolicy.
func (p Policy) String() string {
	switch {
	case p.allow:
		return "allow"
	case len(p.open) == 0:
		return "deny"
	}
	return strings.Join(lists.Map(p.open, netip.Prefix.String), ",")
}

// Check returns a *Blocked if an address must not be reached. An IPv6 address with an embedded IPv4 address is
// treated like that address.
func (p Policy) Check(address netip.Addr) error {
	if !address.IsValid() {
		return &Blocked{Rule: "it is no IP address"}
	}
	address = address.WithZone("")
	if p.allow || p.opens(address) {
		return nil
	}
	if embedded, form := embeddedIn(address); len(embedded) > 0 {
		for _, inner := range embedded {
			if class := classOf(inner); class != nil && !p.opens(inner) {
				return &Blocked{Address: address, Rule: form + " of " + inner.String() + ", " + class.name, open: inner}
			}
		}
		return nil
	}
	if class := classOf(address); class != nil {
		return &Blocked{Address: address, Rule: class.name, open: address}
	}
	return nil
}

func (p Policy) opens(address netip.Addr) bool {
	for _, prefix := range p.open {
		if prefix.Contains(address.Unmap()) || prefix.Contains(address) {
			return true
		}
	}
	return false
}

// Blocked is the error of a refused connection.
type Blocked struct {
	Address netip.Addr
	Rule    string // the class of the address
	open    netip.Addr
}

// Toward returns the reason for tenants, who must not learn what a name resolves to. It contains the address
// only if the host was given as one.
func (b *Blocked) Toward(host string) string {
	if _, err := netip.ParseAddr(host); err == nil {
		return b.Error()
	}
	return "calls must not reach " + host + ", which does not lead to a public address; an operator, whose log has the address, can open it with EARSHOT_PRIVATE_URLS=ADDRESS/BITS"
}

// Error names the address, the rule and the operator's remedy.
func (b *Blocked) Error() string {
	if !b.open.IsValid() {
		return "calls must not reach what cannot be checked: " + b.Rule
	}
	return fmt.Sprintf("calls must not reach %s (%s); an operator can open it with EARSHOT_PRIVATE_URLS=%s",
		b.Address, b.Rule, netip.PrefixFrom(b.open, b.open.BitLen()))
}

// Transport returns a transport that connects only to allowed addresses. A nil resolver means the system's. It
// uses no proxy, which would connect in our place. Callers must disable redirects.
func Transport(policy Policy, resolver *net.Resolver) *http.Transport {
	return &http.Transport{
		Proxy:                  nil,
		DialContext:            dialer(policy, resolver).DialContext,
		ForceAttemptHTTP2:      true,
		TLSHandshakeTimeout:    10 * time.Second,
		MaxIdleConns:           256,
		MaxIdleConnsPerHost:    8, // the most calls of one app
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: 256 << 10,
	}
}

// Dial opens TCP connections under the policy for protocols other than HTTP. Its error wraps a *Blocked if the
// policy refuses.
func Dial(policy Policy) func(ctx context.Context, network, address string) (net.Conn, error) {
	return dialer(policy, nil).DialContext
}

// Reach returns a function that checks whether a host accepts connections at a port. Its error suits tenants:
// it contains no address except a given one.
func Reach(policy Policy) func(ctx context.Context, host, port string) error {
	dial := Dial(policy)
	return func(ctx context.Context, host, port string) error {
		connection, err := dial(ctx, "tcp", net.JoinHostPort(host, port))
		var closed *Blocked
		switch {
		case err == nil:
			return connection.Close()
		case errors.As(err, &closed):
			return errors.New(closed.Toward(host))
		}
		return errors.New(cmp.Or(neterr.Reason(err), "the connection failed"))
	}
}

// dialer checks each address after its name is resolved and before it connects, which defeats DNS rebinding. It
// refuses unreadable addresses.
func dialer(policy Policy, resolver *net.Resolver) *net.Dialer {
	return &net.Dialer{
		Timeout:   10 * time.Second,
		KeepAlive: 30 * time.Second,
		Resolver:  resolver,
		ControlContext: func(_ context.Context, network, address string, _ syscall.RawConn) error {
			if !strings.HasPrefix(network, "tcp") {
				return &Blocked{Rule: "network " + network + " is not TCP"}
			}
			parsed, err := netip.ParseAddrPort(address)
			if err != nil {
				return &Blocked{Rule: "it is no IP address with a port"}
			}
			return policy.Check(parsed.Addr())
		},
	}
}
