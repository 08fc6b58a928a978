package provider

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"

	"earshot/matcher"
)

// maxAnswer bounds the body of an answer, in bytes. What a model writes is a few
// kilobytes.
const maxAnswer = 4 << 20

// Transport is an http.RoundTripper for requests to a provider. It turns every refusal into
// a *matcher.Unavailable, so that nothing below the caller retries. A redirect is a refusal
// too: the key is meant only for the endpoint.
type Transport struct {
	network Network
	Next    http.RoundTripper
	key     string
	// Normalise, if set, rewrites the body of an answer.
	Normalise func(body []byte) ([]byte, error)
}

// NewTransport returns a transport over the network's HTTP client.
func NewTransport(network Network, key string) *Transport {
	return &Transport{network: network, Next: cmp.Or(network.HTTPClient.Transport, http.DefaultTransport), key: key}
}

// Client returns the network's HTTP client with the transport in it.
func (t *Transport) Client() *http.Client {
	client := *t.network.HTTPClient
	client.Transport = t
	return &client
}

// Post sends a JSON request and returns the body of the answer.
func (t *Transport) Post(ctx context.Context, to *url.URL, header http.Header, body any) ([]byte, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, &matcher.Unavailable{Reason: fmt.Sprintf("the request cannot be written: %s", err)}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), bytes.NewReader(text))
	if err != nil {
		return nil, &matcher.Unavailable{Reason: ErrBaseURL.Error()}
	}
	maps.Copy(request.Header, header)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", "earshot")
	response, err := t.Client().Do(request)
	if err != nil {
		return nil, Failure(ctx, err, t.key)
	}
	return io.ReadAll(response.Body) // out of memory: it was read before
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
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return nil, t.refusal(response, body)
	}
	if t.Normalise != nil {
		if body, err = t.Normalise(body); err != nil {
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
