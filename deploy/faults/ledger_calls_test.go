package main

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/deploy/faults/endpoints"
)

// acted is the evidence of a run in which all went well with tasks, with a chat, with the calls of
// an MCP server, and with a cluster that lost a master.
func acted() *evidence {
	published, delivered := &state{State: "published"}, &state{State: "delivered"}
	task := func(id, status string) string {
		return fmt.Sprintf(`{"result":{"resultType":"task","taskId":%q,"status":%q}}`, id, status)
	}
	about := func(kind, id, answer string, given map[string]string) *operation {
		return &operation{App: "clinic", Kind: kind, Trigger: id, Status: 200, Answer: answer, Given: given, At: time.Now()}
	}
	begun := func(id string, given map[string]string) *operation {
		return &operation{App: "clinic", Session: "s1", ID: "form-" + id, Kind: "task", Expects: "form", Status: 200, Answer: task(id, "input_required"), Given: given, At: time.Now()}
	}
	of := func(kind, name, session, id string) stored {
		return stored{Subject: "tool." + kind + ".clinic." + session + "." + name, MsgID: kind + id, ID: kind + id, AppID: "clinic", SessionID: session, TriggerID: id}
	}
	chat := func() *operation {
		return &operation{App: "clinic", Session: "s1-chat", ID: "chat-m", Kind: "chat", Expects: "note", Status: 200, Body: `call note {"day":"fickle chat-1"}`}
	}
	return &evidence{
		operations: []*operation{
			begun("a", map[string]string{"hour": "form-a.hour"}), about("given", "a", `{}`, map[string]string{"day": "form-a.day", "desk": "form-a.desk"}), about("followed", "a", task("a", "completed"), nil),
			begun("b", nil), about("given", "b", `{}`, map[string]string{"day": "form-b.day", "hour": "form-b.hour"}),
			begun("c", nil), about("ended", "c", `{}`, nil), about("followed", "c", task("c", "cancelled"), nil),
			chat(), chat(),
			{App: "clinic", Session: "s1", ID: "l", Kind: "direct", Expects: "lookup", Status: 201, Answer: `{"triggerId":"l","name":"lookup"}`},
		},
		again: map[string]string{"l": `{"triggerId":"l","name":"lookup"}`},
		seen:  map[string]taskSeen{"a": {Status: "completed"}, "b": {Status: "input_required", InputRequests: map[string]json.RawMessage{"desk": nil}}, "c": {Status: "cancelled"}},
		kept:  map[string]bool{"l": true},
		records: map[string][]record{"clinic": {
			{TriggerID: "a", Name: "form", SessionID: "s1", Event: published, Call: delivered, Values: spoken{"form-a.day", "form-a.desk", "form-a.hour"}},
			{TriggerID: "n", Name: "note", SessionID: "s1-chat", MessageID: "chat-m", Event: published, Values: spoken{Day: "fickle-again chat-1"}},
			{TriggerID: "l", Name: "lookup", SessionID: "s1", Event: published, Values: spoken{Day: "monday"}, Call: &state{State: "delivered", Result: []byte(fmt.Sprintf(`{"page":%q}`, endpoints.Page("l", "monday")))}},
		}},
		histories: map[string][]entry{"clinic/s1-chat": {{MessageID: "chat-m", State: "decided"}}},
		stored: []stored{
			of("trigger", "form", "s1", "a"), of("result", "form", "s1", "a"), of("trigger", "note", "s1-chat", "n"), of("trigger", "lookup", "s1", "l"), of("result", "lookup", "s1", "l"),
		},
		calls: []endpoints.Call{
			{Path: "/ok", ID: "a", IdempotencyKey: "a"},
			{Path: "/mcp/lookup", ID: "l", IdempotencyKey: "l", Body: `{"day":"monday"}`}, {Path: "/mcp/lookup", ID: "l", IdempotencyKey: "l", Body: `{"day":"monday"}`, Done: true},
		},
		losses: []loss{{app: "clinic", promoted: 5 * time.Second, whole: 6 * time.Second, answered: 7 * time.Second}},
	}
}

