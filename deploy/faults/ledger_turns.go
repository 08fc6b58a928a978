package main

import (
	"encoding/json"
	"fmt"
	"slices"
)

// events counts the events of a kind about a trigger.
func (e *evidence) eventsOf() map[string]int {
	events := map[string]int{}
	for _, one := range e.stored {
		events[one.kind()+" "+one.about()]++
	}
	return events
}

// told is the event that tells how a trigger ended that had no effect, by its state.
var toldOf = map[string]string{"cancelled": "tool.cancelled", "duplicate": "tool.duplicate"}

// everyTriggerEndsInOneWay looks for triggers that have ended in two, or in none: what was
// cancelled, or stands for nothing, has no effect, and what took effect was not.
func (e *evidence) everyTriggerEndsInOneWay() (found []string) {
	events, called := e.eventsOf(), map[string]int{}
	for _, one := range e.calls {
		called[one.ID]++
	}
	for id, one := range e.byID() {
		effects := events["tool.trigger "+id] + events["app "+id] + events["tool.result "+id] + called[id]
		ends := toldOf[one.State]
		switch {
		case one.State == "confirming":
			found = append(found, fmt.Sprintf("trigger %s (%s) is confirming at rest", id, one.Name))
		case ends != "" && effects > 0:
			found = append(found, fmt.Sprintf("trigger %s (%s) is %s, and has %d effects", id, one.Name, one.State, effects))
		case ends != "" && events[ends+" "+id] == 0 && !e.deleted:
			found = append(found, fmt.Sprintf("trigger %s (%s) is %s, and has no %s in the stream", id, one.Name, one.State, ends))
		}
		for _, other := range toldOf {
			if other != ends && events[other+" "+id] > 0 {
				found = append(found, fmt.Sprintf("trigger %s (%s) is %s, and the stream has its %s", id, one.Name, one.State, other))
			}
		}
		if asks[one.Name] && one.State != "duplicate" && events["tool.confirm "+id] == 0 && !e.deleted {
			found = append(found, fmt.Sprintf("trigger %s (%s) has no tool.confirm in the stream", id, one.Name))
		}
	}
	return found
}

// asks are the tools that wait for a yes.
var asks = map[string]bool{"refund": true, "guard": true}

// said lists what was asked for about each trigger, answered or not, with the words of users.
func (e *evidence) said() map[string][]*operation {
	said := map[string][]*operation{}
	for _, o := range slices.Concat(e.operations, e.lost) {
		if o.Trigger != "" {
			said[o.Trigger] = append(said[o.Trigger], o)
		}
	}
	return said
}

// means reports whether an operation confirms, or denies, a trigger.
func (o *operation) means(what string) bool {
	return o.Kind == what || o.Consent == map[string]string{"confirm": "yes", "deny": "no"}[what] && o.Consent != ""
}

// reasons are why a trigger may have been cancelled without anybody having said a word.
var reasons = map[string][]string{"mail": {"retract"}, "refund": {"expire"}, "guard": {"expire"}}

// whatWasSaidHolds holds the ends of triggers against what was asked for, and how that was
// answered: what was taken on was done, and nothing was done that nobody has asked for.
func (e *evidence) whatWasSaidHolds() (found []string) {
	records, said, why := e.byID(), e.said(), map[string]string{}
	for _, one := range e.stored {
		if one.kind() == "tool.cancelled" {
			why[one.TriggerID] = one.Reason
		}
	}
	for id, list := range said {
		for _, o := range list {
			found = append(found, o.holds(records[id].State, why[id])...)
		}
	}
	for id, one := range records {
		caused := func(what string) bool {
			return slices.ContainsFunc(said[id], func(o *operation) bool { return o.means(what) })
		}
		switch reason := why[id]; {
		case one.State == "cancelled" && reason != "" && !slices.Contains(reasons[one.Name], reason) && !caused(reason):
			found = append(found, fmt.Sprintf("trigger %s (%s) was cancelled by %q, which nobody asked for", id, one.Name, reason))
		case asks[one.Name] && toldOf[one.State] == "" && one.State != "confirming" && !caused("confirm"):
			found = append(found, fmt.Sprintf("trigger %s (%s) took effect, and nobody has confirmed it", id, one.Name))
		}
	}
	return found
}

// holds lists what of an operation about a trigger does not fit how the trigger has ended.
func (o *operation) holds(as, reason string) (found []string) {
	wants := map[string]string{"deny": "cancelled", "cancel": "cancelled"}[o.Kind]
	switch {
	case o.Kind != "confirm" && wants == "":
	case o.Status == 409 && o.Alone && !o.Broken:
		found = append(found, fmt.Sprintf("%s of trigger %s was refused, and nobody else has said a word: %s", o.Kind, o.Trigger, o.Answer))
	case o.Status != 202:
	case o.Kind == "confirm" && toldOf[as] != "", wants != "" && as != wants, wants != "" && reason != "" && reason != o.Kind:
		found = append(found, fmt.Sprintf("%s of trigger %s was taken on, and it is %s %s", o.Kind, o.Trigger, as, reason))
	}
	return found
}

