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

// Transport returns a transport that opens connections only to addresses that the policy
// lets through. Names are looked up with the resolver, the system's if it is nil. It
// uses no proxy, as a proxy would connect in our place. The caller sees to it that
// redirects are not followed.
func Transport(policy Policy, resolver *net.Resolver) *http.Transport {
	return &http.Transport{
		Proxy:                  nil,
		DialContext:            dialer(policy, resolver).DialContext,
		ForceAttemptHTTP2:      true,
		TLSHandshakeTimeout:    10 * time.Second,
		MaxIdleConns:           256,
		MaxIdleConnsPerHost:    8, // as many as one app may use at a time
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: 256 << 10,
	}
}

// Dial opens TCP connections under the policy for those who speak no HTTP, such as
// the clients of databases. Its error wraps a *Blocked if the policy refuses.
func Dial(policy Policy) func(ctx context.Context, network, address string) (net.Conn, error) {
	return dialer(policy, nil).DialContext
}

// Reach returns a function that says whether a host takes connections at a port: nil where
// it does. The text of its error is fit for tenants: it holds no address but the one that
// was asked for.
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

// dialer checks each address after its name was looked up and before the connection is opened.
// A name that leads elsewhere at the second look (DNS rebinding) is therefore checked at both.
// What cannot be read is refused.
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
