package earshot

import (
	"encoding/json"
	"time"
)

// Answer is what a message set off.
type Answer struct {
	MessageID string `json:"messageId"` // the message: the id that was sent, or the one that was made
	// Why ID tokens of the user are not valid, by service: expired, audience (of another client), signature (or issuer, or
	// not valid yet), malformed, claim (a parameter in scope needs one that is missing), unavailable (no answer of the issuer).
	Auth         map[string]string `json:"auth,omitempty"`
	Explain      json.RawMessage   `json:"explain,omitempty"`   // why it was decided so; with Explain, as long as that is kept
	Matches      []Match           `json:"matches"`             // the tools that fired
	Rejected     []Rejected        `json:"rejected"`            // the tools that did not fire because values are missing or wrong
	Retracted    []Retracted       `json:"retracted,omitempty"` // the triggers with cancelOnNext that the message cancelled
	Reply        json.RawMessage   `json:"reply"`               // the model's text, the result of a returnDirect tool, or null
	ReplyType    string            `json:"replyType,omitempty"` // json if the reply is a result other than text
	SkipResponse bool              `json:"skipResponse"`        // the front-end should not answer by itself
}

// Match is one firing of a tool.
type Match struct {
	RepositoryID string      `json:"repositoryId"`
	TriggerID    string      `json:"triggerId"` // the trigger. It is webhook-id and Idempotency-Key of its call
	Name         string      `json:"name"`
	Call         *CallState  `json:"call,omitempty"`     // the call; missing where the tool has nothing to call
	Digest       string      `json:"digest,omitempty"`   // for Confirm: it stands for app, session, tool and values
	DueAt        time.Time   `json:"dueAt,omitzero"`     // of a tool with settle: until then it can be cancelled
	Emitter      *EventState `json:"emitter,omitempty"`  // the event of the tool's emitter, if it has one
	Event        *EventState `json:"event,omitempty"`    // the event tool.trigger, if the tool sends it
	ExpiresAt    time.Time   `json:"expiresAt,omitzero"` // of one that waits for a confirmation: when it ends as cancelled
	Of           string      `json:"of,omitempty"`       // of a duplicate: the earlier trigger with equal values, whose call this is
	Question     string      `json:"question,omitempty"` // of one that waits for a confirmation: what the user is asked
	ReturnDirect bool        `json:"returnDirect"`       // the result of the call is the reply itself
	SkipResponse bool        `json:"skipResponse"`       // the front-end should not answer by itself
	Source       string      `json:"source"`             // what fired it: a message, or a direct trigger of a ui, task or agent
	// pending: an effect is outstanding, or it settles until DueAt; failed: one was given up; delivered: all are done; draft,
	// dry: it would fire; confirming: it waits for a yes; cancelled: it ended without an effect; duplicate: see Of.
	State  string `json:"state"`
	Values Values `json:"values"` // of the tool's parameters, valid by all their rules
}

// CallState is how far a call has come.
type CallState struct {
	Attempts int    `json:"attempts"`         // how often it was tried
	Error    string `json:"error,omitempty"`  // why it failed, in words
	Reason   string `json:"reason,omitempty"` // why it failed
	// The answer of the endpoint: its JSON, or its text as a JSON string. Rows of a SQL tool are an array of objects.
	Result json.RawMessage `json:"result,omitempty"`
	// delivered: it was answered with 2xx; pending: it is stored, and retried; failed: it was given up; else as the trigger.
	State     string    `json:"state"`
	Status    int       `json:"status,omitempty"`    // HTTP status of the last attempt; 0 without an answer
	Truncated bool      `json:"truncated,omitempty"` // the result was longer than 64 KiB (SQL: 1,000 rows or 256 KiB) and is cut
	Until     time.Time `json:"until,omitzero"`      // of one that is retried: no attempt begins later
}

// EventState is how far an event has come.
type EventState struct {
	Error string `json:"error,omitempty"` // why it failed
	// published: JetStream has it; pending: it is stored, and retried; failed: it was given up; else as the trigger.
	State   string `json:"state"`
	Subject string `json:"subject"`
}

// Rejected is a tool that was called for and did not fire.
type Rejected struct {
	RepositoryID string       `json:"repositoryId"`
	Name         string       `json:"name"`
	Ask          string       `json:"ask,omitempty"` // what to ask the user next, if a parameter has a question
	Errors       []ValueFault `json:"errors"`        // every fault of the values
	Missing      []string     `json:"missing"`       // required parameters without a value
	Values       Values       `json:"values"`        // the values that are known so far
}

// Retracted is a trigger that a message took back: it ends as cancelled.
type Retracted struct {
	TriggerID string `json:"triggerId"`
	Name      string `json:"name"`
}

// Entry is a message of the history.
type Entry struct {
	MessageID string            `json:"messageId"`
	Actor     string            `json:"actor"`               // who said it
	Auth      map[string]string `json:"auth,omitempty"`      // why ID tokens that came with it are not valid, as in its answer
	Error     string            `json:"error,omitempty"`     // why it is not decided
	Matches   []Match           `json:"matches"`             // the tools that it fired, with the state of their effects now
	Metadata  map[string]any    `json:"metadata,omitempty"`  // what its client attached to the message
	Rejected  []Rejected        `json:"rejected,omitempty"`  // the tools that it called for and that did not fire
	Reply     json.RawMessage   `json:"reply,omitempty"`     // the reply to it, as in its answer; missing if there is none
	ReplyType string            `json:"replyType,omitempty"` // json where the reply is a result that is no text; missing for a text
	Retracted []Retracted       `json:"retracted,omitempty"` // the triggers that it took back, as in its answer
	// decided, pending, or failed: Error says why, and the same messageId tries again.
	State    string    `json:"state"`
	Text     string    `json:"text"`        // what was said
	Triggers []Match   `json:"triggers"`    // the earlier name of Matches, the same
	Time     time.Time `json:"ts,omitzero"` // when it was accepted
}

