package trigger

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/repositories/locale"
	"earshot/repositories/store"
	"earshot/trigger/conversation"
	"earshot/trigger/explain"
	"earshot/trigger/ledger"
	"earshot/trigger/query"
	"earshot/trigger/scope"
	"earshot/trigger/state"
)

// Earlier is a message of a given history for a dry run, with its outcome.
type Earlier struct {
	Actor    string           `json:"actor"`
	Text     string           `json:"text"`
	Matches  []query.Match    `json:"matches"`
	Rejected []query.Rejected `json:"rejected"`
}

// DryRun matches a message as Post does, without side effects: it stores, fires and publishes nothing, and
// counts against no limit. The answer has the form of a real one, with the ids that the triggers would have.
// The id of a stored message stands for its place in the history: the earlier messages and its time are used,
// and its language and time zone if none is given.
//
// Errors: those of Post that concern the app and the model.
func (ts *Turns) DryRun(ctx context.Context, m Message) (query.Answer, explain.Explanation, error) {
	t, mem, err := ts.unstored(ctx, m)
	if err != nil {
		return query.Answer{}, explain.Explanation{}, err
	}
	answer := query.Answer{MessageID: t.Turn.Message, Matches: []query.Match{}, Rejected: []query.Rejected{}}
	if m.Actor == matcher.ActorAgent {
		return answer, explain.Unmatched(t.Turn.Message, ts.Now().UTC()), nil
	}
	if asked, action, plain := mem.consent(m.Text); plain {
		for _, one := range asked {
			answer.Matches = append(answer.Matches, one.moved(ts.NewID(), action))
		}
		why := explain.Unmatched(t.Turn.Message, ts.Now().UTC())
		why.Stage, why.Why = matcher.StageExact, whyConsent(action, "trigger")
		return answer, why, nil
	}
	request := t.request(ts.Now())
	request.Now = t.message.Time.In(request.Now.Location())
	if !m.Now.IsZero() {
		request.Now = m.Now.In(locale.Zone(t.zoneName(), m.Now.Location()))
	}
	result, err := ts.find(ctx, t, request)
	if err != nil {
		return query.Answer{}, explain.Explanation{}, err
	}
	p, err := t.decide(newPlanner(t.Turn, "", t.scope.State, ts.Now(), t.message.Text, t.message.TraceParent), result)
	if err != nil {
		return query.Answer{}, explain.Explanation{}, err
	}
	p.explain(ts.packer, ts.Log, t, "")
	explained, err := explain.Unpack(t.Turn.Message, p.explained.Body, func([]string) (map[string]string, error) { return p.explained.Parts, nil })
	return p.undone(t, result, request, query.StateDry), explained, err
}

// undone returns the answer with its reply, and with the state to on all its triggers, of which none took
// effect.
func (p *planner) undone(t *turn, result matcher.Result, request matcher.Request, to string) query.Answer {
	p.Answer.Reply = directReply(t.scope, p.Answer, result.Text, request.Chat)
	p.Answer.ReplyType = query.ReplyType(p.Answer.Reply)
	for i := range p.Answer.Matches {
		match := &p.Answer.Matches[i]
		if to == query.StateDraft { // there is nothing yet to confirm, to wait for or to take back
			match.State, match.DueAt, match.Of, match.Digest, match.Question, match.ExpiresAt = to, nil, "", "", "", nil
		}
		match.SetStates(to)
		*match = match.WithState()
	}
	return p.Answer
}

