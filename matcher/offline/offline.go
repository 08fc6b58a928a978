// Package offline matches without a model: it decides from the words of a message
// which tool they call for, and fills the tool's parameters.
package offline

import (
	"context"
	"slices"

	"earshot/matcher"
	"earshot/matcher/datetime"
	"earshot/matcher/retrieval"
	"earshot/matcher/text"
)

// Matcher matches without a model, from the words alone: a text is compared with the
// names, descriptions and examples of the tools in scope, and values are read where
// the words name them beyond doubt. Of the history it sees what was fired last, which "it"
// and "no, Tuesday" speak of. It writes no replies, and keeps silent rather than fire
// wrongly. It is safe for concurrent use.
type Matcher struct{ indexes *retrieval.Cache }

// New returns a matcher that needs no LLM.
func New() *Matcher { return &Matcher{indexes: retrieval.NewCache()} }

// Match finds the tools that the text calls for. A tool whose required values are not all in
// the text is Rejected, not a Match. The error is always nil.
func (o *Matcher) Match(ctx context.Context, request matcher.Request) (matcher.Result, error) {
	if len(request.Candidates) == 0 {
		return matcher.Result{Stage: matcher.StageNone}, nil
	}
	p := &interpreter{
		request: request, scope: o.indexes.Of(request), trace: matcher.TraceOf(ctx),
		texts: map[string]*datetime.Text{}, readings: map[readFor]reading{},
	}
	calls, why := p.interpret()
	if len(calls) == 0 {
		p.trace.Silent(why)
	}
	result := matcher.Result{Stage: matcher.StageOffline}
	for _, one := range calls {
		said := p.read(one.said, one.Candidate)
		checked := one.Tool.Params().Read(request.Complete(one.Candidate, one.values))
		for i, fault := range checked.Errors {
			if why := said.Why[fault.Parameter]; why != "" && slices.Contains(checked.Missing, fault.Parameter) {
				checked.Errors[i].Detail += ": " + why
			}
		}
		call := p.trace.Add(matcher.Call{
			Candidate: one.Candidate, Name: one.Tool.Name, Arguments: one.values, Coerced: checked.Coerced, Errors: checked.Errors,
		})
		if len(checked.Errors) > 0 {
			result.Rejected = append(result.Rejected, matcher.Rejected{
				Candidate: one.Candidate, Values: checked.Values, Missing: checked.Missing, Errors: checked.Errors, Asks: said.Asks, Call: call,
			})
			continue
		}
		result.Matches = append(result.Matches, matcher.Match{Candidate: one.Candidate, Values: checked.Values, Coerced: checked.Coerced, Call: call})
	}
	return result, nil
}

// Certain returns the call that the text asks for, and whether its words leave so little doubt
// that no model need be asked. They do so for a tool that takes no values alone, outside of a
// chat, where a model writes as well, and where no call lacks values that the text may give.
func (o *Matcher) Certain(request matcher.Request) (matcher.Result, bool) {
	if len(request.Candidates) == 0 || request.Chat || len(request.Unfinished) > 0 {
		return matcher.Result{}, false
	}
	t := text.Of(request.Text)
	if said := text.Corrected(request.Text); said.Before != "" || len(partsOf(said.After)) > 1 || text.AnyIs(t.Words, text.Negations) {
		return matcher.Result{}, false
	}
	judged := decide(Sure, o.indexes.Of(request), t)
	if judged.why != "" {
		return matcher.Result{}, false
	}
	found := request.Candidates[judged.nearest[0].Place]
	checked := found.Tool.Params().Read(map[string]any{})
	if found.Tool.Params().Infers() || len(checked.Errors) > 0 {
		return matcher.Result{}, false
	}
	return matcher.Result{Stage: matcher.StageOffline, Matches: []matcher.Match{{Candidate: found, Values: checked.Values}}}, true
}

// Reply returns the empty string: there is no model to write a reply.
func (o *Matcher) Reply(context.Context, matcher.Request, []matcher.PastCall) (string, error) {
	return "", nil
}
