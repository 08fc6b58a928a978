package matcher

import (
	"context"

	cohere "github.com/cohere-ai/cohere-go/v2"
	"github.com/cohere-ai/cohere-go/v2/option"
	cohereclient "github.com/cohere-ai/cohere-go/v2/v2"
)

// cohereChat speaks version 2 of Cohere's chat, and reads answers of version 1 too.
type cohereChat struct {
	client *cohereclient.Client
	key    string
}

// newCohere returns a client of the provider's endpoint.
func newCohere(options Options, given Provider) (completer, error) {
	base, _, err := endpoint(given.BaseURL)
	if err != nil {
		return nil, err
	}
	key := given.Key.Reveal()
	if key == "" {
		// The SDK would take one from a variable of its own.
		options.HTTPClient = withoutHeader(options.HTTPClient, "Authorization", "Bearer ")
	}
	client := cohereclient.NewClient(
		option.WithBaseURL(base), option.WithToken(key), option.WithMaxAttempts(1),
		option.WithHTTPClient(newWire(options, key, normaliseCohere)),
	)
	return &cohereChat{client: client, key: key}, nil
}

// complete implements completer.
func (c *cohereChat) complete(ctx context.Context, request completionRequest) (completion, error) {
	names := newCohereNames(request)
	answered, err := c.client.Chat(ctx, cohereRequest(request, names))
	if err != nil {
		return completion{}, failure(ctx, err, c.key)
	}
	answer := completion{Usage: cohereUsage(answered.Usage)}
	if err := finished(string(answered.FinishReason), "COMPLETE", "STOP_SEQUENCE", "TOOL_CALL"); err != nil {
		return answer, err
	}
	for _, item := range answered.Message.Content {
		answer.Text += item.Text.Text // ours alone: there is no other item
	}
	for _, call := range answered.Message.ToolCalls {
		answer.Calls = append(answer.Calls, toolCall{
			ID: *call.Id, Name: names.neutral(*call.Function.Name), Arguments: *call.Function.Arguments,
		})
	}
	if plan := answered.Message.ToolPlan; plan != nil && len(answer.Calls) > 0 {
		answer.Calls[0].Echo = *plan
	}
	return answer, nil
}

func cohereUsage(usage *cohere.Usage) Usage {
	cached, _ := usage.GetExtraProperties()["cached_tokens"].(float64)
	return Usage{
		Prompt:     int(*usage.Tokens.InputTokens),
		Cached:     int(cached),
		Completion: int(*usage.Tokens.OutputTokens),
	}
}
