// Package offline matches without a model: it decides from the words of a message
// which tool they call for, and fills the tool's parameters.
package offline

import (
	"context"
	"slices"
	"strings"

	"earshot/matcher"
	"earshot/matcher/retrieval"
	"earshot/matcher/text"
	"earshot/matcher/values"
)

// Matcher matches without a model, from the words alone: a text is compared with the
// names, descriptions and examples of the tools in scope, and values are read where
// the words name them beyond doubt. It fires at most one tool for a message, sees the
// message alone and not the history, writes no replies, and keeps silent rather than
// fire wrongly. It is safe for concurrent use.
type Matcher struct{ indexes *retrieval.Cache }

// New returns a matcher that needs no LLM.
func New() *Matcher { return &Matcher{indexes: retrieval.NewCache()} }

// Match finds the tool that the text calls for. A tool whose required values are not all in
// the text is Rejected, not a Match. The error is always nil.
func (o *Matcher) Match(ctx context.Context, request matcher.Request) (matcher.Result, error) {
	if len(request.Candidates) == 0 {
		return matcher.Result{Stage: matcher.StageNone}, nil
	}
	found := finding{Result: matcher.Result{Stage: matcher.StageOffline}, trace: matcher.TraceOf(ctx)}
	words, scope := text.Split(request.Text), o.indexes.Of(request)
	judged := decide(scope, request, words)
	if found.trace != nil {
		found.trace.Scores = scope.Scores(judged.nearest)
	}
	if judged.why == "" {
		candidate := request.Candidates[judged.nearest[0].Place]
		found.take(candidate, values.Of(request.Text, candidate.Tool, request.Now).Values, request)
	} else if begun, read := continued(request, words); read != nil {
		found.take(begun.Candidate, read, request)
	} else {
		found.trace.Silent(judged.why)
	}
	return found.Result, nil
}

// finding is a result in the making.
type finding struct {
	matcher.Result
	trace *matcher.Trace
}

// take checks the candidate's values and records it as matched or rejected.
func (r *finding) take(candidate matcher.Candidate, read map[string]any, request matcher.Request) {
	reading := candidate.Tool.Params().Read(request.Complete(candidate, read))
	call := r.trace.Add(matcher.Call{
		Candidate: candidate, Name: candidate.Tool.Name, Arguments: read, Coerced: reading.Coerced, Errors: reading.Errors,
	})
	if len(reading.Errors) > 0 {
		r.Rejected = append(r.Rejected, matcher.Rejected{Candidate: candidate, Values: reading.Values, Missing: reading.Missing, Errors: reading.Errors, Call: call})
		return
	}
	r.Matches = append(r.Matches, matcher.Match{Candidate: candidate, Values: reading.Values, Coerced: reading.Coerced, Call: call})
}

// Reply returns the empty string: there is no model to write a reply.
func (o *Matcher) Reply(context.Context, matcher.Request, []matcher.PastCall) (string, error) {
	return "", nil
}

// maxAnswerWords is the longest text, in words, that is taken as a whole for the one
// missing value.
const maxAnswerWords = 4

// continued finds the unfinished call that a text continues: the text contains one of the
// missing values, or it is short and can be nothing but the only missing one.
func continued(request matcher.Request, words []text.Word) (matcher.Unfinished, map[string]any) {
	if declines(words) {
		return matcher.Unfinished{}, nil
	}
	for _, begun := range request.Unfinished {
		read := values.Of(request.Text, begun.Tool, request.Now).Values
		for _, name := range begun.Missing {
			if read[name] != nil {
				return begun, read
			}
		}
		if answers(begun, request.Text, words) {
			return begun, map[string]any{begun.Missing[0]: strings.TrimSpace(request.Text)}
		}
	}
	return matcher.Unfinished{}, nil
}

// answers reports whether the text as a whole is the value of the one parameter that
// is missing, a text of any kind: a few words that neither ask, wish, tell nor thank.
func answers(u matcher.Unfinished, said string, words []text.Word) bool {
	if len(u.Missing) != 1 || len(words) == 0 || len(words) > maxAnswerWords || text.MoodOf(said, words) != text.Fragment || text.Opening(words) < 0 {
		return false
	}
	return takesAnyText(u, u.Missing[0])
}

// declines reports whether a text thanks, parts or says no.
func declines(words []text.Word) bool {
	return slices.ContainsFunc(words, func(w text.Word) bool { return text.PartingWords.Has(w.Norm) || text.Negations.Has(w.Norm) })
}

func takesAnyText(u matcher.Unfinished, name string) bool {
	for _, parameter := range u.Tool.Params().List() {
		if parameter.Name == name {
			return parameter.Type == "string" && len(parameter.Allowed) == 0
		}
	}
	return false
}
