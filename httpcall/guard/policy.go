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
				"private URLs: %q is not a CIDR; give deny, allow, or CIDRs such as 10.1.0.0/16,192.168.7.20/32,fd00:7::/64", fault.Clip(strings.TrimSpace(entry)))
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
		return &Blocked{Rule: "it is not an IP address"}
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
				return &Blocked{Rule: "it is not an IP address with a port"}
			}
			return policy.Check(parsed.Addr())
		},
	}
}

// addressClass is a named range of non-public addresses.
type addressClass struct {
	prefix netip.Prefix
	name   string
}

// closedIPv4 lists the non-public IPv4 addresses of the IANA registry (RFC 6890), and the metadata addresses of
// clouds. The first match names an address, so narrow ranges come first.
var closedIPv4 = []addressClass{
	{netip.MustParsePrefix("169.254.169.254/32"), "cloud metadata"},
	{netip.MustParsePrefix("168.63.129.16/32"), "cloud metadata"},   // Azure's, a public address
	{netip.MustParsePrefix("100.100.100.200/32"), "cloud metadata"}, // Alibaba's
	{netip.MustParsePrefix("192.0.0.192/32"), "cloud metadata"},     // Oracle's
	{netip.MustParsePrefix("0.0.0.0/32"), "unspecified"},
	{netip.MustParsePrefix("0.0.0.0/8"), "this network, RFC 791"},
	{netip.MustParsePrefix("10.0.0.0/8"), "private, RFC 1918"},
	{netip.MustParsePrefix("100.64.0.0/10"), "carrier-grade NAT, RFC 6598"},
	{netip.MustParsePrefix("127.0.0.0/8"), "loopback"},
	{netip.MustParsePrefix("169.254.0.0/16"), "link-local"},
	{netip.MustParsePrefix("172.16.0.0/12"), "private, RFC 1918"},
	{netip.MustParsePrefix("192.0.0.0/24"), "reserved for protocols, RFC 6890"},
	{netip.MustParsePrefix("192.0.2.0/24"), "documentation, RFC 5737"},
	{netip.MustParsePrefix("192.88.99.0/24"), "6to4 relays, RFC 7526"},
	{netip.MustParsePrefix("192.168.0.0/16"), "private, RFC 1918"},
	{netip.MustParsePrefix("198.18.0.0/15"), "benchmarks, RFC 2544"},
	{netip.MustParsePrefix("198.51.100.0/24"), "documentation, RFC 5737"},
	{netip.MustParsePrefix("203.0.113.0/24"), "documentation, RFC 5737"},
	{netip.MustParsePrefix("224.0.0.0/4"), "multicast"},
	{netip.MustParsePrefix("255.255.255.255/32"), "broadcast"},
	{netip.MustParsePrefix("240.0.0.0/4"), "reserved, RFC 1112"},
}

// closedIPv6 names IPv6 ranges; all others outside of publicIPv6 are closed as well.
var closedIPv6 = []addressClass{
	{netip.MustParsePrefix("::/128"), "unspecified"},
	{netip.MustParsePrefix("::1/128"), "loopback"},
	{netip.MustParsePrefix("64:ff9b:1::/48"), "local NAT64, RFC 8215"},
	{netip.MustParsePrefix("100::/64"), "discard-only, RFC 6666"},
	{netip.MustParsePrefix("2001::/23"), "reserved for protocols, RFC 2928"},
	{netip.MustParsePrefix("2001:db8::/32"), "documentation, RFC 3849"},
	{netip.MustParsePrefix("3fff::/20"), "documentation, RFC 9637"},
	{netip.MustParsePrefix("5f00::/16"), "segment routing, RFC 9602"},
	{netip.MustParsePrefix("fc00::/7"), "unique local, RFC 4193"},
	{netip.MustParsePrefix("fe80::/10"), "link-local"},
	{netip.MustParsePrefix("fec0::/10"), "site-local, RFC 3879"},
	{netip.MustParsePrefix("ff00::/8"), "multicast"},
}

// publicIPv6 is the assigned global unicast range (RFC 4291 2.4).
var publicIPv6 = netip.MustParsePrefix("2000::/3")

// unassigned is the class of all other IPv6 addresses.
var unassigned = addressClass{name: "not given out as public"}

// classOf returns the class that closes an address; nil for a public one.
func classOf(address netip.Addr) *addressClass {
	classes := closedIPv6
	if address.Is4() {
		classes = closedIPv4
	}
	for i := range classes {
		if classes[i].prefix.Contains(address) {
			return &classes[i]
		}
	}
	if address.Is6() && !publicIPv6.Contains(address) {
		return &unassigned
	}
	return nil
}

// embedding is an IPv6 address format with an embedded IPv4 address, which packets may reach.
type embedding struct {
	prefix netip.Prefix
	name   string
	inner  func(bytes [16]byte) []netip.Addr
}

var embeddings = []embedding{
	{netip.MustParsePrefix("::ffff:0:0/96"), "IPv4-mapped form", last4},
	{netip.MustParsePrefix("::ffff:0:0:0/96"), "IPv4-translated form", last4}, // RFC 2765
	{netip.MustParsePrefix("64:ff9b::/96"), "NAT64 form", last4},              // RFC 6052
	{netip.MustParsePrefix("2002::/16"), "6to4 form", func(b [16]byte) []netip.Addr { // RFC 3056
		return []netip.Addr{four(b[2:6])}
	}},
	// RFC 4380: the server's address, and the client's with inverted bits.
	{netip.MustParsePrefix("2001::/32"), "Teredo form", func(b [16]byte) []netip.Addr {
		client := [4]byte{^b[12], ^b[13], ^b[14], ^b[15]}
		return []netip.Addr{four(b[4:8]), netip.AddrFrom4(client)}
	}},
}

// compatible is the deprecated IPv4-compatible format (RFC 4291 2.5.5.1), which includes :: and ::1.
var compatible = netip.MustParsePrefix("::/96")

// embeddedIn returns the IPv4 addresses that an address embeds, and the name of its format.
func embeddedIn(address netip.Addr) ([]netip.Addr, string) {
	if !address.Is6() {
		return nil, ""
	}
	bytes := address.As16()
	for _, form := range embeddings {
		if form.prefix.Contains(address) {
			return form.inner(bytes), form.name
		}
	}
	if compatible.Contains(address) && bytes[12] != 0 {
		return last4(bytes), "IPv4-compatible form"
	}
	if bytes[8]&0xfd == 0 && bytes[9] == 0 && bytes[10] == 0x5e && bytes[11] == 0xfe {
		if classOf(address) == nil { // otherwise it is closed anyway
			return last4(bytes), "ISATAP form" // RFC 5214
		}
	}
	return nil, ""
}

func last4(b [16]byte) []netip.Addr { return []netip.Addr{four(b[12:16])} }

func four(b []byte) netip.Addr { return netip.AddrFrom4([4]byte(b)) }
