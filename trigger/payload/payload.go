// Package payload has the payloads of triggers' events as subscribers read them, and their shortened forms for
// events that would be too long for the broker.
package payload

import (
	"encoding/json"
	"time"

	"earshot/repositories"
	"earshot/repositories/cloudevent"
	"earshot/repositories/exactjson"
	"earshot/repositories/keyspace"
	"earshot/repositories/lists"
	"earshot/repositories/parameters"
	"earshot/repositories/store"
	"earshot/trigger/effect"
)

// Kinds of event: the first two words of the subject, and the end of the ce-type.
const (
	KindTrigger     = "tool.trigger"
	KindResult      = "tool.result"
	KindRejected    = "tool.rejected"
	KindNotMatching = "tool.notmatching"
	KindConfirm     = "tool.confirm"   // the trigger waits for a yes
	KindCancelled   = "tool.cancelled" // it ended before it had an effect
	KindDuplicate   = "tool.duplicate" // another trigger had equal values
	KindMessage     = "chat.message"
	KindFailed      = "chat.failed"
	KindWebhook     = "tool.webhook" // a webhook of the app was disabled
)

// Header has the common fields of the payloads of a turn's events.
type Header struct {
	ID        string    `json:"id"`
	Time      time.Time `json:"ts"`
	MessageID string    `json:"messageId,omitempty"`
	Text      string    `json:"text,omitempty"`
	AppID     string    `json:"appId"`
	SessionID string    `json:"sessionId,omitempty"`
	// Metadata is that of the message or direct trigger, laid over the session's.
	Metadata repositories.Metadata `json:"metadata,omitempty"`
	// Omitted names the fields left out because the event would be too long. They can be read over REST.
	Omitted []string `json:"omitted,omitempty"`
}

// without returns the header without its text, naming the fields omitted.
func (h Header) without(fields ...string) Header {
	h.Text, h.Omitted = "", fields
	return h
}

func (h Header) header() Header { return h }

// Payload is the payload of an event, with a Header, in one or several forms, each shorter than the one before.
type Payload interface {
	header() Header
	forms() []any
}

// Trigger is the payload of KindTrigger and of a tool's emitter event.
type Trigger struct {
	Header
	RepositoryID string            `json:"repositoryId"`
	Source       string            `json:"source"`
	Name         string            `json:"name"`
	Schema       json.RawMessage   `json:"schema"`
	Values       exactjson.Members `json:"values"`
	Answer       *AnswerPlace      `json:"answer,omitempty"`
}

// AnswerPlace is where the answer to a trigger must be given.
type AnswerPlace struct {
	Subject string `json:"subject"` // on NATS
	URL     string `json:"url"`     // of the service, from its root
}

// AnswerTo returns where the answer to a trigger must be given; nil if its tool expects none.
func AnswerTo(tool *repositories.Tool, appID, triggerID string) *AnswerPlace {
	if tool.Answer == nil {
		return nil
	}
	return &AnswerPlace{Subject: effect.AnswerSubject(appID, triggerID), URL: "/v1/apps/" + appID + "/triggers/" + triggerID + "/answer"}
}

// versions returns the trigger and its shorter forms.
func (t Trigger) versions() []Trigger {
	worded, described, bare := t, t, t
	worded.Header = t.without("text")
	described.Header, described.Schema = t.without("text", "schema"), json.RawMessage("[]")
	bare.Header, bare.Schema, bare.Values = t.without("text", "schema", "values"), described.Schema, map[string]any{}
	return []Trigger{t, worded, described, bare}
}

func (t Trigger) forms() []any {
	return lists.Map(t.versions(), func(version Trigger) any { return version })
}

// Held is the payload of KindConfirm, KindCancelled and KindDuplicate, for a trigger without effects or without
// effects yet.
type Held struct {
	Trigger
	TriggerID string `json:"triggerId"`
	// For KindConfirm: the digest identifies app, session, tool and values, and a confirmation names it.
	Digest    string     `json:"digest,omitempty"`
	ExpiresAt *time.Time `json:"expiresAt,omitempty"`
	Question  string     `json:"question,omitempty"`
	// Reason is the action, for KindCancelled: deny, expire, cancel or retract.
	Reason string `json:"reason,omitempty"`
	// Of is the earlier trigger with equal values, for KindDuplicate.
	Of string `json:"of,omitempty"`
}

