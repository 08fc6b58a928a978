package trigger

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/repositories/keyspace"
	"earshot/repositories/store"
	"earshot/trigger/effect"
	"earshot/trigger/ledger"
	"earshot/trigger/payload"
)

// Where an app wants it (settings.chatEvents), a conversation can be followed: each message
// and each reply is an event, and so is a message that could not be decided. An event that a
// message is there is published by the replica that has accepted it, beside the matching; the
// others are the ledger's.

// actorAssistant is who says a reply, in events.
const actorAssistant = "assistant"

// restings keep what the events of the last conversations rested on, so that they can be made
// before the script runs that stores the message: it says where they are wrong.
type restings struct {
	known *lru.Cache[string, ledger.Resting] // by session, and by app with its generation alone
}

func newRestings() restings {
	known, _ := lru.New[string, ledger.Resting](4 * cachedConversations) // fails for a size of 0 only
	return restings{known}
}

func (r restings) guess(id ledger.Turn) ledger.Resting {
	if of, hit := r.known.Get(id.App + "/" + id.Session); hit {
		return of
	}
	of, _ := r.known.Get(id.App)
	return of
}

func (r restings) learn(id ledger.Turn, of ledger.Resting) {
	of.Message = ""
	r.known.Add(id.App+"/"+id.Session, of)
	r.known.Add(id.App, ledger.Resting{AppGeneration: of.AppGeneration})
}

// acceptTelling asks the ledger for a turn, with the events that its app wants.
func (ts *Turns) acceptTelling(ctx context.Context, a ledger.Acceptance, message *storedMessage, app *repositories.App) (found ledger.Accepted, err error) {
	if app != nil && app.Settings.ChatEvents && message != nil && message != ofDraft {
		if a.Chat, err = chatOf(a, message, ts.restings.guess(a.Turn)); err != nil {
			return found, err
		}
	}
	for range replans {
		found, err = ts.ledger.Accept(ctx, a)
		if err != nil || found.Status != ledger.Unguessed {
			if found.Told {
				ts.work(func() { ts.deliveries.publishSaid(a) })
			}
			return found, err
		}
		ts.restings.learn(a.Turn, *found.Resting)
		if a.Chat, err = chatOf(a, message, *found.Resting); err != nil {
			return found, err
		}
	}
	return found, fmt.Errorf("%w: what is known of session %q changes faster than a message can be stored", keyspace.ErrUnavailable, a.Session)
}

// chatOf are the events of a message: the one that is given, or the one that the ledger has of
// it.
func chatOf(a ledger.Acceptance, message *storedMessage, on ledger.Resting) (ledger.Chat, error) {
	said, stored := message, storedMessage{}
	if message == nil || message == ofDraft {
		if err := decode(on.Message, &stored); err != nil {
			return ledger.Chat{}, err
		}
		said = &stored
	}
	put, err := readPut(on.Put)
	if err != nil {
		return ledger.Chat{}, err
	}
	about := teller{
		Turn: a.Turn, life: store.Generation{App: on.AppGeneration, Session: on.SessionGeneration},
		metadata: said.Metadata.Over(put.Metadata), traceParent: said.TraceParent,
	}
	chat := ledger.Chat{Basis: on.Basis()}
	if chat.Failed, err = about.failed(said.Time, a.Token, "crashed_worker", 0); err == nil {
		chat.Said, err = about.said("said", said.Actor, said.Text, said.Time)
	}
	return chat, err
}

// teller makes the events of one message.
type teller struct {
	ledger.Turn
	life        store.Generation
	metadata    repositories.Metadata
	traceParent string
}

func (t *turn) teller() *teller {
	return &teller{t.Turn, t.generation, t.metadata(), t.message.TraceParent}
}

func (t teller) header(at time.Time, part ...string) payload.Header {
	return payload.Header{
		ID: hash(append(part, turnHash(t.Turn, t.life))...), Time: at.UTC(), MessageID: t.Message,
		AppID: t.App, SessionID: t.Session, Metadata: t.metadata,
	}
}

