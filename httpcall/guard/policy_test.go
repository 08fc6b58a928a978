package guard_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/httpcall/guard"
)

func policy(t *testing.T, text string) guard.Policy {
	t.Helper()
	parsed, err := guard.ParsePolicy(text)
	require.NoError(t, err)
	return parsed
}

func TestEveryClassThatIsNotPublicIsClosed(t *testing.T) {
	deny := policy(t, "deny")
	for address, class := range map[string]string{
		"127.0.0.1": "loopback", "127.255.255.254": "loopback", "::1": "loopback",
		"10.0.0.1": "private", "172.16.0.1": "private", "172.31.255.255": "private", "192.168.1.1": "private",
		"169.254.1.1": "link-local", "fe80::1": "link-local", "fe80::1%eth0": "link-local", "febf::1": "link-local",
		"169.254.169.254": "metadata", "168.63.129.16": "metadata", "100.100.100.200": "metadata", "192.0.0.192": "metadata",
		"fd00:ec2::254": "unique local", "fc00::1": "unique local", "fdff::1": "unique local",
		"100.64.0.1": "carrier-grade", "100.127.255.255": "carrier-grade",
		"224.0.0.1": "multicast", "239.255.255.255": "multicast", "ff02::1": "multicast", "ff0e::1": "multicast",
		"0.0.0.0": "unspecified", "::": "unspecified", "0.1.2.3": "this network",
		"255.255.255.255": "broadcast", "240.0.0.1": "reserved", "254.1.1.1": "reserved",
		"192.0.0.1": "reserved", "192.0.2.1": "documentation", "198.51.100.1": "documentation", "203.0.113.1": "documentation",
		"198.18.0.1": "benchmarks", "198.19.255.255": "benchmarks", "192.88.99.1": "6to4",
		"2001:db8::1": "documentation", "3fff::1": "documentation", "fec0::1": "site-local", "100::1": "discard",
		"5f00::1": "segment routing", "2001:2::1": "reserved", "2001:20::1": "reserved", "4000::1": "not given out", "1::1": "not given out",
		"64:ff9b:1::808:808":            "local NAT64",
		"::ffff:127.0.0.1":              "IPv4-mapped form of 127.0.0.1, loopback",
		"::ffff:169.254.169.254":        "metadata",
		"::ffff:0:10.0.0.1":             "IPv4-translated form of 10.0.0.1",
		"64:ff9b::10.0.0.1":             "NAT64 form of 10.0.0.1",
		"64:ff9b::a9fe:a9fe":            "metadata",
		"2002:7f00:1::":                 "6to4 form of 127.0.0.1",
		"2002:c0a8:101::1":              "6to4 form of 192.168.1.1",
		"2001:0:7f00:1::":               "Teredo form of 127.0.0.1",
		"2001:0:808:808:0:0:80ff:fffe":  "Teredo form of 127.0.0.1", // the client, with inverted bits
		"2001:0:808:808:0:0:3f57:fefe":  "Teredo form of 192.168.1.1",
		"::10.0.0.1":                    "IPv4-compatible form of 10.0.0.1",
		"2a00:1450::5efe:10.0.0.1":      "ISATAP form of 10.0.0.1",
		"2a00:1450::200:5efe:127.0.0.1": "ISATAP form of 127.0.0.1",
	} {
		err := deny.Check(netip.MustParseAddr(address))
		var blocked *guard.Blocked
		require.ErrorAs(t, err, &blocked, address)
		require.Contains(t, blocked.Rule, class, address)
		require.ErrorContains(t, err, "EARSHOT_PRIVATE_URLS=", address)
		require.NoError(t, policy(t, "allow").Check(netip.MustParseAddr(address)), address)
	}
	require.Error(t, deny.Check(netip.Addr{}), "what is no address is refused")
}

func TestPublicAddressesAreOpen(t *testing.T) {
	for _, address := range []string{
		"8.8.8.8", "1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.1",
		"169.253.255.255", "172.15.255.255", "172.32.0.0", "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0",
		"223.255.255.255", "2606:4700::1111", "2a00:1450:4001::1", "2001:4860:4860::8888", "3ffe::1",
		"64:ff9b::8.8.8.8", "::ffff:8.8.8.8", "2002:808:808::1", "2001:0:808:808:0:0:f7f7:f7f7", "2a00:1450::5efe:8.8.8.8",
	} {
		require.NoError(t, policy(t, "").Check(netip.MustParseAddr(address)), address)
	}
}

