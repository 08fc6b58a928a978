package main

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
)

// balanced is a good run: a message that fired a call, a direct trigger, and a triggerOnce repository that has fired.
func balanced() *evidence {
	published, delivered := &state{State: "published"}, &state{State: "delivered"}
	book := `{"messageId":"m1","matches":[{"triggerId":"t1","name":"book"}]}`
	direct, once := `{"triggerId":"d1","name":"note"}`, `{"triggerId":"d2","name":"once-1-a"}`
	decided := func(id string, triggers ...string) entry {
		e := entry{MessageID: id, State: "decided"}
		for _, trigger := range triggers {
			e.Triggers = append(e.Triggers, struct{ TriggerID, Name string }{trigger, "book"})
		}
		return e
	}
	return &evidence{
		operations: []*operation{
			{App: "clinic", Session: "s1", ID: "m1", Kind: "message", Expects: "book", Ordered: true, Status: 200, Answer: book},
			{App: "clinic", Session: "s1", ID: "d1", Kind: "direct", Expects: "note", Ordered: true, Status: 201, Answer: direct},
			{App: "clinic", Session: "s1", ID: "d2", Kind: "direct", Expects: "once-1-a", Status: 201, Answer: once},
			{App: "clinic", Session: "s1", ID: "d3", Kind: "direct", Expects: "once-1-a", Status: 404},
			{App: "clinic", Kind: "retry", Status: 409},
		},
		again: map[string]string{"m1": book, "d1": direct, "d2": once},
		records: map[string][]record{"clinic": {
			{TriggerID: "t1", RepositoryID: "desk", Name: "book", SessionID: "s1", MessageID: "m1", Event: published, Emitter: published, Call: delivered},
			{TriggerID: "d1", RepositoryID: "desk", Name: "note", SessionID: "s1", Event: published},
			{TriggerID: "t2", RepositoryID: "desk", Name: "charge", Event: published, Call: delivered},
			{TriggerID: "d2", RepositoryID: "once-1", Name: "once-1-a", SessionID: "s1", Event: published},
		}},
		histories: map[string][]entry{"clinic/s1": {decided("m1", "t1")}},
		stored: []stored{
			{Subject: "tool.changed.clinic.once-1", MsgID: "c1", ID: "c1", RepositoryID: "once-1", Operation: "created"},
			{Subject: "tool.trigger.clinic.s1.book", MsgID: "t1.event", ID: "t1", AppID: "clinic", SessionID: "s1"},
			{Subject: "app.clinic.calendar.request", MsgID: "t1.emitter", ID: "t1", AppID: "clinic", SessionID: "s1"},
			{Subject: "tool.result.clinic.s1.book", MsgID: "t1.result", ID: "t1.result", TriggerID: "t1", AppID: "clinic", SessionID: "s1"},
			{Subject: "tool.trigger.clinic.s1.note", MsgID: "d1.event", ID: "d1", AppID: "clinic", SessionID: "s1"},
			{Subject: "tool.trigger.clinic._.charge", MsgID: "t2.event", ID: "t2", AppID: "clinic"},
			{Subject: "tool.result.clinic._.charge", MsgID: "t2.result", ID: "t2.result", TriggerID: "t2", AppID: "clinic"},
			{Subject: "tool.trigger.clinic.s1.once-1-a", MsgID: "d2.event", ID: "d2", AppID: "clinic", SessionID: "s1"},
		},
		calls:   []testbed.Call{{Path: "/ok", ID: "t1", IdempotencyKey: "t1"}, {Path: "/ok", ID: "t1", IdempotencyKey: "t1"}, {Path: "/ok", ID: "t2", IdempotencyKey: "t2"}, {Path: "/ok", ID: "t2", IdempotencyKey: "t2"}},
		failed:  []record{{TriggerID: "t2", Name: "charge", Call: &state{State: "failed", Reason: outcomeUnknown}}},
		retried: map[string]int{"t2": 1},
	}
}

// TestRestoredRedisMayAnswerOtherwiseAndNamesTheSameTriggers: states may differ, ids not.
func TestRestoredRedisMayAnswerOtherwiseAndNamesTheSameTriggers(t *testing.T) {
	books := balanced()
	books.again["m1"] = `{"messageId":"m1","matches":[{"triggerId":"t1","name":"book","call":{"state":"pending"}}]}`
	require.NotEmpty(t, books.violations())
	books.restored = true
	require.Empty(t, books.violations())
	books.again["m1"] = `{"messageId":"m1","matches":[{"triggerId":"t8","name":"book"}]}`
	require.Contains(t, books.violations()[0], "repeats get the same answer: ")
}

