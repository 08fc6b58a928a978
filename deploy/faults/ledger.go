package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// rules are what must hold when all is quiet, each with its name.
var rules = []struct {
	name  string
	check func(*evidence) []string
}{
	{"every operation is answered", (*evidence).everyOperationIsAnswered},
	{"every message is decided once", (*evidence).everyMessageIsDecidedOnce},
	{"repeats get the same answer", (*evidence).repeatsGetTheSameAnswer},
	{"what was answered is kept", (*evidence).whatWasAnsweredIsKept},
	{"a new master is found", (*evidence).mastersAreFound},
	{"answers agree with records", (*evidence).answersAgreeWithRecords},
	{"every effect happened", (*evidence).everyEffectHappened},
	{"nothing is stored twice", (*evidence).nothingIsStoredTwice},
	{"nothing happened that was not decided", (*evidence).nothingHappenedThatWasNotDecided},
	{"once is once", (*evidence).onceIsOnce},
	{"what is not idempotent is sent once", (*evidence).sentOnce},
	{"every trigger ends in one way", (*evidence).everyTriggerEndsInOneWay},
	{"what was said holds", (*evidence).whatWasSaidHolds},
	{"of equal values one fires", (*evidence).ofEqualValuesOneFires},
	{"drafts fire nothing", (*evidence).draftsFireNothing},
	{"the first answer holds", (*evidence).theFirstAnswerHolds},
	{"a task fires once, with what was given", (*evidence).tasksFireOnce},
	{"a chat fires once", (*evidence).chatsFireOnce},
	{"an MCP server carries out every call", (*evidence).remoteCallsAreCarriedOut},
	{"sessions are in order", (*evidence).sessionsAreInOrder},
	{"nothing is owed", (*evidence).nothingIsOwed},
	{"the ledger is in order", func(e *evidence) []string { return e.findings }},
	{"no credential gets out", func(e *evidence) []string { return e.leaks }},
	{"no panic and no data race", func(e *evidence) []string { return e.faults }},
}

// violations holds the evidence against the promise and lists what does not fit, all
// of it, each after the name of its rule.
func (e *evidence) violations() (found []string) {
	for _, rule := range rules {
		for _, breach := range rule.check(e) {
			found = append(found, rule.name+": "+breach)
		}
	}
	return found
}

// told is the part of an answer that the books are kept with.
type told struct {
	MessageID, TriggerID, Name string
	Matches                    []struct{ TriggerID, Name string }
}

func (o *operation) told() (t told) {
	var wrapped struct {
		Result struct{ StructuredContent json.RawMessage }
	}
	text := []byte(o.Answer)
	if json.Unmarshal(text, &wrapped) == nil && wrapped.Result.StructuredContent != nil {
		text = wrapped.Result.StructuredContent // an agent is told the same
	}
	_ = json.Unmarshal(text, &t) // what cannot be read tells nothing
	return t
}

// triggers are the ids of the triggers that the operation was told of.
func (o *operation) triggers() []string {
	t := o.told()
	if o.Kind == "draft" {
		return nil
	}
	if o.Kind == "direct" && o.Status < 300 {
		return []string{t.TriggerID}
	}
	var ids []string
	for _, match := range t.Matches {
		ids = append(ids, match.TriggerID)
	}
	return ids
}

func (e *evidence) everyOperationIsAnswered() (found []string) {
	for _, o := range e.lost {
		found = append(found, fmt.Sprintf("%s %s got no answer: %s", o.Kind, o.ID, o.Answer))
	}
	for _, o := range e.operations {
		// A triggerOnce repository that is taken is not in scope, and a registration that was
		// taken away is not there to be removed.
		if o.Status >= 300 && !o.mayBeLate() && !(o.Status == 404 && (strings.HasSuffix(o.Expects, "-a") || o.Kind == "remove" || o.Kind == "retry" || o.Kind == "close")) {
			found = append(found, fmt.Sprintf("%s %s was refused: %d %s", o.Kind, o.ID, o.Status, o.Answer))
		}
	}
	return found
}

// mayBeLate reports whether an operation was refused that another one, or an attempt whose
// answer was lost, may have been ahead of. Of those about held triggers other rules say more.
func (o *operation) mayBeLate() bool {
	switch o.Kind {
	case "retry", "confirm", "deny", "cancel":
		return o.Status == 409
	case "draft":
		return o.Status == 409 && o.Broken
	case "taken":
		return o.Status == 404 && o.Broken
	}
	return false
}

