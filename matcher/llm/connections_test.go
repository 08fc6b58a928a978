package llm_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/matcher/llm"
	"earshot/matcher/llm/provider"
	"earshot/matcher/matchertest"
	"earshot/repositories/secret"
)

// crowd is how many messages are matched at once.
const crowd = 64

// counted is an endpoint that answers at once and counts its connections.
type counted struct {
	*httptest.Server
	dials atomic.Int64
	http2 atomic.Int64 // requests over HTTP/2
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
	model := llm.New(endpoint.options(provider.NewHTTPClient(crowd)))
	request := matchertest.Request(t, "book monday", matchertest.BookTool)
	for range 20 {
		require.NoError(t, matchAll(t.Context(), model, request))
	}
	require.LessOrEqual(t, endpoint.dials.Load(), int64(crowd))
}

func TestMessagesAtOnceShareAConnectionOfHTTP2(t *testing.T) {
	endpoint := newCounted(t, shared)
	model := llm.New(endpoint.options(provider.NewHTTPClient(crowd)))
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
		"ours":    func() *http.Client { return provider.NewHTTPClient(llm.DefaultMessages) },
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
