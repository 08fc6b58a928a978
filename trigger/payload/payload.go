// Package payload is what the events of triggers say, as subscribers read it: the payload of
// each kind, and how it is shortened where an event would be too long for the broker.
package payload

import (
	"encoding/json"
	"time"

	"earshot/repositories"
	"earshot/repositories/cloudevent"
	"earshot/repositories/keyspace"
	"earshot/repositories/parameters"
	"earshot/repositories/store"
	"earshot/trigger/effect"
)

// Header holds the fields that the payloads of a turn's events have in common.
type Header struct {
	ID        string    `json:"id"`
	Time      time.Time `json:"ts"`
	MessageID string    `json:"messageId,omitempty"`
	Text      string    `json:"text,omitempty"`
	AppID     string    `json:"appId"`
	SessionID string    `json:"sessionId,omitempty"`
	// Metadata is that of the message or direct trigger, laid over that of the session.
	Metadata repositories.Metadata `json:"metadata,omitempty"`
	// Omitted names the fields that were left out because the event would be too long with
	// them. They can be read over REST.
	Omitted []string `json:"omitted,omitempty"`
}

// without leaves fields out; only the text is the caller's here.
func (a Header) without(fields ...string) Header {
	a.Text, a.Omitted = "", fields
	return a
}

// Trigger is the payload of tool.trigger and of a tool's emitter event.
type Trigger struct {
	Header
	RepositoryID string          `json:"repositoryId"`
	Source       string          `json:"source"`
	Name         string          `json:"name"`
	Schema       json.RawMessage `json:"schema"`
	Values       map[string]any  `json:"values"`
	Answer       *AnswerPlace    `json:"answer,omitempty"`
}

// AnswerPlace says where the answer to a trigger is to be given.
type AnswerPlace struct {
	Subject string `json:"subject"` // on NATS
	URL     string `json:"url"`     // of the service, from its root
}

// AnswerTo is where the answer to a trigger is to be given; nil where its tool wants none.
func AnswerTo(tool *repositories.Tool, appID, triggerID string) *AnswerPlace {
	if tool.Answer == nil {
		return nil
	}
	return &AnswerPlace{
		Subject: effect.AnswerSubject(appID, triggerID), URL: "/v1/apps/" + appID + "/triggers/" + triggerID + "/answer",
	}
}

// forms are the full payload and ever shorter versions of it.
func (f Trigger) forms() []any {
	worded, described, bare := f, f, f
	worded.Header = f.without("text")
	described.Header, described.Schema = f.without("text", "schema"), json.RawMessage("[]")
	bare.Header, bare.Schema, bare.Values = f.without("text", "schema", "values"), described.Schema, map[string]any{}
	return []any{f, worded, described, bare}
}

// each are the forms of a payload that has this one in it.
func (f Trigger) each(within func(Trigger) any) (forms []any) {
	for _, form := range f.forms() {
		forms = append(forms, within(form.(Trigger)))
	}
	return forms
}

// Rejected is the payload of tool.rejected.
type Rejected struct {
	Header
	RepositoryID string                  `json:"repositoryId"`
	Name         string                  `json:"name"`
	Values       map[string]any          `json:"values"`
	Missing      []string                `json:"missing"`
	Errors       []parameters.ValueFault `json:"errors"`
	Ask          string                  `json:"ask,omitempty"`
}

// forms are the full payload and ever shorter versions of it.
func (r Rejected) forms() []any {
	worded, bare := r, r
	worded.Header = r.without("text")
	bare.Header, bare.Values, bare.Errors = r.without("text", "values", "errors"), map[string]any{}, []parameters.ValueFault{}
	return []any{r, worded, bare}
}

// NotMatching is the payload of tool.notmatching.
type NotMatching struct {
	Header
	Repositories []string `json:"repositories"`
	Tools        []string `json:"tools"`
}

// forms are the full payload and ever shorter versions of it.
func (u NotMatching) forms() []any {
	worded, bare := u, u
	worded.Header = u.without("text")
	bare.Header, bare.Repositories, bare.Tools = u.without("text", "repositories", "tools"), []string{}, []string{}
	return []any{u, worded, bare}
}

// Result is the payload of tool.result.
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

// forms are the payload in full and without the result.
func (e Result) forms() []any {
	bare := e
	bare.Header, bare.Result = e.without("result"), nil
	return []any{e, bare}
}

// Said is the payload of chat.message.
type Said struct {
	Header
	Actor string `json:"actor"` // user, agent, or assistant for a reply
}

// forms are the full payload and one without the text.
func (s Said) forms() []any {
	bare := s
	bare.Header = s.without("text")
	return []any{s, bare}
}

// Undecided is the payload of chat.failed.
type Undecided struct {
	Header
	Reason     string `json:"reason"`
	RetryAfter int    `json:"retryAfter,omitempty"` // seconds, where it was told
}

// forms are the payload as it is.
func (u Undecided) forms() []any { return []any{u} }

// Kinds of event about a conversation: the second word of the subject.
const (
	KindMessage = "message"
	KindFailed  = "failed"
)

// Kinds of event about a tool: the second word of the subject and the end of the ce-type.
const (
	KindTrigger     = "trigger"
	KindResult      = "result"
	KindRejected    = "rejected"
	KindNotMatching = "notmatching"
)

// Payload is the payload of an event in one or several forms, each shorter than the one
// before.
type Payload interface{ forms() []any }

// EventOf wraps a payload, in the first form that fits into an event, and reports whether
// it had to be shortened. The last word of the subject is left out where name is empty.
func EventOf(kind string, about Header, name string, says Payload) (event effect.Event, cut bool, err error) {
	return eventOf("tool."+kind, about, name, says)
}

// ChatEventOf wraps a payload about a message.
func ChatEventOf(kind string, about Header, says Payload) (event effect.Event, err error) {
	event, _, err = eventOf("chat."+kind, about, "", says)
	return event, err
}

func eventOf(kind string, about Header, name string, says Payload) (event effect.Event, cut bool, err error) {
	subject := kind + "." + about.AppID + "." + keyspace.OrNone(about.SessionID)
	if name != "" {
		subject += "." + name
	}
	data, cut, err := cloudevent.EncodeWithin(says.forms()...)
	return effect.Event{
		Subject: subject, ID: about.ID, Type: "earshot." + kind, Time: about.Time, Data: data,
		Source: store.SourceOf(repositories.Scope{AppID: about.AppID, SessionID: about.SessionID}),
	}, cut, err
}
