package matcher

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// mostAnswer bounds the body of an answer, in bytes. What a model writes is a few
// kilobytes.
const mostAnswer = 4 << 20

// wire stands between go-openai and the network. It turns every refusal into an
// *Unavailable, and every answer into the one shape that go-openai decodes. A redirect
// is a refusal too: the key is meant for the endpoint alone.
type wire struct {
	next http.RoundTripper
	key  string
	now  func() time.Time
}

// RoundTrip implements http.RoundTripper.
func (w *wire) RoundTrip(request *http.Request) (*http.Response, error) {
	if w.key != "" && strings.HasSuffix(request.URL.Hostname(), ".azure.com") {
		request = request.Clone(request.Context())
		request.Header.Set("api-key", w.key) // Azure's name for it
	}
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
	normal, err := normalise(body)
	if err != nil {
		return nil, w.unreadable(err)
	}
	response.Body = io.NopCloser(bytes.NewReader(normal))
	response.ContentLength = int64(len(normal))
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
