package trigger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/repositories/failpoint"
	"earshot/repositories/keyspace"
	"earshot/trigger/conversation"
	"earshot/trigger/explain"
	"earshot/trigger/ledger"
	"earshot/trigger/spans"
	"earshot/trigger/state"
)

// decisions find out what a message calls for, and commit what comes of it.
type decisions struct {
	*core
	records      *Records
	scopes       *Scopes
	deliveries   *Deliveries
	packer       *explain.Packer
	historyLimit int
	drafts       drafting
}

// matchAndCommit decides a turn: by a plain answer to what was asked last, else by what the
// matcher says of it.
func (d *decisions) matchAndCommit(ctx context.Context, t *turn, request matcher.Request) (result matcher.Result, p *plan, err error) {
	var plain bool
	if result, plain, err = d.consented(ctx, t, request); plain {
		p, err = d.decideAndCommit(ctx, t, result)
		if !errors.Is(err, ErrEnded) {
			return result, p, err
		}
		t.consents = nil // somebody else was faster: it is a message like any other
	}
	if err == nil || errors.Is(err, ErrEnded) {
		result, err = d.match(ctx, t, request)
	}
	if err == nil {
		p, err = d.decideAndCommit(ctx, t, result)
	}
	return result, p, err
}

// find is what a turn calls for that is not to be decided yet.
func (d *decisions) find(ctx context.Context, t *turn, request matcher.Request) (matcher.Result, error) {
	result, plain, err := d.consented(ctx, t, request)
	if plain || err != nil {
		return result, err
	}
	return d.match(ctx, t, request)
}

// consented is what a turn calls for that answers plainly what was asked last; false where it
// does not.
func (d *decisions) consented(ctx context.Context, t *turn, request matcher.Request) (result matcher.Result, plain bool, err error) {
	if t.consents, err = d.consents(ctx, t); len(t.consents) == 0 {
		return result, false, err
	}
	t.matching = matching{trace: &matcher.Trace{}, over: t.scope, candidates: len(request.Candidates)}
	return matcher.Result{Stage: matcher.StageExact}, true, nil
}

func (d *decisions) request(t *turn) matcher.Request {
	reach, now := t.scope.candidates(), d.now()
	return matcher.Request{
		App: t.scope.app, History: t.history, Text: t.message.Text, Unfinished: conversation.Shown(t.unfinished, t.message.Text),
		Candidates: reach.all, Shared: t.scope.tools.shared, Own: reach.own,
		Now: now.In(t.zone(now.Location())), Language: t.language(), Chat: t.scope.chats() && !t.message.Acted,
	}
}

// match finds what a turn calls for; it asks no model where that was found out for its draft.
func (d *decisions) match(ctx context.Context, t *turn, request matcher.Request) (matcher.Result, error) {
	if t.message.Acted {
		t.matching = matching{trace: &matcher.Trace{}, over: t.scope}
		return matcher.Result{Stage: matcher.StageNone}, nil
	}
	if found, holds := d.matchOfDraft(ctx, t, request); holds {
		return found, nil
	}
	started := d.now()
	failpoint.At(failpoint.MatchBefore)
	ctx, span := spans.Match(ctx, len(request.Candidates))
	ctx, trace := matcher.Recorded(ctx)
	result, err := d.scopes.matcher.Match(ctx, request)
	spans.EndMatch(span, result.Stage, err)
	t.matching = matching{trace: complete(trace, &result), over: t.scope, candidates: len(request.Candidates)}
	failpoint.At(failpoint.MatchAfter)
	d.metrics.matchSeconds.Observe(d.now().Sub(started).Seconds())
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, errLost) {
		return result, cause
	}
	return result, err
}

// decideAndCommit decides, and decides again on the current state if a repository was
// changed in between.
func (d *decisions) decideAndCommit(ctx context.Context, t *turn, result matcher.Result) (*plan, error) {
	for range replans {
		p, err := d.decide(t, result)
		if err != nil {
			return nil, err
		}
		status, err := d.commitPersistently(ctx, p)
		switch {
		case err != nil:
			return nil, err
		case status == ledger.Committed:
			d.wakeFor(p)
			return p, nil
		case status == ledger.Closed:
			return nil, d.gone(ctx, t)
		case status == ledger.Lost:
			return nil, errLost
		case status == ledger.Moved, status == ledger.NoTrigger, status == ledger.Retracted:
			return nil, ErrEnded
		case status == ledger.Differs:
			if err := d.learn(ctx, &t.standing, p); err != nil {
				return nil, err
			}
			continue
		}
		failpoint.At(failpoint.CommitStale)
		claims := t.scope.claims
		if t.scope, err = d.scopes.loadScope(ctx, t.App, t.Session); err != nil {
			return nil, err
		}
		t.scope.claims = claims
		if result, err = d.onward(ctx, t, result); err != nil {
			return nil, err
		}
	}
	return nil, &matcher.Unavailable{Reason: "the repositories in scope change faster than a message can be decided"}
}

