package trigger

import (
	"context"
	"math"
	"time"

	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/repositories/keyspace"
	"earshot/repositories/store"
	"earshot/trigger/ledger"
	"earshot/trigger/payload"
	"earshot/trigger/query"
	"earshot/trigger/scope"
)

// actorAssistant is the actor of a reply, in events.
const actorAssistant = "assistant"

// chatEvents builds the events of one message. An app may request an event for each message, each reply and
// each message that could not be decided (settings.chatEvents).
type chatEvents struct {
	ledger.Turn
	generation  store.Generation
	metadata    repositories.Metadata
	traceParent string
}

// ChatEnd is the end of a request whose model is offered the tools in scope.
type ChatEnd struct {
	// Length counts the messages of the request from the user's on, if it was answered to its end; else it is 0.
	Length int
	// Rejected reports that the model called tools with wrong values, Decided that the message was a yes or a no.
	Rejected, Decided bool
}

// EndChat counts the message of a chat's request by its outcome, once. A request that was not answered and fired nothing
// is undecided. A request of the Length that fired tools fires nothing more.
//
// Errors: keyspace.ErrUnavailable.
func (t *Turns) EndChat(ctx context.Context, id ledger.Turn, end ChatEnd) error {
	letter := keyspace.OutcomeUnmatched
	switch {
	case end.Length == 0:
		letter = ""
	case end.Decided:
		letter = keyspace.OutcomeFired
	case end.Rejected:
		letter = keyspace.OutcomeRejected
	}
	stored, err := ledger.EndChat(ctx, t.Ledger, id, end.Length, letter)
	switch _, counts := outcomes[stored]; {
	case err != nil || end.Decided:
	case counts:
		t.countMessage(id.App, stored)
	case end.Length == 0:
		t.Metrics.Messages.WithLabelValues("undecided").Inc()
	}
	return err
}

// FiredLength returns the largest Length given to EndChat for a message whose chat has fired tools; 0 for none.
//
// Errors: keyspace.ErrUnavailable.
func (t *Turns) FiredLength(ctx context.Context, id ledger.Turn) (length int, err error) {
	return ledger.ChatLength(ctx, t.Ledger, id)
}

func (t *turn) events() chatEvents {
	return chatEvents{t.Turn, t.generation, t.metadata(), t.message.TraceParent}
}

func (c chatEvents) header(at time.Time, part ...string) payload.Header {
	return payload.Header{
		ID: ledger.Hash(append(part, turnHash(c.Turn, c.generation))...), Time: at.UTC(), MessageID: c.Message,
		AppID: c.App, SessionID: c.Session, Metadata: c.metadata,
	}
}

// message returns the event of a message, or of its reply; part distinguishes them.
func (c chatEvents) message(part, actor, text string, at time.Time) (*keyspace.Entry, error) {
	header := c.header(at, part)
	header.Text = text
	if actor == actorAssistant {
		header.MessageID = query.ReplyID(c.Message)
	}
	return c.entry(payload.KindMessage, payload.Message{Header: header, Actor: actor})
}

// failed returns the event of a message that could not be decided under the lease of a token.
func (c chatEvents) failed(at time.Time, token, reason string, pause time.Duration) (*keyspace.Entry, error) {
	header := c.header(at, "failed", token)
	return c.entry(payload.KindFailed, payload.Failed{Header: header, Reason: reason, RetryAfter: int(math.Ceil(pause.Seconds()))})
}

func (c chatEvents) entry(kind string, content payload.Payload) (*keyspace.Entry, error) {
	event, _, err := payload.EventOf(kind, "", content)
	if err != nil {
		return nil, err
	}
	event.TraceParent = c.traceParent
	body, err := exactjson.Text(event)
	entry := keyspace.EventEntry(event.ID, c.Session, "", body)
	entry.Box = keyspace.ChatBox(c.Session)
	return &entry, err
}

// chatOf returns the events of a message: of the given one, or of the ledger's.
func chatOf(a ledger.Acceptance, message *query.StoredMessage, precondition ledger.Precondition) (chat ledger.Chat, err error) {
	if message == nil || message == draftMessage {
		message = &query.StoredMessage{}
		if err := exactjson.Unmarshal([]byte(precondition.Message), message); err != nil {
			return chat, err
		}
	}
	profile, err := scope.ReadProfile(precondition.SessionProfile)
	if err != nil {
		return chat, err
	}
	events := chatEvents{
		Turn: a.Turn, generation: store.Generation{App: precondition.AppGeneration, Session: precondition.SessionGeneration},
		metadata: message.Metadata.Over(profile.Metadata), traceParent: message.TraceParent,
	}
	chat.Precondition = precondition.Text()
	if chat.FailedEvent, err = events.failed(message.Time, a.Token, "crashed_worker", 0); err == nil {
		chat.AcceptedEvent, err = events.message("said", message.Actor, message.Text, message.Time)
	}
	return chat, err
}
