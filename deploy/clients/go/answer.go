package earshot

import (
	"encoding/json"
	"time"
)

// Answer is what a message set off.
type Answer struct {
	MessageID string `json:"messageId"` // the message: the id that was sent, or the one that was made
	// Why ID tokens of the user are not valid, by their services: expired; audience, it is for another client; signature,
	// or its issuer, or its time has not come; malformed; claim, it is good, and a parameter of a tool in scope lacks
	// its own; unavailable, the issuer could not be asked. Missing where none was sent that does not do.
	Auth map[string]string `json:"auth,omitempty"`
	// With explain=true: why it came out so. Missing where nothing explains it any more.
	Explain json.RawMessage `json:"explain,omitempty"`
	Matches []Match         `json:"matches"` // the tools that fired
	// The tools that the message called for and that did not fire, since values are missing or wrong.
	Rejected []Rejected `json:"rejected"`
	// The triggers that settled, of tools with cancelOnNext, and that the message took back.
	Retracted []Retracted `json:"retracted,omitempty"`
	// The model's text, the result of a returnDirect tool, or null for no reply.
	Reply json.RawMessage `json:"reply"`
	// json where the reply is a result that is no text; missing for a text.
	ReplyType    string `json:"replyType,omitempty"`
	SkipResponse bool   `json:"skipResponse"` // the front-end should not answer by itself
}

// Match is one firing of a tool.
type Match struct {
	RepositoryID string     `json:"repositoryId"`
	TriggerID    string     `json:"triggerId"` // the trigger. It is webhook-id and Idempotency-Key of its call
	Name         string     `json:"name"`
	Call         *CallState `json:"call,omitempty"` // the call; missing where the tool has nothing to call
	// Of one that waits to be confirmed: what stands for app, session, tool and values. Who confirms sends it back.
	Digest string `json:"digest,omitempty"`
	// Of a tool with settle: until when it can be taken back; its effects become due then.
	DueAt   time.Time   `json:"dueAt,omitzero"`
	Emitter *EventState `json:"emitter,omitempty"` // the event of the tool's emitter; missing where it has none
	Event   *EventState `json:"event,omitempty"`   // the event tool.trigger; missing where the tool is not to send it
	// Of one that waits to be confirmed: when it ends as cancelled, without a word.
	ExpiresAt time.Time `json:"expiresAt,omitzero"`
	// Of a duplicate: the trigger that had equal values before; call is that one's.
	Of           string `json:"of,omitempty"`
	Question     string `json:"question,omitempty"` // of one that waits to be confirmed: what the user is asked
	ReturnDirect bool   `json:"returnDirect"`       // the result of the call is the reply itself
	SkipResponse bool   `json:"skipResponse"`       // the front-end should not answer by itself
	Source       string `json:"source"`             // what fired it: a message, or a direct trigger of a ui, task or agent
	// Of one that has fired it follows from its effects. pending: one of them is owed, or it settles
	// until dueAt. failed: one was given up. delivered: all are done. Else draft: of a draft, it would
	// fire. dry: of a dry run, likewise. confirming: it waits for a yes. cancelled: it ended without an
	// effect. duplicate: another one with equal values stands for it, of.
	State  string `json:"state"`
	Values Values `json:"values"` // values of the tool's parameters, checked against all their rules
}

// CallState is how far a call has come.
type CallState struct {
	Attempts int    `json:"attempts"`         // how often it was tried
	Error    string `json:"error,omitempty"`  // why it failed, in words
	Reason   string `json:"reason,omitempty"` // why it failed
	// What the endpoint answered: its JSON, else its text as a JSON string. Rows of a SQL tool are an
	// array of objects.
	Result json.RawMessage `json:"result,omitempty"`
	// delivered: it was answered with 2xx. pending: it is stored and will be tried again. failed: it
	// was given up. dry, draft: of a dry run or a draft, it would be owed. confirming, cancelled,
	// duplicate: it is not owed, or not yet, as the trigger is.
	State  string `json:"state"`
	Status int    `json:"status,omitempty"` // HTTP status of the last attempt; missing where there was no answer
	// The result was longer than 64 KiB (of a SQL tool 1,000 rows or 256 KiB) and is cut.
	Truncated bool `json:"truncated,omitempty"`
	// Of one that waits for its next attempt: no attempt begins after that.
	Until time.Time `json:"until,omitzero"`
}

// EventState is how far an event has come.
type EventState struct {
	Error string `json:"error,omitempty"` // why it failed
	// published: JetStream has it. pending: it is stored and will be tried again. failed: it was given
	// up. dry, draft: of a dry run or a draft, it would be owed. confirming, cancelled, duplicate: it
	// is not owed, or not yet, as the trigger is.
	State   string `json:"state"`
	Subject string `json:"subject"`
}

// Rejected is a tool that was called for and did not fire.
type Rejected struct {
	RepositoryID string `json:"repositoryId"`
	Name         string `json:"name"`
	// What to ask the user next: the question of the first parameter without a good value that has
	// one. Missing where none has.
	Ask     string       `json:"ask,omitempty"`
	Errors  []ValueFault `json:"errors"`  // every fault of the values
	Missing []string     `json:"missing"` // required parameters without a value
	Values  Values       `json:"values"`  // what is known of its values so far
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
	// decided, pending (being worked on) or failed (not decided: error says why, and the same messageId tries again).
	State    string    `json:"state"`
	Text     string    `json:"text"`        // what was said
	Triggers []Match   `json:"triggers"`    // the earlier name of Matches, the same
	Time     time.Time `json:"ts,omitzero"` // when it was accepted
}

