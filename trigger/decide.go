package trigger

import (
	"bytes"
	"slices"

	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/exactjson"
)

// decide turns what the matcher found into a plan, by the rules of the contract's
// section 4: exclusive repositories win, a triggerOnce repository fires one tool, and
// the catch-all takes what nothing else matched.
func (e *Engine) decide(t *turn, result matcher.Result) (*plan, error) {
	p := newPlanner(e, t.Turn, t.token, t.scope.app, t.message.Text, t.message.TraceParent)
	p.life = t.generation
	fires := oncePerRepository(exclusiveFirst(result.Matches))
	for _, match := range fires {
		if err := p.fire(match, SourceMessage, ""); err != nil {
			return nil, err
		}
	}
	for n, rejected := range result.Rejected {
		if err := p.reject(n, rejected); err != nil {
			return nil, err
		}
	}
	if len(fires) == 0 && len(result.Rejected) == 0 {
		if err := p.unmatched(t.scope); err != nil {
			return nil, err
		}
	}
	p.answer.SkipResponse = skipsResponse(t.scope, p.answer.Matches)
	kept, err := keptUnfinished(t, result)
	p.unfinished = kept
	return &p.plan, err
}

// unmatched fires the catch-all where there is one, or says that nothing matched.
func (p *planner) unmatched(s scope) error {
	candidates, catchAll := s.candidates()
	if catchAll != nil {
		values := orEmpty(catchAll.Tool.Params().Read(nil).Values)
		values["value"] = p.text
		return p.fire(matcher.Match{Candidate: *catchAll, Values: values}, SourceMessage, "")
	}
	if len(candidates) > 0 {
		return p.notMatching(candidates)
	}
	return nil
}

// exclusiveFirst keeps only the matches of exclusive repositories where there are any.
func exclusiveFirst(matches []matcher.Match) []matcher.Match {
	exclusive := slices.DeleteFunc(slices.Clone(matches), func(m matcher.Match) bool {
		return !m.Repository.Options.Exclusive
	})
	if len(exclusive) > 0 {
		return exclusive
	}
	return matches
}

// oncePerRepository keeps the first match of each triggerOnce repository.
func oncePerRepository(matches []matcher.Match) []matcher.Match {
	taken := map[*repositories.Repository]bool{}
	return slices.DeleteFunc(slices.Clone(matches), func(m matcher.Match) bool {
		if !m.Repository.Options.TriggerOnce {
			return false
		}
		before := taken[m.Repository]
		taken[m.Repository] = true
		return before
	})
}

// skipsResponse tells a front-end whether it should keep silent: a tool that fired
// says so, the app says so of all tools, or an exclusive repository has the turn.
func skipsResponse(s scope, matches []Match) bool {
	if s.exclusive() || len(matches) > 0 && s.app.Settings.SkipToolResponse {
		return true
	}
	return slices.ContainsFunc(matches, func(m Match) bool { return m.SkipResponse })
}

// carriedOver keeps of a finding what still holds in a scope that has changed since:
// tools that stand in the same repository as they did.
func carriedOver(result matcher.Result, s scope) matcher.Result {
	kept := result
	kept.Matches, kept.Rejected = nil, nil
	for _, match := range result.Matches {
		if c, ok := s.same(match.Candidate); ok {
			match.Candidate = c
			kept.Matches = append(kept.Matches, match)
		}
	}
	for _, rejected := range result.Rejected {
		if c, ok := s.same(rejected.Candidate); ok {
			rejected.Candidate = c
			kept.Rejected = append(kept.Rejected, rejected)
		}
	}
	return kept
}

// same finds the candidate's tool in the scope, unless it was changed.
func (s scope) same(c matcher.Candidate) (matcher.Candidate, bool) {
	for _, repository := range s.ranked() {
		if repository.ID != c.Repository.ID || repository.SessionID != c.Repository.SessionID {
			continue
		}
		if tool := repository.Tool(c.Tool.Name); tool != nil && equal(tool, c.Tool) {
			return matcher.Candidate{Repository: repository, Tool: tool}, true
		}
	}
	return matcher.Candidate{}, false
}

// equal compares tools by their definition; credentials do not count.
func equal(a, b *repositories.Tool) bool {
	one, errOne := exactjson.Encode(a)
	two, errTwo := exactjson.Encode(b)
	return errOne == nil && errTwo == nil && bytes.Equal(one, two)
}
