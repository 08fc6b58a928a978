package trigger

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"earshot/matcher"
	"earshot/repositories/exactjson"
	"earshot/trigger/conversation"
	"earshot/trigger/ledger"
	"earshot/trigger/query"
	"earshot/trigger/scope"
	"earshot/trigger/state"
)

// RehearsalOptions are the settings of a rehearsal. All but the last two are required.
type RehearsalOptions struct {
	Matcher matcher.Matcher
	// Scope has the tools; rehearsals may share it.
	Scope scope.Scope
	// Now is the time of the next message, in its user's time zone.
	Now func() time.Time
	// History is the number of earlier messages that the matcher sees.
	History int
	// Language is the user's language (BCP 47).
	Language string
}

// Rehearsal is a conversation in memory: messages are matched and decided as in a session of the service, but
// nothing is stored, published or called. It is not safe for concurrent use.
type Rehearsal struct {
	options RehearsalOptions
	memory  *memory
	open    []conversation.IncompleteCall
	// reply is the assistant's reply, unless Agent replaces it.
	reply string
	count int // of messages and triggers
}

// NewRehearsal begins a rehearsal.
func NewRehearsal(o RehearsalOptions) *Rehearsal {
	return &Rehearsal{options: o, memory: newMemory(o.Scope, ledger.Turn{}, o.Language)}
}

// Agent adds a message of the agent.
func (r *Rehearsal) Agent(text string) {
	r.reply = ""
	r.add(Earlier{Actor: matcher.ActorAgent, Text: text})
}

// Past adds a message of the user that was decided elsewhere.
func (r *Rehearsal) Past(text string) { r.add(Earlier{Actor: matcher.ActorUser, Text: text}) }

func (r *Rehearsal) add(message Earlier) {
	r.memory.add(message, r.id("m"), query.PastCalls(message.Matches))
}

func (r *Rehearsal) id(kind string) string {
	r.count++
	return kind + strconv.Itoa(r.count)
}

// RehearsalOutcome is the outcome of a message in a rehearsal. Its triggers have the states of a dry run.
type RehearsalOutcome struct {
	query.Answer
	// Why is a sentence of explanation; Trace has the rest.
	Why   string
	Trace *matcher.Trace
}

// User matches and decides a message of the user. On an error, which is the matcher's, nothing is decided and
// the message stays in the conversation.
func (r *Rehearsal) User(ctx context.Context, text string) (RehearsalOutcome, error) {
	o, m := r.options, r.memory
	if r.reply != "" {
		r.memory.utterances = append(r.memory.utterances, matcher.Utterance{ID: r.id("m"), Actor: matcher.ActorAgent, Text: r.reply})
		r.reply = ""
	}
	message, now := Earlier{Actor: matcher.ActorUser, Text: text}, o.Now()
	if asked, action, plain := m.consent(text); plain {
		return r.consentOutcome(message, asked, action, now), nil
	}
	t := &turn{
		message: query.StoredMessage{Actor: matcher.ActorUser, Text: text, Language: o.Language}, scope: m.scope, conflicts: m.conflicts, unfinished: r.open,
		history: slices.Clone(m.utterances[matcher.HistoryStart(len(m.utterances), max(1, o.History)):]), now: time.Duration(now.UnixMilli()) * time.Millisecond,
	}
	request := t.request(now)
	request.Now = now
	result, err := t.match(ctx, o.Matcher, request)
	if err != nil {
		r.add(message)
		return RehearsalOutcome{Trace: t.trace}, err
	}
	planned := newPlanner(t.Turn, "", t.scope.State, now, text, "")
	planned.newID = func() string { return r.id("t") }
	p, err := t.decide(planned, result)
	if err != nil {
		return RehearsalOutcome{}, err
	}
	r.open = p.unfinished
	for fence, triggerID := range p.fences {
		m.conflicts.firsts[fence] = triggerID
	}
	message.Matches, message.Rejected = slices.Clone(p.Answer.Matches), p.Answer.Rejected
	r.add(message)
	if t.scope.MayReply() && len(message.Matches) == 0 {
		r.reply = result.Text
		for _, rejected := range slices.Backward(message.Rejected) {
			r.reply = cmp.Or(rejected.Ask, r.reply)
		}
	}
	return p.rehearsalOutcome(t, result, request), nil
}

// rehearsalOutcome returns the outcome of a turn that is not stored.
func (p *planner) rehearsalOutcome(t *turn, result matcher.Result, request matcher.Request) RehearsalOutcome {
	out := RehearsalOutcome{Answer: p.dryAnswer(t, result, request, query.StateDry), Why: p.explanation(t).Why, Trace: t.trace}
	if caught := len(p.Answer.Matches) > len(p.fires); caught {
		match := p.Answer.Matches[0]
		out.Why = "Fired " + match.RepositoryID + "/" + match.Name + ", which takes what nothing else does."
	}
	return out
}