func TestEveryBreachOfThePromiseIsSeen(t *testing.T) {
	breaches := map[string]func(*evidence){
		"got no answer":                  func(e *evidence) { e.lost = append(e.lost, &operation{Kind: "message", ID: "m9"}) },
		"was refused: 409":               func(e *evidence) { e.operations[1].Status = 409 },
		"was refused: 404":               func(e *evidence) { e.operations[1].Status = 404 },
		"stands 0 times":                 func(e *evidence) { e.histories["clinic/s1"] = nil },
		"stands 2 times":                 func(e *evidence) { h := e.histories["clinic/s1"]; e.histories["clinic/s1"] = append(h, h[0]) },
		"is pending":                     func(e *evidence) { e.histories["clinic/s1"][0].State = "pending" },
		"has set off [], not book":       func(e *evidence) { e.histories["clinic/s1"][0].Triggers = nil },
		"and then":                       func(e *evidence) { e.again["m1"] = `{"messageId":"m1","matches":[]}` },
		"was answered to d1 and to d2":   func(e *evidence) { e.operations[2].Answer, e.again["d2"] = e.operations[1].Answer, e.again["d1"] },
		"trigger d1 of d1 is not listed": func(e *evidence) { e.records["clinic"] = append(e.records["clinic"][:1], e.records["clinic"][2:]...) },
		"never arrived":                  func(e *evidence) { e.calls = nil },
		"tool.result h1 never came": func(e *evidence) {
			e.hooks = map[string]int{}
			e.stored = append(e.stored, stored{Subject: "tool.result.museum.s1.book", MsgID: "h1", ID: "h1", AppID: followed, TriggerID: "t1"})
		},
		"has no tool.trigger": func(e *evidence) { e.stored = append(e.stored[:4], e.stored[5:]...) },
		"has no app in":       func(e *evidence) { e.stored = append(e.stored[:2], e.stored[3:]...) },
		"has no tool.result":  func(e *evidence) { e.stored = append(e.stored[:3], e.stored[4:]...) },
		"is pending at rest":  func(e *evidence) { e.records["clinic"][0].Call = &state{State: "pending"} },
		"is stored twice":     func(e *evidence) { e.stored = append(e.stored, e.stored[7]) },
		"has no id":           func(e *evidence) { e.stored[0].MsgID = "" },
		"about trigger t9": func(e *evidence) {
			e.stored = append(e.stored, stored{Subject: "tool.trigger.clinic.s1.x", MsgID: "t9", ID: "t9"})
		},
		`came under "t1" and "other"`:      func(e *evidence) { e.calls[1].IdempotencyKey = "other" },
		"registered 0 times and fired 1":   func(e *evidence) { e.stored = e.stored[1:] },
		"arrived 2 times, and was retried": func(e *evidence) { e.retried = nil },
		`failed for "timeout", not as`:     func(e *evidence) { e.failed[0].Call.Reason = "timeout" },
		"was decided before it":            func(e *evidence) { r := e.records["clinic"]; r[0], r[1] = r[1], r[0] },
		"was asked for before it":          func(e *evidence) { o := e.operations; o[0], o[1] = o[1], o[0] },
		"1 effects or turns are owed":      func(e *evidence) { e.due = 1 },
		"effect:e1 is left":                func(e *evidence) { e.left = []string{"effect:e1"} },
		"holds the credential":             func(e *evidence) { e.leaks = []string{"the stream holds the credential"} },
		`says "WARNING: DATA RACE"`:        func(e *evidence) { e.faults = []string{`replica-0.log says "WARNING: DATA RACE"`} },
	}
	see(t, balanced, breaches)
}

// see has books that balance show no violation, and after each breach the one that it names.
func see(t *testing.T, balanced func() *evidence, breaches map[string]func(*evidence)) {
	require.Empty(t, balanced().violations())
	for says, breach := range breaches {
		t.Run(says, func(t *testing.T) {
			books := balanced()
			breach(books)
			found := books.violations()
			require.NotEmpty(t, found)
			require.Contains(t, found[0], says, "%v", found)
		})
	}
}