func (e *evidence) everyMessageIsDecidedOnce() (found []string) {
	entries := map[string][]entry{}
	for place, history := range e.histories {
		for _, one := range history {
			entries[place+"/"+one.MessageID] = append(entries[place+"/"+one.MessageID], one)
		}
	}
	for _, o := range e.operations {
		if !slices.Contains([]string{"message", "later", "chat"}, o.Kind) || closed(o) || o.Status >= 300 {
			continue
		}
		there := entries[o.App+"/"+o.Session+"/"+o.ID]
		switch {
		case len(there) != 1:
			found = append(found, fmt.Sprintf("message %s stands %d times in its history", o.ID, len(there)))
		case there[0].State != "decided":
			found = append(found, fmt.Sprintf("message %s is %s: %s", o.ID, there[0].State, there[0].Error))
		case o.Kind == "chat": // what its calls have set off names the message, and is told by another rule
		case o.Expects != "" && (len(there[0].Triggers) != 1 || there[0].Triggers[0].Name != o.Expects):
			found = append(found, fmt.Sprintf("message %s has set off %v, not %s", o.ID, there[0].Triggers, o.Expects))
		}
	}
	return found
}

func (e *evidence) repeatsGetTheSameAnswer() (found []string) {
	for _, o := range e.operations {
		if again, asked := e.again[o.ID]; asked && (o.Kind == "message" || o.Kind == "direct") && again != o.Answer && !(e.restored && o.namesAgain(again)) {
			found = append(found, fmt.Sprintf("%s %s was answered %s and then %s", o.Kind, o.ID, o.Answer, again))
		}
	}
	return found
}

// namesAgain reports whether another answer names the same triggers. That of a decision
// which was made twice may tell of other states.
func (o *operation) namesAgain(answer string) bool {
	other := *o
	other.Answer = answer
	return slices.Equal(o.triggers(), other.triggers())
}

// answersAgreeWithRecords holds what clients were told against what is listed, and no
// trigger was told to two of them.
func (e *evidence) answersAgreeWithRecords() (found []string) {
	records, owner := e.byID(), map[string]string{}
	for _, o := range e.operations {
		for _, id := range o.triggers() {
			if first, taken := owner[id]; taken && o.Trigger != id {
				found = append(found, fmt.Sprintf("trigger %s was told to %s and to %s", id, first, o.ID))
			}
			if o.Trigger != id { // a yes or no is told of what was asked
				owner[id] = o.ID
			}
			if _, listed := records[id]; !listed {
				found = append(found, fmt.Sprintf("trigger %s of %s is not listed", id, o.ID))
			}
		}
	}
	return found
}

func (e *evidence) byID() map[string]record {
	all := map[string]record{}
	for _, list := range e.records {
		for _, one := range list {
			all[one.TriggerID] = one
		}
	}
	return all
}

// everyEffectHappened looks for each trigger's events in the stream and for its call
// at the sink.
func (e *evidence) everyEffectHappened() (found []string) {
	events, arrived := e.eventsOf(), map[string]bool{}
	for _, one := range e.calls {
		arrived[one.ID] = true
	}
	for _, one := range e.byID() {
		if one.State == "confirming" || toldOf[one.State] != "" {
			continue
		}
		wanted := []string{"tool.trigger"}
		if one.Emitter != nil {
			wanted = append(wanted, "app")
		}
		if one.Call != nil {
			wanted = append(wanted, "tool.result")
			if !arrived[one.TriggerID] && one.Name != "ask" && one.Name != "mute" {
				found = append(found, fmt.Sprintf("the call of trigger %s (%s) never arrived", one.TriggerID, one.Name))
			}
		}
		for _, kind := range wanted {
			if events[kind+" "+one.TriggerID] == 0 && !e.deleted {
				found = append(found, fmt.Sprintf("trigger %s (%s) has no %s in the stream", one.TriggerID, one.Name, kind))
			}
		}
		found = append(found, one.open()...)
	}
	return found
}

// open names parts of a trigger that are not delivered. One that was retried by hand
// is delivered in the end, and no call here fails otherwise.
func (r record) open() (found []string) {
	for part, owed := range map[string]*state{"event": r.Event, "emitter": r.Emitter} {
		if owed != nil && owed.State != "published" {
			found = append(found, fmt.Sprintf("the %s of trigger %s (%s) is %s at rest", part, r.TriggerID, r.Name, owed.State))
		}
	}
	if r.Call != nil && r.Call.State != "delivered" && r.Name != "mute" {
		found = append(found, fmt.Sprintf("the call of trigger %s (%s) is %s at rest", r.TriggerID, r.Name, r.Call.State))
	}
	return found
}

// kind is the first two words of a tool's subject, or app.
func (s stored) kind() string {
	words := strings.SplitN(s.Subject, ".", 3)
	if words[0] == "app" {
		return "app"
	}
	return words[0] + "." + words[1]
}

// tool is the last word of a tool's subject.
func (s stored) tool() string { return s.Subject[strings.LastIndexByte(s.Subject, '.')+1:] }

// about is the trigger that an event is about, or the event itself.
func (s stored) about() string {
	if s.TriggerID != "" {
		return s.TriggerID
	}
	return s.ID
}

