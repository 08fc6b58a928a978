package ledger

import (
	"context"
	"errors"
	"strconv"
	"time"

	"earshot/repositories/failpoint"
	"earshot/repositories/keyspace"
)

// Results of tools that change nothing are written behind their answer: a crash loses only a record without
// side effects. admit checks before the call what the deciding script would refuse.

// admit checks an uncommitted direct trigger before its call, and counts it.
//
//	ITEMARGV counts as in commit, size of the record in bytes
//	=>   ok, with the generations of app and session; noapp; closed if the session is being erased;
//	     changed if its plan is outdated; or limited as in overRate
var admit = keyspace.NewGroupScript(keyspace.Items{Shared: `
KEYS app rates
local of = redis.call('HMGET', @app, 'version', 'limits', 'generation')
local plain = noneOf(2, 0, {1, 3}) -- no repositories of a session, none that was closed
`, Each: `
ITEMKEYS sessionRepos turns closed sessionRates
ITEMARGV session matchedVersion optimistic profile counts size
local session = $session
if not of[1] then return {'noapp'} end
local closed = (plain or session == '') and {} or redis.call('HMGET', @closed, 'generation', 'erasing')
if (tonumber(closed[2]) or 0) > now() then return {'closed'} end
if of[1] ~= $matchedVersion or $optimistic == '1' and session ~= '' and (
    not plain and redis.call('EXISTS', @sessionRepos) == 1 or (redis.call('HGET', @turns, 'session') or '') ~= $profile) then
  return {'changed'}
end
local over = $counts ~= '` + countedBefore + `' and overRate(of[2], @rates, session ~= '' and @sessionRates or nil,
  {messages = $counts == '` + countedAsMessage + `' and 1 or 0, triggers = 1, bytes = tonumber($size)})
return over or {'ok', 'app', of[3] or '', 'session', closed[1] or ''}
`}, rateLua, noneLua)

// Generations are the generations of an app and a session: a decision made in one generation is not written in the
// next. The session's is empty without a session, and in its first generation.
type Generations struct{ App, Session string }

// Admit checks an uncommitted direct trigger before its call, with a record of size bytes, and counts it. The
// commitment needs only its preconditions. The status is Committed, NoApp, Closed or Changed. A *RateError
// means that a limit is reached.
func Admit(ctx context.Context, l *Ledger, c Commitment, size int) (Status, Generations, error) {
	k := c.Turn.keys()
	shared := func() keyspace.Part { return keyspace.Part{Keys: []string{k.App(), k.Rates("")}} }
	r, _, err := l.runGrouped(ctx, l.admits, c.App, shared, keyspace.Part{
		Keys: []string{k.Repos(c.Session), k.Turns(c.Session), k.Closed(c.Session), k.Rates(c.Session)},
		Args: []string{c.Session, c.Matched, flag(c.Optimistic), c.Profile, c.counts(), strconv.Itoa(size)},
	})
	return r.Status, Generations{r.text("app"), r.text("session")}, err
}

// behind writes direct triggers whose calls were delivered, and their events, of several outboxes of an app.
//
//	ITEMKEYS those that are named, then the trigger of each firing, then the effect of each event
//	ITEMARGV those that are named, then the fields of f for each firing
//	=>   ok, with batch, 1 if the events are the token's batch
//	     gone  the app or session has ended, or is being erased; nothing was written
//
// A second run, by a client that lost the reply, finds the first one's token in the first trigger.
var behind = keyspace.NewGroupScript(keyspace.Items{Shared: `
KEYS app idle triggers pending sessions recent
ARGV app
local app, at, fires = $app, now(), 0
local firings, pendings, begun, idle, recent, boxes, batches = {}, {}, {}, {}, {}, {}, 0
local new = noneOf(6, 1, {2, 4, 5}) -- no outbox with events, no session that was closed, and no trigger of an earlier run
local of = redis.call('HMGET', @app, 'version', 'generation')
`, Each: `
ITEMKEYS turns outbox sessionTriggers closed firstTrigger
ITEMARGV session box token ttl outboxLease events appGeneration sessionGeneration firingCount
local session, token, turns = $session, $token, @turns
local first = not new and redis.call('LINDEX', @outbox, 0)
if not new and redis.call('HGET', @firstTrigger, 'token') == token then
  return {'ok', 'batch', begins(first, token) and '1' or '0'}
end
if not of[1] or (of[2] or '') ~= $appGeneration then return {'gone'} end
if session ~= '' then
  local closed = new and {} or redis.call('HMGET', @closed, 'generation', 'erasing')
  if (closed[1] or '') ~= $sessionGeneration or (tonumber(closed[2]) or 0) > at then return {'gone'} end
  local had = redis.call('HMGET', turns, 'since', 'expires')
  if not had[1] then
    redis.call('HSET', turns, 'since', at)
    begun[#begun + 1], begun[#begun + 2] = 0, session
  end
  idle[#idle + 1], idle[#idle + 2] = had[2] or at + tonumber($ttl), app .. '/' .. session
  recent[#recent + 1], recent[#recent + 2] = at, session
end
local count, own = tonumber($firingCount), {}
for i = 1, count do
  local from, since, key = a + 1 + 8 * i, micros() + fires, KEYS[k + 4 + i]
  local id, emitter = ARGV[from + 1], ARGV[from + 6]
  fires = fires + 1
  redis.call('HSET', key, 'token', token, 'session', session, 'dead', '0', 'fire', ARGV[from + 2], 'record', ARGV[from + 3],
    'open', ARGV[from + 4], 'event', ARGV[from + 5], 'call', ARGV[from + 7], 'log', ARGV[from + 8])
  if emitter ~= '' then redis.call('HSET', key, 'emitter', emitter) end
  firings[#firings + 1], firings[#firings + 2], own[#own + 1], own[#own + 2] = since, id, since, id
  if first then pendings[#pendings + 1], pendings[#pendings + 2] = since, id end
end
if session ~= '' then redis.call('ZADD', @sessionTriggers, unpack(own)) end
if not first then
  batched(@outbox, session, token, $events)
  boxes[#boxes + 1], boxes[#boxes + 2], batches = at + tonumber($outboxLease), $box, batches + 1
  return {'ok', 'batch', '1'}
end
for i, e in ipairs(unpacked($events)) do
  e.session, e.box, e.lease = session, $box, tonumber($outboxLease)
  enqueue(KEYS[k + 4 + count + i], e, app, @outbox, '')
end
return {'ok', 'batch', '0'}
`, End: `
if #firings > 0 then redis.call('ZADD', @triggers, unpack(firings)) end
if #pendings > 0 then redis.call('ZADD', @pending, unpack(pendings)) end
if #begun > 0 then redis.call('ZADD', @sessions, unpack(begun)) end
if #idle > 0 then redis.call('ZADD', @idle, unpack(idle)) end
if #recent > 0 then redis.call('ZADD', @recent, unpack(recent)) end
scheduleAll(app, 'outboxes', boxes)
if batches > 0 then redis.call('INCRBY', ledger.owed, batches) end
`}, keyspace.EffectLua, batchLua, noneLua)

