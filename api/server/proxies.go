package server

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Proxies are the addresses of trusted proxies in front of the service, whose X-Forwarded-For counts.
type Proxies []netip.Prefix

// ParseProxies reads comma-separated addresses and CIDRs; none if text is empty.
func ParseProxies(text string) (Proxies, error) {
	var proxies Proxies
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		if address, err := netip.ParseAddr(part); err == nil {
			proxies = append(proxies, netip.PrefixFrom(address, address.BitLen()))
			continue
		}
		prefix, err := netip.ParsePrefix(part)
		if err != nil {
			return nil, fmt.Errorf("%q is neither an address nor a CIDR, as in 10.0.0.0/8", part)
		}
		proxies = append(proxies, prefix.Masked())
	}
	return proxies, nil
}

func (p Proxies) have(address netip.Addr) bool {
	return slices.ContainsFunc(p, func(prefix netip.Prefix) bool { return prefix.Contains(address.Unmap()) })
}

// Handler sets RemoteAddr to the client's address. For a request from a trusted proxy, it is the last address
// in X-Forwarded-For that is no trusted proxy: the client may have written those before it.
func (p Proxies) Handler(next http.Handler) http.Handler {
	if len(p) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if client, forwarded := p.client(r); forwarded {
			r = r.WithContext(r.Context()) // a handler must not change its request
			r.RemoteAddr = netip.AddrPortFrom(client, 0).String()
		}
		next.ServeHTTP(w, r)
	})
}

// client returns the client's address according to trusted proxies.
func (p Proxies) client(r *http.Request) (client netip.Addr, forwarded bool) {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !p.have(peer.Addr()) {
		return client, false
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0; i-- {
		address, err := netip.ParseAddr(strings.TrimSpace(hops[i]))
		if err != nil {
			return client, false
		}
		if client = address.Unmap(); !p.have(client) {
			return client, true
		}
	}
	return client, client.IsValid()
}
