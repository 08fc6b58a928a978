package keyspace

import (
	"time"

	"earshot/repositories/exactjson"
)

// EventLease is the lease of an outbox: several times the maximum duration of a publish.
const EventLease = 10 * time.Second

// Entry is an effect in the form that scripts write into the ledger. Package trigger delivers it.
type Entry struct {
	ID      string `json:"id"`
	Kind    string `json:"kind"`    // event, call or answer
	Body    string `json:"body"`    // JSON, not read by scripts
	Session string `json:"session"` // empty for none
	Trigger string `json:"trigger"` // empty for none
	Part    string `json:"part"`    // name within the trigger
	Order   string `json:"order"`   // "1" for an event, which waits for the session's earlier ones
	Box     string `json:"box"`     // an event's outbox, as a member of its lane
	Lease   int64  `json:"lease"`   // the duration of a lease in milliseconds; for an event, of its outbox's lease
	// Once marks a call that must not be repeated: the ledger records an attempt before it begins, and no other may
	// begin while its outcome is unknown.
	Once bool `json:"once,omitempty"`
	// Wait is how long to wait for an answer, in milliseconds: the entry is due then, or when an answer arrives.
	Wait int64 `json:"wait,omitempty"`
}

// Encode returns the entry as scripts read it; nil is an empty text.
func (e *Entry) Encode() (string, error) {
	if e == nil {
		return "", nil
	}
	return exactjson.Text(e)
}

// EventEntry makes an outbox entry for an event; trigger is empty for none.
func EventEntry(id, session, trigger, body string) Entry {
	return Entry{ID: id, Kind: "event", Body: body, Session: session, Trigger: trigger, Order: "1", Box: Box(session, trigger), Lease: EventLease.Milliseconds()}
}

// Box returns the outbox of an event, as a member of its lane. A session has one outbox. Without a session triggers
// do not wait for each other, so each has its own. Events with neither share the app's.
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

// ChatBox returns the outbox of a session's chat events. It is separate from the triggers' outbox, so that a
// message is published at once, while a model still decides.
func ChatBox(sessionID string) string { return sessionID + "/chat" }

// Boxes returns the outboxes of a session.
func Boxes(sessionID string) []string { return []string{Box(sessionID, ""), ChatBox(sessionID)} }

// EffectLua extends DueLua with enqueue(key, e, app, outbox, token), which writes an effect into the ledger:
//
//	key    the effect's hash
//	e      the Entry
//	outbox an event's outbox
//	token  of the lease that the writer takes at once, for a call or an empty outbox; '' for none
//
// and write(key, e, created, token, ends), which only writes the effect's hash.
//
// Events have no lease; their outbox has. A call with once has the field begun: the token of an attempt that has
// begun, or empty. An answer has the field wait, and given once it arrived; it is not leased before it is due.
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
