package repositories

import "time"

// EventLease is how long the claim of an event holds. It outlives the time that a
// publish may take.
const EventLease = 10 * time.Second

// Owed is an effect as a script writes it into the ledger. Package trigger delivers
// what is owed; this package only owes tool.changed.
type Owed struct {
	ID      string `json:"id"`
	Kind    string `json:"kind"`    // event or call
	Body    string `json:"body"`    // JSON, opaque to the scripts
	Session string `json:"session"` // empty without one
	Trigger string `json:"trigger"` // empty where it belongs to none
	Part    string `json:"part"`    // its name within the trigger
	// Order is "1" for an event, which waits for the session's earlier ones.
	Order string `json:"order"`
	// Lease is how long a claim of it holds, in milliseconds.
	Lease int64 `json:"lease"`
}

// OweLua defines member(app, session, id), the name of an effect in the ledger, and
// owe(key, e, at, token), which writes one:
//
//	key   the effect's hash
//	e     the Owed
//	at    {app, due, outbox}: the app's id, the partition's ledger, the outbox
//	token of the lease that the writer takes at once; empty for none
const OweLua = `
local function member(app, session, id)
  return 'e/' .. app .. '/' .. (session == '' and '_' or session) .. '/' .. id
end
local function owe(key, e, at, token)
  local leased = token ~= ''
  local time = leased and now() + e.lease or now()
  redis.call('HSET', key, 'kind', e.kind, 'body', e.body, 'session', e.session,
    'trigger', e.trigger, 'part', e.part, 'order', e.order, 'lease', e.lease,
    'created', now(), 'token', token, 'until', leased and time or 0,
    'claims', leased and 1 or 0, 'tries', leased and 1 or 0, 'fails', 0, 'state', 'due')
  redis.call('ZADD', at.due, time, member(at.app, e.session, e.id))
  if e.order == '1' then redis.call('RPUSH', at.outbox, e.id) end
end
`
