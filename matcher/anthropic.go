package matcher

import (
	"context"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"go.opentelemetry.io/otel/trace/noop"
)

// messages speaks Anthropic's Messages API.
type messages struct {
	client anthropic.Client
	key    string
}

// newAnthropic returns a client of the provider's endpoint. Nothing of it comes from
// the SDK's own environment variables.
func newAnthropic(options Options, given Provider) (completer, error) {
	base, _, err := endpoint(given.BaseURL)
	if err != nil {
		return nil, err
	}
	key := given.Key.Reveal()
	settings := []option.RequestOption{
		option.WithoutEnvironmentDefaults(),
		option.WithBaseURL(base),
		option.WithHTTPClient(newWire(options, key, normaliseAnthropic)),
		option.WithMaxRetries(0),
		// The SDK's spans can be told by a variable to hold what people said.
		option.WithTracerProvider(noop.NewTracerProvider()),
	}
	if key != "" {
		settings = append(settings, option.WithAPIKey(key))
	}
	return &messages{client: anthropic.NewClient(settings...), key: key}, nil
}

// complete implements completer.
func (m *messages) complete(ctx context.Context, request completionRequest) (completion, error) {
	answered, err := m.client.Messages.New(ctx, anthropicRequest(request))
	if err != nil {
		return completion{}, failure(ctx, err, m.key)
	}
	answer := completion{Usage: anthropicUsage(answered.Usage)}
	if err := finished(string(answered.StopReason), "end_turn", "stop_sequence", "tool_use"); err != nil {
		return answer, err
	}
	var thoughts []string
	for _, block := range answered.Content {
		switch block.Type {
		case "text":
			answer.Text += block.Text
		case "thinking", "redacted_thinking":
			thoughts = append(thoughts, block.RawJSON())
		case "tool_use":
			answer.Calls = append(answer.Calls, toolCall{
				ID: block.ID, Name: block.Name, Arguments: string(block.Input), Echo: strings.Join(thoughts, ","),
			})
			thoughts = nil
		}
	}
	return answer, nil
}

// anthropicUsage counts what was written to the cache and read from it with the rest:
// Anthropic counts them apart.
func anthropicUsage(usage anthropic.Usage) Usage {
	return Usage{
		Prompt:     int(usage.InputTokens + usage.CacheCreationInputTokens + usage.CacheReadInputTokens),
		Cached:     int(usage.CacheReadInputTokens),
		Completion: int(usage.OutputTokens),
	}
}
