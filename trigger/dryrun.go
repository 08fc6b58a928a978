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

// Earlier is a message of the history of a dry run, with its outcome.
type Earlier struct {
	Actor    string           `json:"actor"`
	Text     string           `json:"text"`
	Matches  []query.Match    `json:"matches"`
	Rejected []query.Rejected `json:"rejected"`
}

// DryRun matches a message as Post does, without side effects: it stores, fires and publishes nothing, and counts
// against no limit. The answer has the form of a real one, with the ids that the triggers would have. If the id is that
// of a stored message, DryRun uses the messages before it and its time, and by default its language and time zone.
//
// Errors: those of Post that concern the app and the model.
func (ts *Turns) DryRun(ctx context.Context, m Message) (query.Answer, explain.Explanation, error) {
	t, mem, err := ts.dryTurn(ctx, m)
	if err != nil {
		return query.Answer{}, explain.Explanation{}, err
	}
	answer := query.Answer{MessageID: t.Turn.Message, Matches: []query.Match{}, Rejected: []query.Rejected{}}
	if m.Actor == matcher.ActorAgent {
		return answer, explain.Unmatched(t.Turn.Message, ts.Now().UTC()), nil
	}
	if triggers, action, plain := mem.consent(m.Text); plain {
		for _, trigger := range triggers {
			answer.Matches = append(answer.Matches, trigger.match(ts.NewID(), action))
		}
		explanation := explain.Unmatched(t.Turn.Message, ts.Now().UTC())
		explanation.Stage, explanation.Why = matcher.StageExact, whyConsent(action, "trigger")
		return answer, explanation, nil
	}
	request := t.request(ts.Now())
	request.Now = t.message.Time.In(request.Now.Location())
	if !m.Now.IsZero() {
		request.Now = m.Now.In(locale.Zone(t.zoneName(), m.Now.Location()))
	}
	result, err := ts.matchOnly(ctx, t, request)
	if err != nil {
		return query.Answer{}, explain.Explanation{}, err
	}
	p, err := t.decide(newPlanner(t.Turn, "", t.scope.State, ts.Now(), t.message.Text, t.message.TraceParent), result)
	if err != nil {
		return query.Answer{}, explain.Explanation{}, err
	}
	p.explain(ts.packer, ts.Log, t, "")
	unpacked, err := explain.Unpack(t.Turn.Message, p.packed.Body, func([]string) (map[string]string, error) { return p.packed.Parts, nil }, nil)
	return p.dryAnswer(t, result, request, query.StateDry), unpacked, err
}

// dryAnswer returns the answer with its reply, and with newState as the state of all its triggers, none of which took
// effect.
func (p *planner) dryAnswer(t *turn, result matcher.Result, request matcher.Request, newState string) query.Answer {
	p.Answer.Reply = directReply(t.scope, p.Answer, result.Text, request.Chat)
	p.Answer.ReplyType = query.ReplyType(p.Answer.Reply)
	for i := range p.Answer.Matches {
		match := &p.Answer.Matches[i]
		if newState == query.StateDraft { // there is nothing yet to confirm, to wait for or to take back
			match.State, match.DueAt, match.Of, match.Digest, match.Question, match.ExpiresAt = newState, nil, "", "", "", nil
		}
		match.SetStates(newState)
		*match = match.WithState()
	}
	return p.Answer
}

// dryTurn returns the turn that a message would be, or was, and the memory of the given history.
func (ts *Turns) dryTurn(ctx context.Context, m Message) (*turn, *memory, error) {
	id, cached := ledger.Turn{App: m.AppID, Session: m.SessionID, Message: m.ID}, ts.scopes.CachedState(m.AppID)
	if m.ID == "" {
		id.Message = ts.NewID()
	}
	stored, err := ts.Ledger.Peek(ctx, id, ts.history, cached.Version)
	if err != nil {
		return nil, nil, err
	}
	if stored == nil {
		return nil, nil, ledger.AppNotFound(m.AppID)
	}
	t := &turn{Turn: id, now: stored.At, message: *m.toStored(ts.Now()), generation: store.Generation{App: stored.AppGeneration, Session: stored.SessionGeneration}}
	if t.scope, err = ts.scopes.Build(m.AppID, cached, stored.App, stored.Own); err != nil {
		return nil, nil, err
	}
	t.scope.Claims, t.message.Auth = m.neededClaims(t.scope.Ranked())
	t.message.Claims = t.scope.Claims
	mem := newMemory(t.scope, t.Turn, t.language())
	if m.History != nil {
		var pasts []conversation.Past
		for i, message := range m.History {
			mem.add(message, "h"+strconv.Itoa(i+1), query.PastCalls(message.Matches))
			if message.Actor != matcher.ActorAgent {
				pasts = append(pasts, query.NewPast(message.Text, t.message.Time, message.Matches, message.Rejected))
			}
		}
		t.history = mem.utterances[matcher.HistoryStart(len(mem.utterances), ts.history):]
		t.scope, t.conflicts = mem.scope, mem.conflicts
		t.unfinished = conversation.Replay(pasts, t.scope.Candidates().All, t.message.Time)
		return t, mem, nil
	}
	for _, past := range stored.History.Messages {
		t.history = append(t.history, query.Utterances(past)...)
	}
	if stored.Message == "" {
		t.lastQuestions, t.otherQuestions = stored.LastQuestions, stored.OtherQuestions
		if stored.Unfinished != "" {
			t.unfinished = conversation.Read(stored.Unfinished, t.scope.Candidates().All, t.now)
		}
		return t, mem, nil
	}
	var message query.StoredMessage
	if err := exactjson.Unmarshal([]byte(stored.Message), &message); err != nil {
		return nil, nil, err
	}
	t.message.Time = message.Time
	t.message.Language, t.message.TimeZone = cmp.Or(m.Language, message.Language), cmp.Or(m.TimeZone, message.TimeZone)
	t.unfinished = query.Unfinished(message.Time, stored.History.Messages, t.scope.Candidates().All)
	return t, mem, nil
}

