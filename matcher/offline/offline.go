// Package offline matches without a model: it decides from the words of a message
// which tool they call for, and fills the tool's parameters.
package offline

import (
	"context"
	"slices"

	"earshot/matcher"
	"earshot/matcher/datetime"
	"earshot/matcher/offline/confidence"
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
	found := finding{Result: matcher.Result{Stage: matcher.StageOffline}, trace: matcher.TraceOf(ctx)}
	h := &hearing{
		request: request, scope: o.indexes.Of(request), trace: found.trace,
		texts: map[string]*datetime.Text{}, readings: map[heard]reading{},
	}
	calls, why := h.hear()
	for _, one := range calls {
		found.take(one, h.read(one.said, one.Candidate), request)
	}
	if len(calls) == 0 {
		found.trace.Silent(why)
	}
	return found.Result, nil
}

// Certain returns the call that the text asks for, and whether its words leave so little doubt
// that no model need be asked. They do so for a tool that takes no values alone, outside of a
// chat, where a model writes as well, and where no call lacks values that the text may give.
func (o *Matcher) Certain(request matcher.Request) (matcher.Result, bool) {
	if len(request.Candidates) == 0 || request.Chat || len(request.Unfinished) > 0 {
		return matcher.Result{}, false
	}
	if said := text.Corrected(request.Text); said.Before != "" || len(partsOf(said.After)) > 1 {
		return matcher.Result{}, false
	}
	words := text.Split(request.Text)
	if text.AnyIs(words, text.Negations) {
		return matcher.Result{}, false
	}
	judged := decideAt(confidence.Sure, o.indexes.Of(request), request, words)
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

// finding is a result in the making.
type finding struct {
	matcher.Result
	trace *matcher.Trace
}

// take checks the values of a call and records it as matched or rejected. said is what its words say.
func (r *finding) take(one wish, said reading, request matcher.Request) {
	candidate, values := one.Candidate, one.values
	checked := candidate.Tool.Params().Read(request.Complete(candidate, values))
	for i, fault := range checked.Errors {
		if why := said.Why[fault.Parameter]; why != "" && slices.Contains(checked.Missing, fault.Parameter) {
			checked.Errors[i].Detail += ": " + why
		}
	}
	call := r.trace.Add(matcher.Call{
		Candidate: candidate, Name: candidate.Tool.Name, Arguments: values, Coerced: checked.Coerced, Errors: checked.Errors,
	})
	if len(checked.Errors) > 0 {
		r.Rejected = append(r.Rejected, matcher.Rejected{Candidate: candidate, Values: checked.Values, Missing: checked.Missing, Errors: checked.Errors, Asks: said.Asks, Call: call})
		return
	}
	r.Matches = append(r.Matches, matcher.Match{Candidate: candidate, Values: checked.Values, Coerced: checked.Coerced, Call: call})
}

// Reply returns the empty string: there is no model to write a reply.
func (o *Matcher) Reply(context.Context, matcher.Request, []matcher.PastCall) (string, error) {
	return "", nil
}
