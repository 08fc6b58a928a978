package server_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/api/server"
)

func TestOnlyTrustedProxiesSayWhoTheirClientIs(t *testing.T) {
	proxies, err := server.ParseProxies("10.0.0.0/8, 192.0.2.7,fd00::/8")
	require.NoError(t, err)
	for _, c := range []struct {
		name, peer string
		forwarded  []string
		want       string
	}{
		{"a client without a proxy", "203.0.113.9:4711", nil, "203.0.113.9:4711"},
		{"a client that claims an address", "203.0.113.9:4711", []string{"198.51.100.1"}, "203.0.113.9:4711"},
		{"a client behind a proxy", "10.1.2.3:80", []string{"198.51.100.1"}, "198.51.100.1:0"},
		{"a client that claims an address behind a proxy", "10.1.2.3:80", []string{"1.1.1.1, 198.51.100.1"}, "198.51.100.1:0"},
		{"two proxies", "192.0.2.7:80", []string{"1.1.1.1, 198.51.100.1, 10.9.9.9"}, "198.51.100.1:0"},
		{"two lines of the header", "192.0.2.7:80", []string{"198.51.100.1", "10.9.9.9"}, "198.51.100.1:0"},
		{"a client of IPv6", "[fd00::1]:80", []string{"2001:db8::5"}, "[2001:db8::5]:0"},
		{"a proxy itself", "10.1.2.3:80", nil, "10.1.2.3:80"},
		{"what is no address", "10.1.2.3:80", []string{"198.51.100.1, unknown"}, "10.1.2.3:80"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got string
			handler := proxies.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.RemoteAddr }))
			request := httptest.NewRequest(http.MethodGet, "/", nil)
			request.RemoteAddr = c.peer
			request.Header["X-Forwarded-For"] = c.forwarded
			handler.ServeHTTP(httptest.NewRecorder(), request)
			require.Equal(t, c.want, got)
			require.Equal(t, c.peer, request.RemoteAddr, "the request that was given is unchanged")
		})
	}
	_, err = server.ParseProxies("10.0.0.0/8,loadbalancer")
	require.ErrorContains(t, err, `"loadbalancer" is neither an address nor a CIDR`)
}
