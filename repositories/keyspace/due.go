package keyspace

// Lane is a queue of an app's due work of one kind: turns, calls, outboxes, held triggers or webhooks.
type Lane string

// The lanes of an app.
const (
	LaneTurns    Lane = "turns"    // members session/messageId
	LaneCalls    Lane = "calls"    // members the ids of effects
	LaneOutboxes Lane = "outboxes" // members as Box names them
	LaneHeld     Lane = "held"     // members the ids of triggers that keep their effects back
	LaneWebhooks Lane = "webhooks" // members the names of webhooks that are enabled
)

// Lanes are all lanes of an app.
var Lanes = []Lane{LaneTurns, LaneCalls, LaneOutboxes, LaneHeld, LaneWebhooks}

// The ledger has two levels, so that the backlog of one app hides nothing of another:
// the lanes of a partition that may hold something due, and what each of them holds.

// Due is a sorted set of the partition: its lanes as lane/appId, by a time (ms) at which
// none of what they hold is due before. Who finds a lane that is not due yet after all
// corrects its time; nobody else moves it back.
func (k Keys) Due() string { return k.named("due") }

// Lane is a sorted set of an app: turns, calls, outboxes or held triggers that are not finished,
// or webhooks, waiting or leased alike, by the time (ms) when they are due or their lease ends.
func (k Keys) Lane(lane Lane) string { return k.named(string(lane), ":", k.app) }

// Holders is a hash of an app: the token of the lease of an outbox, by its Box.
func (k Keys) Holders() string { return k.named("holders:", k.app) }

// Owed counts what the partition owes: messages that are not decided, calls, and events. What
// is held back is not owed yet.
func (k Keys) Owed() string { return k.named("owed") }

// Ledger are the keys that DueLua needs, the last ones of a script. Webhooks have scripts of their own.
func (k Keys) Ledger() []string {
	return []string{k.Due(), k.Lane(LaneTurns), k.Lane(LaneCalls), k.Lane(LaneOutboxes), k.Lane(LaneHeld), k.Holders(), k.Owed()}
}

// DueLua is how scripts write the ledger. The keys of Keys.Ledger are the last ones of
// such a script; others is the number of those before. It defines
//
//	schedule(app, lane, member, time)  makes a member due, or moves it
//	scheduleAll(app, lane, times)      is schedule for several, each with its time before it
//	unschedule(lane, member)           takes it out
//	push(outbox, box, app, id, token, lease)
//	    puts an event behind those of an outbox, whose member in its lane is box. Where
//	    there were none, the outbox is due, or leased to the token if there is one
//	pop(outbox)                    drops the first event
//
// A turn, a call and an event are counted once each, however often a script runs.
const DueLua = `
local others = #KEYS - 7
local ledger = {due = KEYS[others + 1], turns = KEYS[others + 2], calls = KEYS[others + 3],
  outboxes = KEYS[others + 4], held = KEYS[others + 5], holders = KEYS[others + 6], owed = KEYS[others + 7]}
local function count(lane, n)
  if (lane == 'turns' or lane == 'calls') and n ~= 0 then redis.call('INCRBY', ledger.owed, n) end
end
local function schedule(app, lane, member, time)
  count(lane, redis.call('ZADD', ledger[lane], time, member))
  redis.call('ZADD', ledger.due, 'LT', time, lane .. '/' .. app)
end
local function scheduleAll(app, lane, times)
  if #times == 0 then return end
  local first = times[1]
  for i = 3, #times, 2 do first = math.min(first, times[i]) end
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