// unstored returns the turn that a message would be, or was, and the memory of the given history.
func (ts *Turns) unstored(ctx context.Context, m Message) (*turn, *memory, error) {
	id, known := ledger.Turn{App: m.AppID, Session: m.SessionID, Message: m.ID}, ts.scopes.CachedState(m.AppID)
	if m.ID == "" {
		id.Message = ts.NewID()
	}
	found, err := ts.Ledger.Peek(ctx, id, ts.history, known.Version)
	if err != nil {
		return nil, nil, err
	}
	if found == nil {
		return nil, nil, ledger.AppNotFound(m.AppID)
	}
	t := &turn{Turn: id, at: found.At, message: *m.stored(ts.Now()), generation: store.Generation{App: found.AppGeneration, Session: found.SessionGeneration}}
	if t.scope, err = ts.scopes.Build(m.AppID, known, found.App, found.Own); err != nil {
		return nil, nil, err
	}
	t.scope.Claims, t.message.Auth = m.neededBy(t.scope.Ranked())
	t.message.Claims = t.scope.Claims
	mem := newMemory(t.scope, t.Turn, t.language())
	if m.History != nil {
		var pasts []conversation.Past
		for i, one := range m.History {
			mem.add(one, "h"+strconv.Itoa(i+1), query.PastCalls(one.Matches))
			if one.Actor != matcher.ActorAgent {
				pasts = append(pasts, query.NewPast(one.Text, t.message.Time, one.Matches, one.Rejected))
			}
		}
		t.history = mem.utterances[matcher.HistoryStart(len(mem.utterances), ts.history):]
		t.scope, t.known = mem.scope, mem.known
		t.unfinished = conversation.Replay(pasts, t.scope.Candidates().All, t.message.Time)
		return t, mem, nil
	}
	for _, past := range found.History.Messages {
		t.history = append(t.history, query.Utterances(past)...)
	}
	if found.Message == "" {
		t.asked, t.unasked = found.Asked, found.Unasked
		if found.Unfinished != "" {
			t.unfinished = conversation.Read(found.Unfinished, t.scope.Candidates().All, t.at)
		}
		return t, mem, nil
	}
	var was query.StoredMessage
	if err := exactjson.Unmarshal([]byte(found.Message), &was); err != nil {
		return nil, nil, err
	}
	t.message.Time = was.Time
	t.message.Language, t.message.TimeZone = cmp.Or(m.Language, was.Language), cmp.Or(m.TimeZone, was.TimeZone)
	t.unfinished = query.Unfinished(was.Time, found.History.Messages, t.scope.Candidates().All)
	return t, mem, nil
}

// memory is the session state of an unstored conversation: of the history given to a dry run, or of a
// rehearsal.
type memory struct {
	turn       ledger.Turn
	language   string      // of the user
	scope      scope.Scope // without the triggerOnce repositories that have fired
	known      knownConflicts
	utterances []matcher.Utterance
	// asked are the triggers whose question was put to the user last, waiting all that have asked.
	asked, waiting []askedTrigger
}

// askedTrigger is a trigger that waits for a yes.
type askedTrigger struct {
	query.Match
	candidate matcher.Candidate
}

func newMemory(s scope.Scope, id ledger.Turn, language string) *memory {
	return &memory{turn: id, language: language, scope: s, known: knownConflicts{firsts: map[string]string{}, confirmed: map[string]bool{}}}
}

// add adds a message, with its calls as the matcher reads them.
func (m *memory) add(one Earlier, id string, fired []matcher.PastCall) {
	m.utterances = append(m.utterances, matcher.Utterance{ID: id, Actor: one.Actor, Text: one.Text, Fired: fired})
	if one.Actor == matcher.ActorAgent {
		m.asked = nil
		for _, waits := range m.waiting {
			if conversation.Asks(one.Text, waits.Question) {
				m.asked = append(m.asked, waits)
			}
		}
		return
	}
	if len(one.Matches)+len(one.Rejected) == 0 {
		return
	}
	m.asked = nil
	var gone []*repositories.Repository
	for _, match := range one.Matches {
		c, found := m.scope.Find(match.Name, match.RepositoryID)
		if !found {
			continue
		}
		if match.State == query.StateConfirming {
			match.Question = conversation.Question(c.Tool, match.Values, m.language, one.Text)
			m.asked = append(m.asked, askedTrigger{match, c})
		}
		if c.Tool.Confirm == repositories.ConfirmOnce && match.Due() {
			m.known.confirmed[confirmDigest(m.turn, c, match.Values)] = true
		}
		if c.Repository.Options.TriggerOnce && match.State != query.StateDuplicate {
			gone = append(gone, c.Repository)
		}
	}
	m.waiting = append(m.waiting, m.asked...)
	if len(gone) > 0 {
		m.scope = m.scope.Without(func(r *repositories.Repository) bool { return slices.Contains(gone, r) })
	}
}

// consent returns the triggers that asked last and the action of a text on them; false if it answers no
// question plainly.
func (m *memory) consent(text string) ([]askedTrigger, state.Action, bool) {
	action, plain := consentIn(text)
	asked := m.asked
	if action == state.Confirm {
		asked = newestOfEach(asked, func(a askedTrigger) string { return a.Question })
	}
	return asked, action, plain && len(asked) > 0
}

// moved returns the match of a confirmed or denied trigger.
func (a askedTrigger) moved(triggerID string, action state.Action) query.Match {
	to := query.StateDry
	if action == state.Deny {
		to = query.StateCancelled
	}
	return query.Match{
		TriggerID: triggerID, RepositoryID: a.candidate.Repository.ID, Name: a.Name, Source: query.SourceMessage, Values: a.Values,
		ReturnDirect: a.candidate.Tool.ReturnDirect, SkipResponse: a.candidate.Tool.SkipResponse, State: to,
	}
}