// onward is the result in a scope that has changed since it was matched. That of a draft is
// matched anew: it was then that the scope changed.
func (d *decisions) onward(ctx context.Context, t *turn, result matcher.Result) (matcher.Result, error) {
	if t.retold == "" {
		return t.carriedOver(result), nil
	}
	t.draft = nil
	return d.match(ctx, t, d.request(t))
}

// gone explains why an accepted turn does not exist any more. A turn that Redis has lost is
// restored when its client sends the message again.
func (d *decisions) gone(ctx context.Context, t *turn) error {
	closed, err := d.store.Closed(ctx, t.App, t.Session)
	if err != nil {
		return err
	}
	if closed {
		return ErrClosed
	}
	return fmt.Errorf("%w: it has lost the message, as in a failover", keyspace.ErrUnavailable)
}

// commitPersistently commits within the lease, retrying while Redis is away for a moment.
// Each retry gives the same answer.
func (d *decisions) commitPersistently(ctx context.Context, p *plan) (status ledger.Status, err error) {
	d.settling.waitFor(ctx, p.outbox())
	p.begun = time.Now()
	ctx, cancel := context.WithTimeout(ctx, d.lease/heartbeats)
	defer cancel()
	d.deliveries.waiting.join(p)
	defer func() { d.giveUp(takenBy(p), err) }()
	err = d.retryUntilAvailable(ctx, func() error {
		status, err = d.commit(ctx, p)
		return err
	})
	if err != nil || status != ledger.Committed || p.first() {
		d.deliveries.waiting.leave(p)
	}
	return status, err
}

// decide turns what the matcher found into a plan, by the rules of the contract's
// section 4: exclusive repositories win, a triggerOnce repository fires one tool, and
// the catch-all takes what nothing else matched.
func (d *decisions) decide(t *turn, result matcher.Result) (*plan, error) {
	p := newPlanner(d.core, t.Turn, t.token, t.scope.appState, t.message.Text, t.message.TraceParent)
	p.metadata, p.language, p.stage = t.metadata(), t.language(), result.Stage
	if t.scope.app.Settings.ChatEvents {
		p.tells = t.teller()
	}
	p.life, p.claims, p.standing, p.answer.Auth = t.generation, len(t.scope.claims) > 0, t.standing, t.message.Auth
	fires := conversation.Fires(result.Matches) // none of a plain yes or no
	if err := p.setOff(t, fires, result.Rejected); err != nil {
		return nil, err
	}
	p.answer.SkipResponse = skipsResponse(t.scope, p.answer.Matches)
	p.heard = p.lastPut(t, len(t.consents)+len(fires)+len(result.Rejected) > 0 || directReply(t.scope, p.answer, result.Text, t.scope.chats()) != nil)
	kept, err := conversation.Write(conversation.After(t.unfinished, t.message.Text, result, t.at.Milliseconds()))
	p.unfinished, p.explained = kept, d.explained(t, p, result, fires)
	return &p.plan, err
}

// setOff plans what a turn does: what its plain yes or no does to the triggers that asked, or
// what was matched.
func (p *planner) setOff(t *turn, fires []matcher.Match, rejects []matcher.Rejected) error {
	for _, said := range t.consents {
		if err := p.move(said.heldTrigger, said.action, "message "+t.Turn.Message); err != nil {
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
func (d *decisions) consents(ctx context.Context, t *turn) (list []consent, err error) {
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
	asked, err := d.confirming(ctx, t, t.asked)
	if err != nil {
		return nil, err
	}
	for _, h := range asked {
		list = append(list, consent{h, action})
	}
	if len(list) == 0 {
		others, err := d.confirming(ctx, t, t.unasked)
		t.beside = len(others) > 0
		return nil, err
	}
	return list, nil
}

// confirming are those of some triggers of the session that wait for a yes.
func (d *decisions) confirming(ctx context.Context, t *turn, ids []string) (list []*heldTrigger, err error) {
	for _, triggerID := range ids {
		h, err := d.records.readHeld(ctx, t.App, triggerID)
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
func (d *decisions) told(t *turn, history []Earlier) error {
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
	for _, past := range pasts[matcher.HistoryStart(len(pasts), d.historyLimit):] {
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
				if c, found := t.scope.find(m.Name, m.RepositoryID); found && conversation.Asks(one.Text, conversation.Question(c.Tool, m.Values, t.language(), m.said)) {
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
func (d *decisions) consentTold(t *turn, m Message) (Answer, explain.Explanation, bool) {
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
				TriggerID: d.newID(), RepositoryID: c.Repository.ID, Name: one.Name, Source: SourceMessage, Values: orEmpty(one.Values),
				ReturnDirect: c.Tool.ReturnDirect, SkipResponse: c.Tool.SkipResponse, State: becomes,
			})
		}
	}
	why := explain.Unmatched(t.Turn.Message, d.now().UTC())
	why.Stage, why.Why = matcher.StageExact, said.why()
	return answer, why, true
}
