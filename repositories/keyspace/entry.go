package keyspace

import (
	"time"

	"earshot/repositories/exactjson"
)

// EventLease is how long the claim of an outbox holds. It outlives the time that a
// publish may take, several times.
const EventLease = 10 * time.Second

// Entry is an effect as a script writes it into the ledger. Package trigger delivers it.
type Entry struct {
	ID      string `json:"id"`
	Kind    string `json:"kind"`    // event, call or answer
	Body    string `json:"body"`    // JSON, opaque to the scripts
	Session string `json:"session"` // empty without one
	Trigger string `json:"trigger"` // empty where it belongs to none
	Part    string `json:"part"`    // its name within the trigger
	// Order is "1" for an event, which waits for the session's earlier ones.
	Order string `json:"order"`
	// Box is the outbox that it is in, as a member of its lane; of an event.
	Box string `json:"box"`
	// Lease is how long a claim of it holds, in milliseconds; of an event, a claim of its
	// outbox.
	Lease int64 `json:"lease"`
	// Once marks a call that must not be made twice: the ledger knows of an attempt
	// before it begins, and does not let another begin while it is not known what came
	// of it.
	Once bool `json:"once,omitempty"`
	// Wait is how long an answer is waited for, in milliseconds from when the entry is
	// written: it is due then, or as soon as one is given.
	Wait int64 `json:"wait,omitempty"`
}

// Encode writes the entry as scripts read it; nil is an empty text.
func (e *Entry) Encode() (string, error) {
	if e == nil {
		return "", nil
	}
	text, err := exactjson.Encode(e)
	return string(text), err
}

// EventEntry makes an outbox entry for an event; trigger is empty where it belongs to none.
func EventEntry(id, session, trigger, body string) Entry {
	return Entry{ID: id, Kind: "event", Body: body, Session: session, Trigger: trigger, Order: "1", Box: Box(session, trigger), Lease: EventLease.Milliseconds()}
}

// Box is the outbox of an event, as a member of its lane: that of its session. Without a
// session no trigger waits for another, so each has its own; what belongs to neither is in
// the outbox of the app.
func Box(sessionID, triggerID string) string {
	switch {
	case sessionID != "":
		return sessionID
	case triggerID != "":
		return NoSession + "/" + triggerID
	default:
		return NoSession
	}
}

// ChatBox is the outbox of what a session's messages are told by. It is apart from that of its
// triggers: what was said is told at once, while a model still thinks about it.
func ChatBox(sessionID string) string { return sessionID + "/chat" }

// Boxes are the outboxes of a session.
func Boxes(sessionID string) []string { return []string{Box(sessionID, ""), ChatBox(sessionID)} }

// EffectLua defines, beside what DueLua does, enqueue(key, e, app, outbox, token), which writes
// an effect into the ledger:
//
//	key    the effect's hash
//	e      the Entry
//	outbox that it is in, for an event
//	token  of the lease that the writer takes at once: of a call, or of an outbox that
//	       was empty; empty for none
//
// and write(key, e, created, token, ends), which writes the effect's hash alone.
//
// Events have no lease of their own: their outbox has. A call that is made once has the
// field begun: the token of an attempt that has begun, empty where none has. An answer has
// the field wait, and given once there is one; nobody takes a lease of it before it is due.
const EffectLua = DueLua + `
local function write(key, e, created, token, ends)
  local begun = token ~= '' and 1 or 0
  redis.call('HSET', key, 'kind', e.kind, 'body', e.body, 'session', e.session,
    'trigger', e.trigger, 'part', e.part, 'order', e.order, 'lease', e.lease,
    'created', created, 'token', token, 'until', ends,
    'claims', begun, 'tries', begun, 'fails', 0, 'state', 'due')
  if e.once then redis.call('HSET', key, 'begun', token) end
end
local function enqueue(key, e, app, outbox, token)
  if e.order == '1' then
    write(key, e, now(), '', 0)
    push(outbox, e.box, app, e.id, token, e.lease)
    return
  end
  if e.wait then
    write(key, e, now(), '', 0)
    redis.call('HSET', key, 'wait', e.wait)
    schedule(app, 'calls', e.id, now() + e.wait + 1)
    return
  end
  local ends = token ~= '' and now() + e.lease or 0
  write(key, e, now(), token, ends)
  schedule(app, 'calls', e.id, math.max(ends, now()))
end
`
