package guard

import "net/netip"

// addressClass is a range of addresses that are not public, with the name of its use.
type addressClass struct {
	prefix netip.Prefix
	name   string
}

// closedIPv4 are the IPv4 addresses that are no public unicast, after the IANA registry
// of special-purpose addresses (RFC 6890), and those at which clouds serve metadata.
// The first that contains an address names it, so the narrow stand first.
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

// closedIPv6 are the IPv6 addresses that are named; all others outside of publicIPv6 are
// closed as well.
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

// publicIPv6 is all that has been given out as global unicast (RFC 4291 2.4).
var publicIPv6 = netip.MustParsePrefix("2000::/3")

// unassigned is the class of an IPv6 address that no other names.
var unassigned = addressClass{name: "not given out as public"}

// classOf returns the class that closes an address, or nil for a public one.
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

// embedding is a form of IPv6 address that embeds an IPv4 address: a packet to it may
// come out at the inner one.
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
	// RFC 4380: the server in the clear, the client with all bits turned over.
	{netip.MustParsePrefix("2001::/32"), "Teredo form", func(b [16]byte) []netip.Addr {
		client := [4]byte{^b[12], ^b[13], ^b[14], ^b[15]}
		return []netip.Addr{four(b[4:8]), netip.AddrFrom4(client)}
	}},
}

// compatible is the deprecated IPv4-compatible form (RFC 4291 2.5.5.1), in which ::
// and ::1 lie as well.
var compatible = netip.MustParsePrefix("::/96")

// embeddedIn returns the IPv4 addresses that an address embeds, and the name of the
// form that it has, if any.
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
		if classOf(address) == nil { // else the address is closed already, whatever it embeds
			return last4(bytes), "ISATAP form" // RFC 5214
		}
	}
	return nil, ""
}

func last4(b [16]byte) []netip.Addr { return []netip.Addr{four(b[12:16])} }

func four(b []byte) netip.Addr { return netip.AddrFrom4([4]byte(b)) }
