package keyspace

// Lane is a queue of an app's due work of one kind: turns, calls, outboxes, held triggers or webhooks.
type Lane string

// The lanes of an app.
const (
	LaneTurns    Lane = "turns"    // members session/messageId
	LaneCalls    Lane = "calls"    // members ids of effects
	LaneOutboxes Lane = "outboxes" // members from Box
	LaneHeld     Lane = "held"     // members ids of triggers that hold their effects back
	LaneWebhooks Lane = "webhooks" // members names of enabled webhooks
)

// Lanes are all lanes of an app.
var Lanes = []Lane{LaneTurns, LaneCalls, LaneOutboxes, LaneHeld, LaneWebhooks}

// The ledger has two levels, so that the backlog of one app does not delay others: the lanes of a partition that
// may have due members, and the members of each.

// Due is a sorted set of the partition: its lanes as lane/appId, by a lower bound of the time (ms) when a member is
// due. Only a reader that finds a lane not due yet moves the time back.
func (k Keys) Due() string { return k.named("due") }

// Lane is a sorted set of an app: unfinished turns, calls, outboxes or held triggers, or webhooks, by the time (ms)
// when they are due or their lease ends.
func (k Keys) Lane(lane Lane) string { return k.named(string(lane), ":", k.app) }

// Holders is a hash of an app: the lease token of an outbox, by its Box.
func (k Keys) Holders() string { return k.named("holders:", k.app) }

// PendingCount counts the pending work of the partition: undecided messages, calls, and events, without held ones.
func (k Keys) PendingCount() string { return k.named("owed") }

// Ledger returns the keys that DueLua needs, the last ones of a script. Webhooks have their own scripts.
func (k Keys) Ledger() []string {
	return []string{k.Due(), k.Lane(LaneTurns), k.Lane(LaneCalls), k.Lane(LaneOutboxes), k.Lane(LaneHeld), k.Holders(), k.PendingCount()}
}

// DueLua defines how scripts write the ledger. The keys of Keys.Ledger are the last ones of such a script; others
// is the number of those before. It defines
//
//	schedule(app, lane, member, time)  makes a member due, or moves it
//	scheduleAll(app, lane, times)      is schedule for several members, each after its time
//	unschedule(lane, member)           removes it
//	push(outbox, box, app, id, token, lease)
//	    appends an event to an outbox, which is member box of its lane. If it was empty, the outbox
//	    becomes due, or leased if there is a token
//	pop(outbox)                    drops the first event
//
// A turn, a call and an event are counted once each, even if a script runs again.
const DueLua = `
local others = #KEYS - 7
local ledger = {due = KEYS[others + 1], turns = KEYS[others + 2], calls = KEYS[others + 3],
  outboxes = KEYS[others + 4], held = KEYS[others + 5], holders = KEYS[others + 6], owed = KEYS[others + 7]}
local function count(lane, n)
  if (lane == 'turns' or lane == 'calls') and n ~= 0 then redis.call('INCRBY', ledger.owed, n) end
end
local function schedule(app, lane, member, time)
  time = whole(time)
  count(lane, redis.call('ZADD', ledger[lane], time, member))
  redis.call('ZADD', ledger.due, 'LT', time, lane .. '/' .. app)
end
local function scheduleAll(app, lane, times)
  if #times == 0 then return end
  local first = times[1]
  for i = 1, #times, 2 do
    first = math.min(first, times[i])
    times[i] = whole(times[i])
  end
  first = whole(first)
  count(lane, redis.call('ZADD', ledger[lane], unpack(times)))
  redis.call('ZADD', ledger.due, 'LT', first, lane .. '/' .. app)
end
local function unschedule(lane, member)
  count(lane, -redis.call('ZREM', ledger[lane], member))
end
local function push(outbox, box, app, id, token, lease)
  redis.call('INCRBY', ledger.owed, 1)
  if redis.call('RPUSH', outbox, id) > 1 then return end
  if token ~= '' then redis.call('HSET', ledger.holders, box, token) end
  schedule(app, 'outboxes', box, token ~= '' and now() + lease or now())
end
local function pop(outbox)
  if redis.call('LPOP', outbox) then redis.call('INCRBY', ledger.owed, -1) end
end
`
