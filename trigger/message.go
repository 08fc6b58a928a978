package trigger

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/parameters"
	"earshot/trigger/effect"
	"earshot/trigger/state"
)

// Message is one chat message as a client posts it.
type Message struct {
	AppID     string
	SessionID string
	// ID is the client's idempotency key; Post makes one where it is empty.
	ID    string
	Actor string // matcher.ActorUser or matcher.ActorAgent
	Text  string
	// Language (BCP 47) and TimeZone (IANA) are those of who says it; those of the session,
	// else of the app, where they are empty.
	Language, TimeZone string
	Metadata           repositories.Metadata
	// TraceParent is the trace that the request belongs to (W3C Trace Context).
	TraceParent string
	// Claims are what verified ID tokens say of the user. Those that tools in scope ask
	// for are kept until the message is decided.
	Claims parameters.Claims
	// Auth is why other ID tokens were not accepted: a word for each, by its service.
	Auth map[string]string
	// Acted says that somebody else finds out what the message calls for, and fires it by Fire:
	// it answers a question with yes or no, and is matched against nothing.
	Acted bool
	// Relayed says that nobody is shown the answer to it: what a tool asks is put to the user only
	// by what an agent says next.
	Relayed bool
	// History and Now are for dry runs alone: what was said before, in the place of what the
	// session has, and the time of the message; nil and zero mean those of the session and of
	// the clock.
	History []Earlier
	Now     time.Time
}

// Earlier is a message of a history that a dry run is told, with what it came to.
type Earlier struct {
	Actor    string     `json:"actor"`
	Text     string     `json:"text"`
	Matches  []Match    `json:"matches"`
	Rejected []Rejected `json:"rejected"`
}

// Answer is the outcome of a message. Its JSON is the response of the REST call.
type Answer struct {
	MessageID string          `json:"messageId"`
	Matches   []Match         `json:"matches"`
	Rejected  []Rejected      `json:"rejected"`
	Reply     json.RawMessage `json:"reply"`
	// ReplyType is json where the reply is a result that is no text, else empty.
	ReplyType string `json:"replyType,omitempty"`
	// SkipResponse tells a front-end that it should not answer by itself.
	SkipResponse bool `json:"skipResponse"`
	// Auth is why ID tokens that came with the message do not do, by their services: a word
	// of the verifier, or claim, where a parameter of a tool in scope lacks its own.
	Auth map[string]string `json:"auth,omitempty"`
}

// States of an effect.
const (
	StatePublished = "published" // an event that JetStream has acknowledged
	StateDelivered = "delivered" // a call that was answered with 2xx
	StatePending   = "pending"   // owed: it is stored and will be tried again
	StateFailed    = "failed"    // given up; listed among the dead letters
	StateDraft     = "draft"     // of a draft: it would be owed
	stateDry       = "dry"       // of a dry run: it would be owed
)

// States of a trigger whose effects are kept back, or that has none. They are those of
// package state.
const (
	StateConfirming = string(state.Confirming)
	StateCancelled  = string(state.Cancelled)
	StateDuplicate  = string(state.Duplicate)
)

// Match is one trigger as answers and lists show it.
type Match struct {
	TriggerID    string         `json:"triggerId"`
	RepositoryID string         `json:"repositoryId"`
	Name         string         `json:"name"`
	Source       string         `json:"source"`
	Values       map[string]any `json:"values"`
	Event        *EventState    `json:"event,omitempty"`
	Emitter      *EventState    `json:"emitter,omitempty"`
	Call         *CallState     `json:"call,omitempty"`
	ReturnDirect bool           `json:"returnDirect"`
	SkipResponse bool           `json:"skipResponse"`
	// State of one that has fired follows from its effects: pending while one is owed, failed
	// if one was given up, else delivered. Else it is draft, dry, confirming, pending with DueAt
	// while it can be taken back, cancelled, or duplicate (of the trigger Of, which had equal
	// values before). Inside the engine it is empty for one that fires.
	State string     `json:"state,omitempty"`
	DueAt *time.Time `json:"dueAt,omitempty"`
	Of    string     `json:"of,omitempty"`
	// Digest stands for app, session, tool and values: who confirms names it. Question is what
	// the user is to be asked.
	Digest    string     `json:"digest,omitempty"`
	Question  string     `json:"question,omitempty"`
	ExpiresAt *time.Time `json:"expiresAt,omitempty"`
}

