package trigger

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/trigger/conversation"
	"earshot/trigger/ledger"
	"earshot/trigger/state"
)

// decide turns what the matcher found into a plan, by the rules of the contract's
// section 4: exclusive repositories win, a triggerOnce repository fires one tool, and
// the catch-all takes what nothing else matched.
func (e *Engine) decide(t *turn, result matcher.Result) (*plan, error) {
	p := newPlanner(e, t.Turn, t.token, t.scope.appState, t.message.Text, t.message.TraceParent)
	p.metadata, p.language = t.metadata(), t.language()
	if t.scope.app.Settings.ChatEvents {
		p.tells = t.teller()
	}
	p.life, p.claims, p.standing, p.answer.Auth = t.generation, len(t.scope.claims) > 0, t.standing, t.message.Auth
	fires := conversation.Fires(result.Matches) // none of a plain yes or no
	if err := p.setOff(e, t, fires, result.Rejected); err != nil {
		return nil, err
	}
	p.answer.SkipResponse, p.heard = skipsResponse(t.scope, p.answer.Matches), ledger.Unrelated
	if len(t.consents)+len(fires)+len(result.Rejected) > 0 || directReply(t.scope, p.answer, result.Text, t.scope.chats()) != nil {
		p.heard = ledger.Related
	}
	kept, err := conversation.Write(conversation.After(t.unfinished, t.message.Text, result, t.at.Milliseconds()))
	p.unfinished, p.explained = kept, e.explained(t, p, result, fires)
	return &p.plan, err
}

// setOff plans what a turn does: what its plain yes or no does to the triggers that asked, or
// what was matched.
func (p *planner) setOff(e *Engine, t *turn, fires []matcher.Match, rejects []matcher.Rejected) error {
	for _, said := range t.consents {
		if err := p.move(e, said.heldTrigger, said.action, "message "+t.Turn.Message); err != nil {
			return err
		}
	}
	for _, match := range fires {
		if err := p.fire(match, SourceMessage, ""); err != nil {
			return err
		}
	}
	for n, rejected := range rejects {
		if err := p.reject(n, rejected); err != nil {
			return err
		}
	}
	if len(t.consents)+len(fires)+len(rejects) > 0 || t.message.Acted {
		return nil
	}
	return p.unmatched(t.scope)
}

// unmatched fires the catch-all if there is one, and otherwise adds the event that nothing
// matched.
func (p *planner) unmatched(s scope) error {
	reach := s.candidates()
	if catchAll := reach.catchAll; catchAll != nil {
		return p.fire(conversation.CatchAll(*catchAll, p.text), SourceMessage, "")
	}
	if len(reach.all) > 0 {
		return p.notMatching(reach.all)
	}
	return nil
}

// skipsResponse tells a front-end whether it should keep silent: a tool that fired says so,
// the app says so of all tools, or or an exclusive repository is in scope.
func skipsResponse(s scope, matches []Match) bool {
	if s.exclusive() || len(matches) > 0 && s.app.Settings.SkipToolResponse {
		return true
	}
	return slices.ContainsFunc(matches, func(m Match) bool { return m.SkipResponse })
}

// carriedOver keeps those matches that are still valid in a scope that has changed since:
// tools that are unchanged in the same repository.
func (t *turn) carriedOver(result matcher.Result) matcher.Result {
	kept := result
	kept.Matches, kept.Rejected = nil, nil
	for _, match := range result.Matches {
		if c, ok := t.scope.same(match.Candidate); ok {
			match.Candidate = c
			kept.Matches = append(kept.Matches, match)
		} else {
			t.lose(match.Call, match.Candidate)
		}
	}
	for _, rejected := range result.Rejected {
		if c, ok := t.scope.same(rejected.Candidate); ok {
			rejected.Candidate = c
			kept.Rejected = append(kept.Rejected, rejected)
		} else {
			t.lose(rejected.Call, rejected.Candidate)
		}
	}
	return kept
}

