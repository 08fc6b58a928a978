package trigger

import (
	"strconv"
	"strings"

	"earshot/repositories/exactjson"
	"earshot/repositories/keyspace"
	"earshot/trigger/effect"
	"earshot/trigger/ledger"
)

// A call that has ended, well or not, owes an event tool.result, and leaves its result
// with the session for later matching.

// resultEvent is the tool.result of an ended call.
func (e *Engine) resultEvent(a attempt) (effect.Effect, keyspace.Entry, error) {
	var of fired
	if err := decode(string(a.Call.Event), &of); err != nil {
		return effect.Effect{}, keyspace.Entry{}, err
	}
	o := a.outcome
	about := of.about
	about.ID, about.Time, about.Text = resultID(a), e.now().UTC(), ""
	event, _, err := eventOf(eventResult, about, of.Name, ended{
		about: about, TriggerID: a.TriggerID, RepositoryID: of.RepositoryID, Source: of.Source, Name: of.Name,
		OK: o.Verdict == effect.Done, Status: o.Status, Result: o.Result, Truncated: o.Truncated, Reason: o.Reason, Error: o.Error,
	})
	if err != nil {
		return effect.Effect{}, keyspace.Entry{}, err
	}
	event.TraceParent = a.TraceParent
	body, err := exactjson.Encode(event)
	owed := keyspace.EventEntry(about.ID, a.SessionID, string(body))
	owed.Trigger, owed.Part = a.TriggerID, partResult
	return effect.Effect{
		ID: owed.ID, Kind: effect.KindEvent, AppID: a.AppID, SessionID: a.SessionID, TriggerID: a.TriggerID,
		Attempt: 1, TraceParent: a.TraceParent, Event: &event,
	}, owed, err
}

// resultID names the result of a call; a call that was revived after its death has
// another result than the one that said so.
func resultID(call attempt) string {
	id := strings.TrimSuffix(call.ID, "."+partCall) + "." + partResult
	if call.revived > 0 {
		id += "-" + strconv.Itoa(call.revived)
	}
	return id
}

// remember adds to the report what a session keeps of an ended call.
func (a attempt) remember(r *ledger.Outcome) error {
	var of fired
	if err := decode(string(a.Call.Event), &of); err != nil {
		return err
	}
	text, err := exactjson.Encode(callResult{TriggerID: a.TriggerID, Result: a.outcome.Result, Error: a.outcome.Error})
	r.Message, r.Result = of.MessageID, string(text)
	return err
}
