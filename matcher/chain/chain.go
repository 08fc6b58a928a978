// Package chain combines the complete matcher: the exact text of a button-like tool first, then an LLM if one is
// configured, otherwise the offline matcher, and evidence for the inferred values.
package chain

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"earshot/matcher"
	"earshot/matcher/evidence"
	"earshot/matcher/llm"
	"earshot/matcher/offline"
	"earshot/matcher/retrieval"
	"earshot/repositories"
)

// Chain is the complete Matcher.
type Chain struct {
	certain   map[string][]decider // by settings.llm.when, in order
	rest      matcher.Matcher
	retriever *retrieval.Retriever
	describes string
}

// decider decides a message by its words, and reports whether the decision is certain. One that nothing is called for
// has no matches.
type decider func(matcher.Request) (matcher.Result, bool)

// deciders lists the deciders before the model or the offline matcher. The exact text of a button always decides;
// other words do if the app's settings allow it.
func deciders(words ...decider) map[string][]decider {
	return map[string][]decider{repositories.LLMAlways: {Exact}, repositories.LLMUnsure: append([]decider{Exact}, words...)}
}

// New returns the matcher for the options; the zero value needs no LLM.
func New(options llm.Options) *Chain {
	retriever := retrieval.NewFused(options.Meaning)
	if options.Configured() {
		return &Chain{certain: deciders(offline.New().Certain), rest: llm.New(options), retriever: retriever, describes: options.Describe()}
	}
	return &Chain{
		certain: deciders(), rest: offline.New(), retriever: retriever,
		describes: "no LLM is configured: the rule-based matcher decides, and fires nothing if it is not sure; " +
			"set OPENAI_API_KEY or OPENAI_BASE_URL for an LLM, or ANTHROPIC_API_KEY, GEMINI_API_KEY or COHERE_API_KEY",
	}
}

// Describe returns a sentence on what matches, for the log at start. It contains no credential.
func (c *Chain) Describe() string { return c.describes }

// CheckModel returns why messages cannot be matched with a model that settings name; nil if they can. Without any
// configured model the words decide, whatever the settings name.
func (c *Chain) CheckModel(named string) error {
	if models, asks := c.rest.(*llm.LLM); asks {
		return models.CheckModel(named)
	}
	return nil
}

// Match implements Matcher.
func (c *Chain) Match(ctx context.Context, request matcher.Request) (matcher.Result, error) {
	trace, when := matcher.TraceOf(ctx), repositories.LLMAlways
	if request.App != nil {
		settings := request.App.Settings.LLM
		when = cmp.Or(settings.When, when)
		if _, asks := c.rest.(*llm.LLM); !asks && settings.Tools != "" {
			trace.Note(fmt.Sprintf("settings.llm.tools is %q and no model is configured: the rule-based matcher decides.", settings.Tools))
		}
	}
	for _, decide := range c.certain[when] {
		result, sure := decide(request)
		if !sure {
			continue
		}
		for i, match := range result.Matches {
			if match.Tool.Params().Infers() {
				result.Matches[i].Evidence = evidence.Find(request, match.Values, match.Tool)
			}
			result.Matches[i].Call = trace.Add(matcher.Call{Candidate: match.Candidate, Name: match.Tool.Name, Arguments: map[string]any{}})
		}
		return result, nil
	}
	result, err := c.rest.Match(ctx, request)
	for i, match := range result.Matches {
		result.Matches[i].Evidence = evidence.Find(request, match.Values, match.Tool)
	}
	if trace != nil && err == nil && len(result.Matches)+len(result.Rejected) == 0 && len(request.Candidates) > matcher.MostNearest {
		trace.Nearest = c.nearest(request, trace)
	}
	return result, err
}

// nearest lists the candidates nearest to a message: those that it was compared with and the model was offered, in
// their ranking. If the model was offered all, the words rank them.
func (c *Chain) nearest(request matcher.Request, trace *matcher.Trace) []matcher.Candidate {
	near := make([]matcher.Candidate, 0, matcher.MostNearest)
	add := func(one matcher.Candidate) {
		if len(near) < matcher.MostNearest && !slices.Contains(near, one) {
			near = append(near, one)
		}
	}
	scores := trace.Scores
	if scores == nil && trace.Offered == nil {
		scores = c.retriever.Nearest(request, matcher.MostNearest)
	}
	for _, one := range scores {
		add(one.Candidate)
	}
	for _, one := range trace.Offered {
		add(one)
	}
	return near
}

// Reply implements Matcher.
func (c *Chain) Reply(ctx context.Context, request matcher.Request, fired []matcher.PastCall) (string, error) {
	return c.rest.Reply(ctx, request, fired)
}

// Search implements matcher.Searcher.
func (c *Chain) Search(ctx context.Context, request matcher.Request, text string, most int) []matcher.Score {
	return c.retriever.Search(ctx, request, text, most)
}
