// Package chain puts the complete matcher together: exact text of a button-like tool first,
// then an LLM if one is configured, otherwise the offline matcher, and evidence for the
// values that they find.
package chain

import (
	"context"

	"earshot/matcher"
	"earshot/matcher/evidence"
	"earshot/matcher/llm"
	"earshot/matcher/offline"
)

// Chain is the complete Matcher: exact text of a button-like tool first, then an LLM if one
// is configured, otherwise the offline matcher.
type Chain struct {
	rest      matcher.Matcher
	describes string
}

// New returns the matcher for the options; the zero value needs no LLM.
func New(options llm.Options) *Chain {
	if !options.Configured() {
		return &Chain{
			rest: offline.New(),
			describes: "no LLM is configured: the offline matcher decides from words alone, and keeps silent where it is not sure; " +
				"set OPENAI_API_KEY or OPENAI_BASE_URL for an LLM, or ANTHROPIC_API_KEY, GEMINI_API_KEY or COHERE_API_KEY",
		}
	}
	return &Chain{rest: llm.New(options), describes: options.Describe()}
}

// Describe says in one sentence what matches, for the log at start. It names no
// credential.
func (c *Chain) Describe() string { return c.describes }

// Match implements Matcher.
func (c *Chain) Match(ctx context.Context, request matcher.Request) (matcher.Result, error) {
	if result, exact := Exact(request); exact {
		return result, nil
	}
	if matcher.Abandons(request.Text) {
		request.Unfinished = nil
	}
	result, err := c.rest.Match(ctx, request)
	for i, match := range result.Matches {
		result.Matches[i].Evidence = evidence.Find(request, match.Values, match.Tool)
	}
	return result, err
}

// Reply implements Matcher.
func (c *Chain) Reply(ctx context.Context, request matcher.Request, fired []matcher.PastCall) (string, error) {
	return c.rest.Reply(ctx, request, fired)
}
