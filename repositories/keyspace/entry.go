package keyspace

import (
	"time"
)

// EventLease is how long the claim of an outbox holds. It outlives the time that a
// publish may take, several times.
const EventLease = 10 * time.Second

// Entry is an effect as a script writes it into the ledger. Package trigger delivers it.
type Entry struct {
	ID      string `json:"id"`
	Kind    string `json:"kind"`    // event or call
	Body    string `json:"body"`    // JSON, opaque to the scripts
	Session string `json:"session"` // empty without one
	Trigger string `json:"trigger"` // empty where it belongs to none
	Part    string `json:"part"`    // its name within the trigger
	// Order is "1" for an event, which waits for the session's earlier ones.
	Order string `json:"order"`
	// Box is the outbox of its session, as a member of its lane; of an event.
	Box string `json:"box"`
	// Lease is how long a claim of it holds, in milliseconds; of an event, a claim of its
	// outbox.
	Lease int64 `json:"lease"`
	// Once marks a call that must not be made twice: the ledger knows of an attempt
	// before it begins, and does not let another begin while it is not known what came
	// of it.
	Once bool `json:"once,omitempty"`
}

// EventEntry makes an outbox entry for an event, without the trigger that it may belong to.
func EventEntry(id, session, body string) Entry {
	return Entry{ID: id, Kind: "event", Body: body, Session: session, Order: "1", Box: Box(session), Lease: EventLease.Milliseconds()}
}

// Box is the outbox of a session, as a member of its lane.
func Box(sessionID string) string { return OrNone(sessionID) }

// EffectLua defines, beside what DueLua does, enqueue(key, e, app, outbox, token), which writes
// an effect into the ledger:
//
//	key    the effect's hash
//	e      the Entry
//	outbox of the session, for an event
//	token  of the lease that the writer takes at once: of a call, or of an outbox that
//	       was empty; empty for none
//
// Events have no lease of their own: their outbox has. A call that is made once has the
// field begun: the token of an attempt that has begun, empty where none has.
const EffectLua = DueLua + `
local function enqueue(key, e, app, outbox, token)
  local leased = token ~= '' and e.order ~= '1'
  local time = leased and now() + e.lease or now()
  redis.call('HSET', key, 'kind', e.kind, 'body', e.body, 'session', e.session,
    'trigger', e.trigger, 'part', e.part, 'order', e.order, 'lease', e.lease,
    'created', now(), 'token', leased and token or '', 'until', leased and time or 0,
    'claims', leased and 1 or 0, 'tries', leased and 1 or 0, 'fails', 0, 'state', 'due')
  if e.once then redis.call('HSET', key, 'begun', leased and token or '') end
  if e.order == '1' then
    push(outbox, e.box, app, e.id, token, e.lease)
  else
    schedule(app, 'calls', e.id, time)
  end
end
`
