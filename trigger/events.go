package trigger

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/cloudevent"
	"earshot/repositories/exactjson"
	"earshot/repositories/keyspace"
	"earshot/repositories/parameters"
	"earshot/repositories/store"
	"earshot/trigger/effect"
	"earshot/trigger/ledger"
)

// eventHeader holds the fields that the payloads of a turn's events have in common.
type eventHeader struct {
	ID        string    `json:"id"`
	Time      time.Time `json:"ts"`
	MessageID string    `json:"messageId,omitempty"`
	Text      string    `json:"text,omitempty"`
	AppID     string    `json:"appId"`
	SessionID string    `json:"sessionId,omitempty"`
	// Omitted names the fields that were left out because the event would be too long with
	// them. They can be read over REST.
	Omitted []string `json:"omitted,omitempty"`
}

// without leaves fields out; only the text is the caller's here.
func (a eventHeader) without(fields ...string) eventHeader {
	a.Text, a.Omitted = "", fields
	return a
}

// triggerPayload is the payload of tool.trigger and of a tool's emitter event.
type triggerPayload struct {
	eventHeader
	RepositoryID string          `json:"repositoryId"`
	Source       string          `json:"source"`
	Name         string          `json:"name"`
	Schema       json.RawMessage `json:"schema"`
	Values       map[string]any  `json:"values"`
}

// forms are the full payload and ever shorter versions of it.
func (f triggerPayload) forms() []any {
	worded, described, bare := f, f, f
	worded.eventHeader = f.without("text")
	described.eventHeader, described.Schema = f.without("text", "schema"), json.RawMessage("[]")
	bare.eventHeader, bare.Schema, bare.Values = f.without("text", "schema", "values"), described.Schema, map[string]any{}
	return []any{f, worded, described, bare}
}

// rejectedPayload is the payload of tool.rejected.
type rejectedPayload struct {
	eventHeader
	Rejected
}

// forms are the full payload and ever shorter versions of it.
func (r rejectedPayload) forms() []any {
	worded, bare := r, r
	worded.eventHeader = r.without("text")
	bare.eventHeader, bare.Values, bare.Errors = r.without("text", "values", "errors"), map[string]any{}, []parameters.ValueFault{}
	return []any{r, worded, bare}
}

// notMatchingPayload is the payload of tool.notmatching.
type notMatchingPayload struct {
	eventHeader
	Repositories []string `json:"repositories"`
	Tools        []string `json:"tools"`
}

// forms are the full payload and ever shorter versions of it.
func (u notMatchingPayload) forms() []any {
	worded, bare := u, u
	worded.eventHeader = u.without("text")
	bare.eventHeader, bare.Repositories, bare.Tools = u.without("text", "repositories", "tools"), []string{}, []string{}
	return []any{u, worded, bare}
}

// resultPayload is the payload of tool.result.
type resultPayload struct {
	eventHeader
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
func (e resultPayload) forms() []any {
	bare := e
	bare.eventHeader, bare.Result = e.without("result"), nil
	return []any{e, bare}
}

// Kinds of event: the second word of the subject and the end of the ce-type.
const (
	eventTrigger     = "trigger"
	eventResult      = "result"
	eventRejected    = "rejected"
	eventNotMatching = "notmatching"
)

// eventPayload is the payload of an event in one or several forms, each shorter than the
// one before.
type eventPayload interface{ forms() []any }

// eventOf wraps a payload, in the first form that fits into an event, and reports whether
// it had to be shortened. The last word of the subject is left out where name is empty.
func eventOf(kind string, about eventHeader, name string, says eventPayload) (event effect.Event, cut bool, err error) {
	subject := "tool." + kind + "." + about.AppID + "." + orNone(about.SessionID)
	if name != "" {
		subject += "." + name
	}
	data, cut, err := cloudevent.EncodeWithin(says.forms()...)
	return effect.Event{
		Subject: subject, ID: about.ID, Type: "earshot.tool." + kind, Time: about.Time, Data: data,
		Source: store.SourceOf(repositories.Scope{AppID: about.AppID, SessionID: about.SessionID}),
	}, cut, err
}

func orNone(sessionID string) string {
	if sessionID == "" {
		return keyspace.NoSession
	}
	return sessionID
}

// candidateNames lists the tools of the candidates and the repositories that hold them.
func candidateNames(candidates []matcher.Candidate) (repositoryIDs, tools []string) {
	seen := map[string]bool{}
	for _, c := range candidates {
		tools = append(tools, c.Tool.Name)
		if !seen[c.Repository.ID] {
			seen[c.Repository.ID] = true
			repositoryIDs = append(repositoryIDs, c.Repository.ID)
		}
	}
	return repositoryIDs, tools
}

// A call that has ended, well or not, owes an event tool.result, and leaves its result
// with the session for later matching.

// resultEvent is the tool.result of an ended call.
func (e *Engine) resultEvent(a attempt) (effect.Effect, keyspace.Entry, error) {
	var of triggerPayload
	if err := decode(string(a.Call.Event), &of); err != nil {
		return effect.Effect{}, keyspace.Entry{}, err
	}
	o := a.outcome
	about := of.eventHeader
	about.ID, about.Time, about.Text = resultID(a.TriggerID, a), e.now().UTC(), ""
	event, _, err := eventOf(eventResult, about, of.Name, resultPayload{
		eventHeader: about, TriggerID: a.TriggerID, RepositoryID: of.RepositoryID, Source: of.Source, Name: of.Name,
		OK: o.Verdict == effect.Done, Status: o.Status, Result: o.Result, Truncated: o.Truncated, Reason: o.Reason, Error: o.Error,
	})
	if err != nil {
		return effect.Effect{}, keyspace.Entry{}, err
	}
	event.TraceParent = a.TraceParent
	body, err := exactjson.Encode(event)
	owed := keyspace.EventEntry(resultID(strings.TrimSuffix(a.ID, "."+partCall), a), a.SessionID, a.TriggerID, string(body))
	owed.Part = partResult
	return effect.Effect{
		ID: owed.ID, Kind: effect.KindEvent, AppID: a.AppID, SessionID: a.SessionID, TriggerID: a.TriggerID,
		Attempt: 1, TraceParent: a.TraceParent, Event: &event,
	}, owed, err
}

// resultID names the result of a call after what it is of: in the event, the trigger; in the
// ledger and the stream, which know all apps, the firing. The one after the nth retry of what
// had failed is another than the one that said so.
func resultID(of string, call attempt) string {
	id := keyspace.EffectID(of, partResult)
	if call.revived > 0 {
		id += "-" + strconv.Itoa(call.revived)
	}
	return id
}

// remember adds to the report what a session keeps of an ended call.
func (a attempt) remember(r *ledger.Outcome) error {
	var of triggerPayload
	if err := decode(string(a.Call.Event), &of); err != nil {
		return err
	}
	text, err := exactjson.Encode(callResult{TriggerID: a.TriggerID, Result: a.outcome.Result, Error: a.outcome.Error})
	r.Message, r.Result = of.MessageID, string(text)
	return err
}
