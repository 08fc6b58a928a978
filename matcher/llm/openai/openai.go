// Package openai is the client of OpenAI's chat completions and of all compatible servers.
package openai

import (
	"context"
	"errors"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/sashabaranov/go-openai"

	"earshot/matcher"
	"earshot/matcher/llm/provider"
)

// client speaks the chat completions of OpenAI, and of the many servers that are
// compatible with them more or less.
type client struct {
	client *openai.Client
	key    string
	order  messageOrder
}

// New returns a client of the provider's endpoint.
func New(network provider.Network, given provider.Config) (provider.Client, error) {
	key := given.Key.Reveal()
	config := openai.DefaultConfig(key)
	config.BaseURL = given.BaseURL
	transport := provider.NewTransport(network, key)
	transport.Next, transport.Normalise = azure{next: transport.Next, key: key}, normalise
	transport.Essential = []string{"model", "messages", "tools"}
	config.HTTPClient = sender{transport}
	return &client{client: openai.NewClientWithConfig(config), key: key}, nil
}

// sender sends the requests of go-openai with their tools, which go-openai would write anew
// for each message.
type sender struct{ transport *provider.Transport }

// exchange is a request that go-openai writes but for its tools, and the answer to it, which
// is read from what came: go-openai would take a part of what servers send. The context has
// it under asked.
type exchange struct {
	request provider.Request
	answer  answer
}

type asked struct{}

// Do implements openai.HTTPDoer.
func (s sender) Do(request *http.Request) (*http.Response, error) {
	body := make([]byte, request.ContentLength) // as go-openai gives it out of a buffer
	if _, err := io.ReadFull(request.Body, body); err != nil {
		return nil, err
	}
	of := request.Context().Value(asked{}).(*exchange).request
	return s.transport.Send(request, provider.Body{Model: of.Model, Tools: toolsOf(of.Tools)}, body)
}

// azure sends the key to Azure's endpoints in the header that they expect.
type azure struct {
	next http.RoundTripper
	key  string
}

// RoundTrip implements http.RoundTripper.
func (a azure) RoundTrip(request *http.Request) (*http.Response, error) {
	if a.key != "" && strings.HasSuffix(request.URL.Hostname(), ".azure.com") {
		request = request.Clone(request.Context())
		request.Header.Set("api-key", a.key)
	}
	return a.next.RoundTrip(request)
}

// Complete implements provider.Client.
func (o *client) Complete(ctx context.Context, request provider.Request) (provider.Completion, error) {
	got, err := o.create(ctx, request)
	if err != nil {
		return provider.Completion{}, provider.Failure(ctx, err, o.key)
	}
	for _, reason := range got.reasons {
		if err := provider.CheckNotCut(reason); err != nil {
			return provider.Completion{Usage: got.Usage}, err
		}
	}
	return got.Completion, nil
}

// messageOrder remembers whether an endpoint takes system messages within the conversation.
// OpenAI does, and caches best that way. Mistral wants them first, and an assistant's
// message between a tool's result and the user's next; so do the chat templates of several
// open models. Each says so with a refusal that names the role.
type messageOrder struct{ strict atomic.Bool }

var refusesOrder = regexp.MustCompile(`(?i)unexpected role|system message must|roles must alternate|message_order|only the first message can be a system`)

// create sends the request, in the strict order where the endpoint is known to want
// it. The refusal that tells so costs one more request, once for the process.
func (o *client) create(ctx context.Context, request provider.Request) (answer, error) {
	if o.order.strict.Load() {
		return o.exchange(ctx, request, inOrder(request))
	}
	got, err := o.exchange(ctx, request, request)
	var refused *matcher.Unavailable
	if errors.As(err, &refused) && refusesOrder.MatchString(refused.Reason) {
		o.order.strict.Store(true)
		return o.exchange(ctx, request, inOrder(request))
	}
	return got, err
}

// exchange sends the request with its messages in that order.
func (o *client) exchange(ctx context.Context, request, ordered provider.Request) (answer, error) {
	one := &exchange{request: request}
	_, err := o.client.CreateChatCompletion(context.WithValue(ctx, asked{}, one), newRequest(ordered))
	return one.answer, err
}

// inOrder moves all system texts to the front and lets the assistant speak between a
// tool and the user.
func inOrder(request provider.Request) provider.Request {
	system := provider.Message{Role: provider.System}
	var rest []provider.Message
	for _, one := range request.Messages {
		if one.Role == provider.System {
			system.Text = strings.TrimSpace(system.Text + "\n\n" + one.Text)
			continue
		}
		if last := len(rest) - 1; one.Role == provider.User && last >= 0 && rest[last].Role == provider.ToolResult {
			rest = append(rest, provider.Message{Role: provider.Assistant, Text: "Done."})
		}
		rest = append(rest, one)
	}
	request.Messages = slices.Concat([]provider.Message{system}, merged(rest))
	return request
}

// merged joins consecutive texts of one speaker, so that the speakers alternate.
func merged(messages []provider.Message) []provider.Message {
	var joined []provider.Message
	for _, one := range messages {
		last := len(joined) - 1
		if last >= 0 && joined[last].Role == one.Role && one.Role != provider.ToolResult && len(joined[last].Calls)+len(one.Calls) == 0 {
			joined[last].Text += "\n\n" + one.Text
			continue
		}
		joined = append(joined, one)
	}
	return joined
}