func TestBooksOfAgentsThatBalanceHaveNoViolation(t *testing.T) {
	require.Empty(t, acted().violations())
}

func TestEveryBreachOfWhatAgentsDoIsSeen(t *testing.T) {
	records := func(e *evidence) []record { return e.records["clinic"] }
	fire := func(e *evidence, id string, values spoken) {
		one := records(e)[0]
		one.TriggerID, one.Values = id, values
		e.records["clinic"] = append(e.records["clinic"], one)
		for _, kind := range []string{"trigger", "result"} {
			e.stored = append(e.stored, stored{Subject: "tool." + kind + ".clinic.s1.form", MsgID: kind + id, ID: kind + id, TriggerID: id})
		}
		e.calls = append(e.calls, endpoints.Call{Path: "/ok", ID: id, IdempotencyKey: id})
	}
	see(t, acted, map[string]func(*evidence){
		"lacks values, and was answered with no task": func(e *evidence) { e.operations[3].Answer = `{"result":{"resultType":"complete"}}` },
		"has fired 2 times":                           func(e *evidence) { fire(e, "a2", records(e)[0].Values) },
		"has fired 0 times":                           func(e *evidence) { e.operations[4].Given["desk"] = "form-b.desk" },
		"has fired without [desk]":                    func(e *evidence) { fire(e, "b", spoken{Day: "form-b.day"}) },
		`has fired form as a in "s2"`:                 func(e *evidence) { records(e)[0].SessionID = "s2" },
		`with the desk "else", which nobody gave`:     func(e *evidence) { records(e)[0].Values.Desk = "else" },
		"nobody was told of its task form-d":          func(e *evidence) { fire(e, "d", spoken{Day: "form-d.day"}) },
		"was told to be input_required":               func(e *evidence) { e.operations[2].Answer = e.operations[0].Answer },
		`is "" in the end, not input_required`:        func(e *evidence) { delete(e.seen, "b") },
		`is "working" in the end, not completed`:      func(e *evidence) { e.seen["a"] = taskSeen{Status: "working"} },
		`is "completed" in the end, not cancelled`:    func(e *evidence) { e.seen["c"] = e.seen["a"] },
		"asks for [] in the end, and lacks [desk]":    func(e *evidence) { e.seen["b"] = taskSeen{Status: "input_required"} },
		"message chat-m is pending":                   func(e *evidence) { e.histories["clinic/s1-chat"][0].State = "pending" },
		"of a chat has fired 0 times":                 func(e *evidence) { records(e)[1].SessionID = "s1" },
		"of a chat has fired 2 times":                 func(e *evidence) { records(e)[2].SessionID, records(e)[2].MessageID = "s1-chat", "chat-m" },
		"the same chat is message chat-m and": func(e *evidence) {
			e.operations[9].ID, e.histories["clinic/s1-chat"] = "chat-o", append(e.histories["clinic/s1-chat"], entry{MessageID: "chat-o", State: "decided"})
		},
		"of a chat has fired note with {other  }":     func(e *evidence) { records(e)[1].Values.Day = "other" },
		"has fired in a chat, and nobody was told":    func(e *evidence) { records(e)[2].SessionID = "s2-chat" },
		"(lookup) was called as /mcp/lookup with":     func(e *evidence) { e.calls[1].Body = `{"day":"tuesday"}` },
		"(lookup) was never carried out":              func(e *evidence) { e.calls[2].Done = false },
		"(lookup) owes no call":                       func(e *evidence) { records(e)[2].Call = nil },
		"(lookup) was answered, and its result is":    func(e *evidence) { records(e)[2].Call.Result = []byte(`{"page":"l on tuesday"}`) },
		`came under "l" and "l-2"`:                    func(e *evidence) { e.calls[2].IdempotencyKey = "l-2" },
		"trigger l of direct l is not there any more": func(e *evidence) { e.kept = map[string]bool{} },
		"the service answered 21s after Redis did":    func(e *evidence) { e.losses[0].answered = 27 * time.Second },
	})
}
