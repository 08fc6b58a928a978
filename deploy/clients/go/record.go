package earshot

import (
	"encoding/json"
	"time"
)

// Record is the stored record of a trigger.
type Record struct {
	// The app.
	AppID string `json:"appId"`
	// The session; missing where there was none.
	SessionID string `json:"sessionId,omitempty"`
	// The repository that has the tool.
	RepositoryID string `json:"repositoryId"`
	// The trigger. It is webhook-id and Idempotency-Key of its call.
	TriggerID string `json:"triggerId"`
	// The message that led here; missing where there was none.
	MessageID string `json:"messageId,omitempty"`
	// The tool.
	Name string `json:"name"`
	// Every attempt at its effects, the oldest first.
	Attempts []Attempt `json:"attempts"`
	// The call; missing where the tool has nothing to call.
	Call *CallState `json:"call,omitempty"`
	// Values that were changed in form, not in meaning.
	Coerced []string `json:"coerced,omitempty"`
	// Of one that waits to be confirmed: what stands for app, session, tool and values. Who confirms
	// sends it back.
	Digest string `json:"digest,omitempty"`
	// Of a tool with settle: until when it can be taken back; its effects become due then.
	DueAt time.Time `json:"dueAt,omitzero"`
	// The event of the tool's emitter; missing where it has none.
	Emitter *EventState `json:"emitter,omitempty"`
	// The event tool.trigger; missing where the tool is not to send it.
	Event *EventState `json:"event,omitempty"`
	// The event tool.result, where it was given up: the trigger has failed then, although its other
	// effects were delivered.
	ResultEvent *EventState `json:"resultEvent,omitempty"`
	// Where in the conversation each inferred value was said, by parameter; null for nowhere.
	Evidence map[string]*Evidence `json:"evidence,omitempty"`
	// Of one that waits to be confirmed: when it ends as cancelled, without a word.
	ExpiresAt time.Time `json:"expiresAt,omitzero"`
	// What was attached to the message or the direct trigger, laid over what was attached to the
	// session.
	Metadata map[string]any `json:"metadata,omitempty"`
	// What became of it while its effects were kept back, the oldest first.
	Moves []Moved `json:"moves,omitempty"`
	// Of a duplicate: the trigger that had equal values before; call is that one's.
	Of string `json:"of,omitempty"`
	// Of one that waits to be confirmed: what the user is asked.
	Question string `json:"question,omitempty"`
	// The model's arguments were not well-formed JSON.
	Repaired bool `json:"repaired,omitempty"`
	// When what had failed was retried by hand.
	Retries []Retried `json:"retries,omitempty"`
	// The result of the call is the reply itself.
	ReturnDirect bool `json:"returnDirect"`
	// The tool's parameters as they were given: a list, or a JSON Schema object.
	Schema json.RawMessage `json:"schema"`
	// The front-end should not answer by itself.
	SkipResponse bool `json:"skipResponse"`
	// What set it off: a message, or who fired it directly.
	Source string `json:"source"`
	// pending while an effect is undelivered or not due yet, failed if one was given up, and otherwise
	// delivered. confirming: it waits for a yes. cancelled: it ended without an effect. duplicate:
	// another one with equal values stands for it.
	State string `json:"state"`
	// What that message said.
	Text string `json:"text,omitempty"`
	// When it fired.
	Time time.Time `json:"ts,omitzero"`
	// Values of the tool's parameters, checked against all their rules.
	Values Values `json:"values"`
}

// Attempt is one attempt to deliver an effect of a trigger.
type Attempt struct {
	// Its number, from 1.
	Attempt int `json:"attempt"`
	// What was to be delivered: the event, the emitter's event, the call, or the event with the call's
	// result.
	Effect string `json:"effect"`
	// Why it failed, in words.
	Error string `json:"error,omitempty"`
	// How long it took, in milliseconds.
	Milliseconds int64 `json:"ms,omitempty"`
	// Why it failed.
	Reason string `json:"reason,omitempty"`
	// What the call has sent.
	Request *Sent `json:"request,omitempty"`
	// How the answer begins, of a call that was not delivered; its credentials masked.
	Response string `json:"response,omitempty"`
	// HTTP status, where there was an answer.
	Status int `json:"status,omitempty"`
	// When it began.
	Time time.Time `json:"ts,omitzero"`
	// It began, and nobody wrote down how it ended, since its replica died. Whether it was sent is not
	// known.
	Unended bool `json:"unended,omitempty"`
}

// Sent is what a call has sent, its credentials masked and long texts cut. Of many attempts at one
// call the first and the last have it.
type Sent struct {
	// How the body begins, where the call was not delivered.
	Body string `json:"body,omitempty"`
	// The length of the body.
	Bytes int `json:"bytes"`
	// The headers of the tool and its source.
	Headers map[string]string `json:"headers,omitempty"`
	// The HTTP method.
	Method string `json:"method"`
	// The URL without user and password.
	URL string `json:"url"`
}

// Moved is a trigger whose effects were kept back was moved.
type Moved struct {
	// What moved it: a yes, a no, three minutes without a word, the end of its time to settle, a
	// cancel, or the user's next message.
	Action string `json:"action"`
	// By whom: the id of a key, admin, session for a token, or message and the id of the one that said
	// it; missing where it was the clock.
	By string `json:"by,omitempty"`
	// When.
	Time time.Time `json:"ts,omitzero"`
}

// Retried is what has failed of a trigger was made due again by hand.
type Retried struct {
	// By whom: the id of a key, or admin.
	By string `json:"by,omitempty"`
	// When.
	Time time.Time `json:"ts,omitzero"`
}