// turned is a good run with triggers that were held, taken back, answered or duplicates, and with drafts.
func turned() *evidence {
	published, delivered := &state{State: "published"}, &state{State: "delivered"}
	one := func(id, name, as string, call *state) record {
		return record{TriggerID: id, Name: name, State: as, SessionID: "s1", MessageID: "m-" + id, Event: published, Call: call}
	}
	of := func(kind, name, id string) stored {
		s := stored{Subject: "tool." + kind + ".clinic.s1." + name, MsgID: kind + id, ID: kind + id, AppID: "clinic", SessionID: "s1", TriggerID: id}
		if kind == "trigger" {
			s.ID, s.TriggerID = id, ""
		}
		return s
	}
	first, second := one("a1", "alarm", "delivered", nil), one("a2", "alarm", "duplicate", nil)
	second.Of = "a1"
	denied := of("cancelled", "refund", "r2")
	denied.Reason = "deny"
	taken := of("cancelled", "mail", "l1")
	taken.Reason = "retract"
	act := func(kind, id string, status int, body string) *operation {
		return &operation{App: "clinic", Kind: kind, Trigger: id, Status: status, Body: body, Alone: true}
	}
	return &evidence{
		operations: []*operation{
			act("confirm", "r1", 202, ""), act("deny", "r2", 202, ""), act("answer", "q1", 200, `{"ok":true,"result":{"page":"p1"}}`),
			{App: "clinic", Session: "s1", ID: "m9", Kind: "draft", Status: 200, Answer: `{"matches":[{"triggerId":"x","state":"draft"}]}`},
			{App: "clinic", Session: "s1", ID: "m9", Kind: "taken", Status: 204},
		},
		records: map[string][]record{"clinic": {
			first, second, one("r1", "refund", "delivered", delivered), one("r2", "refund", "cancelled", nil), one("l1", "mail", "cancelled", nil),
			one("q1", "ask", "delivered", &state{State: "delivered", Result: []byte(`{"page":"p1"}`)}),
			one("n1", "mute", "failed", &state{State: "failed", Reason: "timeout"}),
		}},
		histories: map[string][]entry{"clinic/s1": {}},
		stored: []stored{
			of("trigger", "alarm", "a1"), of("duplicate", "alarm", "a2"), of("confirm", "refund", "r1"), of("trigger", "refund", "r1"),
			of("result", "refund", "r1"), of("confirm", "refund", "r2"), denied, taken,
			of("trigger", "ask", "q1"), of("result", "ask", "q1"), of("trigger", "mute", "n1"), of("result", "mute", "n1"),
		},
		calls: []testbed.Call{{Path: "/ok", ID: "r1", IdempotencyKey: "r1"}},
	}
}

func TestEveryBreachOfWhatIsHeldIsSeen(t *testing.T) {
	records := func(e *evidence) []record { return e.records["clinic"] }
	see(t, turned, map[string]func(*evidence){
		"is confirming at rest": func(e *evidence) { records(e)[4].State = "confirming" },
		"(refund) is cancelled, and has 1 effects": func(e *evidence) {
			e.calls = append(e.calls, testbed.Call{ID: "r2", IdempotencyKey: "r2"})
		},
		"(alarm) is duplicate, and has 1 effects": func(e *evidence) {
			e.stored = append(e.stored, stored{Subject: "tool.result.clinic.s1.alarm", MsgID: "z", ID: "z", TriggerID: "a2"})
		},
		"(mail) is cancelled, and has no tool.cancelled": func(e *evidence) { e.stored = append(e.stored[:7], e.stored[8:]...) },
		"(refund) is delivered, and the stream has its tool.canc": func(e *evidence) {
			e.stored[7].TriggerID = "r1"
			e.records["clinic"] = append(records(e)[:4], records(e)[5:]...)
		},
		"has no tool.confirm":                                     func(e *evidence) { e.stored = append(e.stored[:2], e.stored[3:]...) },
		"which nobody asked for":                                  func(e *evidence) { e.stored[7].Reason = "cancel" },
		"and nobody has confirmed it":                             func(e *evidence) { e.operations = e.operations[1:] },
		"confirm of trigger r2 was taken on, and it is cancelled": func(e *evidence) { e.operations[1].Kind, e.stored[6].Reason = "confirm", "expire" },
		"deny of trigger r1 was taken on": func(e *evidence) {
			e.operations = append(e.operations, &operation{Kind: "deny", Trigger: "r1", Status: 202})
		},
		"and nobody else has said a word":                      func(e *evidence) { e.operations[0].Status = 409 },
		"alarm/ has fired 2 times":                             func(e *evidence) { fireTwice(e) },
		"which has other values":                               func(e *evidence) { records(e)[1].Of = "r1" },
		"answered a match in state":                            func(e *evidence) { e.operations[3].Answer = `{"matches":[{"triggerId":"x"}]}` },
		"is of a draft of message m9":                          func(e *evidence) { records(e)[2].MessageID = "m9" },
		"event on tool.confirm.clinic.s1.refund is of a draft": func(e *evidence) { e.stored[2].Values.Day = "interim" },
		"was taken back, and stands in its history":            func(e *evidence) { e.histories["clinic/s1"] = []entry{{MessageID: "m9", State: "decided"}} },
		"(mute) was never answered":                            func(e *evidence) { records(e)[6].Call = &state{State: "delivered"} },
		`holds "p2", which nobody has given`:                   func(e *evidence) { e.operations[2].Status = 202; records(e)[5].Call.Result = []byte(`{"page":"p2"}`) },
		"was given p1, of which":                               func(e *evidence) { records(e)[5].Call.Result = []byte(`{"page":"p2"}`) },
	})
}

