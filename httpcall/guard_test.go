package httpcall_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/dns/dnsmessage"

	"earshot/httpcall"
	"earshot/httpcall/guard"
	"earshot/repositories"
	"earshot/trigger/effect"
	"earshot/trigger/effect/effecttest"
)

func TestTokenRequestsAreGuardedToo(t *testing.T) {
	i := newIssuer(t)
	r := newRig(t, func(o *httpcall.Options) { o.Policy = guard.Policy{} })
	outcome := r.call("https://example.org/", i.request(), nil)
	effecttest.Ended(t, outcome, effect.Dead, effect.ReasonBlocked, "the token request to http://127.0.0.1")
	require.Empty(t, i.requests())
}

func TestNameThatLeadsElsewhereAtTheNextLookIsCheckedEveryTime(t *testing.T) {
	e := newEndpoint(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Connection", "close") })
	port := e.URL[strings.LastIndex(e.URL, ":"):]
	names := newNames(t, "127.0.0.1")
	r := newRig(t, func(o *httpcall.Options) {
		o.Policy, o.Resolver = policy(t, "127.0.0.1/32"), names.resolver()
	})
	require.Equal(t, effect.Done, r.call("http://rebind.example"+port, nil, nil).Verdict)
	for _, next := range []string{"169.254.169.254", "127.0.0.2", "10.0.0.1"} {
		names.lead(next)
		outcome := r.call("http://rebind.example"+port, nil, nil)
		require.Equal(t, effect.ReasonBlocked, outcome.Reason, next)
		require.NotContains(t, outcome.Error, next, "what the name leads to is not the tenant's to know")
		require.Contains(t, r.log.String(), "must not reach "+next)
	}
	require.Len(t, e.requests(), 1)
	require.GreaterOrEqual(t, names.asked(), 4, "every connection looks the name up")
}

func TestErrorsNameHostsAsTheyWereGivenAndNoAddressOrResolver(t *testing.T) {
	names := newNames(t, "127.0.0.1")
	plain := newEndpoint(t, nil)
	closed := httptest.NewServer(nil)
	closed.Close()
	breaking := newEndpoint(t, func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		require.NoError(t, err)
		require.NoError(t, conn.(*net.TCPConn).SetLinger(0)) // a reset
		_ = conn.Close()
	})
	secure := httptest.NewTLSServer(nil)
	t.Cleanup(secure.Close)
	dead := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", closed.Listener.Addr().String())
	}}
	open := policy(t, "127.0.0.1/32")
	for name, c := range map[string]struct {
		at       string
		policy   guard.Policy
		resolver *net.Resolver
		says     string
	}{
		"blocked":     {plain.URL, guard.Policy{}, names.resolver(), "must not reach crm.example"},
		"refused":     {closed.URL, open, names.resolver(), "connection refused"},
		"reset":       {breaking.URL, open, names.resolver(), "it broke the connection off"},
		"no TLS":      {strings.Replace(plain.URL, "http:", "https:", 1), open, names.resolver(), "HTTP"},
		"certificate": {secure.URL, open, names.resolver(), "its certificate is"},
		"no resolver": {plain.URL, open, dead, "its name could not be looked up"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(o *httpcall.Options) { o.Policy, o.Resolver = c.policy, c.resolver })
			target := strings.Replace(c.at, "127.0.0.1", "crm.example", 1)
			token := &repositories.Request{Bearer: &repositories.Bearer{ClientID: "c", ClientSecret: credential("hunter2"), TokenURL: target}}
			for _, outcome := range []effect.Outcome{r.call(target, nil, nil), r.call("http://192.0.2.1/", token, nil)} {
				require.Contains(t, outcome.Error, "crm.example")
				require.Contains(t, outcome.Error, c.says)
				require.NotRegexp(t, `127\.0\.0|lookup|dial|->|certificate is valid for`, outcome.Error)
			}
			if name != "no TLS" {
				require.Regexp(t, `call\.unanswered.*(127\.0\.0\.1|x509)`, r.log.String(), "the log says more")
				require.Regexp(t, `token\.unanswered.*(127\.0\.0\.1|x509)`, r.log.String())
			}
			require.NotContains(t, r.log.String(), "hunter2")
		})
	}
}

// nameServer is a DNS server for which all names lead to one address, which changes.
type nameServer struct {
	mu      sync.Mutex
	address [4]byte
	looks   int
	server  net.PacketConn
}

func newNames(t *testing.T, address string) *nameServer {
	t.Helper()
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = server.Close() })
	n := &nameServer{server: server}
	n.lead(address)
	go n.serve()
	return n
}

func (n *nameServer) lead(address string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.address = [4]byte(net.ParseIP(address).To4())
}

func (n *nameServer) asked() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.looks
}

func (n *nameServer) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", n.server.LocalAddr().String())
	}}
}

func (n *nameServer) serve() {
	packet := make([]byte, 1500)
	for {
		size, from, err := n.server.ReadFrom(packet)
		if err != nil {
			return
		}
		if reply, ok := n.reply(packet[:size]); ok {
			_, _ = n.server.WriteTo(reply, from)
		}
	}
}

// reply answers a question for an A record; there are no others.
func (n *nameServer) reply(packet []byte) ([]byte, bool) {
	var message dnsmessage.Message
	if message.Unpack(packet) != nil || len(message.Questions) != 1 {
		return nil, false
	}
	question := message.Questions[0]
	message.Response, message.Additionals = true, nil
	if question.Type == dnsmessage.TypeA {
		n.mu.Lock()
		n.looks++
		message.Answers = []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: question.Name, Type: question.Type, Class: question.Class},
			Body:   &dnsmessage.AResource{A: n.address},
		}}
		n.mu.Unlock()
	}
	reply, err := message.Pack()
	return reply, err == nil
}
