package httpcall

import "net/netip"

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
