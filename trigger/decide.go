package trigger

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/trigger/conversation"
	"earshot/trigger/explain"
	"earshot/trigger/ledger"
	"earshot/trigger/question"
	"earshot/trigger/state"
)

// decide turns what the matcher found into a plan, by the rules of the contract's
// section 4: exclusive repositories win, a triggerOnce repository fires one tool, and
// the catch-all takes what nothing else matched.
func (e *Engine) decide(t *turn, result matcher.Result) (*plan, error) {
	p := newPlanner(e, t.Turn, t.token, t.scope.appState, t.message.Text, t.message.TraceParent)
	p.metadata, p.language, p.stage = t.metadata(), t.language(), result.Stage
	if t.scope.app.Settings.ChatEvents {
		p.tells = t.teller()
	}
	p.life, p.claims, p.standing, p.answer.Auth = t.generation, len(t.scope.claims) > 0, t.standing, t.message.Auth
	fires := conversation.Fires(result.Matches) // none of a plain yes or no
	if err := p.setOff(e, t, fires, result.Rejected); err != nil {
		return nil, err
	}
	p.answer.SkipResponse = skipsResponse(t.scope, p.answer.Matches)
	p.heard = p.lastPut(t, len(t.consents)+len(fires)+len(result.Rejected) > 0 || directReply(t.scope, p.answer, result.Text, t.scope.chats()) != nil)
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

// consents are the questions that a message answers with a plain yes or no: those that were the
// last thing that was put to the user. Where others wait, it is noted that the words are not for
// them.
func (e *Engine) consents(ctx context.Context, t *turn) (list []consent, err error) {
	if len(t.asked)+len(t.unasked) == 0 || t.message.Actor != matcher.ActorUser {
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
	asked, err := e.confirming(ctx, t, t.asked)
	if err != nil {
		return nil, err
	}
	for _, h := range asked {
		list = append(list, consent{h, action})
	}
	if len(list) == 0 {
		others, err := e.confirming(ctx, t, t.unasked)
		t.beside = len(others) > 0
		return nil, err
	}
	return list, nil
}

// confirming are those of some triggers of the session that wait for a yes.
func (e *Engine) confirming(ctx context.Context, t *turn, ids []string) (list []*heldTrigger, err error) {
	for _, triggerID := range ids {
		h, err := e.readHeld(ctx, t.App, triggerID)
		switch {
		case errors.Is(err, ErrNotFound):
		case err != nil:
			return nil, err
		case h.state == state.Confirming && h.record.SessionID == t.Session:
			list = append(list, h)
		}
	}
	return list, nil
}

// why says what a message has done to a question.
func (c consent) why() string {
	if c.action == state.Confirm {
		return "The user said yes, and the question of this trigger was the last thing that was put to the user."
	}
	return "The user said no, and the question of this trigger was the last thing that was put to the user: " + conversation.Cancelled + "."
}

// whyBeside says why a plain yes or no has let nothing go.
const whyBeside = " A trigger waits for a yes, but its question was not the last thing that was put to the user: these words are about something else."

// told lays a history that a dry run is told over the turn: what the session would have kept of
// it.
func (e *Engine) told(t *turn, history []Earlier) error {
	var pasts []ledger.Past
	over := map[string]bool{}
	t.standing.confirmed = map[string]bool{}
	for i, one := range history {
		for _, match := range one.Matches {
			t.done(match, over)
		}
		message, err := exactjson.Encode(storedMessage{Actor: one.Actor, Text: one.Text, Time: t.message.Time})
		if err != nil {
			return err
		}
		decision, err := exactjson.Encode(Answer{Matches: one.Matches, Rejected: one.Rejected})
		if err != nil {
			return err
		}
		pasts = append(pasts, ledger.Past{ID: "h" + strconv.Itoa(i+1), Message: string(message), Decision: string(decision)})
	}
	for _, past := range pasts[matcher.HistoryStart(len(pasts), e.historyLimit):] {
		t.history = append(t.history, utterances(past)...)
	}
	if len(over) > 0 {
		t.scope = t.scope.without(over)
	}
	t.unfinished = unfinishedBefore(t.message.Time, pasts, t.scope)
	return nil
}

// done notes what a match of a told history has left: values that need no other yes, and a
// repository that fires once.
func (t *turn) done(match Match, over map[string]bool) {
	for _, repository := range t.scope.ranked() {
		tool := repository.Tool(match.Name)
		if repository.ID != match.RepositoryID || tool == nil {
			continue
		}
		if tool.Confirm == repositories.ConfirmOnce && match.due() {
			t.standing.confirmed[confirmDigest(t.Turn, matcher.Candidate{Repository: repository, Tool: tool}, match.Values)] = true
		}
		if repository.Options.TriggerOnce && match.State != StateDuplicate {
			over[repository.ID] = true
		}
		return
	}
}

// without is the scope as it is when repositories have gone.
func (s scope) without(over map[string]bool) scope {
	gone := func(r *repositories.Repository) bool { return over[r.ID] }
	left := *s.appState
	left.repositories = slices.DeleteFunc(slices.Clone(s.repositories), gone)
	left.tools = newAppTools(left.repositories)
	s.appState, s.session = &left, slices.DeleteFunc(slices.Clone(s.session), gone)
	return s
}

// askedIn are the matches of a told history whose question is the last thing that was put to the
// user.
func (t *turn) askedIn(history []Earlier) (asked []Match) {
	type waits struct {
		Match
		said string
	}
	var all []waits
	for _, one := range history {
		switch {
		case one.Actor == matcher.ActorAgent:
			asked = nil
			for _, m := range all {
				if c, found := t.scope.find(m.Name, m.RepositoryID); found && question.Asks(one.Text, question.Of(c.Tool, m.Values, t.language(), m.said)) {
					asked = append(asked, m.Match)
				}
			}
		case len(one.Matches)+len(one.Rejected) > 0:
			asked = slices.DeleteFunc(slices.Clone(one.Matches), func(m Match) bool { return m.State != StateConfirming })
			for _, m := range asked {
				all = append(all, waits{m, one.Text})
			}
		}
	}
	return asked
}

// consentTold answers a dry run that says plainly yes or no to what was asked last in the history
// that it is told; false where it does not.
func (e *Engine) consentTold(t *turn, m Message) (Answer, explain.Explanation, bool) {
	asked := t.askedIn(m.History)
	yes, no := matcher.Consents(m.Text)
	if len(asked) == 0 || m.Actor != matcher.ActorUser || !yes && !no {
		return Answer{}, explain.Explanation{}, false
	}
	said, becomes := consent{action: state.Confirm}, stateDry
	if no {
		said.action, becomes = state.Deny, StateCancelled
	}
	answer := Answer{MessageID: t.Turn.Message, Matches: []Match{}, Rejected: []Rejected{}}
	for _, one := range asked {
		if c, found := t.scope.find(one.Name, one.RepositoryID); found {
			answer.Matches = append(answer.Matches, Match{
				TriggerID: e.newID(), RepositoryID: c.Repository.ID, Name: one.Name, Source: SourceMessage, Values: orEmpty(one.Values),
				ReturnDirect: c.Tool.ReturnDirect, SkipResponse: c.Tool.SkipResponse, State: becomes,
			})
		}
	}
	why := explain.Unmatched(t.Turn.Message, e.now().UTC())
	why.Stage, why.Why = matcher.StageExact, said.why()
	return answer, why, true
}
