package httpcall_test

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/dns/dnsmessage"

	"earshot/httpcall"
	"earshot/httpcall/guard"
	"earshot/repositories"
	"earshot/trigger/effect"
	"earshot/trigger/effect/effecttest"
)

// hang never answers. It ends when the peer is gone.
func hang(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// drip answers 200 and then one byte at a time while it is read.
func drip(w http.ResponseWriter, r *http.Request) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		_, _ = io.WriteString(w, ".")
		_ = http.NewResponseController(w).Flush()
		select {
		case <-tick.C:
		case <-r.Context().Done():
			return
		}
	}
}

// gigabyte answers until it is no longer read, at most a gigabyte.
func gigabyte(w http.ResponseWriter, _ *http.Request) {
	block := []byte(strings.Repeat(" {}\n", 16<<10))
	for range 1 << 30 / len(block) {
		if _, err := w.Write(block); err != nil {
			return
		}
	}
}

type counter struct {
	http.ResponseWriter
	bytes int
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.ResponseWriter.Write(p)
	c.bytes += n
	return n, err
}

// brief is a request with an attempt timeout of 60 ms.
func brief() *repositories.Request {
	return &repositories.Request{Timeout: repositories.Duration(60 * time.Millisecond)}
}

func TestAttemptEndsAtItsTimeLimit(t *testing.T) {
	refuse := func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(503)
		drip(w, r)
	}
	hung := newRig(t).call(newEndpoint(t, hang).URL, brief(), nil)
	effecttest.Ended(t, hung, effect.Retry, effect.ReasonTimeout)
	require.False(t, hung.Deferred)
	require.Zero(t, hung.Status)
	dripped := newRig(t).call(newEndpoint(t, drip).URL, brief(), nil)
	effecttest.Ended(t, dripped, effect.Done, "")
	require.True(t, dripped.Truncated, "the status has said that it is delivered")
	require.Regexp(t, `^"\.+"$`, string(dripped.Result))
	refused := newRig(t).call(newEndpoint(t, refuse).URL, brief(), nil)
	effecttest.Ended(t, refused, effect.Retry, effect.ReasonRequest)
	require.Equal(t, 503, refused.Status)
}

func TestLongAnswersStopAtTheCap(t *testing.T) {
	written := make(chan int, 1)
	e := newEndpoint(t, func(w http.ResponseWriter, r *http.Request) {
		counting := &counter{ResponseWriter: w}
		gigabyte(counting, r)
		written <- counting.bytes
	})
	outcome := newRig(t).call(e.URL, nil, nil)
	require.Equal(t, effect.Done, outcome.Verdict)
	require.True(t, outcome.Truncated)
	require.Less(t, len(outcome.Result), 128<<10)
	require.Less(t, <-written, 64<<20, "what buffers on the way hold, not the gigabyte")

	e = newEndpoint(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		zipped := gzip.NewWriter(w)
		defer zipped.Close()
		_, _ = io.WriteString(zipped, strings.Repeat("a", 1<<20))
	})
	outcome = newRig(t).call(e.URL, nil, nil)
	require.True(t, outcome.Truncated, "a compressed one is read and cut")
	require.Len(t, outcome.Result, 64<<10+2)
}

func TestEndpointThatIsNotThereIsRetried(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	for _, idempotent := range []bool{true, false} {
		request := &repositories.Request{Idempotent: new(idempotent)}
		outcome := newRig(t).call("http://"+listener.Addr().String()+"/secret-path?key=k", request, nil)
		effecttest.Ended(t, outcome, effect.Retry, effect.ReasonRequest, "connection refused") // nothing was sent
		require.False(t, outcome.Reached)
		require.NotContains(t, outcome.Error, "secret-path")
	}
}

