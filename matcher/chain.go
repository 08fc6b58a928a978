package matcher

import "context"

// Chain is the whole matcher: the text that equals a button-like tool first, then an
// LLM where one is configured, else the offline matcher.
type Chain struct {
	rest      Matcher
	describes string
}

// New returns the matcher for the options.
func New(options Options) *Chain {
	if !options.Configured() {
		return &Chain{
			rest: NewOffline(),
			describes: "no LLM is configured: the offline matcher decides from words alone, and keeps silent where it is not sure; " +
				"set OPENAI_API_KEY or OPENAI_BASE_URL for an LLM, or ANTHROPIC_API_KEY, GEMINI_API_KEY or COHERE_API_KEY",
		}
	}
	return &Chain{rest: NewLLM(options), describes: options.Describe()}
}

// Describe says in one sentence what matches, for the log at start. It names no
// credential.
func (c *Chain) Describe() string { return c.describes }

// Match implements Matcher.
func (c *Chain) Match(ctx context.Context, request Request) (Result, error) {
	if result, exact := Exact(request); exact {
		return result, nil
	}
	if Abandons(request.Text) {
		request.Unfinished = nil
	}
	result, err := c.rest.Match(ctx, request)
	for i, match := range result.Matches {
		result.Matches[i].Evidence = FindEvidence(request, match.Values, match.Tool)
	}
	return result, err
}

// Reply implements Matcher.
func (c *Chain) Reply(ctx context.Context, request Request, fired []Fired) (string, error) {
	return c.rest.Reply(ctx, request, fired)
}