func TestPolicyOpensWhatItNamesAndNothingElse(t *testing.T) {
	opened := policy(t, " 10.1.0.0/16, 192.168.7.20/32,fd00:7::/64 ,127.0.0.1/8")
	require.Equal(t, "10.1.0.0/16,192.168.7.20/32,fd00:7::/64,127.0.0.0/8", opened.String())
	for address, open := range map[string]bool{
		"10.1.2.3": true, "10.2.0.0": false, "192.168.7.20": true, "192.168.7.21": false,
		"fd00:7::9": true, "fd00:8::9": false, "127.9.9.9": true, "::1": false,
		"::ffff:10.1.2.3": true, "64:ff9b::10.1.2.3": true, "64:ff9b::10.2.2.3": false, "2002:a01:203::": true,
		"2001:0:a01:203:0:0:80ff:fffe": true, "2001:0:a01:203:0:0:3f57:fefe": false,
		"8.8.8.8": true, "169.254.169.254": false,
	} {
		require.Equal(t, open, opened.Check(netip.MustParseAddr(address)) == nil, address)
	}
}

func TestPolicyIsReadOrRefused(t *testing.T) {
	for text, want := range map[string]string{
		"": "deny", " ": "deny", "deny": "deny", "DENY": "deny", "allow": "allow", " Allow\n": "allow", "10.9.8.7/8": "10.0.0.0/8",
	} {
		require.Equal(t, want, policy(t, text).String(), "%q", text)
	}
	for _, text := range []string{"yes", "10.0.0.1", "10.0.0.0/33", "deny,allow", "10.0.0.0/8,", "example.org", "10.0.0.0/8;fd00::/8"} {
		_, err := guard.ParsePolicy(text)
		require.ErrorContains(t, err, "is not a CIDR", text)
	}
	require.Equal(t, "deny", guard.Policy{}.String())
}

// FuzzPolicy looks for a text that allows more than it names.
func FuzzPolicy(f *testing.F) {
	f.Add("10.0.0.0/8,fd00::/8", "::ffff:127.0.0.1")
	f.Add("deny", "64:ff9b::a00:1")
	f.Fuzz(func(t *testing.T, text, address string) {
		parsed, err := guard.ParsePolicy(text)
		target, bad := netip.ParseAddr(address)
		if err != nil || bad != nil {
			return
		}
		again, err := guard.ParsePolicy(parsed.String())
		require.NoError(t, err)
		require.Equal(t, parsed.Check(target) == nil, again.Check(target) == nil)
		require.NoError(t, policy(t, "allow").Check(target))
		if parsed.String() == "deny" && target.Unmap().IsPrivate() {
			require.Error(t, parsed.Check(target))
		}
	})
}

func TestTransportConnectsToNoClosedAddress(t *testing.T) {
	reached := 0
	e := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached++ }))
	defer e.Close()
	get := func(transport http.RoundTripper, host string) error {
		response, err := (&http.Client{Transport: transport}).Get("http://" + host + e.URL[strings.LastIndex(e.URL, ":"):])
		if err == nil {
			response.Body.Close()
		}
		return err
	}
	closed := guard.Transport(guard.Policy{}, nil)
	require.Nil(t, closed.Proxy, "a proxy would connect in our place")
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "[::]", "127.1.2.3"} {
		require.ErrorAs(t, get(closed, host), new(*guard.Blocked), host)
	}
	require.Zero(t, reached)
	require.ErrorContains(t, get(closed, "127.0.0.1"),
		"calls must not reach 127.0.0.1 (loopback); an operator can open it with EARSHOT_PRIVATE_URLS=127.0.0.1/32")
	require.NoError(t, get(guard.Transport(policy(t, "127.0.0.1/32"), nil), "127.0.0.1"), "as it said")
}

func TestReachTellsNoAddress(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	_, port, err := net.SplitHostPort(listener.Addr().String())
	require.NoError(t, err)
	open := policy(t, "allow")
	require.NoError(t, guard.Reach(open)(t.Context(), "localhost", port))
	err = guard.Reach(policy(t, "deny"))(t.Context(), "localhost", port)
	require.ErrorContains(t, err, "must not reach localhost")
	require.NotContains(t, err.Error(), "127.")
	require.NotContains(t, err.Error(), "::1")

	require.NoError(t, listener.Close())
	require.EqualError(t, guard.Reach(open)(t.Context(), "localhost", port), "connection refused")
	require.EqualError(t, guard.Reach(open)(t.Context(), "no-such-host.invalid", "80"), "its name is not known")
}