func TestUnknownOutcomeOfACallThatIsNotIdempotent(t *testing.T) {
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		reason effect.Reason
	}{
		"no answer":    {hang, effect.ReasonTimeout},
		"hung up":      {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, effect.ReasonRequest},
		"half a head":  {hijack("HTTP/1.1 200 OK\r\nContent-"), effect.ReasonRequest},
		"not HTTP":     {hijack("SSH-2.0-x\r\n\r\n"), effect.ReasonRequest},
		"endless head": {hijack("HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 1<<20)), effect.ReasonRequest},
	} {
		e := newEndpoint(t, test.answer)
		limit := time.Minute
		if test.reason == effect.ReasonTimeout {
			limit = 200 * time.Millisecond
		}
		request := &repositories.Request{Idempotent: new(false), Timeout: repositories.Duration(limit)}
		outcome := newRig(t).call(e.URL, request, nil)
		effecttest.Ended(t, outcome, effect.Dead, effect.ReasonUnknown)
		require.Len(t, e.requests(), 1, name)

		request.Idempotent = nil
		effecttest.Ended(t, newRig(t).call(e.URL, request, nil), effect.Retry, test.reason)
	}
}

func TestAnsweredCallThatIsNotIdempotentHasAKnownOutcome(t *testing.T) {
	for status, reason := range map[int]effect.Reason{503: effect.ReasonRequest, 429: effect.ReasonRequest, 408: effect.ReasonTimeout} {
		e := newEndpoint(t, says(status, ""))
		outcome := newRig(t).call(e.URL, &repositories.Request{Idempotent: new(false)}, nil)
		effecttest.Ended(t, outcome, effect.Dead, reason) // the call arrived
		require.Equal(t, status, outcome.Status)
	}
}

// TestConnectionThatIsAcceptedAndClosedMayHaveTakenTheCall uses a socket that never reads.
func TestConnectionThatIsAcceptedAndClosedMayHaveTakenTheCall(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_ = conn.Close()
		}
	}()
	outcome := newRig(t).call("http://"+listener.Addr().String(), &repositories.Request{Idempotent: new(false)}, nil)
	effecttest.Ended(t, outcome, effect.Dead, effect.ReasonUnknown)
}

func TestConnectionThatDiesRepeatsNothing(t *testing.T) {
	var dying atomic.Bool
	e := newEndpoint(t, func(http.ResponseWriter, *http.Request) {
		if dying.Load() {
			panic(http.ErrAbortHandler)
		}
	})
	r := newRig(t)
	request := &repositories.Request{Idempotent: new(false)}
	require.Equal(t, effect.Done, r.call(e.URL, request, nil).Verdict)
	dying.Store(true)
	require.Equal(t, effect.Dead, r.call(e.URL, request, nil).Verdict)
	require.Len(t, e.requests(), 2, "net/http repeats a request with an Idempotency-Key on a connection that it used before")
}

func TestEndOfContextEndsTheAttempt(t *testing.T) {
	for name, test := range map[string]struct {
		idempotent bool
		verdict    effect.Verdict
	}{"idempotent": {true, effect.Retry}, "not idempotent": {false, effect.Dead}} {
		asked := make(chan struct{})
		e := newEndpoint(t, func(w http.ResponseWriter, r *http.Request) {
			close(asked)
			hang(w, r)
		})
		r := newRig(t)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan effect.Outcome, 1)
		go func() {
			ended <- r.Deliver(ctx, effectOf(e.URL, &repositories.Request{Idempotent: new(test.idempotent)}, nil))
		}()
		<-asked
		cancel()
		outcome := <-ended
		require.Equal(t, test.verdict, outcome.Verdict, name)
		require.False(t, outcome.Deferred, "it was sent, so it counts")
	}
}

// hijack answers with raw bytes and closes the connection.
func hijack(raw string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		connection, buffer, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		defer connection.Close()
		_, _ = buffer.WriteString(raw)
		_ = buffer.Flush()
	}
}