// ofEqualValuesOneFires counts the triggers with equal values of the tools that fire once for
// them. At the end of what was denied or cancelled another may fire.
func (e *evidence) ofEqualValuesOneFires() (found []string) {
	took, first := map[string][]string{}, map[string]bool{}
	for app, list := range e.records {
		for _, one := range list {
			if one.Name != "alarm" && one.Name != "guard" {
				continue
			}
			key := app + "/" + one.Name + "/" + one.Values.Day
			first[key] = first[key] || one.State != "duplicate"
			switch one.State {
			case "cancelled":
			case "duplicate":
				if of := e.byID()[one.Of]; of.Name != one.Name || of.Values != one.Values {
					found = append(found, fmt.Sprintf("trigger %s (%s) is a duplicate of %q, which has other values", one.TriggerID, one.Name, one.Of))
				}
			default:
				took[key] = append(took[key], one.TriggerID)
			}
		}
	}
	for key, has := range first {
		if len(took[key]) > 1 {
			found = append(found, fmt.Sprintf("%s has fired %d times: %v", key, len(took[key]), took[key]))
		}
		if !has {
			found = append(found, key+" has never fired")
		}
	}
	return found
}

// draftsFireNothing looks for anything that only a draft has said, or that was taken back.
func (e *evidence) draftsFireNothing() (found []string) {
	taken := map[string]bool{}
	for _, o := range e.operations {
		taken[o.App+"/"+o.Session+"/"+o.ID] = taken[o.App+"/"+o.Session+"/"+o.ID] || o.Kind == "taken"
		for _, shown := range o.matchStates() {
			if o.Kind == "draft" && shown != "draft" {
				found = append(found, fmt.Sprintf("the draft %s was answered a match in state %q", o.ID, shown))
			}
		}
	}
	for app, list := range e.records {
		for _, one := range list {
			if one.Values.Day == "interim" || taken[app+"/"+one.SessionID+"/"+one.MessageID] {
				found = append(found, fmt.Sprintf("trigger %s (%s) is of a draft of message %s", one.TriggerID, one.Name, one.MessageID))
			}
		}
	}
	for _, one := range e.stored {
		if one.Values.Day == "interim" || taken[one.AppID+"/"+one.SessionID+"/"+one.MessageID] {
			found = append(found, fmt.Sprintf("an event on %s is of a draft of message %s", one.Subject, one.MessageID))
		}
	}
	for place, history := range e.histories {
		for _, one := range history {
			if taken[place+"/"+one.MessageID] {
				found = append(found, fmt.Sprintf("message %s was taken back, and stands in its history", one.MessageID))
			}
		}
	}
	return found
}

// matchStates are the states of the matches that an operation was answered.
func (o *operation) matchStates() (states []string) {
	var answer struct{ Matches []matched }
	_ = json.Unmarshal([]byte(o.Answer), &answer) // what cannot be read has none
	for _, one := range answer.Matches {
		states = append(states, one.State)
	}
	return states
}

// theFirstAnswerHolds holds the results of triggers that wait for an answer against those that
// were given. One that nobody has answered ends for that.
func (e *evidence) theFirstAnswerHolds() (found []string) {
	said := e.said()
	for id, one := range e.byID() {
		switch {
		case one.Call == nil || one.Name != "ask" && one.Name != "mute":
		case one.Name == "mute":
			if one.Call.State != "failed" || one.Call.Reason != "timeout" {
				found = append(found, fmt.Sprintf("trigger %s (mute) was never answered, and its call is %s %s", id, one.Call.State, one.Call.Reason))
			}
		case len(said[id]) == 0: // its client was never told of it
		default:
			found = append(found, one.answered(said[id])...)
		}
	}
	return found
}

// answered lists the answers that do not fit the one that holds.
func (r record) answered(given []*operation) (found []string) {
	holds, among := r.Call.page(), false
	for i, o := range given {
		var shown record
		page := pageOf([]byte(o.Body))
		among = among || page == holds
		says := json.Unmarshal([]byte(o.Answer), &shown) == nil && shown.Call != nil && shown.Call.State == "delivered"
		if o.Kind == "answer" && o.Status == 200 && (says && shown.Call.page() != holds || i == 0 && page != holds) {
			found = append(found, fmt.Sprintf("trigger %s was given %s, of which %s, and holds %s", r.TriggerID, page, o.Answer, holds))
		}
	}
	if !among {
		found = append(found, fmt.Sprintf("trigger %s holds %q, which nobody has given", r.TriggerID, holds))
	}
	return found
}

// page is what an answer says, which no other says.
func (s *state) page() string { return pageOf([]byte(fmt.Sprintf(`{"result":%s}`, s.Result))) }

func pageOf(body []byte) string {
	var says struct{ Result struct{ Page string } }
	_ = json.Unmarshal(body, &says) // what cannot be read says nothing
	return says.Result.Page
}
