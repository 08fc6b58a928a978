package matcher

import "context"

// Offline matches without a model, from the words alone: a text is compared with the
// names, descriptions and examples of the tools in scope, and values are read where
// the words name them beyond doubt. It fires at most one tool for a message, sees the
// message alone and not the history, writes no replies, and keeps silent rather than
// fire wrongly. It is safe for concurrent use.
type Offline struct{ lexicons *lexicons }

// NewOffline returns a matcher that needs no LLM.
func NewOffline() *Offline { return &Offline{lexicons: newLexicons()} }

// Match finds the tool that the text calls for. A tool whose required values are not
// all in the text is Rejected, not a Match. It returns no error.
func (o *Offline) Match(_ context.Context, request Request) (Result, error) {
	if len(request.Candidates) == 0 {
		return Result{Stage: StageNone}, nil
	}
	found := Result{Stage: StageOffline}
	words := split(request.Text)
	best, ok := decide(o.lexicons.of(request.Candidates), request.Text, words)
	if ok {
		candidate := request.Candidates[best]
		take(&found, candidate, valuesOf(request.Text, candidate.Tool, request.Now), request)
		return found, nil
	}
	if begun, values := continued(request, words); values != nil {
		take(&found, begun.Candidate, values, request)
	}
	return found, nil
}

// take checks the candidate's values and files it as matched or rejected.
func take(r *Result, candidate Candidate, values map[string]any, request Request) {
	reading := candidate.Tool.Params().Read(request.completed(candidate, values))
	if len(reading.Errors) > 0 {
		r.Rejected = append(r.Rejected, Rejected{candidate, reading.Values, reading.Missing, reading.Errors})
		return
	}
	r.Matches = append(r.Matches, Match{Candidate: candidate, Values: reading.Values, Coerced: reading.Coerced})
}

// Reply writes nothing: there is no model to write it.
func (o *Offline) Reply(context.Context, Request, []Fired) (string, error) { return "", nil }