func TestResultIsJSONOrAStringOfTheText(t *testing.T) {
	for name, test := range map[string]struct{ body, want string }{
		"object, compacted":          {" { \"a\" : [ 1 , 2 ] }\n", `{"a":[1,2]}`},
		"numbers as written":         {`{"n":9007199254740993,"m":1.10,"e":1E400}`, `{"n":9007199254740993,"m":1.10,"e":1E400}`},
		"members in their order":     {`{"b":1,"a":2,"b":3}`, `{"b":1,"a":2,"b":3}`},
		"no HTML escapes":            {`{"a":"<&>"}`, `{"a":"<&>"}`},
		"a scalar":                   {"42", "42"},
		"a byte order mark":          {"\ufeff{\"a\":1}", `{"a":1}`},
		"text":                       {"thank <you>\n", `"thank <you>\n"`},
		"half a JSON":                {`{"a":`, `"{\"a\":"`},
		"two JSONs":                  {`{} {}`, `"{} {}"`},
		"bytes that are no UTF-8":    {"a\xff\xfeb", `"a�b"`},
		"JSON with bytes of no code": {"\"a\xff\"", `"a�"`},
		"nothing":                    {"", ""},
		"white space":                {" \n", ""},
		"JSON that is nested deeply": {strings.Repeat("[", 500) + strings.Repeat("]", 500), strings.Repeat("[", 500) + strings.Repeat("]", 500)},
		"JSON that nothing could be around": {
			strings.Repeat("[", 9_999) + strings.Repeat("]", 9_999), `"` + strings.Repeat("[", 9_999) + strings.Repeat("]", 9_999) + `"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEndpoint(t, says(200, test.body))
			outcome := newRig(t).call(e.URL, nil, nil)
			require.Equal(t, effect.Done, outcome.Verdict)
			require.Equal(t, test.want, string(outcome.Result))
			require.Equal(t, test.want == "", outcome.Result == nil)
			require.False(t, outcome.Truncated)
		})
	}
	outcome := newRig(t).call(newEndpoint(t, says(422, `{"detail":"closed on Sundays"}`)).URL, nil, nil)
	require.JSONEq(t, `{"detail":"closed on Sundays"}`, string(outcome.Result), "a refusal keeps its body")
}

func TestResultIsReadInItsCharset(t *testing.T) {
	for kind, test := range map[string]struct{ body, want string }{
		"text/plain; charset=iso-8859-1":         {"Caf\xe9", `"Café"`},
		"application/json; charset=Windows-1252": {"{\"a\":\"Caf\xe9 \x80\"}", `{"a":"Café €"}`},
		"text/plain; charset=utf-16":             {"\xff\xfeC\x00\xe9\x00", `"Cé"`},
		"text/plain; charset=\"utf-16\"":         {"\xfe\xff\x00C\x00\xe9", `"Cé"`},
		"application/json; charset=utf-16le":     {"[\x00\"\x00\xe9\x00\"\x00]\x00", `["é"]`},
		"text/plain; charset=utf-8":              {"Café\xff", `"Café\ufffd"`},
		"text/plain; charset=x-none":             {"Café\xff", `"Café\ufffd"`},
		"text/plain; charset":                    {"Café", `"Café"`},
	} {
		e := newEndpoint(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", kind)
			says(200, test.body)(w, r)
		})
		outcome := newRig(t).call(e.URL, nil, nil)
		require.JSONEq(t, test.want, string(outcome.Result), kind)
	}
}

func TestResultIsCutAt64KiBOnACharacter(t *testing.T) {
	const most = 64 << 10
	for name, test := range map[string]struct {
		body string
		cut  bool
		keep int
	}{
		"just fits":              {strings.Repeat("a", most), false, most},
		"one too many":           {strings.Repeat("a", most+1), true, most},
		"cut within a character": {strings.Repeat("a", most-1) + "ü", true, most - 1},
		"two at the end":         {strings.Repeat("a", most-2) + "ü", false, most},
		"JSON too long is text":  {`["` + strings.Repeat("a", most) + `"]`, true, most},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEndpoint(t, says(200, test.body))
			outcome := newRig(t).call(e.URL, nil, nil)
			require.Equal(t, effect.Done, outcome.Verdict)
			require.Equal(t, test.cut, outcome.Truncated)
			var text string
			require.NoError(t, json.Unmarshal(outcome.Result, &text))
			require.Equal(t, test.body[:test.keep], text)
		})
	}
}

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

// nameServer is a DNS server that resolves all names to one changing address.
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

// reply answers a question for an A record.
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
