package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/deploy/faults/endpoints"
)

// turned is the evidence of a run in which all went well with triggers that were held, taken
// back, answered, or stood for nothing, and with drafts.
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
		calls: []endpoints.Call{{Path: "/ok", ID: "r1", IdempotencyKey: "r1"}},
	}
}

func TestBooksOfTurnsThatBalanceHaveNoViolation(t *testing.T) {
	require.Empty(t, turned().violations())
}

func TestEveryBreachOfWhatIsHeldIsSeen(t *testing.T) {
	records := func(e *evidence) []record { return e.records["clinic"] }
	see(t, turned, map[string]func(*evidence){
		"is confirming at rest": func(e *evidence) { records(e)[4].State = "confirming" },
		"(refund) is cancelled, and has 1 effects": func(e *evidence) {
			e.calls = append(e.calls, endpoints.Call{ID: "r2", IdempotencyKey: "r2"})
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

// fireTwice has a second trigger fire with the values of the first.
func fireTwice(e *evidence) {
	again := e.records["clinic"][0]
	again.TriggerID = "a3"
	e.records["clinic"] = append(e.records["clinic"], again)
	e.stored = append(e.stored, stored{Subject: "tool.trigger.clinic.s1.alarm", MsgID: "a3", ID: "a3"})
}
