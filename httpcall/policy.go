package httpcall

import (
	"fmt"
	"net/netip"
	"strings"
)

// Policy says which addresses calls may reach although they are not public. The zero
// value is deny.
type Policy struct {
	allow bool
	open  []netip.Prefix
}

// The policies that are words.
const (
	policyDeny  = "deny"
	policyAllow = "allow"
)

// ParsePolicy reads the value of EARSHOT_PRIVATE_URLS: deny, allow, or a comma-separated
// list of CIDRs. Nothing at all is deny. A CIDR opens IPv6 addresses that carry one of
// its IPv4 addresses as well.
func ParsePolicy(text string) (Policy, error) {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "", policyDeny:
		return Policy{}, nil
	case policyAllow:
		return Policy{allow: true}, nil
	}
	var policy Policy
	for entry := range strings.SplitSeq(text, ",") {
		prefix, err := netip.ParsePrefix(strings.TrimSpace(entry))
		if err != nil {
			return Policy{}, fmt.Errorf(
				"private URLs: %q is no CIDR; give deny, allow, or CIDRs such as 10.1.0.0/16,192.168.7.20/32,fd00:7::/64", clip(strings.TrimSpace(entry)))
		}
		policy.open = append(policy.open, prefix.Masked())
	}
	return policy, nil
}

// String returns what ParsePolicy reads.
func (p Policy) String() string {
	switch {
	case p.allow:
		return policyAllow
	case len(p.open) == 0:
		return policyDeny
	}
	texts := make([]string, len(p.open))
	for i, prefix := range p.open {
		texts[i] = prefix.String()
	}
	return strings.Join(texts, ",")
}

// Check returns a *Blocked where calls must not reach the address. An IPv6 address
// that carries an IPv4 address is as closed as the one that it carries.
func (p Policy) Check(address netip.Addr) error {
	if !address.IsValid() {
		return &Blocked{Rule: "it is no IP address"}
	}
	address = address.WithZone("")
	if p.allow || p.opens(address) {
		return nil
	}
	if carried, form := carriedBy(address); len(carried) > 0 {
		for _, inner := range carried {
			if class := ruleOf(inner); class != nil && !p.opens(inner) {
				return &Blocked{Address: address, Rule: form + " of " + inner.String() + ", " + class.name, open: inner}
			}
		}
		return nil
	}
	if class := ruleOf(address); class != nil {
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

// Blocked means that calls must not reach an address. It is the error of a connection
// that was not opened.
type Blocked struct {
	Address netip.Addr
	Rule    string // the class of addresses that it is in
	open    netip.Addr
}

// Toward says why a host is not called, for those who do not run the service: what a name
// leads to is not theirs to know. A host that was given as an address is named in full.
func (b *Blocked) Toward(host string) string {
	if _, err := netip.ParseAddr(host); err == nil {
		return b.Error()
	}
	return "calls must not reach " + host + ", which does not lead to a public address; an operator, whose log has the address, can open it with EARSHOT_PRIVATE_URLS=ADDRESS/BITS"
}

// Error names the address, the rule and what the operator can do.
func (b *Blocked) Error() string {
	if !b.open.IsValid() {
		return "calls must not reach what cannot be checked: " + b.Rule
	}
	return fmt.Sprintf("calls must not reach %s (%s); an operator can open it with EARSHOT_PRIVATE_URLS=%s",
		b.Address, b.Rule, netip.PrefixFrom(b.open, b.open.BitLen()))
}

// rule is a class of addresses that are not for the public.
type rule struct {
	prefix netip.Prefix
	name   string
}

// closed4 are the IPv4 addresses that are no public unicast, after the IANA registry
// of special-purpose addresses (RFC 6890), and those at which clouds serve metadata.
// The first that contains an address names it, so the narrow stand first.
var closed4 = []rule{
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

// closed6 are the IPv6 addresses that are named; all others outside of public6 are
// closed as well.
var closed6 = []rule{
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

// public6 is all that has been given out as global unicast (RFC 4291 2.4).
var public6 = netip.MustParsePrefix("2000::/3")

// unassigned is the rule of an IPv6 address that no other rule names.
var unassigned = rule{name: "not given out as public"}

// ruleOf returns the rule that closes an address, or nil for a public one.
func ruleOf(address netip.Addr) *rule {
	rules := closed6
	if address.Is4() {
		rules = closed4
	}
	for i := range rules {
		if rules[i].prefix.Contains(address) {
			return &rules[i]
		}
	}
	if address.Is6() && !public6.Contains(address) {
		return &unassigned
	}
	return nil
}

// carrier is a form of IPv6 address that holds an IPv4 address: a packet to it may
// come out at the inner one.
type carrier struct {
	prefix netip.Prefix
	name   string
	inner  func(bytes [16]byte) []netip.Addr
}

var carriers = []carrier{
	{netip.MustParsePrefix("::ffff:0:0/96"), "IPv4-mapped form", last4},
	{netip.MustParsePrefix("::ffff:0:0:0/96"), "IPv4-translated form", last4}, // RFC 2765
	{netip.MustParsePrefix("64:ff9b::/96"), "NAT64 form", last4},              // RFC 6052
	{netip.MustParsePrefix("2002::/16"), "6to4 form", func(b [16]byte) []netip.Addr { // RFC 3056
		return []netip.Addr{four(b[2:6])}
	}},
	// RFC 4380: the server in the clear, the client with all bits turned over.
	{netip.MustParsePrefix("2001::/32"), "Teredo form", func(b [16]byte) []netip.Addr {
		client := [4]byte{^b[12], ^b[13], ^b[14], ^b[15]}
		return []netip.Addr{four(b[4:8]), netip.AddrFrom4(client)}
	}},
}

// compatible is the deprecated IPv4-compatible form (RFC 4291 2.5.5.1), in which ::
// and ::1 lie as well.
var compatible = netip.MustParsePrefix("::/96")

// carriedBy returns the IPv4 addresses that an address carries, and the name of the
// form that it has; none where it carries none.
func carriedBy(address netip.Addr) ([]netip.Addr, string) {
	if !address.Is6() {
		return nil, ""
	}
	bytes := address.As16()
	for _, form := range carriers {
		if form.prefix.Contains(address) {
			return form.inner(bytes), form.name
		}
	}
	if compatible.Contains(address) && bytes[12] != 0 {
		return last4(bytes), "IPv4-compatible form"
	}
	if bytes[8]&0xfd == 0 && bytes[9] == 0 && bytes[10] == 0x5e && bytes[11] == 0xfe {
		if ruleOf(address) == nil { // else the address is closed already, whatever it carries
			return last4(bytes), "ISATAP form" // RFC 5214
		}
	}
	return nil, ""
}

func last4(b [16]byte) []netip.Addr { return []netip.Addr{four(b[12:16])} }

func four(b []byte) netip.Addr { return netip.AddrFrom4([4]byte(b)) }
