package matcher

import (
	"context"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// cohereModel is asked where neither the app nor the configuration names one.
const cohereModel = "command-a-03-2025"

// cohereClient speaks version 2 of Cohere's chat, and reads answers of version 1 too.
type cohereClient struct {
	transport *transport
	url       *url.URL
	header    http.Header
}

// newCohere returns a client of the provider's endpoint.
func newCohere(network network, given Provider) (completer, error) {
	base, _, err := endpoint(given.BaseURL)
	if err != nil {
		return nil, err
	}
	header, key := http.Header{}, given.Key.Reveal()
	if key != "" {
		header.Set("Authorization", "Bearer "+key)
	}
	return &cohereClient{newTransport(network, key), base.JoinPath("v2", "chat"), header}, nil
}

// complete implements completer.
func (c *cohereClient) complete(ctx context.Context, request completionRequest) (completion, error) {
	names := newCohereNames(request)
	body, err := c.transport.post(ctx, c.url, c.header, newCohereRequest(request, names))
	if err != nil {
		return completion{}, err
	}
	answer, err := readCohere(body)
	for i := range answer.Calls {
		answer.Calls[i].Name = names.neutral(answer.Calls[i].Name)
	}
	return answer, c.transport.unreadable(err)
}

// cohereName is what Cohere takes as the name of a tool: a hyphen is refused.
var cohereName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)

// cohereNames maps the names of a request's tools to ones that Cohere takes.
type cohereNames struct{ to, from map[string]string }

// newCohereNames maps the names of the tools that are offered or were called. A name
// that can stay stays, whatever its neighbours become.
func newCohereNames(request completionRequest) cohereNames {
	n := cohereNames{to: map[string]string{}, from: map[string]string{}}
	_, all := callsByID(request.Messages)
	for _, tool := range request.Tools {
		all = append(all, tool.Name)
	}
	slices.Sort(all)
	for _, name := range all {
		if cohereName.MatchString(name) {
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
func (n cohereNames) free(base string) string {
	alias := base
	for i := 2; n.from[alias] != ""; i++ {
		alias = base[:min(len(base), 60)] + "_" + strconv.Itoa(i)
	}
	return alias
}

// neutral is the way back from what the model called. A name that was not given to it
// stays as it is.
func (n cohereNames) neutral(name string) string {
	if given, known := n.from[name]; known {
		return given
	}
	return name
}
