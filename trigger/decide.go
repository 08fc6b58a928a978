package trigger

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/exactjson"
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
	fires := oncePerRepository(exclusiveFirst(result.Matches)) // none of a plain yes or no
	if err := p.setOff(e, t, fires, result.Rejected); err != nil {
		return nil, err
	}
	p.answer.SkipResponse, p.heard = skipsResponse(t.scope, p.answer.Matches), ledger.Unrelated
	if len(t.consents)+len(fires)+len(result.Rejected) > 0 || directReply(t.scope, p.answer, result.Text, t.scope.chats()) != nil {
		p.heard = ledger.Related
	}
	kept, err := keptUnfinished(t, result)
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
		values := orEmpty(catchAll.Tool.Params().Read(nil).Values)
		values["value"] = p.text
		return p.fire(matcher.Match{Candidate: *catchAll, Values: values}, SourceMessage, "")
	}
	if len(reach.all) > 0 {
		return p.notMatching(reach.all)
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

// keepUnfinished is how long a call that lacks values waits for the next message.
const keepUnfinished = 10 * time.Minute

// unfinished is a call that lacks values, as a session keeps it.
type unfinished struct {
	RepositoryID string         `json:"repositoryId"`
	SessionID    string         `json:"sessionId,omitempty"` // of the repository
	Name         string         `json:"name"`
	Values       map[string]any `json:"values"`
	Missing      []string       `json:"missing"`
	Since        int64          `json:"since"` // ms, by the clock of Redis

	candidate matcher.Candidate
}

// readUnfinished reads the unfinished calls of a session, without those that are too old or
// whose tool is no longer in scope.
func readUnfinished(text string, s scope, now time.Duration) []unfinished {
	if text == "" {
		return nil
	}
	return stillOpen(text, s.candidates().all, now)
}

func stillOpen(text string, among []matcher.Candidate, now time.Duration) []unfinished {
	var stored, open []unfinished
	if decode(text, &stored) != nil {
		return nil
	}
	reach := matcher.Request{Candidates: among}
	for _, u := range stored {
		c, found := reach.Named(u.Name)
		if found && c.Repository.ID == u.RepositoryID && c.Repository.SessionID == u.SessionID && now-time.Duration(u.Since)*time.Millisecond < keepUnfinished {
			u.candidate = c
			open = append(open, u)
		}
	}
	return open
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
	for _, one := range stillOpen(found.Unfinished, all, found.At) {
		open = append(open, OpenCall{RepositoryID: one.RepositoryID, Name: one.Name, Values: one.Values, Missing: one.Missing,
			Ask: one.candidate.Tool.Params().Ask(one.Missing...)})
	}
	return open, nil
}

// unfinishedBefore works out which calls lacked values after a history: the session keeps
// those of its end alone.
func unfinishedBefore(at time.Time, history []ledger.Past, s scope) []unfinished {
	var open []unfinished
	reach := matcher.Request{Candidates: s.candidates().all}
	for _, past := range history {
		var said storedMessage
		var decided Answer
		if decode(past.Message, &said) != nil || past.Decision == "" || decode(past.Decision, &decided) != nil {
			continue
		}
		if len(decided.Matches)+len(decided.Rejected) > 0 {
			open = nil
		}
		open = afterWords(open, said.Text)
		for _, one := range decided.Rejected {
			c, found := reach.Named(one.Name)
			if !found || c.Repository.ID != one.RepositoryID || at.Sub(said.Time) >= keepUnfinished {
				continue
			}
			rejected := matcher.Rejected{Candidate: c, Values: one.Values, Missing: one.Missing, Errors: one.Errors}
			open = append(open, unfinished{Name: one.Name, Values: soundValues(rejected), Missing: faulty(rejected), candidate: c})
		}
	}
	return open
}

// toMatcher converts unfinished calls to the matcher's type, without the values that a
// message takes back.
func toMatcher(list []unfinished, said string) []matcher.Unfinished {
	var shown []matcher.Unfinished
	for _, u := range list {
		shown = append(shown, u.shown().Without(said))
	}
	return shown
}

func (u unfinished) shown() matcher.Unfinished {
	return matcher.Unfinished{Candidate: u.candidate, Values: u.Values, Missing: u.Missing}
}

// afterWords is what is left of unfinished calls after a message that called for nothing.
func afterWords(list []unfinished, said string) []unfinished {
	var kept []unfinished
	for _, u := range list {
		if shown := u.shown(); shown.Survives(said) {
			left := shown.Without(said)
			u.Values, u.Missing = left.Values, left.Missing
			kept = append(kept, u)
		}
	}
	return kept
}

// keptUnfinished is what the session keeps after a turn: calls that the message began
// and, unless it is about something else or drops them, those from before.
func keptUnfinished(t *turn, result matcher.Result) (string, error) {
	var kept []unfinished
	if len(result.Matches)+len(result.Rejected) == 0 {
		kept = afterWords(t.unfinished, t.message.Text)
	}
	for _, rejected := range result.Rejected {
		kept = append(kept, unfinished{
			RepositoryID: rejected.Repository.ID, SessionID: rejected.Repository.SessionID, Name: rejected.Tool.Name,
			Values: soundValues(rejected), Missing: faulty(rejected), Since: t.at.Milliseconds(),
		})
	}
	if len(kept) == 0 {
		return "", nil
	}
	text, err := exactjson.Encode(kept)
	return string(text), err
}

// soundValues are the valid values of a rejected call.
func soundValues(rejected matcher.Rejected) map[string]any {
	values := maps.Clone(orEmpty(rejected.Values))
	for _, name := range faulty(rejected) {
		delete(values, name)
	}
	return values
}

// faulty names the parameters of a rejected call without a valid value.
func faulty(rejected matcher.Rejected) []string {
	names := slices.Clone(rejected.Missing)
	for _, fault := range rejected.Errors {
		if fault.Parameter != "" && !slices.Contains(names, fault.Parameter) {
			names = append(names, fault.Parameter)
		}
	}
	return names
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
	return "The user said no to the question that was asked last: " + cancelled + "."
}