// same finds the candidate's tool in the scope if it is unchanged.
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

// waitingCalls are the calls that a session keeps, as far as they can still be made.
func waitingCalls(text string, s scope, now time.Duration) []conversation.Begun {
	if text == "" {
		return nil
	}
	return conversation.Read(text, s.candidates().all, now)
}

// OpenCall is a call that messages have begun and that lacks values.
type OpenCall struct {
	RepositoryID string         `json:"repositoryId"`
	Name         string         `json:"name"`
	Values       map[string]any `json:"values"`  // that were said, and are valid
	Missing      []string       `json:"missing"` // names of those that are not
	// Ask is the question for the first missing one, where the tool has one.
	Ask string `json:"ask,omitempty"`
}

// Open lists the calls of a session that lack values, as the next message finds them: those
// of tools that ask for a verified user as well. A session that does not exist has none.
func (e *Engine) Open(ctx context.Context, appID, sessionID string) ([]OpenCall, error) {
	id, had := ledger.Turn{App: appID, Session: sessionID}, e.apps.get(appID)
	found, err := e.ledger.Peek(ctx, id, 0, had.version)
	if err != nil {
		return nil, err
	}
	if found == nil {
		return nil, noApp(appID)
	}
	open := []OpenCall{}
	if found.Unfinished == "" {
		return open, nil
	}
	s, err := e.scopeOf(id, had, found)
	if err != nil {
		return nil, err
	}
	all, _ := s.winners()
	for _, one := range conversation.Read(found.Unfinished, all, found.At) {
		open = append(open, OpenCall{RepositoryID: one.RepositoryID, Name: one.Name, Values: one.Values, Missing: one.Missing,
			Ask: one.Candidate.Tool.Params().Ask(one.Missing...)})
	}
	return open, nil
}

// unfinishedBefore works out which calls lacked values after a history.
func unfinishedBefore(at time.Time, history []ledger.Past, s scope) []conversation.Begun {
	var list []conversation.Past
	for _, past := range history {
		var said storedMessage
		var decided Answer
		if decode(past.Message, &said) != nil || said.Actor == matcher.ActorAgent || past.Decision == "" || decode(past.Decision, &decided) != nil {
			continue
		}
		one := conversation.Past{Text: said.Text, Time: said.Time, Fired: len(decided.Matches) > 0}
		for _, rejected := range decided.Rejected {
			one.Rejected = append(one.Rejected, conversation.Rejected{
				RepositoryID: rejected.RepositoryID, Name: rejected.Name, Values: rejected.Values, Missing: rejected.Missing, Errors: rejected.Errors,
			})
		}
		list = append(list, one)
	}
	return conversation.Replay(list, s.candidates().all, at)
}

// consent is what a message says to a question that was the last thing asked.
type consent struct {
	*heldTrigger
	action state.Action
}

// consents are the questions that a message answers with a plain yes or no.
func (e *Engine) consents(ctx context.Context, t *turn) (list []consent, err error) {
	if len(t.asked) == 0 || t.message.Actor != matcher.ActorUser {
		return nil, nil
	}
	yes, no := matcher.Consents(t.message.Text)
	if !yes && !no {
		return nil, nil
	}
	action := state.Confirm
	if no {
		action = state.Deny
	}
	for _, triggerID := range t.asked {
		h, err := e.readHeld(ctx, t.App, triggerID)
		if errors.Is(err, ErrNotFound) || err == nil && (h.state != state.Confirming || h.record.SessionID != t.Session) {
			continue
		}
		if err != nil {
			return nil, err
		}
		list = append(list, consent{h, action})
	}
	return list, nil
}

// why says what a message has done to a question.
func (c consent) why() string {
	if c.action == state.Confirm {
		return "The user said yes to the question that was asked last."
	}
	return "The user said no to the question that was asked last: " + conversation.Cancelled + "."
}
