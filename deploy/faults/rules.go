package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"earshot/trigger/pendingcalls"
)

func (e *evidence) violations() (found []string) {
	e.byID, e.events, e.arrivals, e.said = map[string]record{}, map[string]int{}, map[string]int{}, map[string][]*operation{}
	for app, list := range e.records {
		for _, one := range list {
			one.App = app
			e.byID[one.TriggerID] = one
		}
	}
	for _, one := range e.stored {
		e.events[one.kind()+" "+one.about()]++
	}
	for _, one := range e.calls {
		e.arrivals[one.ID]++
	}
	for _, o := range slices.Concat(e.operations, e.lost) {
		if o.Trigger != "" {
			e.said[o.Trigger] = append(e.said[o.Trigger], o)
		}
	}

	for _, rule := range rules {
		var broken breaches
		rule.check(e, &broken)
		for _, breach := range broken {
			found = append(found, rule.name+": "+breach)
		}
	}
	return found
}

type breaches []string

func (b *breaches) add(format string, args ...any) { *b = append(*b, fmt.Sprintf(format, args...)) }

func (b *breaches) when(breached bool, format string, args ...any) {
	if breached {
		b.add(format, args...)
	}
}

// foundLimit is how long a client may wait after Redis is whole: some looks at the cluster, and a lease of 15 s of a dead replica.
const foundLimit = 20 * time.Second

const outcomeUnknown = "outcome_unknown"

// endings are the events of triggers that ended without an effect, by their state.
var endings = map[string]string{"cancelled": "tool.cancelled", "duplicate": "tool.duplicate"}

var aboutTriggers = []string{"tool.trigger", "tool.result", "tool.confirm", "tool.cancelled", "tool.duplicate", "app"}

var unsafe = []string{"charge", "pledge", "refund", "wire"}

var confirmed = []string{"refund", "guard"}

// reasons are why a trigger may have been cancelled without anybody having said a word.
var reasons = map[string]string{"mail": "retract", "refund": "expire", "guard": "expire"}

// heldTools wait before they take effect, so their events may stand anywhere.
var heldTools = []string{"lamp", "mail", "refund", "guard"}

