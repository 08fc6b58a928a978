package matcher

import (
	"context"
	"net/http"
	"strings"

	"github.com/sashabaranov/go-openai"
)

// openAI speaks the chat completions of OpenAI, and of the many servers that are
// compatible with them more or less.
type openAI struct {
	client *openai.Client
	key    string
	order  messageOrder
}

// newOpenAI returns a client of the provider's endpoint.
func newOpenAI(network network, given Provider) (completer, error) {
	key := given.Key.Reveal()
	config := openai.DefaultConfig(key)
	config.BaseURL = given.BaseURL
	transport := newTransport(network, key)
	transport.next, transport.normalise = azure{next: transport.next, key: key}, normalise
	config.HTTPClient = transport.client()
	return &openAI{client: openai.NewClientWithConfig(config), key: key}, nil
}

// azure gives Azure's endpoints the key under the name that they want.
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

// complete implements completer.
func (o *openAI) complete(ctx context.Context, request completionRequest) (completion, error) {
	response, err := o.create(ctx, request)
	if err != nil {
		return completion{}, failure(ctx, err, o.key)
	}
	answer := completion{Usage: usageOf(response.Usage)}
	for _, choice := range response.Choices {
		// Some proxies spread the parts of one answer over several choices.
		if err := whole(string(choice.FinishReason)); err != nil {
			return completion{Usage: answer.Usage}, err
		}
		answer.Text = strings.TrimSpace(answer.Text + "\n" + choice.Message.Content)
		for _, call := range choice.Message.ToolCalls {
			answer.Calls = append(answer.Calls, toolCall{
				ID: call.ID, Name: call.Function.Name, Arguments: call.Function.Arguments,
			})
		}
	}
	return answer, nil
}

func usageOf(usage openai.Usage) Usage {
	counted := Usage{Prompt: usage.PromptTokens, Completion: usage.CompletionTokens}
	if usage.PromptTokensDetails != nil {
		counted.Cached = usage.PromptTokensDetails.CachedTokens
	}
	return counted
}
