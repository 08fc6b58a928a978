package matcher

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/sashabaranov/go-openai"
)

const defaultBaseURL = "https://api.openai.com/v1"

// openAI speaks the chat completions of OpenAI, and of the many servers that are
// compatible with them more or less.
type openAI struct {
	client *openai.Client
	key    string
	order  messageOrder
}

// newOpenAI returns a client of the options' endpoint.
func newOpenAI(options Options) *openAI {
	key := options.Key.Reveal()
	config := openai.DefaultConfig(key)
	config.BaseURL = cmp.Or(options.BaseURL, defaultBaseURL)
	client := *options.HTTPClient
	client.Transport = &wire{next: cmp.Or(client.Transport, http.DefaultTransport), key: key, now: options.Now}
	config.HTTPClient = &client
	return &openAI{client: openai.NewClientWithConfig(config), key: key}
}

// complete implements completer.
func (o *openAI) complete(ctx context.Context, request completionRequest) (completion, error) {
	response, err := o.create(ctx, request)
	if err != nil {
		return completion{}, o.unavailable(ctx, err)
	}
	answer := completion{Usage: usageOf(response.Usage)}
	for _, choice := range response.Choices {
		// Some proxies spread the parts of one answer over several choices.
		if err := whole(choice.FinishReason); err != nil {
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

// unavailable words an error without the URL, which may carry credentials.
func (o *openAI) unavailable(ctx context.Context, err error) error {
	var known *Unavailable
	if errors.As(err, &known) {
		return known
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var sent *url.Error
	if errors.As(err, &sent) {
		err = sent.Err
	}
	return &Unavailable{Reason: scrub(err.Error(), o.key)}
}

// whole returns an error for an answer that its server did not finish: what is cut
// short or filtered out is trouble, never a match.
func whole(reason openai.FinishReason) error {
	switch strings.ToLower(string(reason)) {
	case "length", "max_tokens", "model_length":
		return &Unavailable{Reason: "the answer was cut short by the model's limit of tokens"}
	case "content_filter", "safety", "refusal":
		return &Unavailable{Reason: "the provider's content filter held the answer back"}
	case "error", "malformed_function_call":
		return &Unavailable{Reason: fmt.Sprintf("the model failed with finish_reason %q", reason)}
	default:
		return nil
	}
}

func usageOf(usage openai.Usage) Usage {
	counted := Usage{Prompt: usage.PromptTokens, Completion: usage.CompletionTokens}
	if usage.PromptTokensDetails != nil {
		counted.Cached = usage.PromptTokensDetails.CachedTokens
	}
	return counted
}

// host names an endpoint without its path and query, and without what credentials its
// URL may hold.
func host(baseURL string) string {
	parsed, err := url.Parse(baseURL)
	if err != nil || parsed.Host == "" {
		return "the configured base URL"
	}
	return parsed.Host
}
