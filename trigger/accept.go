package trigger

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/repositories/failpoint"
	"earshot/repositories/locale"
	"earshot/repositories/parameters"
	"earshot/repositories/store"
	"earshot/trigger/conversation"
	"earshot/trigger/ledger"
)

// turn is a message that this process holds the lease of, with everything that was read
// about it.
type turn struct {
	ledger.Turn
	token   string
	age     time.Duration // since it was accepted, by the clock of Redis
	message storedMessage
	scope   scope
	history []matcher.Utterance
	// unfinished are calls that earlier messages began, as far as they can still be
	// made; at is the time by the clock of Redis.
	unfinished []conversation.Begun
	at         time.Duration
	// asked are the triggers whose question is the last thing that was put to the user, unasked
	// others that may wait, and consents those that the message answers; beside says that it is a
	// yes or no to something else while a trigger waits. standing is what was learnt of its
	// firings by trying.
	asked      []string
	unasked    []string
	beside     bool
	consents   []consent
	standing   standing
	generation store.Generation
	decided    bool // by this process
	// draft is what was found out before the message was accepted; nil where it is not.
	draft *ledger.KeptDraft
	dry   bool // nothing of it is written
	matching
}

// storedMessage is a message as the session keeps it.
type storedMessage struct {
	Actor       string    `json:"actor"`
	Text        string    `json:"text"`
	Time        time.Time `json:"ts"`
	TraceParent string    `json:"traceparent,omitempty"`
	Language    string    `json:"language,omitempty"`
	TimeZone    string    `json:"timeZone,omitempty"`

	Metadata repositories.Metadata `json:"metadata,omitempty"`
	// Auth is why ID tokens of the user do not do, by their services.
	Auth map[string]string `json:"auth,omitempty"`
	// Acted says that it is matched against nothing, Relayed that nobody is shown its answer.
	Acted   bool `json:"acted,omitempty"`
	Relayed bool `json:"relayed,omitempty"`
	// claims stand apart, so that they can go with the decision.
	claims parameters.Claims
}

// ofDraft stands for the message that a draft is.
var ofDraft = &storedMessage{}

// language is that of who says the turn's message, as far as anybody has said it.
func (t *turn) language() string {
	return cmp.Or(t.message.Language, t.scope.put.Language, t.scope.app.Settings.Language)
}

// metadata is that of the turn's message, laid over that of its session.
func (t *turn) metadata() repositories.Metadata {
	return t.message.Metadata.Over(t.scope.put.Metadata)
}

// zone is where who says the turn's message is; other if nobody has said it.
func (t *turn) zone(other *time.Location) *time.Location { return locale.Zone(t.zoneName(), other) }

// zoneName is the name of the zone; empty if nobody has said it.
func (t *turn) zoneName() string { return cmp.Or(t.message.TimeZone, t.scope.zoneName()) }

// hash is a hash of a message's content: a message that is sent again under the same id
// must have the same. The time and the claims are not part of it.
func (m *storedMessage) hash() string {
	if m == nil || m == ofDraft {
		return ""
	}
	return hash(m.Actor, m.Text)
}

// asks is what a message of an agent asks the user: about the trigger that its metadata names as
// asks, and in which words.
func (m *storedMessage) asks() (triggerID, words string) {
	if m == nil || m == ofDraft || m.Actor != matcher.ActorAgent {
		return "", ""
	}
	var named struct {
		Asks any `json:"asks"`
	}
	_ = json.Unmarshal(m.Metadata, &named) // any other metadata names no trigger
	triggerID, _ = named.Asks.(string)
	return triggerID, conversation.Plain(m.Text)
}

// accepted is the ledger's answer about a message, with its turn if the lease was taken.
type accepted struct {
	ledger.Accepted
	turn *turn
}

// accept asks the ledger for a turn. If message is nil, it claims an existing turn; if it is
// ofDraft, it asks for that of a draft. canned is the fixed answer for a message that is not
// matched against tools.
func (ts *Turns) accept(ctx context.Context, id ledger.Turn, token string, message *storedMessage, canned string) (accepted, error) {
	text, claims, err := message.encode()
	if err != nil {
		return accepted{}, err
	}
	had := ts.scopes.apps.get(id.App)
	asksFor, words := message.asks()
	found, err := ts.acceptTelling(ctx, ledger.Acceptance{
		AsksFor: asksFor, Words: words,
		Turn: id, Token: token, Lease: ts.lease, Message: text, Says: message.hash(), Claims: claims, OfDraft: message == ofDraft, Answer: canned,
		History: ts.decisions.historyLimit, Version: had.version,
		Life: ts.store.SessionTTL(), Remembers: ts.store.Remembers(), Messages: ts.store.Retention().Messages,
	}, message, had.app)
	if limit := (*ledger.RateError)(nil); errors.As(err, &limit) {
		return accepted{}, err
	}
	if err != nil {
		ts.giveUp(ledger.Holding{Turn: id, Token: token}, err)
		return accepted{}, err
	}
	if found.Status == ledger.Erasing {
		return accepted{Accepted: found}, fmt.Errorf("session %q: %w", id.Session, repositories.ErrErasing)
	}
	if found.Status == ledger.Reused {
		return accepted{Accepted: found}, fmt.Errorf("messageId %q %w", id.Message, ErrReused)
	}
	if found.Taken == nil {
		return accepted{Accepted: found}, nil
	}
	for _, triggerID := range found.Taken.Retracted {
		failpoint.At(failpoint.NextBefore)
		ts.work(func() { ts.holds.retract(id.App, triggerID) })
	}
	taken, err := ts.readTurn(id, token, had, found.Taken)
	return accepted{found, taken}, err
}

func (ts *Turns) readTurn(id ledger.Turn, token string, had *appState, found *ledger.TakenTurn) (*turn, error) {
	t := &turn{
		Turn: id, token: token, age: found.Age, at: found.At, asked: found.Asked, unasked: found.Unasked,
		generation: store.Generation{App: found.AppGeneration, Session: found.SessionGeneration},
	}
	if err := json.Unmarshal([]byte(found.Message), &t.message); err != nil {
		return nil, err
	}
	var err error
	if t.scope, err = ts.scopes.scopeOf(id, had, found); err != nil {
		return nil, err
	}
	t.history = ts.pasts.history(id, found.History)
	if t.scope.claims, err = readClaims(found.Claims); err != nil {
		return nil, err
	}
	t.unfinished, t.draft = waitingCalls(found.Unfinished, t.scope, t.at), &found.Draft
	return t, nil
}

// authIn is what is wrong with the tokens of a message for the tools in scope.
func (m Message) authIn(in []*repositories.Repository) map[string]string {
	lacking := repositories.Unfilled(m.Claims, in)
	if len(lacking) == 0 {
		return m.Auth
	}
	auth := map[string]string{}
	for service := range lacking {
		auth[service] = "claim"
	}
	maps.Copy(auth, m.Auth)
	return auth
}

// encode writes a message and its claims as the ledger keeps them; both are empty if an
// existing turn is claimed, or that of a draft.
func (m *storedMessage) encode() (text, claims string, err error) {
	if m == nil || m == ofDraft {
		return "", "", nil
	}
	message, err := exactjson.Encode(m)
	if err != nil || len(m.claims) == 0 {
		return string(message), "", err
	}
	verified, err := exactjson.Encode(m.claims)
	return string(message), string(verified), err
}

func readClaims(text string) (claims parameters.Claims, err error) {
	if text != "" {
		err = decode(text, &claims)
	}
	return claims, err
}
