// Package guard keeps the connections that users have made, by the URLs and hosts they give,
// away from addresses that are not public. The operator's Policy opens some. Calls, token
// requests, databases and whatever else leads out open their connections with its Transport
// or Dial.
package guard

import (
	"fmt"
	"net/netip"
	"strings"

	"earshot/repositories/fault"
)

// Policy is the operator's allowlist of addresses that may be reached although they are
// not public. The zero value is deny.
type Policy struct {
	allow bool
	open  []netip.Prefix
}

// ParsePolicy reads the value of EARSHOT_PRIVATE_URLS: deny, allow, or a comma-separated
// list of CIDRs. Nothing at all is deny. A CIDR opens IPv6 addresses that embed one of
// its IPv4 addresses as well.
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

// String returns what ParsePolicy reads.
func (p Policy) String() string {
	switch {
	case p.allow:
		return "allow"
	case len(p.open) == 0:
		return "deny"
	}
	texts := make([]string, len(p.open))
	for i, prefix := range p.open {
		texts[i] = prefix.String()
	}
	return strings.Join(texts, ",")
}

// Check returns a *Blocked where calls must not reach the address. An IPv6 address that
// embeds an IPv4 address is as closed as that one.
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

// Blocked is the error of a connection that was not opened, since calls must not reach the
// address.
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
