package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/deploy/faults/endpoints"
)

// balanced is the evidence of a run in which all went well: a message that set off a
// call, a direct trigger, and a triggerOnce repository that has fired.
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
		calls:   []endpoints.Call{{Path: "/ok", ID: "t1", IdempotencyKey: "t1"}, {Path: "/ok", ID: "t1", IdempotencyKey: "t1"}, {Path: "/ok", ID: "t2", IdempotencyKey: "t2"}, {Path: "/ok", ID: "t2", IdempotencyKey: "t2"}},
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

func TestBooksThatBalanceHaveNoViolation(t *testing.T) { require.Empty(t, balanced().violations()) }

// TestEveryBreachOfThePromiseIsSeen breaks one thing at a time in books that balance.
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
		"was told to d1 and to d2":       func(e *evidence) { e.operations[2].Answer, e.again["d2"] = e.operations[1].Answer, e.again["d1"] },
		"trigger d1 of d1 is not listed": func(e *evidence) { e.records["clinic"] = append(e.records["clinic"][:1], e.records["clinic"][2:]...) },
		"never arrived":                  func(e *evidence) { e.calls = nil },
		"has no tool.trigger":            func(e *evidence) { e.stored = append(e.stored[:4], e.stored[5:]...) },
		"has no app in":                  func(e *evidence) { e.stored = append(e.stored[:2], e.stored[3:]...) },
		"has no tool.result":             func(e *evidence) { e.stored = append(e.stored[:3], e.stored[4:]...) },
		"is pending at rest":             func(e *evidence) { e.records["clinic"][0].Call = &state{State: "pending"} },
		"is stored twice":                func(e *evidence) { e.stored = append(e.stored, e.stored[7]) },
		"has no id":                      func(e *evidence) { e.stored[0].MsgID = "" },
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

// see breaks one thing at a time, and expects the first violation to be of it.
func see(t *testing.T, balanced func() *evidence, breaches map[string]func(*evidence)) {
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
