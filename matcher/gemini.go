package matcher

import (
	"context"
	"sync"

	"google.golang.org/genai"
)

// gemini speaks Google's generateContent, of the Gemini API and of Vertex AI.
type gemini struct {
	key  string
	open func() (*genai.Client, error)

	mu     sync.Mutex
	client *genai.Client
}

// newGemini returns a client of the provider's endpoint, which is made when it is first
// needed: Google's credentials may have to be looked for on the network.
func newGemini(options Options, given Provider) (completer, error) {
	place, err := placeOf(given)
	if err != nil {
		return nil, err
	}
	key := given.Key.Reveal()
	return &gemini{key: key, open: func() (*genai.Client, error) {
		config := place.config(key)
		if key == "" {
			options.HTTPClient = withoutHeader(options.HTTPClient, "X-Goog-Api-Key", "")
		}
		config.HTTPClient = newWire(options, key, normaliseGemini)
		if place.vertex && key == "" {
			if err := config.UseDefaultCredentials(); err != nil {
				return nil, err
			}
		}
		return genai.NewClient(context.Background(), config)
	}}, nil
}

// opened returns the client, and tries again where there was none to be had.
func (g *gemini) opened() (client *genai.Client, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.client == nil {
		g.client, err = g.open()
	}
	return g.client, err
}

// complete implements completer.
func (g *gemini) complete(ctx context.Context, request completionRequest) (completion, error) {
	client, err := g.opened()
	if err != nil {
		return completion{}, failure(ctx, err, g.key)
	}
	contents, config := geminiRequest(request)
	answered, err := client.Models.GenerateContent(ctx, request.Model, contents, config)
	if err != nil {
		return completion{}, failure(ctx, err, g.key)
	}
	answer := completion{Usage: geminiUsage(answered.UsageMetadata)}
	chosen := answered.Candidates[0] // there is one, or the answer was refused
	if err := finished(string(chosen.FinishReason), "STOP", "FINISH_REASON_UNSPECIFIED"); err != nil {
		return answer, err
	}
	for _, part := range chosen.Content.Parts {
		answer.Text += part.Text
		if call := part.FunctionCall; call != nil {
			answer.Calls = append(answer.Calls, toolCall{
				ID: call.ID, Name: call.Name, Arguments: exactText(call.Args), Echo: string(part.ThoughtSignature),
			})
		}
	}
	return answer, nil
}

// geminiUsage counts thoughts with what was written, as they are charged.
func geminiUsage(usage *genai.GenerateContentResponseUsageMetadata) Usage {
	return Usage{
		Prompt:     int(usage.PromptTokenCount + usage.ToolUsePromptTokenCount),
		Cached:     int(usage.CachedContentTokenCount),
		Completion: int(usage.CandidatesTokenCount + usage.ThoughtsTokenCount),
	}
}