// Record is the stored record of a trigger.
type Record struct {
	AppID        string     `json:"appId"`
	SessionID    string     `json:"sessionId,omitempty"` // the session; missing where there was none
	RepositoryID string     `json:"repositoryId"`
	TriggerID    string     `json:"triggerId"`           // the trigger. It is webhook-id and Idempotency-Key of its call
	MessageID    string     `json:"messageId,omitempty"` // the message that led here; missing where there was none
	Name         string     `json:"name"`
	Attempts     []Attempt  `json:"attempts"`          // every attempt at its effects, the oldest first
	Call         *CallState `json:"call,omitempty"`    // the call; missing where the tool has nothing to call
	Coerced      []string   `json:"coerced,omitempty"` // values that were changed in form, not in meaning
	// Of one that waits to be confirmed: what stands for app, session, tool and values. Who confirms sends it back.
	Digest string `json:"digest,omitempty"`
	// Of a tool with settle: until when it can be taken back; its effects become due then.
	DueAt   time.Time   `json:"dueAt,omitzero"`
	Emitter *EventState `json:"emitter,omitempty"` // the event of the tool's emitter; missing where it has none
	Event   *EventState `json:"event,omitempty"`   // the event tool.trigger; missing where the tool is not to send it
	// The event tool.result, where it was given up: the trigger has failed then, although its other
	// effects were delivered.
	ResultEvent *EventState `json:"resultEvent,omitempty"`
	// Where in the conversation each inferred value was said, by parameter; null for nowhere.
	Evidence map[string]*Evidence `json:"evidence,omitempty"`
	// Of one that waits to be confirmed: when it ends as cancelled, without a word.
	ExpiresAt time.Time `json:"expiresAt,omitzero"`
	// What was attached to the message or the direct trigger, laid over what was attached to the session.
	Metadata map[string]any `json:"metadata,omitempty"`
	Next     *NextAttempt   `json:"next,omitempty"`  // the attempt at its call that is under way, or comes next; lists leave it out
	Moves    []Moved        `json:"moves,omitempty"` // what became of it while its effects were kept back, the oldest first
	// Of a duplicate: the trigger that had equal values before; call is that one's.
	Of           string    `json:"of,omitempty"`
	Question     string    `json:"question,omitempty"` // of one that waits to be confirmed: what the user is asked
	Repaired     bool      `json:"repaired,omitempty"` // the model's arguments were not well-formed JSON
	Retries      []Retried `json:"retries,omitempty"`  // when what had failed was retried by hand
	ReturnDirect bool      `json:"returnDirect"`       // the result of the call is the reply itself
	// The tool's parameters as they were given: a list, or a JSON Schema object.
	Schema       json.RawMessage `json:"schema"`
	SkipResponse bool            `json:"skipResponse"` // the front-end should not answer by itself
	Source       string          `json:"source"`       // what fired it: a message, or a direct trigger of a ui, task or agent
	// pending while an effect is undelivered or not due yet, failed if one was given up, and otherwise
	// delivered. confirming: it waits for a yes. cancelled: it ended without an effect. duplicate:
	// another one with equal values stands for it.
	State  string    `json:"state"`
	Text   string    `json:"text,omitempty"` // what that message said
	Time   time.Time `json:"ts,omitzero"`    // when it fired
	Values Values    `json:"values"`         // values of the tool's parameters, checked against all their rules
}

// Attempt is one attempt to deliver an effect of a trigger.
type Attempt struct {
	Attempt int `json:"attempt"` // its number, from 1
	// What was to be delivered: the event, the emitter's event, the call, or the event with the call's result.
	Effect       string `json:"effect"`
	Error        string `json:"error,omitempty"`   // why it failed, in words
	Milliseconds int64  `json:"ms,omitempty"`      // how long it took, in milliseconds
	Reason       string `json:"reason,omitempty"`  // why it failed
	Request      *Sent  `json:"request,omitempty"` // what the call has sent
	// How the answer begins, of a call that was not delivered; its credentials masked.
	Response string    `json:"response,omitempty"`
	Status   int       `json:"status,omitempty"` // HTTP status, where there was an answer
	Time     time.Time `json:"ts,omitzero"`      // when it began
	// It began, and nobody wrote down how it ended, since its replica died. Whether it was sent is not known.
	Unended bool `json:"unended,omitempty"`
}

// Sent is what a call has sent, its credentials masked and long texts cut. Of many attempts at one
// call the first and the last have it.
type Sent struct {
	Body    string            `json:"body,omitempty"` // how the body begins, where the call was not delivered
	Bytes   int               `json:"bytes"`
	Headers map[string]string `json:"headers,omitempty"` // the headers of the tool and its source
	Method  string            `json:"method"`
	URL     string            `json:"url"` // the URL without user and password
}

// Moved is a trigger whose effects were kept back was moved.
type Moved struct {
	// What moved it: a yes, a no, three minutes without a word, the end of its time to settle, a
	// cancel, or the user's next message.
	Action string `json:"action"`
	// By whom: the id of a key, admin, session for a token, or message and the id of the one that said
	// it; missing where it was the clock.
	By   string    `json:"by,omitempty"`
	Time time.Time `json:"ts,omitzero"`
}

// Retried is what has failed of a trigger was made due again by hand.
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
