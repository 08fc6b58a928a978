// Package offline matches without a model: it matches a message to a tool by words, and fills the tool's
// parameters.
package offline

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"earshot/matcher"
	"earshot/matcher/datetime"
	"earshot/matcher/retrieval"
	"earshot/matcher/text"
	"earshot/matcher/values"
	"earshot/repositories/parameters"
)

// Matcher matches without a model. It compares a text with the names, descriptions and examples of the tools in
// scope, and reads values that the words name beyond doubt. Of the history it uses the last calls, to which "it"
// and "no, Tuesday" refer. It writes no replies, and prefers silence to a wrong call. It is safe for concurrent
// use.
type Matcher struct{ indexes *retrieval.Cache }

// New returns a matcher that needs no LLM.
func New() *Matcher { return &Matcher{indexes: retrieval.NewCache()} }

// Match finds the tools that the text calls for. A tool that lacks required values is Rejected. The error is always
// nil.
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
		arguments := p.request.Complete(one.Candidate, values.Listed(one.Tool, one.values))
		checked := one.Tool.Params().Read(arguments)
		for i, fault := range checked.Errors {
			if why := said.Why[fault.Parameter]; why != "" && slices.Contains(checked.Missing, fault.Parameter) {
				checked.Errors[i].Detail += ": " + why
			}
		}
		for _, name := range slices.Sorted(maps.Keys(said.Unusable)) { // else the call would be made without what was said
			if arguments[name] == nil && !slices.Contains(checked.Missing, name) {
				checked.Errors = append(checked.Errors, parameters.ValueFault{Parameter: name, Detail: said.Unusable[name]})
			}
		}
		if len(checked.Errors) == 0 {
			for _, name := range slices.Sorted(maps.Keys(said.Why)) {
				if checked.Values[name] == nil {
					p.trace.Note(fmt.Sprintf("%s has no value: %s.", name, said.Why[name]))
				}
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

// Certain returns the call that the text asks for, and whether it is certain enough to skip the model. That
// requires a tool without values, no chat, whose reply needs a model, and no unfinished call that the text may
// complete.
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

// Reply returns the empty string, because no model can write a reply.
func (o *Matcher) Reply(context.Context, matcher.Request, []matcher.PastCall) (string, error) {
	return "", nil
}