// memory is the session state of a conversation that is not stored: of the history of a dry run, or of a rehearsal.
type memory struct {
	turn       ledger.Turn
	language   string      // of the user
	scope      scope.Scope // without the triggerOnce repositories that have fired
	conflicts  knownConflicts
	utterances []matcher.Utterance
	// lastQuestions are the triggers whose question the user was asked last, waiting all triggers that wait for a yes.
	lastQuestions, waiting []askedTrigger
}

// askedTrigger is a trigger that waits for a yes.
type askedTrigger struct {
	query.Match
	candidate matcher.Candidate
}

func newMemory(s scope.Scope, id ledger.Turn, language string) *memory {
	return &memory{turn: id, language: language, scope: s, conflicts: knownConflicts{firsts: map[string]string{}, confirmed: map[string]bool{}}}
}

// add adds a message, with its calls as the matcher reads them.
func (m *memory) add(message Earlier, id string, fired []matcher.PastCall) {
	m.utterances = append(m.utterances, matcher.Utterance{ID: id, Actor: message.Actor, Text: message.Text, Fired: fired})
	if message.Actor == matcher.ActorAgent {
		m.lastQuestions = nil
		for _, trigger := range m.waiting {
			if conversation.Asks(message.Text, trigger.Question) {
				m.lastQuestions = append(m.lastQuestions, trigger)
			}
		}
		return
	}
	if len(message.Matches)+len(message.Rejected) == 0 {
		return
	}
	m.lastQuestions = nil
	var firedOnce []*repositories.Repository
	for _, match := range message.Matches {
		c, found := m.scope.Find(match.Name, match.RepositoryID)
		if !found {
			continue
		}
		if match.State == query.StateConfirming {
			match.Question = conversation.Question(c.Tool, match.Values, m.language, message.Text)
			m.lastQuestions = append(m.lastQuestions, askedTrigger{match, c})
		}
		if c.Tool.Confirm == repositories.ConfirmOnce && match.Due() {
			m.conflicts.confirmed[confirmDigest(m.turn, c, match.Values)] = true
		}
		if c.Repository.Options.TriggerOnce && match.State != query.StateDuplicate {
			firedOnce = append(firedOnce, c.Repository)
		}
	}
	m.waiting = append(m.waiting, m.lastQuestions...)
	if len(firedOnce) > 0 {
		m.scope = m.scope.Without(func(r *repositories.Repository) bool { return slices.Contains(firedOnce, r) })
	}
}

// consent returns the triggers whose question was the last one, and the action of a text on them; false if the text is no
// plain answer.
func (m *memory) consent(text string) ([]askedTrigger, state.Action, bool) {
	action, plain := consentAction(text)
	triggers := m.lastQuestions
	if action == state.Confirm {
		triggers = newestPerQuestion(triggers, func(a askedTrigger) string { return a.Question })
	}
	return triggers, action, plain && len(triggers) > 0
}

// match returns the match of a confirmed or denied trigger.
func (a askedTrigger) match(triggerID string, action state.Action) query.Match {
	newState := query.StateDry
	if action == state.Deny {
		newState = query.StateCancelled
	}
	return query.Match{
		TriggerID: triggerID, RepositoryID: a.candidate.Repository.ID, Name: a.Name, Source: query.SourceMessage, Values: a.Values,
		ReturnDirect: a.candidate.Tool.ReturnDirect, SkipResponse: a.candidate.Tool.SkipResponse, State: newState,
	}
}
