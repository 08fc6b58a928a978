// Package cohere is the client of Cohere's chat API.
package cohere

import (
	"context"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"earshot/matcher/llm/provider"
)

// DefaultModel is asked where neither the app nor the configuration names one.
const DefaultModel = "command-a-03-2025"

// client speaks version 2 of Cohere's chat, and reads answers of version 1 too.
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
	header, key := http.Header{}, given.Key.Reveal()
	if key != "" {
		header.Set("Authorization", "Bearer "+key)
	}
	transport := provider.NewTransport(network, key)
	transport.Essential = []string{"messages", "model", "tools"}
	return &client{transport, base.JoinPath("v2", "chat"), header}, nil
}

// Complete implements provider.Client.
func (c *client) Complete(ctx context.Context, request provider.Request) (provider.Completion, error) {
	names := newToolNames(request)
	body, err := c.transport.Post(ctx, c.url, c.header, newBody(request, names))
	if err != nil {
		return provider.Completion{}, err
	}
	answer, err := readAnswer(body)
	for i := range answer.Calls {
		answer.Calls[i].Name = names.neutral(answer.Calls[i].Name)
	}
	return answer, c.transport.Unreadable(err)
}

// validName is what Cohere takes as the name of a tool: a hyphen is refused.
var validName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)

// toolNames maps the names of a request's tools to ones that Cohere takes.
type toolNames struct{ to, from map[string]string }

// newToolNames maps the names of the tools that are offered or were called. A name
// that can stay stays, whatever its neighbours become.
func newToolNames(request provider.Request) toolNames {
	n := toolNames{to: map[string]string{}, from: map[string]string{}}
	_, all := provider.CallsByID(request.Messages)
	for _, tool := range request.Tools {
		all = append(all, tool.Name)
	}
	slices.Sort(all)
	for _, name := range all {
		if validName.MatchString(name) {
			n.to[name], n.from[name] = name, name
		}
	}
	for _, name := range slices.Compact(all) {
		if _, stays := n.to[name]; !stays {
			alias := n.free(strings.ReplaceAll(name, "-", "_"))
			n.to[name], n.from[alias] = alias, name
		}
	}
	return n
}

// free returns the first of base, base_2, base_3… that is not taken.
func (n toolNames) free(base string) string {
	alias := base
	for i := 2; n.from[alias] != ""; i++ {
		alias = base[:min(len(base), 60)] + "_" + strconv.Itoa(i)
	}
	return alias
}

// neutral maps a name that the model called back to the tool's. A name that was not given
// to it stays as it is.
func (n toolNames) neutral(name string) string {
	if given, known := n.from[name]; known {
		return given
	}
	return name
}
