package provider

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"time"

	"earshot/matcher"
	"earshot/repositories/version"
)

// maxAnswer bounds the body of an answer, in bytes. What a model writes is a few
// kilobytes.
const maxAnswer = 4 << 20

// NewHTTPClient returns the client that all providers are asked with. It keeps as many
// connections to each of them as messages may be under work at once, so that none of them
// dials and shakes hands again; http.DefaultTransport keeps two. Over HTTP/2 messages share
// connections. A proxy is taken from the environment, as in HTTPS_PROXY. How long an
// answer may take is for the context of its request.
func NewHTTPClient(messages int) *http.Client {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Client{Transport: &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           dialer.DialContext,
		TLSHandshakeTimeout:   10 * time.Second,
		TLSClientConfig:       &tls.Config{ClientSessionCache: tls.NewLRUClientSessionCache(0), MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2:     true,
		MaxIdleConnsPerHost:   max(1, messages),
		IdleConnTimeout:       90 * time.Second,
		ExpectContinueTimeout: time.Second,
		// A request is tens of kilobytes of tools and history, an answer one or two: to
		// unpack that costs more than it saves.
		WriteBufferSize:        16 << 10,
		DisableCompression:     true,
		MaxResponseHeaderBytes: 256 << 10,
		// All messages share a connection of HTTP/2, and one that is dead says nothing.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 10 * time.Second},
	}}
}

// Transport is an http.RoundTripper for requests to a provider. It turns every refusal into
// a *matcher.Unavailable, so that nothing below the caller retries. A redirect is a refusal
// too: the key is meant only for the endpoint.
type Transport struct {
	network Network
	Next    http.RoundTripper
	key     string
	// Normalise, if set, rewrites the body of an answer to a request with that context.
	Normalise func(ctx context.Context, body []byte) ([]byte, error)
	// Essential are the members of a request that are never left out, whatever the
	// provider says of them. Marks are what stands below the top and can be left out, by
	// name, as it is written in requests.
	Essential []string
	Marks     map[string]string
	refused   *refusals
	client    http.Client // the network's, with the transport in it
}

// NewTransport returns a transport over the network's HTTP client.
func NewTransport(network Network, key string) *Transport {
	t := &Transport{network: network, Next: cmp.Or(network.HTTPClient.Transport, http.DefaultTransport), key: key, refused: newRefusals()}
	t.client = *network.HTTPClient
	t.client.Transport = t
	return t
}

// Post sends a JSON request and returns the body of the answer.
func (t *Transport) Post(ctx context.Context, to *url.URL, header http.Header, body Body) ([]byte, error) {
	text, err := json.Marshal(body.Rest)
	if err != nil {
		return nil, &matcher.Unavailable{Reason: fmt.Sprintf("the request cannot be written: %s", err)}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), nil)
	if err != nil {
		return nil, &matcher.Unavailable{Reason: ErrBaseURL.Error()}
	}
	maps.Copy(request.Header, header)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", version.Product())
	response, err := t.Send(request, body, text)
	if err != nil {
		return nil, Failure(ctx, err, t.key)
	}
	return io.ReadAll(response.Body) // out of memory: it was read before
}

// Send sends a request with the body, whose rest is written already, without what the model
// is known to refuse. Where it refuses something else that can be left out, the request is
// sent without it, once.
func (t *Transport) Send(request *http.Request, body Body, rest []byte) (*http.Response, error) {
	whole, wire := body.WithTools(rest), wireOf(request.Context())
	known, sent := t.refused.of(body.Model), whole
	for _, name := range known {
		sent = Parts{t.without(sent.whole(), name)}
	}
	wire.sends(body, whole, known)
	response, err := t.send(request, sent)
	if !isBadRequest(err) {
		return response, err
	}
	joined := sent.whole()
	if name := t.spared(err, joined); name != "" {
		t.refused.add(body.Model, name)
		wire.sends(body, whole, append(slices.Clone(known), name))
		return t.send(request, Parts{t.without(joined, name)})
	}
	return response, err
}

func (t *Transport) send(request *http.Request, body Parts) (*http.Response, error) {
	request = request.WithContext(request.Context())
	request.ContentLength = body.size()
	request.GetBody = func() (io.ReadCloser, error) { return body.reader(), nil }
	request.Body = body.reader()
	return t.client.Do(request)
}

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.Next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	body, err := readBody(request.Context(), response.Body)
	if err != nil {
		return nil, err
	}
	wireOf(request.Context()).gets(body, t.key)
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return nil, t.refusal(response, body)
	}
	if t.Normalise != nil {
		if body, err = t.Normalise(request.Context(), body); err != nil {
			return nil, t.Unreadable(err)
		}
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	response.ContentLength = int64(len(body))
	return response, nil
}

// readBody reads the whole body, or fails if it is incomplete or too long.
func readBody(ctx context.Context, body io.ReadCloser) ([]byte, error) {
	defer func() { _ = body.Close() }() // read to its end or given up: nothing to learn
	text, err := io.ReadAll(io.LimitReader(body, maxAnswer+1))
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, &matcher.Unavailable{Reason: "the answer broke off"}
	case len(text) > maxAnswer:
		return nil, &matcher.Unavailable{Reason: fmt.Sprintf("the answer is larger than %d MiB", maxAnswer>>20)}
	default:
		return text, nil
	}
}
