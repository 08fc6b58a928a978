package ledger

import (
	"context"
	"errors"
	"slices"

	"earshot/repositories/failpoint"
	"earshot/repositories/keyspace"
)

// Results of tools that change nothing are written behind their answer: a crash loses only a record without
// side effects. admit checks before the call what the deciding script would refuse.

// admit checks an uncommitted direct trigger before its call, and counts it.
//
//	ARGV counts as in commit, size of the record in bytes
//	=>   ok, with the generations of app and session; noapp; closed if the session is being erased;
//	     changed if its plan is outdated; or limited as in overRate
var admit = keyspace.NewScript(rateLua, `
KEYS app sessionRepos turns closed rates sessionRates
ARGV session matched guessed profile counts size
local session, life = $session, {}
local of = redis.call('HMGET', @app, 'version', 'limits', 'generation')
if not of[1] then return {'noapp'} end
if session ~= '' then
  life = redis.call('HMGET', @closed, 'generation', 'erasing')
  if (tonumber(life[2]) or 0) > now() then return {'closed'} end
end
if of[1] ~= $matched or $guessed == '1' and session ~= '' and (
    redis.call('EXISTS', @sessionRepos) == 1 or (redis.call('HGET', @turns, 'session') or '') ~= $profile) then
  return {'changed'}
end
local over = $counts ~= '`+countedBefore+`' and overRate(of[2], @rates, session ~= '' and @sessionRates or nil,
  {messages = $counts == '`+countedAsMessage+`' and 1 or 0, triggers = 1, bytes = tonumber($size)})
return over or {'ok', 'app', of[3] or '', 'session', life[1] or ''}
`)

// Lives are the generations of an app and a session: a decision made in one generation is not written in the
// next. The session's is empty without a session, and in its first generation.
type Lives struct{ App, Session string }

// Admit checks an uncommitted direct trigger before its call, with a record of size bytes, and counts it. The
// commitment needs only its preconditions. The status is Committed, NoApp, Closed or Changed. A *RateError
// means that a limit is reached.
func Admit(ctx context.Context, l *Ledger, c Commitment, size int) (Status, Lives, error) {
	k := c.Turn.keys()
	keys := []string{k.App(), k.Repos(c.Session), k.Turns(c.Session), k.Closed(c.Session), k.Rates(""), k.Rates(c.Session)}
	r, err := l.run(ctx, admit, keys, c.Session, c.Matched, c.Guessed, c.Put, c.counts(), size)
	return r.Status, Lives{r.text("app"), r.text("session")}, err
}

// behind writes direct triggers whose calls were delivered, and their events.
//
//	KEYS those that are named, then the trigger of each firing, then the effect of each event, then
//	     the ledger
//	ARGV those that are named, then the fields of f for each firing
//	=>   ok, with batch, 1 if the events are the token's batch
//	     gone  the app or session has ended, or is being erased; nothing was written
//
// A second run, by a client that lost the reply, finds the first one's token in the first trigger.
var behind = keyspace.NewScript(keyspace.EffectLua, keyspace.SessionLua, batchLua, firedLua, `
KEYS app turns idle outbox triggers sessionTriggers pending sessions closed recent
ARGV app session box token ttl outboxLease events appLife sessionLife firingCount
local app, session, token, named = $app, $session, $token, 10
local first = redis.call('LINDEX', @outbox, 0)
if redis.call('HGET', KEYS[named + 1], 'token') == token then
  return {'ok', 'batch', begins(first, token) and '1' or '0'}
end
local of = redis.call('HMGET', @app, 'version', 'generation')
if not of[1] or (of[2] or '') ~= $appLife then return {'gone'} end
if session ~= '' then
  local life = redis.call('HMGET', @closed, 'generation', 'erasing')
  if (life[1] or '') ~= $sessionLife or (tonumber(life[2]) or 0) > now() then return {'gone'} end
  useSession(@turns, @idle, @sessions, @recent, app, session, tonumber($ttl))
end
local firings = tonumber($firingCount)
for i = 1, firings do
  local f = {}
  for j, name in ipairs({'id', 'fire', 'record', 'open', 'event', 'emitter', 'call', 'log'}) do f[name] = ARGV[2 + 8 * i + j] end
  local since, key = micros() + i - 1, KEYS[named + i]
  redis.call('HSET', key, 'token', token, 'session', session, 'dead', '0', 'fire', f.fire, 'record', f.record, 'open', f.open,
    'event', f.event, 'call', f.call, 'log', f.log)
  if f.emitter ~= '' then redis.call('HSET', key, 'emitter', f.emitter) end
  redis.call('ZADD', @triggers, since, f.id)
  if session ~= '' then redis.call('ZADD', @sessionTriggers, since, f.id) end
  if first then redis.call('ZADD', @pending, since, f.id) end
end
if not first then
  batched(@outbox, session, token, $events)
  schedule(app, 'outboxes', $box, now() + tonumber($outboxLease))
  redis.call('INCRBY', ledger.owed, 1)
  return {'ok', 'batch', '1'}
end
for i, e in ipairs(unpacked($events)) do
  e.session, e.box, e.lease = session, $box, tonumber($outboxLease)
  enqueue(KEYS[named + firings + i], e, app, @outbox, '')
end
return {'ok', 'batch', '0'}
`)

// Behind holds direct triggers of one outbox whose calls were delivered, in the order of their answers. None of
// them was written before.
type Behind struct {
	Turn  // without a message
	Box   string
	Token string
	Lives Lives
	TTL   int64 // ms, of the session
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
	calls := make([]keyspace.Call, len(list))
	for i, one := range list {
		calls[i] = one.call()
	}
	failpoint.At(failpoint.BehindBefore)
	replies, err := behind.RunAll(ctx, l.db, calls)
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
		r, _ := readReply(raw, nil)
		written[i] = Written{Gone: r.Status == "gone", Batch: r.is("batch")}
	}
	return written, nil
}

func (b Behind) call() keyspace.Call {
	k := b.Turn.keys()
	keys := []string{
		k.App(), k.Turns(b.Session), k.Idle(), k.Outbox(b.Box), k.Triggers(""), k.Triggers(b.Session), k.InState(keyspace.Pending),
		k.Sessions(), k.Closed(b.Session), keyspace.Recent(k),
	}
	args := []any{
		b.App, b.Session, b.Box, b.Token, b.TTL, keyspace.EventLease.Milliseconds(), packed(b.Events), b.Lives.App, b.Lives.Session, len(b.Firings),
	}
	for i, f := range b.Firings {
		keys = append(keys, k.Trigger(f.ID))
		args = append(args, f.ID, f.Name, f.Record, f.Open, f.States.Event, f.States.Emitter, f.States.Call, b.Attempts[i])
	}
	for _, entry := range b.Events {
		keys = append(keys, k.Effect(entry.ID))
	}
	return keyspace.Call{Keys: slices.Concat(keys, k.Ledger()), Args: args}
}
