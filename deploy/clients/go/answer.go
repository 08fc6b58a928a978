package earshot

import (
	"encoding/json"
	"time"
)

// Answer is what a message set off.
type Answer struct {
	// The message: the id that was sent, or the one that was made.
	MessageID string `json:"messageId"`
	// Why ID tokens of the user do not do, by their services: expired; audience, it is for another
	// client; signature, or its issuer, or its time has not come; malformed; claim, it is good, and a
	// parameter of a tool in scope lacks its own; unavailable, the issuer could not be asked. Missing
	// where none was sent that does not do.
	Auth map[string]string `json:"auth,omitempty"`
	// With explain=true: why it came out so. Missing where nothing explains it any more.
	Explain json.RawMessage `json:"explain,omitempty"`
	// The tools that fired.
	Matches []Match `json:"matches"`
	// The tools that the message called for and that did not fire, since values are missing or wrong.
	Rejected []Rejected `json:"rejected"`
	// The model's text, the result of a returnDirect tool, or null for no reply.
	Reply json.RawMessage `json:"reply"`
	// json where the reply is a result that is no text; missing for a text.
	ReplyType string `json:"replyType,omitempty"`
	// The front-end should not answer by itself.
	SkipResponse bool `json:"skipResponse"`
}

// Match is one firing of a tool.
type Match struct {
	// The repository that has the tool.
	RepositoryID string `json:"repositoryId"`
	// The trigger. It is webhook-id and Idempotency-Key of its call.
	TriggerID string `json:"triggerId"`
	// The tool.
	Name string `json:"name"`
	// The call; missing where the tool has nothing to call.
	Call *CallState `json:"call,omitempty"`
	// Of one that waits to be confirmed: what stands for app, session, tool and values. Who confirms
	// sends it back.
	Digest string `json:"digest,omitempty"`
	// Of a tool with settle: until when it can be taken back; its effects become due then.
	DueAt time.Time `json:"dueAt,omitzero"`
	// The event of the tool's emitter; missing where it has none.
	Emitter *EventState `json:"emitter,omitempty"`
	// The event tool.trigger; missing where the tool is not to send it.
	Event *EventState `json:"event,omitempty"`
	// Of one that waits to be confirmed: when it ends as cancelled, without a word.
	ExpiresAt time.Time `json:"expiresAt,omitzero"`
	// Of a duplicate: the trigger that had equal values before; call is that one's.
	Of string `json:"of,omitempty"`
	// Of one that waits to be confirmed: what the user is asked.
	Question string `json:"question,omitempty"`
	// The result of the call is the reply itself.
	ReturnDirect bool `json:"returnDirect"`
	// The front-end should not answer by itself.
	SkipResponse bool `json:"skipResponse"`
	// What set it off: a message, or who fired it directly.
	Source string `json:"source"`
	// Of one that has fired it follows from its effects. pending: one of them is owed, or it settles
	// until dueAt. failed: one was given up. delivered: all are done. Else draft: of a draft, it would
	// fire. dry: of a dry run, likewise. confirming: it waits for a yes. cancelled: it ended without an
	// effect. duplicate: another one with equal values stands for it, of.
	State string `json:"state"`
	// Values of the tool's parameters, checked against all their rules.
	Values Values `json:"values"`
}

// CallState is how far a call has come.
type CallState struct {
	// How often it was tried.
	Attempts int `json:"attempts"`
	// Why it failed, in words.
	Error string `json:"error,omitempty"`
	// Why it failed.
	Reason string `json:"reason,omitempty"`
	// What the endpoint answered: its JSON, else its text as a JSON string. Rows of a SQL tool are an
	// array of objects.
	Result json.RawMessage `json:"result,omitempty"`
	// delivered: it was answered with 2xx. pending: it is stored and will be tried again. failed: it
	// was given up. dry, draft: of a dry run or a draft, it would be owed. confirming, cancelled,
	// duplicate: it is not owed, or not yet, as the trigger is.
	State string `json:"state"`
	// HTTP status of the last attempt; missing where there was no answer.
	Status int `json:"status,omitempty"`
	// The result was longer than 64 KiB (of a SQL tool 1,000 rows or 256 KiB) and is cut.
	Truncated bool `json:"truncated,omitempty"`
}

// EventState is how far an event has come.
type EventState struct {
	// Why it failed.
	Error string `json:"error,omitempty"`
	// published: JetStream has it. pending: it is stored and will be tried again. failed: it was given
	// up. dry, draft: of a dry run or a draft, it would be owed. confirming, cancelled, duplicate: it
	// is not owed, or not yet, as the trigger is.
	State string `json:"state"`
	// The subject on NATS.
	Subject string `json:"subject"`
}

// Rejected is a tool that was called for and did not fire.
type Rejected struct {
	// The repository that has the tool.
	RepositoryID string `json:"repositoryId"`
	// The tool.
	Name string `json:"name"`
	// What to ask the user next: the question of the first parameter without a good value that has
	// one. Missing where none has.
	Ask string `json:"ask,omitempty"`
	// Every fault of the values.
	Errors []ValueFault `json:"errors"`
	// Required parameters without a value.
	Missing []string `json:"missing"`
	// What is known of its values so far.
	Values Values `json:"values"`
}

// Entry is a message of the history.
type Entry struct {
	// The message.
	MessageID string `json:"messageId"`
	// Who said it.
	Actor string `json:"actor"`
	// Why ID tokens that came with it do not do, as in its answer.
	Auth map[string]string `json:"auth,omitempty"`
	// Why it is not decided.
	Error string `json:"error,omitempty"`
	// What its client attached to the message.
	Metadata map[string]any `json:"metadata,omitempty"`
	// The tools that it called for and that did not fire.
	Rejected []Rejected `json:"rejected,omitempty"`
	// The reply to it, as in its answer; missing if there is none.
	Reply json.RawMessage `json:"reply,omitempty"`
	// json where the reply is a result that is no text; missing for a text.
	ReplyType string `json:"replyType,omitempty"`
	// decided, pending (being worked on) or failed (not decided: error says why, and the same
	// messageId tries again).
	State string `json:"state"`
	// What was said.
	Text string `json:"text"`
	// The tools that it fired, with the state of their effects now.
	Triggers []Match `json:"triggers"`
	// When it was accepted.
	Time time.Time `json:"ts,omitzero"`
}