// EventState is the delivery state of an event of a trigger.
type EventState struct {
	Subject string `json:"subject"`
	State   string `json:"state"`
	Error   string `json:"error,omitempty"`
}

// CallState is the delivery state of a trigger's call.
type CallState struct {
	State     string          `json:"state"`
	Status    int             `json:"status,omitempty"`
	Attempts  int             `json:"attempts"`
	Result    json.RawMessage `json:"result,omitempty"`
	Truncated bool            `json:"truncated,omitempty"`
	Reason    effect.Reason   `json:"reason,omitempty"`
	Error     string          `json:"error,omitempty"`
}

// Rejected is a tool that a message called for and that did not fire, because values were
// missing or invalid.
type Rejected struct {
	RepositoryID string                  `json:"repositoryId"`
	Name         string                  `json:"name"`
	Values       map[string]any          `json:"values"`
	Missing      []string                `json:"missing"`
	Errors       []parameters.ValueFault `json:"errors"`
	// Ask is what to ask the user next; empty where no parameter that lacks a value says it.
	Ask string `json:"ask,omitempty"`
}

// Direct is a request to fire a tool without the matcher.
type Direct struct {
	AppID        string
	SessionID    string // empty: app-scoped tools only
	Name         string
	RepositoryID string // empty: the one in scope
	Values       map[string]any
	Source       string // SourceUI, SourceTask, SourceAgent, or SourceMessage with a MessageID
	// TriggerID is the client's idempotency key; Fire makes one where it is empty.
	TriggerID string
	// FrontEnd says that the request came with a session's token: it counts as a message as
	// well.
	FrontEnd bool
	// Counted says that it was counted to the limits before, when its values were asked for.
	Counted bool
	// Unawaited says that the caller asks later what came of it: Fire does not wait for the
	// answer of a subscriber.
	Unawaited   bool
	TraceParent string
	Metadata    repositories.Metadata
	// Claims are what verified ID tokens say of the user; they are not kept.
	Claims parameters.Claims
	// OfModel says that the values are a model's: they are coerced where nothing is lost, and
	// names that no parameter has are dropped.
	OfModel bool
	// MessageID and Text are those of the message that calls for it; empty for none.
	MessageID, Text string
	// Vet, where there is one, is shown the tool before anything fires: its error is that of Fire.
	Vet func(*repositories.Tool) error
}

// Sources of a trigger.
const (
	SourceMessage = "message"
	SourceUI      = "ui"
	SourceTask    = "task"
	SourceAgent   = "agent"
)

// Entry is a message of the history with the triggers that it set off.
type Entry struct {
	MessageID string    `json:"messageId"`
	Actor     string    `json:"actor"`
	Text      string    `json:"text"`
	Time      time.Time `json:"ts"`
	// Metadata is that of the message alone.
	Metadata repositories.Metadata `json:"metadata,omitempty"`
	// State is decided, pending (being worked on) or failed (not decided: Error
	// says why, and posting the message again tries again).
	State    string          `json:"state"`
	Error    string          `json:"error,omitempty"`
	Triggers []Match         `json:"triggers"`
	Rejected []Rejected      `json:"rejected,omitempty"`
	Reply    json.RawMessage `json:"reply,omitempty"`
	// ReplyType and Auth are those of the Answer.
	ReplyType string            `json:"replyType,omitempty"`
	Auth      map[string]string `json:"auth,omitempty"`
}

// States of an Entry.
const (
	EntryDecided = "decided"
	EntryPending = "pending"
	EntryFailed  = "failed"
)