// rules are what the books of a phase must show; each check adds the breaches.
var rules = []struct {
	name  string
	check func(e *evidence, found *breaches)
}{
	{"every operation is answered", func(e *evidence, found *breaches) {
		for _, o := range e.lost {
			found.add("%s %s got no answer: %s", o.Kind, o.ID, o.Answer)
		}
		for _, o := range e.operations {
			var excused bool
			switch o.Status {
			case http.StatusConflict:
				// Another client, or an attempt without an answer, may have been first; other rules judge held triggers.
				excused = slices.Contains([]string{"retry", "confirm", "deny", "cancel"}, o.Kind) || o.Kind == "draft" && o.Broken
			case http.StatusNotFound:
				// A triggerOnce repository that has fired is not in scope, and a registration may be removed already.
				excused = strings.HasSuffix(o.Expects, "-a") || slices.Contains([]string{"remove", "retry", "close"}, o.Kind) || o.Kind == "taken" && o.Broken
			}
			found.when(o.Status >= 300 && !excused, "%s %s was refused: %d %s", o.Kind, o.ID, o.Status, o.Answer)
		}
	}},
	{"every message is decided once", func(e *evidence, found *breaches) {
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
			there := entries[o.place()]
			switch {
			case len(there) != 1:
				found.add("message %s stands %d times in its history", o.ID, len(there))
			case there[0].State != "decided":
				found.add("message %s is %s: %s", o.ID, there[0].State, there[0].Error)
			case o.Kind == "chat": // what its calls have set off names the message: another rule says more
			case o.Expects != "" && (len(there[0].Triggers) != 1 || there[0].Triggers[0].Name != o.Expects):
				found.add("message %s has set off %v, not %s", o.ID, there[0].Triggers, o.Expects)
			}
		}
	}},
	// A reply stands in the history under an id of its own, and its event has the same.
	{"every message is told of", func(e *evidence, found *breaches) {
		for place, history := range e.histories {
			for _, one := range history {
				if strings.HasPrefix(place, followed+"/") && e.events["chat.message "+place+"/"+one.MessageID] == 0 && !e.deleted {
					found.add("%s %s of %s has no chat.message in the stream", one.Actor, one.MessageID, place)
				}
			}
		}
	}},
	{"each event arrives at the webhook", func(e *evidence, found *breaches) {
		for _, one := range e.stored {
			if e.hooks != nil && one.AppID == followed && slices.Contains(hooked, one.kind()) && e.hooks[one.MsgID] == 0 {
				found.add("%s %s never came", one.kind(), one.MsgID)
			}
		}
	}},
	{"repeats get the same answer", func(e *evidence, found *breaches) {
		for _, o := range e.operations {
			again, asked := e.again[o.ID]
			if !asked || o.Kind != "message" && o.Kind != "direct" || again == o.Answer {
				continue
			}
			other := *o
			other.Answer = again
			if !e.restored || !slices.Equal(o.triggers(), other.triggers()) {
				found.add("%s %s was answered %s and then %s", o.Kind, o.ID, o.Answer, again)
			}
		}
	}},
	{"what was answered is kept", func(e *evidence, found *breaches) {
		for _, o := range e.operations {
			for _, id := range o.triggers() {
				found.when(e.kept != nil && !e.kept[id] && !e.missable(o), "trigger %s of %s %s is not there any more", id, o.Kind, o.ID)
			}
		}
	}},
	{"a new master is found", func(e *evidence, found *breaches) {
		for _, l := range e.losses {
			if l.found() > foundLimit {
				found.add("the master of %s died, and the service answered %s after Redis did", l.app, l.found().Round(time.Millisecond))
			}
		}
	}},
	// No trigger was answered to two clients.
	{"answers agree with records", func(e *evidence, found *breaches) {
		owner := map[string]string{}
		for _, o := range e.operations {
			for _, id := range o.triggers() {
				if first, taken := owner[id]; taken && o.Trigger != id {
					found.add("trigger %s was answered to %s and to %s", id, first, o.ID)
				}
				if o.Trigger != id { // the answer to a yes or no names what was asked
					owner[id] = o.ID
				}
				if _, listed := e.byID[id]; !listed && !e.missable(o) {
					found.add("trigger %s of %s is not listed", id, o.ID)
				}
			}
		}
	}},
	// What was retried by hand is delivered in the end, and no call here fails otherwise.
	{"every effect happened", func(e *evidence, found *breaches) {
		for id, one := range e.byID {
			if one.State == "confirming" || endings[one.State] != "" {
				continue
			}
			wanted := []string{"tool.trigger"}
			if one.Emitter != nil {
				wanted = append(wanted, "app")
			}
			if one.Call != nil {
				wanted = append(wanted, "tool.result")
				found.when(e.arrivals[id] == 0 && one.Name != "ask" && one.Name != "mute", "the call of trigger %s (%s) never arrived", id, one.Name)
			}
			for _, kind := range wanted {
				found.when(e.events[kind+" "+id] == 0 && !e.deleted, "trigger %s (%s) has no %s in the stream", id, one.Name, kind)
			}
			for part, owed := range map[string]*state{"event": one.Event, "emitter": one.Emitter} {
				if owed != nil {
					found.when(owed.State != "published", "the %s of trigger %s (%s) is %s at rest", part, id, one.Name, owed.State)
				}
			}
			if one.Call != nil && one.Call.State != "delivered" && one.Name != "mute" {
				found.add("the call of trigger %s (%s) is %s at rest", id, one.Name, one.Call.State)
			}
		}
	}},
	// The result after a retry by hand has another id.
	{"nothing is stored twice", func(e *evidence, found *breaches) {
		seen := map[string]bool{}
		for _, one := range e.stored {
			for _, key := range []string{"id " + one.MsgID, one.Subject + " " + one.ID} {
				found.when(seen[key] && !e.deleted, "an event on %s is stored twice: %s", one.Subject, key)
				seen[key] = true
			}
			found.when(one.MsgID == "", "an event on %s has no id", one.Subject)
		}
	}},
	{"nothing happened that was not decided", func(e *evidence, found *breaches) {
		for _, one := range e.stored {
			if _, listed := e.byID[one.about()]; !listed && slices.Contains(aboutTriggers, one.kind()) {
				found.add("an event on %s is about trigger %s, which is not listed", one.Subject, one.about())
			}
		}
		for _, one := range e.calls {
			if _, listed := e.byID[one.ID]; !listed && one.Path != peekPath || one.IdempotencyKey != one.ID {
				found.add("a call of %s came under %q and %q, which is no trigger that is listed", one.Path, one.ID, one.IdempotencyKey)
			}
		}
	}},
	// A triggerOnce repository may fire once for each registration. One that was repeated after a lost answer counts again.
	{"once is once", func(e *evidence, found *breaches) {
		registered, fired := map[string]int{}, map[string][]string{}
		for _, one := range e.stored {
			if one.Operation == "created" || one.Operation == "updated" {
				registered[one.RepositoryID]++
			}
		}
		for id, one := range e.byID {
			if strings.HasPrefix(one.RepositoryID, "once") {
				fired[one.RepositoryID] = append(fired[one.RepositoryID], id)
			}
		}
		for id, triggers := range fired {
			if len(triggers) > registered[id] && !e.deleted {
				found.add("repository %s was registered %d times and fired %d times: %v", id, registered[id], len(triggers), triggers)
			}
		}
	}},
	// It arrives once, and once for each retry by hand. A failed one has an unknown outcome, or the server said that it is down.
	{"what is not idempotent is sent once", func(e *evidence, found *breaches) {
		for id, one := range e.byID {
			if slices.Contains(unsafe, one.Name) && e.arrivals[id] > 1+e.retried[id] {
				found.add("the call of trigger %s (%s) arrived %d times, and was retried by hand %d times", id, one.Name, e.arrivals[id], e.retried[id])
			}
		}
		for _, one := range e.failed {
			if slices.Contains(unsafe, one.Name) && one.Call != nil && one.Call.State == "failed" && one.Call.Reason != outcomeUnknown && one.Call.Status < http.StatusInternalServerError {
				found.add("the call of trigger %s (%s) failed for %q, not as %s", one.TriggerID, one.Name, one.Call.Reason, outcomeUnknown)
			}
		}
	}},
	// What was cancelled or is a duplicate has no effect, and what took effect was not cancelled.
	{"every trigger ends in one way", func(e *evidence, found *breaches) {
		for id, one := range e.byID {
			effects := e.events["tool.trigger "+id] + e.events["app "+id] + e.events["tool.result "+id] + e.arrivals[id]
			ends := endings[one.State]
			switch {
			case one.State == "confirming":
				found.add("trigger %s (%s) is confirming at rest", id, one.Name)
			case ends != "" && effects > 0:
				found.add("trigger %s (%s) is %s, and has %d effects", id, one.Name, one.State, effects)
			case ends != "" && e.events[ends+" "+id] == 0 && !e.deleted:
				found.add("trigger %s (%s) is %s, and has no %s in the stream", id, one.Name, one.State, ends)
			}
			for _, other := range endings {
				if other != ends && e.events[other+" "+id] > 0 {
					found.add("trigger %s (%s) is %s, and the stream has its %s", id, one.Name, one.State, other)
				}
			}
			if slices.Contains(confirmed, one.Name) && one.State != "duplicate" && e.events["tool.confirm "+id] == 0 && !e.deleted {
				found.add("trigger %s (%s) has no tool.confirm in the stream", id, one.Name)
			}
		}
	}},
	// What was accepted was done, and nothing was done that was not asked for.
	{"what was said holds", func(e *evidence, found *breaches) {
		why := map[string]string{}
		for _, one := range e.stored {
			if one.kind() == "tool.cancelled" {
				why[one.TriggerID] = one.Reason
			}
		}
		for id, list := range e.said {
			for _, o := range list {
				as, reason := e.byID[id].State, why[id]
				cancels := o.Kind == "deny" || o.Kind == "cancel"
				switch {
				case o.Kind != "confirm" && !cancels:
				case o.Status == http.StatusConflict && o.Alone && !o.Broken:
					found.add("%s of trigger %s was refused, and nobody else has said a word: %s", o.Kind, o.Trigger, o.Answer)
				case o.Status != http.StatusAccepted:
				case o.Kind == "confirm" && endings[as] != "", cancels && as != "cancelled", cancels && reason != "" && reason != o.Kind:
					found.add("%s of trigger %s was taken on, and it is %s %s", o.Kind, o.Trigger, as, reason)
				}
			}
		}
		for id, one := range e.byID {
			caused := func(what string) bool {
				word := map[string]string{"confirm": "yes", "deny": "no"}[what]
				return slices.ContainsFunc(e.said[id], func(o *operation) bool { return o.Kind == what || word != "" && o.Consent == word })
			}
			switch reason := why[id]; {
			case one.State == "cancelled" && reason != "" && reason != reasons[one.Name] && !caused(reason):
				found.add("trigger %s (%s) was cancelled by %q, which nobody asked for", id, one.Name, reason)
			case slices.Contains(confirmed, one.Name) && endings[one.State] == "" && one.State != "confirming" && !caused("confirm"):
				found.add("trigger %s (%s) took effect, and nobody has confirmed it", id, one.Name)
			}
		}
	}},
	// After one that was denied or cancelled another may fire.
	{"of equal values one fires", func(e *evidence, found *breaches) {
		took, first := map[string][]string{}, map[string]bool{}
		for id, one := range e.byID {
			if one.Name != "alarm" && one.Name != "guard" {
				continue
			}
			key := one.App + "/" + one.Name + "/" + one.Values.Day
			first[key] = first[key] || one.State != "duplicate"
			switch one.State {
			case "cancelled":
			case "duplicate":
				if of := e.byID[one.Of]; of.Name != one.Name || of.Values != one.Values {
					found.add("trigger %s (%s) is a duplicate of %q, which has other values", id, one.Name, one.Of)
				}
			default:
				took[key] = append(took[key], id)
			}
		}
		for key, has := range first {
			found.when(len(took[key]) > 1, "%s has fired %d times: %v", key, len(took[key]), took[key])
			found.when(!has, "%s has never fired", key)
		}
	}},
	{"drafts fire nothing", func(e *evidence, found *breaches) {
		taken := map[string]bool{}
		for _, o := range e.operations {
			taken[o.place()] = taken[o.place()] || o.Kind == "taken"
			for _, match := range o.reply().Matches {
				found.when(o.Kind == "draft" && match.State != "draft", "the draft %s was answered a match in state %q", o.ID, match.State)
			}
		}
		for id, one := range e.byID {
			found.when(one.Values.Day == "interim" || taken[one.place()], "trigger %s (%s) is of a draft of message %s", id, one.Name, one.MessageID)
		}
		for _, one := range e.stored {
			if one.Values.Day == "interim" || taken[one.AppID+"/"+one.SessionID+"/"+one.MessageID] {
				found.add("an event on %s is of a draft of message %s", one.Subject, one.MessageID)
			}
		}
		for place, history := range e.histories {
			for _, one := range history {
				found.when(taken[place+"/"+one.MessageID], "message %s was taken back, and stands in its history", one.MessageID)
			}
		}
	}},
	// A call that got no answer fails.
	{"the first answer holds", func(e *evidence, found *breaches) {
		for id, one := range e.byID {
			given := e.said[id]
			switch {
			case one.Call == nil:
				continue
			case one.Name == "mute" && (one.Call.State != "failed" || one.Call.Reason != "timeout"):
				found.add("trigger %s (mute) was never answered, and its call is %s %s", id, one.Call.State, one.Call.Reason)
				continue
			case one.Name != "ask" || len(given) == 0: // its client never had its id
				continue
			}
			holds, among := one.Call.page(), false
			for i, o := range given {
				var shown record
				_ = json.Unmarshal([]byte(o.Answer), &shown) // what cannot be read shows no call
				page, delivered := pageOf(o.Body), shown.Call != nil && shown.Call.State == "delivered"
				among = among || page == holds
				if o.Kind == "answer" && o.Status == http.StatusOK && (delivered && shown.Call.page() != holds || i == 0 && page != holds) {
					found.add("trigger %s was given %s, of which %s, and holds %s", id, page, o.Answer, holds)
				}
			}
			found.when(!among, "trigger %s holds %q, which nobody has given", id, holds)
		}
	}},
	// A task with all values fires once, with its id and exactly those values; others fire nothing, and are listed as waiting.
	{"a task fires once, with what was given", func(e *evidence, found *breaches) {
		fired := map[string][]record{} // by the word of the task
		for _, one := range e.byID {
			if slices.Contains(formTools, one.Name) {
				word, _, _ := strings.Cut(one.Values.Day, ".")
				fired[word] = append(fired[word], one)
			}
		}
		for _, o := range e.operations {
			if o.Kind == "task" && o.Status < 300 && taskIn(o.Answer).ResultType != "task" {
				found.add("the call %s lacks values, and was answered with no task: %s", o.ID, o.Answer)
			}
		}
		for id, t := range e.askedTasks() {
			for _, breach := range t.breaches(fired[t.ID], e.tasks[id]) {
				found.add("task %s (%s, given %v) %s", id, t.Expects, t.given, breach)
			}
			delete(fired, t.ID)
		}
		for word := range fired {
			found.add("%v has fired, and nobody was answered its task %s", fired[word], word)
		}
	}},
	// Each message fires what it calls for, once, however often it was asked for.
	{"a chat fires once", func(e *evidence, found *breaches) {
		fired, ids := map[string][]record{}, map[string]string{}
		for _, one := range e.byID {
			if strings.HasSuffix(one.SessionID, chatSuffix) {
				fired[one.place()] = append(fired[one.place()], one)
			}
		}
		asked := map[string]bool{}
		for _, o := range e.operations {
			if o.Kind != "chat" || o.Status >= 300 {
				continue
			}
			if first, again := ids[o.Body]; again && first != o.ID {
				found.add("the same chat is message %s and message %s", first, o.ID)
			}
			if ids[o.Body] = o.ID; asked[o.place()] {
				continue
			}
			asked[o.place()] = true
			switch list := fired[o.place()]; {
			case len(list) != 1:
				found.add("message %s of a chat has fired %d times: %v", o.ID, len(list), list)
			case list[0].Name != o.Expects || !strings.Contains(o.Body, strings.ReplaceAll(list[0].Values.Day, "fickle"+changed, "fickle")):
				found.add("message %s of a chat has fired %s with %v, and calls for %s: %s", o.ID, list[0].Name, list[0].Values, o.Expects, o.Body)
			}
		}
		for place := range fired {
			found.when(!asked[place], "%v has fired in a chat, and nobody was answered it", fired[place])
		}
	}},
	// Each call was carried out with the trigger's values, and its result is recorded.
	{"an MCP server carries out every call", func(e *evidence, found *breaches) {
		for _, one := range e.calls {
			of := e.byID[one.ID]
			if want := fmt.Sprintf(`{"day":%q}`, of.Values.Day); slices.Contains(remoteTools, of.Name) && (one.Path != remotePath+of.Name || one.Body != want) {
				found.add("trigger %s (%s) was called as %s with %s, not %s", one.ID, of.Name, one.Path, one.Body, want)
			}
		}
		for id, one := range e.byID {
			switch {
			case !slices.Contains(remoteTools, one.Name):
			case one.Call == nil:
				found.add("trigger %s (%s) owes no call", id, one.Name)
			case !e.carried[id]:
				found.add("the call of trigger %s (%s) was never carried out, and is %s", id, one.Name, one.Call.State)
			case one.Call.page() != pageFor(id, one.Values.Day):
				found.add("the call of trigger %s (%s) was answered, and its result is %s", id, one.Name, one.Call.Result)
			}
		}
	}},
	// The trigger events of a session are in the order of the API's list, and in that of a client that waits for every answer.
	{"sessions are in order", func(e *evidence, found *breaches) {
		if e.restored || e.deleted {
			return // what was forgotten was asked for again in any order
		}
		decided, asked := map[string]int{}, map[string]int{} // by trigger
		for _, list := range e.records {
			turn, at := "", 0
			for _, one := range list {
				// Triggers of one message are decided at the same time and listed by id.
				if this := one.SessionID + "/" + one.MessageID; one.MessageID == "" || this != turn {
					turn, at = this, at+1
				}
				decided[one.TriggerID] = at
			}
		}
		for i, o := range e.operations {
			for _, id := range o.triggers() {
				if o.Ordered {
					asked[id] = i
				}
			}
		}
		for what, order := range map[string]map[string]int{"was decided before it": decided, "was asked for before it": asked} {
			last := map[string]string{} // trigger of a session
			for _, one := range e.stored {
				place, known := order[one.ID]
				tool := one.Subject[strings.LastIndexByte(one.Subject, '.')+1:]
				if !known || one.kind() != "tool.trigger" || one.SessionID == "" || slices.Contains(heldTools, tool) {
					continue
				}
				session := one.AppID + "/" + one.SessionID
				if before, any := last[session]; any && order[before] > place {
					found.add("session %s: trigger %s stands behind %s and %s", session, one.ID, before, what)
				}
				last[session] = one.ID
			}
		}
	}},
	{"nothing is owed", func(e *evidence, found *breaches) {
		found.when(e.due != 0, "%d effects or turns are owed at rest", e.due)
		for _, key := range e.left {
			found.add("%s is left in Redis at rest", key)
		}
	}},
	{"the ledger is in order", func(e *evidence, found *breaches) { *found = append(*found, e.findings...) }},
	{"no credential gets out", func(e *evidence, found *breaches) { *found = append(*found, e.leaks...) }},
	{"no panic and no data race", func(e *evidence, found *breaches) { *found = append(*found, e.faults...) }},
}

