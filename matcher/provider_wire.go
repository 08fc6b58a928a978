package matcher

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// mostAnswer bounds the body of an answer, in bytes. What a model writes is a few
// kilobytes.
const mostAnswer = 4 << 20

// wire stands between a provider's SDK and the network. It turns every refusal into an
// *Unavailable, and every answer into the one shape that the SDK decodes without
// losing anything. Since the SDK never sees a refusal it has nothing to try again. A
// redirect is a refusal too: the key is meant for the endpoint alone.
type wire struct {
	options   Options
	next      http.RoundTripper
	key       string
	normalise func(body []byte) ([]byte, error)
}

// newWire returns the options' HTTP client with a wire in it.
func newWire(options Options, key string, normalise func([]byte) ([]byte, error)) *http.Client {
	client := *options.HTTPClient
	next := cmp.Or(client.Transport, http.DefaultTransport)
	client.Transport = &wire{options: options, next: next, key: key, normalise: normalise}
	return &client
}

// RoundTrip implements http.RoundTripper.
func (w *wire) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := w.next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	body, err := readBody(request.Context(), response.Body)
	if err != nil {
		return nil, err
	}
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return nil, w.refusal(response, body)
	}
	normal, err := w.normalise(body)
	if err != nil {
		return nil, w.unreadable(err)
	}
	response.Body = io.NopCloser(bytes.NewReader(normal))
	response.ContentLength = int64(len(normal))
	response.Header.Set("Content-Type", "application/json") // SDKs decode nothing else
	return response, nil
}

// readBody takes the whole body, and an error where there is no whole one to take.
func readBody(ctx context.Context, body io.ReadCloser) ([]byte, error) {
	defer func() { _ = body.Close() }() // read to its end or given up: nothing to learn
	text, err := io.ReadAll(io.LimitReader(body, mostAnswer+1))
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, &Unavailable{Reason: "the answer broke off"}
	case len(text) > mostAnswer:
		return nil, &Unavailable{Reason: fmt.Sprintf("the answer is larger than %d MiB", mostAnswer>>20)}
	default:
		return text, nil
	}
}

// decodeAnswer reads the JSON of an answer into a provider's shape.
func decodeAnswer(body []byte, into any) error {
	body = bytes.TrimSpace(bytes.TrimPrefix(body, []byte("\ufeff")))
	switch err := json.Unmarshal(body, into); {
	case len(body) == 0:
		return errors.New("the answer is empty")
	case err != nil && body[0] == '<':
		return errors.New("the answer is HTML, not JSON: check the base URL")
	case err != nil:
		return errors.New("the answer is not the JSON of a completion, or only a part of it")
	default:
		return nil
	}
}

// withoutHeader returns a client that sends no such header with a value that begins so.
// It is for SDKs that insist on a key, or find one in a variable of their own, where
// the endpoint is to be asked without.
func withoutHeader(client *http.Client, name, prefix string) *http.Client {
	without := *client
	without.Transport = headerless{cmp.Or(client.Transport, http.DefaultTransport), name, prefix}
	return &without
}

type headerless struct {
	next         http.RoundTripper
	name, prefix string
}

// RoundTrip implements http.RoundTripper.
func (h headerless) RoundTrip(request *http.Request) (*http.Response, error) {
	if strings.HasPrefix(request.Header.Get(h.name), h.prefix) {
		request = request.Clone(request.Context())
		request.Header.Del(h.name)
	}
	return h.next.RoundTrip(request)
}