func (h Held) forms() []any {
	return lists.Map(h.versions(), func(version Trigger) any {
		h.Trigger = version
		return h
	})
}

// Rejected is the payload of KindRejected.
type Rejected struct {
	Header
	RepositoryID string                  `json:"repositoryId"`
	Name         string                  `json:"name"`
	Values       map[string]any          `json:"values"`
	Missing      []string                `json:"missing"`
	Errors       []parameters.ValueFault `json:"errors"`
	Ask          string                  `json:"ask,omitempty"`
}

func (r Rejected) forms() []any {
	worded, bare := r, r
	worded.Header = r.without("text")
	bare.Header, bare.Values, bare.Errors = r.without("text", "values", "errors"), map[string]any{}, []parameters.ValueFault{}
	return []any{r, worded, bare}
}

// NotMatching is the payload of KindNotMatching.
type NotMatching struct {
	Header
	// Tools are the tools nearest to the message, at most matcher.MostNearest, and Repositories theirs.
	Repositories []string `json:"repositories"`
	Tools        []string `json:"tools"`
	ToolsTotal   int      `json:"toolsTotal"` // in scope
}

func (n NotMatching) forms() []any {
	bare := n
	bare.Header = n.without("text")
	return []any{n, bare}
}

// Result is the payload of KindResult.
type Result struct {
	Header
	TriggerID    string          `json:"triggerId"`
	RepositoryID string          `json:"repositoryId"`
	Source       string          `json:"source"`
	Name         string          `json:"name"`
	OK           bool            `json:"ok"`
	Status       int             `json:"status,omitempty"`
	Result       json.RawMessage `json:"result,omitempty"`
	Truncated    bool            `json:"truncated,omitempty"`
	Reason       effect.Reason   `json:"reason,omitempty"`
	Error        string          `json:"error,omitempty"`
}

func (r Result) forms() []any {
	bare := r
	bare.Header, bare.Result = r.without("result"), nil
	return []any{r, bare}
}

// Message is the payload of KindMessage.
type Message struct {
	Header
	Actor string `json:"actor"` // user, agent, or assistant for a reply
}

func (m Message) forms() []any {
	bare := m
	bare.Header = m.without("text")
	return []any{m, bare}
}

// Failed is the payload of KindFailed.
type Failed struct {
	Header
	Reason     string `json:"reason"`
	RetryAfter int    `json:"retryAfter,omitempty"` // seconds, if the model asked for a pause
}

func (f Failed) forms() []any { return []any{f} }

// Webhook is the payload of KindWebhook.
type Webhook struct {
	Header
	Name         string     `json:"name"`
	State        string     `json:"state"` // disabled
	Reason       string     `json:"reason"`
	FailingSince *time.Time `json:"failingSince,omitempty"`
}

func (w Webhook) forms() []any { return []any{w} }

// EventOf returns the event of a payload in its first form that fits, and reports whether it was shortened.
// With an empty name, the subject ends without one.
func EventOf(kind, name string, says Payload) (event effect.Event, cut bool, err error) {
	header := says.header()
	data, err := exactjson.Encode(says)
	if err == nil && len(data) > cloudevent.MaxPayload { // nearly all events fit as they are
		data, cut, err = cloudevent.EncodeWithin(says.forms()...)
	}
	return effect.Event{
		Subject: Subject(kind, header, name), ID: header.ID, Type: "earshot." + kind, Time: header.Time, Data: data,
		Source: store.SourceOf(repositories.Scope{AppID: header.AppID, SessionID: header.SessionID}),
	}, cut, err
}

// Subject returns the subject of an event.
func Subject(kind string, header Header, name string) string {
	session := keyspace.OrNone(header.SessionID)
	if name == "" {
		return kind + "." + header.AppID + "." + session
	}
	return kind + "." + header.AppID + "." + session + "." + name
}
