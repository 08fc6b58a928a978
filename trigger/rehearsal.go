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
	open    []conversation.Begun
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

func (r *Rehearsal) add(one Earlier) {
	r.memory.add(one, r.id("m"), query.PastCalls(one.Matches))
}

func (r *Rehearsal) id(kind string) string {
	r.count++
	return kind + strconv.Itoa(r.count)
}

// Rehearsed is the outcome of a message in a rehearsal. Its triggers have the states of a dry run.
type Rehearsed struct {
	query.Answer
	// Why is a sentence of explanation; Trace has the rest.
	Why   string
	Trace *matcher.Trace
}

// User matches and decides a message of the user. On an error, which is the matcher's, nothing is decided and
// the message stays in the conversation.
func (r *Rehearsal) User(ctx context.Context, text string) (Rehearsed, error) {
	o, m := r.options, r.memory
	if r.reply != "" {
		r.memory.utterances = append(r.memory.utterances, matcher.Utterance{ID: r.id("m"), Actor: matcher.ActorAgent, Text: r.reply})
		r.reply = ""
	}
	said, now := Earlier{Actor: matcher.ActorUser, Text: text}, o.Now()
	if asked, action, plain := m.consent(text); plain {
		return r.consented(said, asked, action, now), nil
	}
	t := &turn{
		message: query.StoredMessage{Actor: matcher.ActorUser, Text: text, Language: o.Language}, scope: m.scope, known: m.known, unfinished: r.open,
		history: slices.Clone(m.utterances[matcher.HistoryStart(len(m.utterances), max(1, o.History)):]), at: time.Duration(now.UnixMilli()) * time.Millisecond,
	}
	request := t.request(now)
	request.Now = now
	result, err := t.match(ctx, o.Matcher, request)
	if err != nil {
		r.add(said)
		return Rehearsed{Trace: t.trace}, err
	}
	by := newPlanner(t.Turn, "", t.scope.State, now, text, "")
	by.newID = func() string { return r.id("t") }
	p, err := t.decide(by, result)
	if err != nil {
		return Rehearsed{}, err
	}
	r.open = p.unfinished
	for fence, triggerID := range p.fences {
		m.known.firsts[fence] = triggerID
	}
	said.Matches, said.Rejected = slices.Clone(p.Answer.Matches), p.Answer.Rejected
	r.add(said)
	if t.scope.Chats() && len(said.Matches) == 0 {
		r.reply = result.Text
		for _, rejected := range slices.Backward(said.Rejected) {
			r.reply = cmp.Or(rejected.Ask, r.reply)
		}
	}
	return p.rehearsed(t, result, request), nil
}

// rehearsed returns the outcome of an unstored turn.
func (p *planner) rehearsed(t *turn, result matcher.Result, request matcher.Request) Rehearsed {
	out := Rehearsed{Answer: p.undone(t, result, request, query.StateDry), Why: p.explanation(t).Why, Trace: t.trace}
	if caught := len(p.Answer.Matches) > len(p.fires); caught {
		match := p.Answer.Matches[0]
		out.Why = "Fired " + match.RepositoryID + "/" + match.Name + ", which takes what nothing else does."
	}
	return out
}

// consented returns the outcome of a plain yes or no to the last questions.
func (r *Rehearsal) consented(said Earlier, asked []askedTrigger, action state.Action, now time.Time) Rehearsed {
	m, out := r.memory, Rehearsed{Why: whyConsent(action, "tool"), Trace: &matcher.Trace{}}
	result := query.CallResult{Result: conversation.Confirmed}
	if action == state.Deny {
		result = query.CallResult{Error: conversation.Cancelled}
	}
	var fired []matcher.PastCall
	for _, one := range asked {
		match := one.moved(one.TriggerID, action)
		out.Matches = append(out.Matches, match)
		if match.State == query.StateDry {
			match.State = "" // its effects count as done
		}
		said.Matches = append(said.Matches, match)
		for i := range m.utterances { // the session's copies of the trigger's result
			for j, past := range m.utterances[i].Fired {
				if past.TriggerID == one.TriggerID {
					m.utterances[i].Fired[j].Result, m.utterances[i].Fired[j].Error = result.Result, result.Error
				}
			}
		}
		fired = append(fired, matcher.PastCall{TriggerID: one.TriggerID, Name: one.Name, Values: one.Values, Result: result.Result, Error: result.Error})
		m.waiting = slices.DeleteFunc(m.waiting, func(waits askedTrigger) bool { return waits.TriggerID == one.TriggerID })
	}
	r.open = conversation.After(r.open, said.Text, matcher.Result{}, now.UnixMilli())
	m.add(said, r.id("m"), fired)
	return out
}

