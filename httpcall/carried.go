package httpcall

import "net/netip"

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
	for _, carrier := range carriers {
		if carrier.prefix.Contains(address) {
			return carrier.inner(bytes), carrier.name
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