// Record is the stored record of a trigger, with its delivery state and all attempts.
type Record struct {
	Match
	AppID     string          `json:"appId"`
	SessionID string          `json:"sessionId,omitempty"`
	MessageID string          `json:"messageId,omitempty"`
	Text      string          `json:"text,omitempty"`
	Time      time.Time       `json:"ts"`
	Schema    json.RawMessage `json:"schema"`
	// Metadata is that of the message or direct trigger, laid over that of the session.
	Metadata repositories.Metadata `json:"metadata,omitempty"`
	// Repaired says that a model's arguments were not well-formed JSON, Coerced which
	// values were changed in form, and Evidence where each inferred value was said:
	// null for nowhere.
	Repaired bool                         `json:"repaired,omitempty"`
	Coerced  []string                     `json:"coerced,omitempty"`
	Evidence map[string]*matcher.Evidence `json:"evidence,omitempty"`
	// State is that of the Match. It follows from the effects that the record shows.
	State string `json:"state"`
	// ResultEvent is the event tool.result where it was given up: the trigger has failed then,
	// although its other effects were delivered.
	ResultEvent *EventState `json:"resultEvent,omitempty"`
	Attempts    []Attempt   `json:"attempts"`
	Retries     []Retried   `json:"retries,omitempty"` // by hand
	Moves       []Moved     `json:"moves,omitempty"`   // of one that was held
	// Repeated says that it was confirmed, denied or cancelled before in the way that was asked for.
	Repeated bool `json:"-"`
}

// Attempt is one attempt to deliver an effect of a trigger.
type Attempt struct {
	Effect       string        `json:"effect"` // event, emitter, call or result
	Number       int           `json:"attempt"`
	Time         time.Time     `json:"ts"`
	Milliseconds int64         `json:"ms,omitempty"` // how long it took
	Status       int           `json:"status,omitempty"`
	Reason       effect.Reason `json:"reason,omitempty"`
	Error        string        `json:"error,omitempty"`
	// Unended says that it began, and that nobody wrote down how it ended: its replica died.
	Unended bool `json:"unended,omitempty"`
	// Request is what a call has sent, and Response how the answer begins where it was not
	// delivered; the result of one that was is in CallState.
	Request  *effect.Sent `json:"request,omitempty"`
	Response string       `json:"response,omitempty"`
}

// Moved says that a held trigger was confirmed, denied or cancelled, or that its time was over.
type Moved struct {
	Time   time.Time    `json:"ts"`
	Action state.Action `json:"action"`
	By     string       `json:"by,omitempty"` // id of a key, admin, session, or the message that said it
}

// Retried says that what has failed of a trigger was made due again.
type Retried struct {
	Time time.Time `json:"ts"`
	By   string    `json:"by,omitempty"` // id of a key, or admin
}

// Page selects a page of a list.
type Page struct {
	After string // cursor, as an earlier page gave it; empty for the first
	Limit int
}

var (
	// ErrNotInScope means that no tool of that name can be fired there: it does not exist,
	// it belongs to another session, or its triggerOnce repository has just been taken.
	ErrNotInScope = errors.New("no such tool is in scope")
	// ErrNotFound means that there is no trigger of that id in the app.
	ErrNotFound = errors.New("no such trigger")
	// ErrConflict means that the idempotency key belongs to another trigger.
	ErrConflict = errors.New("the triggerId belongs to another trigger")
	// ErrDelivered means that there is nothing to try again.
	ErrDelivered = errors.New("is delivered: nothing of it has failed, so there is nothing to try again")
	// ErrOwes means that the record of a trigger is still needed.
	ErrOwes = errors.New("still owes something; cancel it, or remove it when it is delivered or has failed")
	// ErrDigest means that what is confirmed is not what the trigger would do.
	ErrDigest = errors.New("the digest is not that of the trigger: it stands for the app, the session, the tool and the values that were asked about")
	// ErrReused means that the idempotency key of a message belongs to another one.
	ErrReused = errors.New("belongs to another message of the session, with another text or actor: send this one under an id of its own")
	// ErrClosed means that the session was closed while the message was matched.
	ErrClosed = errors.New("the session was closed")
)

// ValuesError is the validation error for the values of a direct trigger.
type ValuesError struct {
	Name   string
	Faults []parameters.ValueFault
}

// Error names the tool and its first fault.
func (e *ValuesError) Error() string {
	return fmt.Sprintf("the values for tool %q are at fault: %s %s", e.Name, e.Faults[0].Parameter, e.Faults[0].Detail)
}