// mostWritten bounds the triggers that one run of behind writes, during which Redis does nothing else.
const mostWritten = 64

// Behind holds direct triggers of one outbox whose calls were delivered, in the order of their answers. None of
// them was written before.
type Behind struct {
	Turn        // without a message
	Box         string
	Token       string
	Generations Generations
	TTL         time.Duration // of the session
	// Firings have the states of their parts; Open counts their unpublished events. Attempts are those of each
	// firing's call.
	Firings  []Firing
	Attempts []string
	Events   []keyspace.Entry
}

// Written is the outcome of a Behind.
type Written struct {
	// Gone reports that its app or session has ended, and nothing was written.
	Gone bool
	// Batch reports that its events are one batch, to be settled or unpacked by its token. Else they are queued
	// behind others.
	Batch bool
	Err   error // permanent: it cannot be written
}

// WriteBehind writes triggers of one or several apps in one round trip. After an error it is unknown which were
// written; all may be written again.
func WriteBehind(ctx context.Context, l *Ledger, list []Behind) ([]Written, error) {
	items := make([]appItem, len(list))
	for i, one := range list {
		items[i] = appItem{one.App, one.shared, one.item(), len(one.Firings)}
	}
	failpoint.At(failpoint.BehindBefore)
	replies, err := runTogether(ctx, l.db, behind, mostWritten, items)
	failpoint.At(failpoint.BehindReply)
	if errors.Is(err, keyspace.ErrUnavailable) {
		return nil, err
	}
	written := make([]Written, len(list))
	for i, raw := range replies {
		if raw == nil {
			written[i].Err = err
			continue
		}
		r, fault := readItem(raw)
		written[i] = Written{Gone: r.Status == "gone", Batch: r.is("batch"), Err: fault}
	}
	return written, nil
}

func (b Behind) shared() keyspace.Part {
	k := b.Turn.keys()
	return keyspace.Part{Args: []string{b.App}, Keys: append([]string{
		k.App(), k.Idle(), k.Triggers(""), k.InState(keyspace.Pending), k.Sessions(), keyspace.Recent(k),
	}, k.Ledger()...)}
}

func (b Behind) item() keyspace.Part {
	k := b.Turn.keys()
	item := keyspace.Part{
		Keys: []string{k.Turns(b.Session), k.Outbox(b.Box), k.Triggers(b.Session), k.Closed(b.Session)},
		Args: []string{
			b.Session, b.Box, b.Token, milliseconds(b.TTL), eventLease, packed(b.Events),
			b.Generations.App, b.Generations.Session, strconv.Itoa(len(b.Firings)),
		},
	}
	for i, f := range b.Firings {
		item.Keys = append(item.Keys, k.Trigger(f.ID))
		item.Args = append(item.Args, f.ID, f.Name, f.Record, strconv.Itoa(f.Open), f.States.Event, f.States.Emitter, f.States.Call, b.Attempts[i])
	}
	for _, entry := range b.Events {
		item.Keys = append(item.Keys, k.Effect(entry.ID))
	}
	return item
}
