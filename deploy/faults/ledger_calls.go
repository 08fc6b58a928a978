package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"earshot/deploy/faults/endpoints"
	"earshot/trigger/pendingcalls"
)

// values are those of a record by the names of their parameters.
func (s spoken) values() map[string]string {
	return map[string]string{"day": s.Day, "desk": s.Desk, "hour": s.Hour}
}

// askedTask is all that is known of a task from those who have asked for it.
type askedTask struct {
	*operation
	id       string
	given    map[string][]string // values that were taken on, by their parameters
	ended    bool                // it was taken back
	touched  time.Time           // last
	followed []taskSeen
}

// missing are the values that nobody has given.
func (t *askedTask) missing() (names []string) {
	for _, name := range formValues {
		if len(t.given[name]) == 0 {
			names = append(names, name)
		}
	}
	return names
}

func (t *askedTask) take(o *operation) {
	for name, value := range o.Given {
		t.given[name] = append(t.given[name], value)
	}
	if o.At.After(t.touched) {
		t.touched = o.At
	}
}

// tasks are all that were accepted, by their ids.
func (e *evidence) tasks() map[string]*askedTask {
	all := map[string]*askedTask{}
	for _, o := range e.operations {
		if id := taskIn(o.Answer).TaskID; o.Kind == "task" && id != "" {
			all[id] = &askedTask{operation: o, id: id, given: map[string][]string{}}
			all[id].take(o)
		}
	}
	for _, o := range e.operations {
		t := all[o.Trigger]
		if t == nil || o.Status >= 300 {
			continue
		}
		switch t.take(o); o.Kind {
		case "ended":
			t.ended = true
		case "followed":
			t.followed = append(t.followed, taskIn(o.Answer))
		}
	}
	return all
}

// tasksFireOnce holds the tasks against what has fired: one that has all its values fires once,
// under its own id, with exactly those values; others fire nothing, and are listed as what waits.
func (e *evidence) tasksFireOnce() (found []string) {
	fired := map[string][]record{} // by the word of the task
	for _, list := range e.records {
		for _, one := range list {
			if slices.Contains(formTools, one.Name) {
				word, _, _ := strings.Cut(one.Values.Day, ".")
				fired[word] = append(fired[word], one)
			}
		}
	}
	for _, o := range e.operations {
		if o.Kind == "task" && o.Status < 300 && taskIn(o.Answer).ResultType != "task" {
			found = append(found, fmt.Sprintf("the call %s lacks values, and was answered with no task: %s", o.ID, o.Answer))
		}
	}
	for id, t := range e.tasks() {
		for _, breach := range append(t.firings(fired[t.ID]), t.ends(e.seen[id], len(fired[t.ID]) > 0)...) {
			found = append(found, fmt.Sprintf("task %s (%s, given %v) %s", id, t.Expects, t.given, breach))
		}
		delete(fired, t.ID)
	}
	for word := range maps.Keys(fired) {
		found = append(found, fmt.Sprintf("%v has fired, and nobody was told of its task %s", fired[word], word))
	}
	return found
}

// firings lists what is wrong with those of a task.
func (t *askedTask) firings(fired []record) (found []string) {
	missing := t.missing()
	switch {
	case len(missing) > 0 && len(fired) > 0:
		return []string{fmt.Sprintf("has fired without %v", missing)}
	case len(missing) == 0 && !t.ended && len(fired) != 1, len(fired) > 1:
		return []string{fmt.Sprintf("has fired %d times", len(fired))}
	}
	for _, one := range fired {
		if one.TriggerID != t.id || one.Name != t.Expects || one.SessionID != t.Session {
			found = append(found, fmt.Sprintf("has fired %s as %s in %q", one.Name, one.TriggerID, one.SessionID))
		}
		for name, value := range one.Values.values() {
			if !slices.Contains(t.given[name], value) {
				found = append(found, fmt.Sprintf("has fired with the %s %q, which nobody gave", name, value))
			}
		}
	}
	return found
}

