package matcher

import (
	"context"
	"net/http"
	"net/url"
)

// anthropicModel is asked where neither the app nor the configuration names one.
const anthropicModel = "claude-haiku-5-5"

// anthropicVersion is the version of the Messages API that is written and read here.
const anthropicVersion = "2023-06-01"

// anthropicClient speaks Anthropic's Messages API.
type anthropicClient struct {
	transport *transport
	url       *url.URL
	header    http.Header
}

// newAnthropic returns a client of the provider's endpoint.
func newAnthropic(network network, given Provider) (completer, error) {
	base, _, err := endpoint(given.BaseURL)
	if err != nil {
		return nil, err
	}
	header := http.Header{"Anthropic-Version": {anthropicVersion}}
	key := given.Key.Reveal()
	if key != "" {
		header.Set("X-Api-Key", key)
	}
	return &anthropicClient{newTransport(network, key), base.JoinPath("v1", "messages"), header}, nil
}

// complete implements completer.
func (a *anthropicClient) complete(ctx context.Context, request completionRequest) (completion, error) {
	body, err := a.transport.post(ctx, a.url, a.header, newAnthropicRequest(request))
	if err != nil {
		return completion{}, err
	}
	answer, err := readAnthropic(body)
	return answer, a.transport.unreadable(err)
}