// Record is the stored record of a trigger.
type Record struct {
	AppID        string               `json:"appId"`
	SessionID    string               `json:"sessionId,omitempty"` // the session; missing where there was none
	RepositoryID string               `json:"repositoryId"`
	TriggerID    string               `json:"triggerId"`           // the trigger. It is webhook-id and Idempotency-Key of its call
	MessageID    string               `json:"messageId,omitempty"` // the message that led here; missing where there was none
	Name         string               `json:"name"`
	Attempts     []Attempt            `json:"attempts"`              // every attempt at its effects, the oldest first
	Call         *CallState           `json:"call,omitempty"`        // the call; missing where the tool has nothing to call
	Coerced      []string             `json:"coerced,omitempty"`     // values that were changed in form, not in meaning
	Digest       string               `json:"digest,omitempty"`      // as in Match
	DueAt        time.Time            `json:"dueAt,omitzero"`        // as in Match
	Emitter      *EventState          `json:"emitter,omitempty"`     // as in Match
	Event        *EventState          `json:"event,omitempty"`       // as in Match
	ResultEvent  *EventState          `json:"resultEvent,omitempty"` // the event tool.result if it was given up, so that the trigger failed
	Evidence     map[string]*Evidence `json:"evidence,omitempty"`    // where each inferred value was said, by parameter; nil for nowhere
	ExpiresAt    time.Time            `json:"expiresAt,omitzero"`    // as in Match
	Metadata     map[string]any       `json:"metadata,omitempty"`    // of the message or direct trigger, merged over the session's
	Next         *NextAttempt         `json:"next,omitempty"`        // the current or next attempt at its call; not in lists
	Moves        []Moved              `json:"moves,omitempty"`       // what became of it before its effects were due, the oldest first
	Of           string               `json:"of,omitempty"`          // as in Match
	Question     string               `json:"question,omitempty"`    // as in Match
	Repaired     bool                 `json:"repaired,omitempty"`    // the model's arguments were not well-formed JSON
	Retries      []Retried            `json:"retries,omitempty"`     // when what had failed was retried by hand
	ReturnDirect bool                 `json:"returnDirect"`          // as in Match
	Schema       json.RawMessage      `json:"schema"`                // the tool's parameters as they were given: a list, or a JSON Schema
	SkipResponse bool                 `json:"skipResponse"`          // as in Match
	Source       string               `json:"source"`                // as in Match
	State        string               `json:"state"`                 // as in Match
	Text         string               `json:"text,omitempty"`        // what that message said
	Time         time.Time            `json:"ts,omitzero"`           // when it fired
	Values       Values               `json:"values"`                // as in Match
}

// Attempt is one attempt to deliver an effect of a trigger.
type Attempt struct {
	Attempt      int       `json:"attempt"`            // its number, from 1
	Effect       string    `json:"effect"`             // the event, the emitter's event, the call, or the event with the call's result
	Error        string    `json:"error,omitempty"`    // why it failed, in words
	Milliseconds int64     `json:"ms,omitempty"`       // how long it took
	Reason       string    `json:"reason,omitempty"`   // why it failed
	Request      *Sent     `json:"request,omitempty"`  // what the call has sent
	Response     string    `json:"response,omitempty"` // the start of the answer to a failed call, without credentials
	Status       int       `json:"status,omitempty"`   // HTTP status, if there was an answer
	Time         time.Time `json:"ts,omitzero"`        // when it began
	Unended      bool      `json:"unended,omitempty"`  // its replica died, so it is unknown whether it was sent
}

// Sent is what a call has sent, without credentials and cut if long. The first and the last attempt at a call have it.
type Sent struct {
	Body    string            `json:"body,omitempty"` // how the body begins, where the call was not delivered
	Bytes   int               `json:"bytes"`
	Headers map[string]string `json:"headers,omitempty"` // the headers of the tool and its source
	Method  string            `json:"method"`
	URL     string            `json:"url"` // the URL without user and password
}

// Moved is a change of a trigger before its effects were due.
type Moved struct {
	Action string    `json:"action"`       // a yes, a no, a cancel, the user's next message, or the end of its time
	By     string    `json:"by,omitempty"` // the id of a key, admin, session for a token, or message and its id; empty for the clock
	Time   time.Time `json:"ts,omitzero"`
}

// Retried is a retry by hand of the effects that had failed.
type Retried struct {
	By   string    `json:"by,omitempty"` // by whom: the id of a key, or admin
	Time time.Time `json:"ts,omitzero"`
}

// NextAttempt is the attempt at a call that is under way, or comes next.
type NextAttempt struct {
	Attempt  int       `json:"attempt"`            // its number, from 1
	UnderWay bool      `json:"underWay,omitempty"` // it has begun
	At       time.Time `json:"at,omitzero"`        // when it is due; missing where it has begun
}