func fireTwice(e *evidence) {
	again := e.records["clinic"][0]
	again.TriggerID = "a3"
	e.records["clinic"] = append(e.records["clinic"], again)
	e.stored = append(e.stored, stored{Subject: "tool.trigger.clinic.s1.alarm", MsgID: "a3", ID: "a3"})
}

// acted is the evidence of a good run with tasks, a chat, calls of an MCP server, and a cluster that lost a master.
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
		tasks: map[string]taskStatus{"a": {Status: "completed"}, "b": {Status: "input_required", InputRequests: map[string]json.RawMessage{"desk": nil}}, "c": {Status: "cancelled"}},
		kept:  map[string]bool{"l": true},
		records: map[string][]record{"clinic": {
			{TriggerID: "a", Name: "form", SessionID: "s1", Event: published, Call: delivered, Values: dayDeskHour{"form-a.day", "form-a.desk", "form-a.hour"}},
			{TriggerID: "n", Name: "note", SessionID: "s1-chat", MessageID: "chat-m", Event: published, Values: dayDeskHour{Day: "fickle-again chat-1"}},
			{TriggerID: "l", Name: "lookup", SessionID: "s1", Event: published, Values: dayDeskHour{Day: "monday"}, Call: &state{State: "delivered", Result: []byte(fmt.Sprintf(`{"page":%q}`, pageFor("l", "monday")))}},
		}},
		histories: map[string][]entry{"clinic/s1-chat": {{MessageID: "chat-m", State: "decided"}}},
		stored: []stored{
			of("trigger", "form", "s1", "a"), of("result", "form", "s1", "a"), of("trigger", "note", "s1-chat", "n"), of("trigger", "lookup", "s1", "l"), of("result", "lookup", "s1", "l"),
		},
		calls: []testbed.Call{
			{Path: "/ok", ID: "a", IdempotencyKey: "a"},
			{Path: "/mcp/lookup", ID: "l", IdempotencyKey: "l", Body: `{"day":"monday"}`}, {Path: "/mcp/lookup", ID: "l", IdempotencyKey: "l", Body: `{"day":"monday"}`},
		},
		carried: map[string]bool{"l": true},
		losses:  []loss{{app: "clinic", promoted: 5 * time.Second, whole: 6 * time.Second, answered: 7 * time.Second}},
	}
}

