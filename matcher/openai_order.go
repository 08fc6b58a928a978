package matcher

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/sashabaranov/go-openai"
)

// messageOrder remembers whether an endpoint takes system messages within the conversation.
// OpenAI does, and caches best that way. Mistral wants them first, and an assistant's
// message between a tool's result and the user's next; so do the chat templates of
// several open models. Each tells so with a refusal that names the role.
type messageOrder struct{ strict atomic.Bool }

var refusesOrder = regexp.MustCompile(`(?i)unexpected role|system message must|roles must alternate|message_order|only the first message can be a system`)

// create sends the request, in the strict order where the endpoint is known to want
// it. The refusal that tells so costs one more request, once for the process.
func (o *openAI) create(ctx context.Context, request completionRequest) (openai.ChatCompletionResponse, error) {
	if o.order.strict.Load() {
		return o.client.CreateChatCompletion(ctx, dialect(inOrder(request)))
	}
	response, err := o.client.CreateChatCompletion(ctx, dialect(request))
	var refused *Unavailable
	if errors.As(err, &refused) && refusesOrder.MatchString(refused.Reason) {
		o.order.strict.Store(true)
		return o.client.CreateChatCompletion(ctx, dialect(inOrder(request)))
	}
	return response, err
}

// inOrder moves all system texts to the front and lets the assistant speak between a
// tool and the user.
func inOrder(request completionRequest) completionRequest {
	system := message{Role: roleSystem}
	var rest []message
	for _, one := range request.Messages {
		if one.Role == roleSystem {
			system.Text = strings.TrimSpace(system.Text + "\n\n" + one.Text)
			continue
		}
		if last := len(rest) - 1; one.Role == roleUser && last >= 0 && rest[last].Role == roleTool {
			rest = append(rest, message{Role: roleAssistant, Text: "Done."})
		}
		rest = append(rest, one)
	}
	request.Messages = slices.Concat([]message{system}, merged(rest))
	return request
}

// merged joins neighbouring texts of one speaker, so that the speakers alternate.
func merged(messages []message) []message {
	var joined []message
	for _, one := range messages {
		last := len(joined) - 1
		if last >= 0 && joined[last].Role == one.Role && one.Role != roleTool && len(joined[last].Calls)+len(one.Calls) == 0 {
			joined[last].Text += "\n\n" + one.Text
			continue
		}
		joined = append(joined, one)
	}
	return joined
}
