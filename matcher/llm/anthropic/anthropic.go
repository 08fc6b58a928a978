// Package anthropic is the client of Anthropic's Messages API.
package anthropic

import (
	"context"
	"net/http"
	"net/url"

	"earshot/matcher/llm/provider"
)

// DefaultModel is asked where neither the app nor the configuration names one.
const DefaultModel = "claude-haiku-5-5"

// apiVersion is the version of the Messages API that is written and read here.
const apiVersion = "2023-06-01"

// client speaks Anthropic's Messages API.
type client struct {
	transport *provider.Transport
	url       *url.URL
	header    http.Header
}

// New returns a client of the provider's endpoint.
func New(network provider.Network, given provider.Config) (provider.Client, error) {
	base, _, err := provider.Endpoint(given.BaseURL)
	if err != nil {
		return nil, err
	}
	header := http.Header{"Anthropic-Version": {apiVersion}}
	key := given.Key.Reveal()
	if key != "" {
		header.Set("X-Api-Key", key)
	}
	transport := provider.NewTransport(network, key)
	transport.Essential = []string{"max_tokens", "messages", "model", "system", "tools"}
	transport.Marks = map[string]string{"cache_control": cacheMark}
	return &client{transport, base.JoinPath("v1", "messages"), header}, nil
}

// Complete implements provider.Client.
func (a *client) Complete(ctx context.Context, request provider.Request) (provider.Completion, error) {
	body, err := a.transport.Post(ctx, a.url, a.header, newBody(request))
	if err != nil {
		return provider.Completion{}, err
	}
	answer, err := readAnswer(body)
	return answer, a.transport.Unreadable(err)
}
