package guard

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"syscall"
	"time"

	"earshot/repositories/neterr"
)

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
