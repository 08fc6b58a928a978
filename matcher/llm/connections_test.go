package llm_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/matcher/llm"
	"earshot/matcher/matchertest"
	"earshot/repositories/secret"
)

// crowd is the number of concurrent messages.
const crowd = 64

// counted is an immediate endpoint that counts its connections.
type counted struct {
	*httptest.Server
	asked atomic.Int64
	dials atomic.Int64
	http2 atomic.Int64 // requests over HTTP/2
	// gathered makes the first crowd over HTTP wait until each message has its connection.
	gathered sync.WaitGroup
}

// The protocols of an endpoint.
const (
	plain     = "HTTP"
	encrypted = "HTTPS"
	shared    = "HTTP2"
)

func newCounted(t testing.TB, way string) *counted {
	c := &counted{}
	c.gathered.Add(crowd)
	c.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor == 2 {
			c.http2.Add(1)
		}
		if way == plain && c.asked.Add(1) <= crowd {
			c.gathered.Done()
			c.gathered.Wait()
		}
		_, _ = fmt.Fprint(w, openAISpoken().text("none")) // the test checks for a client that went away
	}))
	c.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			c.dials.Add(1)
		}
	}
	c.EnableHTTP2 = way == shared
	if way == plain {
		c.Start()
	} else {
		c.StartTLS()
	}
	t.Cleanup(c.Close)
	return c
}

// matchCrowds matches crowds of messages through the client, which trusts the endpoint's certificate.
func (c *counted) matchCrowds(t testing.TB, client *http.Client, more func() bool) {
	if c.TLS != nil {
		ours := client.Transport.(*http.Transport)
		if ours.TLSClientConfig == nil {
			ours.TLSClientConfig = &tls.Config{}
		}
		ours.TLSClientConfig.RootCAs = c.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	}
	model := llm.New(llm.Options{BaseURL: c.URL + "/v1", Key: secret.New(matchertest.Key), HTTPClient: client})
	request := matchertest.Request(t, "book monday", book)
	if c.TLS != nil { // later messages share the first one's connection
		_, err := model.Match(t.Context(), request)
		require.NoError(t, err)
	}
	for more() {
		var all sync.WaitGroup
		for range crowd {
			all.Go(func() {
				if _, err := model.Match(t.Context(), request); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	}
}

func times(n int) func() bool {
	return func() bool { n--; return n >= 0 }
}

func TestMessagesAtOnceKeepTheirConnections(t *testing.T) {
	endpoint := newCounted(t, plain)
	endpoint.matchCrowds(t, llm.NewHTTPClient(crowd), times(20))
	// A connection is returned a moment after its answer; without reuse, 20 crowds dial 20 times.
	require.Less(t, endpoint.dials.Load(), int64(4*crowd))
}

func TestMessagesAtOnceShareAConnectionOfHTTP2(t *testing.T) {
	endpoint := newCounted(t, shared)
	endpoint.matchCrowds(t, llm.NewHTTPClient(crowd), times(20))
	require.LessOrEqual(t, endpoint.dials.Load(), int64(2))
	require.Equal(t, int64(1+20*crowd), endpoint.http2.Load())
}

// BenchmarkMessagesAtOnce counts the connections of concurrent messages with http.DefaultTransport and with ours.
func BenchmarkMessagesAtOnce(b *testing.B) {
	for name, client := range map[string]func() *http.Client{
		"default": func() *http.Client { return &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()} },
		"ours":    func() *http.Client { return llm.NewHTTPClient(llm.DefaultMessages) },
	} {
		for _, way := range []string{plain, encrypted, shared} {
			b.Run(way+" "+name, func(b *testing.B) {
				endpoint := newCounted(b, way)
				b.ReportAllocs()
				endpoint.matchCrowds(b, client(), b.Loop)
				b.ReportMetric(float64(endpoint.dials.Load())/float64(b.N), "dials/op")
			})
		}
	}
}

// answering is an immediate provider with a constant answer, without a network.
type answering string

// RoundTrip implements http.RoundTripper.
func (a answering) RoundTrip(request *http.Request) (*http.Response, error) {
	_, err := io.Copy(io.Discard, request.Body)
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(string(a)))}, err
}

// BenchmarkRequest matches one message with a number of tools of usual size and a history, without network and
// model: the cost of writing a request and reading its answer.
func BenchmarkRequest(b *testing.B) {
	for _, one := range providers() {
		for _, tools := range []int{10, 32, 64} {
			b.Run(fmt.Sprintf("%s/%d", one.name, tools), func(b *testing.B) {
				written := make([]string, tools)
				for i := range written {
					written[i] = fmt.Sprintf(`{"name":"book-%d","description":"Books one of the rooms on floor %[1]d for a meeting","examples":["a room on floor %[1]d","book floor %[1]d"],"schema":[
						{"parameter":"day","type":"string","description":"wished day, as in 2026-12-01","required":true},
						{"parameter":"people","type":"integer","description":"how many people will come","minValue":1,"maxValue":40},
						{"parameter":"size","type":"string","description":"of the room","allowedValues":["small","middle","large"]}]}`, i)
				}
				request := matchertest.Request(b, "a room on floor 3 on monday", written...)
				request.App.Settings.LLM.MostTools = tools
				for i := range 5 {
					request.History = append(request.History, matcher.Utterance{Actor: matcher.ActorUser, Text: fmt.Sprintf("something that was said before, %d", i)},
						matcher.Utterance{Actor: matcher.ActorAgent, Text: "and what was answered to it"})
				}
				options := llm.Options{HTTPClient: &http.Client{Transport: answering(one.text("none"))}}
				one.set(&options, llm.Config{Key: secret.New(matchertest.Key), BaseURL: "http://llm.example", Model: "m"})
				model := llm.New(options)
				b.ReportAllocs()
				for b.Loop() {
					_, err := model.Match(b.Context(), request)
					require.NoError(b, err)
				}
			})
		}
	}
}