// consentOutcome returns the outcome of a plain yes or no to the last questions.
func (r *Rehearsal) consentOutcome(message Earlier, triggers []askedTrigger, action state.Action, now time.Time) RehearsalOutcome {
	m, out := r.memory, RehearsalOutcome{Why: whyConsent(action, "tool"), Trace: &matcher.Trace{}}
	result := query.CallResult{Result: conversation.Confirmed}
	if action == state.Deny {
		result = query.CallResult{Error: conversation.Cancelled}
	}
	var fired []matcher.PastCall
	for _, trigger := range triggers {
		match := trigger.match(trigger.TriggerID, action)
		out.Matches = append(out.Matches, match)
		if match.State == query.StateDry {
			match.State = "" // its effects count as done
		}
		message.Matches = append(message.Matches, match)
		for i := range m.utterances { // the session's copies of the trigger's result
			for j, past := range m.utterances[i].Fired {
				if past.TriggerID == trigger.TriggerID {
					m.utterances[i].Fired[j].Result, m.utterances[i].Fired[j].Error = result.Result, result.Error
				}
			}
		}
		fired = append(fired, matcher.PastCall{TriggerID: trigger.TriggerID, Name: trigger.Name, Values: trigger.Values, Result: result.Result, Error: result.Error})
		m.waiting = slices.DeleteFunc(m.waiting, func(waiting askedTrigger) bool { return waiting.TriggerID == trigger.TriggerID })
	}
	r.open = conversation.After(r.open, message.Text, matcher.Result{}, now.UnixMilli())
	m.add(message, r.id("m"), fired)
	return out
}

// PastMessage is a user's message as its session stores it, with the conversation before it.
type PastMessage struct {
	SessionID, MessageID, Text string
	Time                       time.Time

	message query.StoredMessage
	history []matcher.Utterance
	decided []conversation.Past
	profile *scope.Profile
}

// mostSessions bounds the sessions searched for the last messages.
const mostSessions = 1000

// LastMessages reads at most so many last messages of an app's users, newest first, from the 1,000 sessions used
// last.
//
// Errors: repositories.ErrNotFound without the app, keyspace.ErrUnavailable.
func (ts *Turns) LastMessages(ctx context.Context, appID string, most int) ([]PastMessage, error) {
	if err := ts.records.Ledger.CheckApp(ctx, appID); err != nil || most == 0 {
		return nil, err
	}
	sessions, err := ts.records.Ledger.LastUsedSessions(ctx, appID, mostSessions)
	var latest []PastMessage
	for _, session := range sessions {
		if err != nil || len(latest) == most && !latest[most-1].Time.Before(time.UnixMilli(session.At)) {
			break // the remaining messages are older
		}
		var messages []PastMessage
		messages, err = ts.lastMessagesOf(ctx, appID, session.Session, most)
		latest = append(latest, messages...)
		slices.SortStableFunc(latest, func(a, b PastMessage) int { return b.Time.Compare(a.Time) })
		latest = latest[:min(most, len(latest))]
	}
	return latest, err
}

// lastMessagesOf reads the last messages of a session's user, each with the history that a matcher sees.
func (ts *Turns) lastMessagesOf(ctx context.Context, appID, sessionID string, most int) (messages []PastMessage, err error) {
	stored, record, err := ts.records.Ledger.LastMessages(ctx, appID, sessionID, most+ts.history)
	if err != nil {
		return nil, err
	}
	profile, err := scope.ReadProfile(record)
	if err != nil {
		return nil, err
	}
	var utterances [][]matcher.Utterance
	var decided []conversation.Past
	decidedBefore := make([]int, 0, len(stored)) // number of decided messages before each message
	for i, past := range stored {
		message := PastMessage{SessionID: sessionID, MessageID: past.ID, profile: profile}
		if past.Message != "" && exactjson.Unmarshal([]byte(past.Message), &message.message) == nil && message.message.Actor == matcher.ActorUser && !message.message.CallerFires {
			from := matcher.HistoryStart(i, ts.history)
			message.Text, message.Time = message.message.Text, message.message.Time
			message.history = slices.Concat(utterances[from:]...)
			if from < len(decidedBefore) {
				message.decided = decided[decidedBefore[from]:len(decided):len(decided)]
			}
			messages = append(messages, message)
		}
		decidedBefore, utterances = append(decidedBefore, len(decided)), append(utterances, query.Utterances(past))
		if decision, isDecided := query.DecodePast(past); isDecided {
			decided = append(decided, decision)
		}
	}
	return messages[max(0, len(messages)-most):], nil
}

// Try matches and decides a past message with the tools of a scope, as if it came again at its time. Nothing is
// stored, published or called. The user's verified claims are gone: tools that need them are out of scope.
func (ts *Turns) Try(ctx context.Context, message PastMessage, tools scope.Scope, m matcher.Matcher) (RehearsalOutcome, error) {
	tools.Profile = message.profile
	t := &turn{
		Turn: ledger.Turn{App: tools.App.ID, Session: message.SessionID, Message: message.MessageID}, message: message.message, scope: tools, history: message.history,
		unfinished: conversation.Replay(message.decided, tools.Candidates().All, message.Time), now: time.Duration(message.Time.UnixMilli()) * time.Millisecond,
	}
	request := t.request(message.Time)
	request.Chat = false // only tools are compared
	result, err := t.match(ctx, m, request)
	if err != nil {
		return RehearsalOutcome{Trace: t.trace}, err
	}
	p, err := t.decide(newPlanner(t.Turn, "", tools.State, message.Time, message.Text, ""), result)
	if err != nil {
		return RehearsalOutcome{}, err
	}
	return p.rehearsalOutcome(t, result, request), nil
}