func TestEveryBreachOfWhatAgentsDoIsSeen(t *testing.T) {
	records := func(e *evidence) []record { return e.records["clinic"] }
	fire := func(e *evidence, id string, given dayDeskHour) {
		one := records(e)[0]
		one.TriggerID, one.Values = id, given
		e.records["clinic"] = append(e.records["clinic"], one)
		for _, kind := range []string{"trigger", "result"} {
			e.stored = append(e.stored, stored{Subject: "tool." + kind + ".clinic.s1.form", MsgID: kind + id, ID: kind + id, TriggerID: id})
		}
		e.calls = append(e.calls, testbed.Call{Path: "/ok", ID: id, IdempotencyKey: id})
	}
	see(t, acted, map[string]func(*evidence){
		"lacks values, and was answered with no task": func(e *evidence) { e.operations[3].Answer = `{"result":{"resultType":"complete"}}` },
		"has fired 2 times":                           func(e *evidence) { fire(e, "a2", records(e)[0].Values) },
		"has fired 0 times":                           func(e *evidence) { e.operations[4].Given["desk"] = "form-b.desk" },
		"has fired without [desk]":                    func(e *evidence) { fire(e, "b", dayDeskHour{Day: "form-b.day"}) },
		`has fired form as a in "s2"`:                 func(e *evidence) { records(e)[0].SessionID = "s2" },
		`with the desk "else", which nobody gave`:     func(e *evidence) { records(e)[0].Values.Desk = "else" },
		"nobody was answered its task form-d":         func(e *evidence) { fire(e, "d", dayDeskHour{Day: "form-d.day"}) },
		"was shown as input_required":                 func(e *evidence) { e.operations[2].Answer = e.operations[0].Answer },
		`is "" in the end, not input_required`:        func(e *evidence) { delete(e.tasks, "b") },
		`is "working" in the end, not completed`:      func(e *evidence) { e.tasks["a"] = taskStatus{Status: "working"} },
		`is "completed" in the end, not cancelled`:    func(e *evidence) { e.tasks["c"] = e.tasks["a"] },
		"asks for [] in the end, and lacks [desk]":    func(e *evidence) { e.tasks["b"] = taskStatus{Status: "input_required"} },
		"message chat-m is pending":                   func(e *evidence) { e.histories["clinic/s1-chat"][0].State = "pending" },
		"of a chat has fired 0 times":                 func(e *evidence) { records(e)[1].SessionID = "s1" },
		"of a chat has fired 2 times":                 func(e *evidence) { records(e)[2].SessionID, records(e)[2].MessageID = "s1-chat", "chat-m" },
		"the same chat is message chat-m and": func(e *evidence) {
			e.operations[9].ID, e.histories["clinic/s1-chat"] = "chat-o", append(e.histories["clinic/s1-chat"], entry{MessageID: "chat-o", State: "decided"})
		},
		"of a chat has fired note with {other  }":      func(e *evidence) { records(e)[1].Values.Day = "other" },
		"has fired in a chat, and nobody was answered": func(e *evidence) { records(e)[2].SessionID = "s2-chat" },
		"(lookup) was called as /mcp/lookup with":      func(e *evidence) { e.calls[1].Body = `{"day":"tuesday"}` },
		"(lookup) was never carried out":               func(e *evidence) { e.carried = nil },
		"(lookup) owes no call":                        func(e *evidence) { records(e)[2].Call = nil },
		"(lookup) was answered, and its result is":     func(e *evidence) { records(e)[2].Call.Result = []byte(`{"page":"l on tuesday"}`) },
		`came under "l" and "l-2"`:                     func(e *evidence) { e.calls[2].IdempotencyKey = "l-2" },
		"trigger l of direct l is not there any more":  func(e *evidence) { e.kept = map[string]bool{} },
		"the service answered 21s after Redis did":     func(e *evidence) { e.losses[0].answered = 27 * time.Second },
	})
}

// TestAReadMayBeMissingAfterADeathAlone: its record is written behind its answer, and its events behind that.
func TestAReadMayBeMissingAfterADeathAlone(t *testing.T) {
	e, at := balanced(), time.Now()
	e.operations = append(e.operations, &operation{App: "clinic", Kind: "read", Status: 201, Answer: `{"triggerId":"r1","name":"peek"}`, At: at})
	e.calls = append(e.calls, testbed.Call{Path: peekPath, ID: "r1", IdempotencyKey: "r1"})
	e.deaths = []time.Time{at.Add(-time.Minute), at.Add(time.Minute)}
	require.Equal(t, []string{"answers agree with records: trigger r1 of  is not listed"}, e.violations())
	e.deaths = []time.Time{at.Add(time.Second)}
	require.Empty(t, e.violations())
	e.stored = append(e.stored, stored{Subject: "tool.trigger.clinic._.peek", MsgID: "r1.event", ID: "r1", AppID: "clinic"})
	require.Equal(t, []string{"nothing happened that was not decided: an event on tool.trigger.clinic._.peek is about trigger r1, which is not listed"}, e.violations())
}