// said tells of a message, or of the reply to it; part distinguishes them.
func (t teller) said(part, actor, text string, at time.Time) (*keyspace.Entry, error) {
	header := t.header(at, part)
	header.Text = text
	if actor == actorAssistant {
		header.MessageID = replyID(t.Message)
	}
	return t.entry(payload.ChatEventOf(payload.KindMessage, header, payload.Said{Header: header, Actor: actor}))
}

// failed tells that a message could not be decided in the lease of a token.
func (t teller) failed(at time.Time, token, reason string, pause time.Duration) (*keyspace.Entry, error) {
	header := t.header(at, "failed", token)
	return t.entry(payload.ChatEventOf(payload.KindFailed, header, payload.Undecided{
		Header: header, Reason: reason, RetryAfter: int(math.Ceil(pause.Seconds())),
	}))
}

func (t teller) entry(event effect.Event, err error) (*keyspace.Entry, error) {
	if err != nil {
		return nil, err
	}
	event.TraceParent = t.traceParent
	body, err := exactjson.Encode(event)
	owed := keyspace.EventEntry(event.ID, t.Session, "", string(body))
	owed.Box = keyspace.ChatBox(t.Session)
	return &owed, err
}

// publishSaid publishes the event that a message is there, which is the batch of its outbox.
func (d *Deliveries) publishSaid(a ledger.Acceptance) {
	event := &effect.Event{}
	if err := decode(a.Said.Body, event); err != nil {
		return // it was written a moment ago
	}
	tried := d.first(d.life, effect.Effect{
		ID: a.Said.ID, Kind: effect.KindEvent, AppID: a.App, SessionID: a.Session, Attempt: 1, TraceParent: event.TraceParent, Event: event,
	}, *a.Said)
	if tried.outcome.Verdict == effect.Done {
		d.settle(ledger.Settlement{
			Turn: ledger.Turn{App: a.App, Session: a.Session}, Box: a.Said.Box, Token: a.Token, Next: d.nextHolder(), Keep: d.store.Retention().Done,
		})
		return
	}
	if err := d.leaveSaid(a, tried); err != nil {
		d.log.Warn("chat.unpublished", "app", a.App, "session", a.Session, "message", a.Turn.Message, "error", err.Error())
	}
}

// leaveSaid leaves an event that could not be published to the ledger.
func (d *Deliveries) leaveSaid(a ledger.Acceptance, tried attempt) error {
	ctx, cancel := d.lasting(d.life)
	defer cancel()
	err := d.retryUntilAvailable(ctx, func() error { return d.ledger.Unpack(ctx, a.App, a.Said.Box, a.Token) })
	if err != nil {
		return err
	}
	outcome, err := tried.report()
	if err != nil {
		return err
	}
	_, err = d.finish(ctx, ledger.Report{App: a.App, Session: a.Session, Box: a.Said.Box, Token: a.Token, Next: d.nextHolder(), Outcomes: []ledger.Outcome{outcome}})
	return err
}

// replied tells of the reply to a turn, where its app wants to know and there is one.
func (p *plan) replied(at time.Time) (*keyspace.Entry, error) {
	text := replyText(p.answer.Reply)
	if p.tells == nil || text == "" {
		return nil, nil
	}
	return p.tells.said("reply", actorAssistant, text, at)
}

// undecided tells that a turn failed that nobody takes up again by himself, where its app wants
// to know.
func (ts *Turns) undecided(t *turn, cause error, next time.Duration) (*keyspace.Entry, error) {
	if next >= 0 || !t.scope.app.Settings.ChatEvents {
		return nil, nil
	}
	var pause time.Duration
	if unavailable := (*matcher.Unavailable)(nil); errors.As(cause, &unavailable) {
		pause = unavailable.RetryAfter
	}
	return t.teller().failed(ts.now(), t.token, cause.Error(), pause)
}