// readsLimit is how long what was answered may wait to be written: Redis may be away for a while.
const readsLimit = 30 * time.Second

// missable reports whether a read may have no record, since a replica died before it can have written what it had answered.
func (e *evidence) missable(o *operation) bool {
	return o.Kind == "read" && slices.ContainsFunc(e.deaths, func(died time.Time) bool {
		return died.After(o.At.Add(-time.Second)) && died.Before(o.At.Add(readsLimit))
	})
}

// breaches judges a task by what it has fired and by how it stands in the end.
func (t *askedTask) breaches(fired []record, last taskStatus) (found breaches) {
	var missing []string
	for _, name := range formValues {
		if len(t.given[name]) == 0 {
			missing = append(missing, name)
		}
	}
	switch {
	case len(missing) > 0 && len(fired) > 0:
		found.add("has fired without %v", missing)
	case len(missing) == 0 && !t.ended && len(fired) != 1, len(fired) > 1:
		found.add("has fired %d times", len(fired))
	default:
		for _, one := range fired {
			if one.TriggerID != t.id || one.Name != t.Expects || one.SessionID != t.Session {
				found.add("has fired %s as %s in %q", one.Name, one.TriggerID, one.SessionID)
			}
			for name, value := range map[string]string{"day": one.Values.Day, "desk": one.Values.Desk, "hour": one.Values.Hour} {
				found.when(!slices.Contains(t.given[name], value), "has fired with the %s %q, which nobody gave", name, value)
			}
		}
	}

	want := "completed"
	switch {
	case t.ended && len(fired) == 0:
		want = "cancelled"
	case len(missing) > 0:
		want = "input_required"
	}
	for _, shown := range t.followed {
		found.when(shown.Status != want, "was shown as %s, not %s", shown.Status, want)
	}
	open := slices.Sorted(maps.Keys(last.InputRequests))
	switch {
	case len(fired) == 0 && time.Since(t.touched) > pendingcalls.TTL-time.Minute: // it may be over
	case last.Status != want:
		found.add("is %q in the end, not %s", last.Status, want)
	case want == "input_required" && !slices.Equal(open, slices.Sorted(slices.Values(missing))):
		found.add("asks for %v in the end, and lacks %v", open, missing)
	}
	return found
}