// Said is a user's message as its session has it, with the conversation before it.
type Said struct {
	SessionID, MessageID, Text string
	Time                       time.Time

	message query.StoredMessage
	history []matcher.Utterance
	decided []conversation.Past
	profile *scope.Profile
}

// mostSessions bounds the sessions searched for the last messages.
const mostSessions = 1000

// LastSaid reads at most so many last messages of an app's users, newest first, from the 1,000 sessions used
// last.
//
// Errors: repositories.ErrNotFound without the app, keyspace.ErrUnavailable.
func (ts *Turns) LastSaid(ctx context.Context, appID string, most int) ([]Said, error) {
	there, err := ts.records.Ledger.AppExists(ctx, appID)
	if err != nil {
		return nil, err
	}
	if !there {
		return nil, ledger.AppNotFound(appID)
	}
	if most == 0 {
		return nil, nil
	}
	sessions, err := ts.records.Ledger.LastUsedSessions(ctx, appID, mostSessions)
	var all []Said
	for _, session := range sessions {
		if err != nil || len(all) == most && !all[most-1].Time.Before(time.UnixMilli(session.At)) {
			break // the remaining messages are older
		}
		var some []Said
		some, err = ts.saidIn(ctx, appID, session.Session, most)
		all = append(all, some...)
		slices.SortStableFunc(all, func(a, b Said) int { return b.Time.Compare(a.Time) })
		all = all[:min(most, len(all))]
	}
	return all, err
}

// saidIn reads the last messages of a session's user, each with the history that a matcher sees.
func (ts *Turns) saidIn(ctx context.Context, appID, sessionID string, most int) (all []Said, err error) {
	pasts, record, err := ts.records.Ledger.LastMessages(ctx, appID, sessionID, most+ts.history)
	if err != nil {
		return nil, err
	}
	profile, err := scope.ReadProfile(record)
	if err != nil {
		return nil, err
	}
	var utterances [][]matcher.Utterance
	var decided []conversation.Past
	at := make([]int, 0, len(pasts)) // number of decided messages before each message
	for i, past := range pasts {
		one := Said{SessionID: sessionID, MessageID: past.ID, profile: profile}
		if past.Message != "" && exactjson.Unmarshal([]byte(past.Message), &one.message) == nil && one.message.Actor == matcher.ActorUser && !one.message.Acted {
			from := matcher.HistoryStart(i, ts.history)
			one.Text, one.Time = one.message.Text, one.message.Time
			one.history = slices.Concat(utterances[from:]...)
			if from < len(at) {
				one.decided = decided[at[from]:len(decided):len(decided)]
			}
			all = append(all, one)
		}
		at, utterances = append(at, len(decided)), append(utterances, query.Utterances(past))
		if before, is := query.DecodePast(past); is {
			decided = append(decided, before)
		}
	}
	return all[max(0, len(all)-most):], nil
}

// Try matches and decides a past message with the tools of a scope, as if it came again at its time. Nothing is
// stored, published or called. The user's verified claims are gone: tools that need them are out of scope.
func (ts *Turns) Try(ctx context.Context, s Said, over scope.Scope, by matcher.Matcher) (Rehearsed, error) {
	over.Profile = s.profile
	t := &turn{
		Turn: ledger.Turn{App: over.App.ID, Session: s.SessionID, Message: s.MessageID}, message: s.message, scope: over, history: s.history,
		unfinished: conversation.Replay(s.decided, over.Candidates().All, s.Time), at: time.Duration(s.Time.UnixMilli()) * time.Millisecond,
	}
	request := t.request(s.Time)
	request.Chat = false // only tools are compared
	result, err := t.match(ctx, by, request)
	if err != nil {
		return Rehearsed{Trace: t.trace}, err
	}
	p, err := t.decide(newPlanner(t.Turn, "", over.State, s.Time, s.Text, ""), result)
	if err != nil {
		return Rehearsed{}, err
	}
	return p.rehearsed(t, result, request), nil
}
