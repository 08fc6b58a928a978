package llm_test

import (
	"context"
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

// crowd is how many messages are matched at once.
const crowd = 64

// counted is an endpoint that answers at once and counts its connections.
type counted struct {
	*httptest.Server
	asked atomic.Int64
	dials atomic.Int64
	http2 atomic.Int64 // requests over HTTP/2
	// gathered, if not nil, has the first requests wait until so many are there that each
	// has a connection of its own.
	gathered *sync.WaitGroup
}

// gather has the first crowd answered when all of it is there.
func (c *counted) gather() {
	c.gathered = &sync.WaitGroup{}
	c.gathered.Add(crowd)
}

// The ways in which an endpoint is spoken to.
const (
	plain     = "HTTP"
	encrypted = "HTTPS"
	shared    = "HTTP2"
)

func newCounted(t testing.TB, way string) *counted {
	c := &counted{}
	c.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor == 2 {
			c.http2.Add(1)
		}
		if c.gathered != nil && c.asked.Add(1) <= crowd {
			c.gathered.Done()
			c.gathered.Wait()
		}
		_, _ = fmt.Fprint(w, openAISpoken().text("none")) // a client that went away is the test's business
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

// options are for the endpoint through the client, which trusts the endpoint's certificate.
func (c *counted) options(client *http.Client) llm.Options {
	if c.TLS != nil {
		ours := client.Transport.(*http.Transport)
		if ours.TLSClientConfig == nil {
			ours.TLSClientConfig = &tls.Config{}
		}
		ours.TLSClientConfig.RootCAs = c.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	}
	return llm.Options{BaseURL: c.URL + "/v1", Key: secret.New(matchertest.Key), HTTPClient: client}
}

// matchAll matches as many messages at once as make a crowd.
func matchAll(ctx context.Context, model *llm.LLM, request matcher.Request) error {
	var failed atomic.Value
	var all sync.WaitGroup
	for range crowd {
		all.Go(func() {
			if _, err := model.Match(ctx, request); err != nil {
				failed.Store(err)
			}
		})
	}
	all.Wait()
	err, _ := failed.Load().(error)
	return err
}

func TestMessagesAtOnceKeepTheirConnections(t *testing.T) {
	endpoint := newCounted(t, plain)
	endpoint.gather()
	model := llm.New(endpoint.options(llm.NewHTTPClient(crowd)))
	request := matchertest.Request(t, "book monday", matchertest.BookTool)
	for range 20 {
		require.NoError(t, matchAll(t.Context(), model, request))
	}
	// A connection comes back a moment after its answer; without keeping them, 20 crowds dial.
	require.Less(t, endpoint.dials.Load(), int64(4*crowd))
}

func TestMessagesAtOnceShareAConnectionOfHTTP2(t *testing.T) {
	endpoint := newCounted(t, shared)
	model := llm.New(endpoint.options(llm.NewHTTPClient(crowd)))
	request := matchertest.Request(t, "book monday", matchertest.BookTool)
	_, err := model.Match(t.Context(), request)
	require.NoError(t, err)
	for range 20 {
		require.NoError(t, matchAll(t.Context(), model, request))
	}
	require.LessOrEqual(t, endpoint.dials.Load(), int64(2))
	require.Equal(t, int64(1+20*crowd), endpoint.http2.Load())
}

// BenchmarkMessagesAtOnce counts what a crowd of messages dials with the connections that
// http.DefaultTransport keeps, and with ours.
func BenchmarkMessagesAtOnce(b *testing.B) {
	for name, client := range map[string]func() *http.Client{
		"default": func() *http.Client { return &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()} },
		"ours":    func() *http.Client { return llm.NewHTTPClient(llm.DefaultMessages) },
	} {
		for _, way := range []string{plain, encrypted, shared} {
			b.Run(way+" "+name, func(b *testing.B) {
				endpoint := newCounted(b, way)
				model := llm.New(endpoint.options(client()))
				request := matchertest.Request(b, "book monday", matchertest.BookTool)
				b.ReportAllocs()
				for b.Loop() {
					require.NoError(b, matchAll(b.Context(), model, request))
				}
				b.ReportMetric(float64(endpoint.dials.Load())/float64(b.N), "dials/op")
			})
		}
	}
}

// answering is a provider that answers at once with the same body, without a network.
type answering string

// RoundTrip implements http.RoundTripper.
func (a answering) RoundTrip(request *http.Request) (*http.Response, error) {
	_, err := io.Copy(io.Discard, request.Body)
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(string(a)))}, err
}

// wideRequest has so many tools of a usual size in scope, and a history.
func wideRequest(t testing.TB, tools int) matcher.Request {
	t.Helper()
	written := make([]string, tools)
	for i := range written {
		written[i] = fmt.Sprintf(`{"name":"book-%d","description":"Books one of the rooms on floor %[1]d for a meeting","examples":["a room on floor %[1]d","book floor %[1]d"],"schema":[
			{"parameter":"day","type":"string","description":"wished day, as in 2026-12-01","required":true},
			{"parameter":"people","type":"integer","description":"how many people will come","minValue":1,"maxValue":40},
			{"parameter":"size","type":"string","description":"of the room","allowedValues":["small","middle","large"]}]}`, i)
	}
	request := matchertest.Request(t, "a room on floor 3 on monday", written...)
	for i := range 5 {
		request.History = append(request.History, matcher.Utterance{Actor: matcher.ActorUser, Text: fmt.Sprintf("something that was said before, %d", i)},
			matcher.Utterance{Actor: matcher.ActorAgent, Text: "and what was answered to it"})
	}
	return request
}

// BenchmarkRequest matches one message, without network and model: what it costs to write
// a request and to read its answer.
func BenchmarkRequest(b *testing.B) {
	for _, one := range providers() {
		for _, tools := range []int{10, 32, 64} {
			b.Run(fmt.Sprintf("%s/%d", one.name, tools), func(b *testing.B) {
				options := llm.Options{HTTPClient: &http.Client{Transport: answering(one.text("none"))}}
				one.set(&options, llm.Config{Key: secret.New(matchertest.Key), BaseURL: "http://llm.example", Model: "m"})
				model, request := llm.New(options), wideRequest(b, tools)
				request.App.Settings.LLM.MostTools = tools
				b.ReportAllocs()
				for b.Loop() {
					_, err := model.Match(b.Context(), request)
					require.NoError(b, err)
				}
			})
		}
	}
}