// ends holds how a task ended, or stands, against what agents were told of it.
func (t *askedTask) ends(last taskSeen, fired bool) (found []string) {
	missing, want := t.missing(), "completed"
	switch {
	case t.ended && !fired:
		want = "cancelled"
	case len(missing) > 0:
		want = "input_required"
	}
	for _, shown := range t.followed {
		if shown.Status != want {
			found = append(found, fmt.Sprintf("was told to be %s, not %s", shown.Status, want))
		}
	}
	if !fired && time.Since(t.touched) > pendingcalls.Life-time.Minute {
		return found // it may be over
	}
	if last.Status != want {
		return append(found, fmt.Sprintf("is %q in the end, not %s", last.Status, want))
	}
	if open := slices.Sorted(maps.Keys(last.InputRequests)); want == "input_required" && !slices.Equal(open, slices.Sorted(slices.Values(missing))) {
		found = append(found, fmt.Sprintf("asks for %v in the end, and lacks %v", open, missing))
	}
	return found
}

// chatsFireOnce holds the tools that fired in chats against the requests: each message fires what
// it calls for, once, however often it was asked for.
func (e *evidence) chatsFireOnce() (found []string) {
	fired, ids := map[string][]record{}, map[string]string{}
	for app, list := range e.records {
		for _, one := range list {
			if strings.HasSuffix(one.SessionID, chatSuffix) {
				fired[app+"/"+one.SessionID+"/"+one.MessageID] = append(fired[app+"/"+one.SessionID+"/"+one.MessageID], one)
			}
		}
	}
	asked := map[string]bool{}
	for _, o := range e.operations {
		if o.Kind != "chat" || o.Status >= 300 {
			continue
		}
		if first, again := ids[o.Body]; again && first != o.ID {
			found = append(found, fmt.Sprintf("the same chat is message %s and message %s", first, o.ID))
		}
		place := o.App + "/" + o.Session + "/" + o.ID
		if ids[o.Body] = o.ID; asked[place] {
			continue
		}
		asked[place] = true
		switch list := fired[place]; {
		case len(list) != 1:
			found = append(found, fmt.Sprintf("message %s of a chat has fired %d times: %v", o.ID, len(list), list))
		case list[0].Name != o.Expects || !strings.Contains(o.Body, strings.ReplaceAll(list[0].Values.Day, "fickle"+endpoints.Again, "fickle")):
			found = append(found, fmt.Sprintf("message %s of a chat has fired %s with %v, and calls for %s: %s", o.ID, list[0].Name, list[0].Values, o.Expects, o.Body))
		}
	}
	for place := range fired {
		if !asked[place] {
			found = append(found, fmt.Sprintf("%v has fired in a chat, and nobody was told", fired[place]))
		}
	}
	return found
}

// remoteTools are those of the MCP server.
var remoteTools = []string{"lookup", "stuck", "lose", "refuse", "wire"}

// remoteCallsAreCarriedOut holds the calls that the MCP server got against the triggers of its
// tools: each was carried out with the trigger's values, and its result is recorded.
func (e *evidence) remoteCallsAreCarriedOut() (found []string) {
	done := map[string]bool{}
	records := e.byID()
	for _, one := range e.calls {
		of, listed := records[one.ID]
		if !listed || !slices.Contains(remoteTools, of.Name) {
			continue
		}
		done[one.ID] = done[one.ID] || one.Done
		if want := fmt.Sprintf(`{"day":%q}`, of.Values.Day); one.Path != endpoints.RemotePath+of.Name || one.Body != want {
			found = append(found, fmt.Sprintf("trigger %s (%s) was called as %s with %s, not %s", one.ID, of.Name, one.Path, one.Body, want))
		}
	}
	for id, one := range records {
		if !slices.Contains(remoteTools, one.Name) {
			continue
		}
		switch {
		case one.Call == nil:
			found = append(found, fmt.Sprintf("trigger %s (%s) owes no call", id, one.Name))
		case !done[id]:
			found = append(found, fmt.Sprintf("the call of trigger %s (%s) was never carried out, and is %s", id, one.Name, one.Call.State))
		case one.Call.page() != endpoints.Page(id, one.Values.Day):
			found = append(found, fmt.Sprintf("the call of trigger %s (%s) was answered, and its result is %s", id, one.Name, one.Call.Result))
		}
	}
	return found
}