// nothingIsStoredTwice looks for repeats. A result is another one after a retry by
// hand, under another id.
func (e *evidence) nothingIsStoredTwice() (found []string) {
	seen := map[string]bool{}
	for _, one := range e.stored {
		for _, key := range []string{"id " + one.MsgID, one.Subject + " " + one.ID} {
			if seen[key] && !e.deleted {
				found = append(found, fmt.Sprintf("an event on %s is stored twice: %s", one.Subject, key))
			}
			seen[key] = true
		}
		if one.MsgID == "" {
			found = append(found, "an event on "+one.Subject+" has no id")
		}
	}
	return found
}

// aboutTriggers are the kinds of events that are about a trigger.
var aboutTriggers = []string{"tool.trigger", "tool.result", "tool.confirm", "tool.cancelled", "tool.duplicate", "app"}

// nothingHappenedThatWasNotDecided looks for events and calls of triggers that nobody
// knows.
func (e *evidence) nothingHappenedThatWasNotDecided() (found []string) {
	records := e.byID()
	for _, one := range e.stored {
		if !slices.Contains(aboutTriggers, one.kind()) {
			continue
		}
		if _, listed := records[one.about()]; !listed {
			found = append(found, fmt.Sprintf("an event on %s is about trigger %s, which is not listed", one.Subject, one.about()))
		}
	}
	for _, one := range e.calls {
		if _, listed := records[one.ID]; !listed || one.IdempotencyKey != one.ID {
			found = append(found, fmt.Sprintf("a call of %s came under %q and %q, which is no trigger that is listed", one.Path, one.ID, one.IdempotencyKey))
		}
	}
	return found
}

func (e *evidence) nothingIsOwed() (found []string) {
	if e.due != 0 {
		found = append(found, fmt.Sprintf("%d effects or turns are owed at rest", e.due))
	}
	for _, key := range e.left {
		found = append(found, key+" is left in Redis at rest")
	}
	return found
}

// onceIsOnce counts the fires of each triggerOnce repository against its
// registrations. A registration that was repeated for want of an answer is another one.
func (e *evidence) onceIsOnce() (found []string) {
	registered, fired := map[string]int{}, map[string][]string{}
	for _, one := range e.stored {
		if strings.HasPrefix(one.RepositoryID, "once") && slices.Contains([]string{"created", "updated"}, one.Operation) {
			registered[one.RepositoryID]++
		}
	}
	for _, one := range e.byID() {
		if strings.HasPrefix(one.RepositoryID, "once") {
			fired[one.RepositoryID] = append(fired[one.RepositoryID], one.TriggerID)
		}
	}
	for id, triggers := range fired {
		if len(triggers) > registered[id] && !e.deleted {
			found = append(found, fmt.Sprintf("repository %s was registered %d times and fired %d times: %v", id, registered[id], len(triggers), triggers))
		}
	}
	return found
}

// sessionsAreInOrder holds the trigger events of each session against the order in
// which the API lists its triggers, and against the order in which a client that
// waited for every answer has asked.
func (e *evidence) sessionsAreInOrder() (found []string) {
	if e.restored {
		return nil // what was forgotten was asked for again in any order
	}
	place := map[string]int{} // of a trigger's decision
	for _, list := range e.records {
		turn, at := "", 0
		for _, one := range list {
			// Triggers of one message are decided at the same time and listed by id.
			if this := one.SessionID + "/" + one.MessageID; one.MessageID == "" || this != turn {
				turn, at = this, at+1
			}
			place[one.TriggerID] = at
		}
	}
	asked := e.askedOrder()
	last, lastAsked := map[string]stored{}, map[string]stored{}
	for _, one := range e.stored {
		if one.kind() != "tool.trigger" || one.SessionID == "" || late(one.tool()) {
			continue
		}
		session := one.AppID + "/" + one.SessionID
		if before, any := last[session]; any && place[before.ID] > place[one.ID] && !e.deleted {
			found = append(found, fmt.Sprintf("session %s: trigger %s stands behind %s and was decided before it", session, one.ID, before.ID))
		}
		last[session] = one
		if _, known := asked[one.ID]; !known {
			continue
		}
		if before, any := lastAsked[session]; any && asked[before.ID] > asked[one.ID] && !e.deleted {
			found = append(found, fmt.Sprintf("session %s: trigger %s stands behind %s and was asked for before it", session, one.ID, before.ID))
		}
		lastAsked[session] = one
	}
	return found
}

// askedOrder numbers the triggers of clients that asked one after the other.
func (e *evidence) askedOrder() map[string]int {
	asked := map[string]int{}
	for i, o := range e.operations {
		if !o.Ordered {
			continue
		}
		for _, id := range o.triggers() {
			asked[id] = i
		}
	}
	return asked
}
