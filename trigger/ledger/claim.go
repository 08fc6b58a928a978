package ledger

import (
	"context"
	"strings"
	"time"

	"earshot/repositories/keyspace"
)

// Claimed is an effect whose lease was taken.
type Claimed struct {
	keyspace.Entry
	Attempt int           // counts from 1
	Fails   int           // before this attempt
	Revived int           // manual retries after its death
	Age     time.Duration // since it was queued, by the clock of Redis
	Lease   time.Duration // length of a call's lease
	// Crashed reports that too many claims ended without an outcome.
	Crashed bool
	// Begun reports that an attempt that must not be repeated has begun, with an unknown outcome.
	Begun bool
	// Unended are the attempts at a call without a recorded end: the replica died and the lease ran out.
	Unended []Unended
	// Given is the awaited answer (JSON), empty if none came by Until, by the clock of Redis. Since is the time
	// of the question or of its repetition.
	Given        string
	Since, Until time.Time
}

// Unended is an attempt that began and has no outcome.
type Unended struct {
	Attempt int       // its number
	Began   time.Time // when its lease was taken, by the clock of Redis
}

// claim takes the lease of a due call.
//
//	=>   {status, ...}
//	     gone     it is no longer outstanding
//	     leased   another token has it
//	     early    it is not due yet
//	     crashed  claimed too often without an outcome; leased nevertheless
//	     begun    an attempt that must not be repeated has begun and not ended; leased
//	              nevertheless
//	     ok
//	     the last three with kind, body, session, trigger, part, attempt, fails, age (ms),
//	     revived (how often), lease (ms), unended (a line with number and begin (ms) of each
//	     attempt that began and has no outcome), and of an answer given (JSON), since and
//	     until (ms)
//
// The claim is counted before the work, so that a crash counts as well.
var claim = keyspace.NewFreeingScript(keyspace.DueLua, `
KEYS effect
ARGV id app token mostClaims
local found = redis.call('HMGET', @effect, 'kind', 'body', 'session', 'trigger', 'part', 'token', 'until', 'created', 'state', 'fails', 'lease', 'revived', 'begun', 'wait', 'given')
local at, token = now(), $token
local since = tonumber(found[8] or '0')
local last = since + tonumber(found[14] or '0')
if not found[1] or found[9] == 'dead' then
  unschedule('calls', $id)
  return {'gone'}
end
local status = 'ok'
if found[6] ~= token then
  local ends = tonumber(found[7])
  if ends > at then
    schedule($app, 'calls', $id, ends)
    return {'leased'}
  end
  local due = tonumber(redis.call('ZSCORE', ledger.calls, $id) or '0')
  if due > at then return {'early'} end
  if found[14] and not found[15] and last >= at then
    schedule($app, 'calls', $id, last + 1)
    return {'early'}
  end
  if found[1] == 'call' and found[6] ~= '' and (found[13] or '') == '' then
    local line = string.format('%s %.0f\n', redis.call('HGET', @effect, 'tries'), ends - tonumber(found[11]))
    redis.call('HSET', @effect, 'unended', (redis.call('HGET', @effect, 'unended') or '') .. line)
  end
  redis.call('HINCRBY', @effect, 'claims', 1)
  redis.call('HSET', @effect, 'token', token, 'until', at + tonumber(found[11]))
  if (found[13] or '') == '' then redis.call('HINCRBY', @effect, 'tries', 1) end
  schedule($app, 'calls', $id, at + tonumber(found[11]))
end
if tonumber(redis.call('HGET', @effect, 'claims')) > tonumber($mostClaims) then status = 'crashed' end
if (found[13] or '') ~= '' and found[13] ~= token then
  status = 'begun'
elseif found[13] then
  redis.call('HSET', @effect, 'begun', token)
end
return {status, 'kind', found[1], 'body', found[2], 'session', found[3], 'trigger', found[4], 'part', found[5],
  'attempt', redis.call('HGET', @effect, 'tries'), 'fails', found[10], 'age', tostring(at - since),
  'revived', found[12] or '0', 'lease', found[11], 'unended', redis.call('HGET', @effect, 'unended') or '', 'given', found[15] or '', 'since', string.format('%.0f', since), 'until', string.format('%.0f', last)}
`)

// Claim takes the lease of a call, or returns nil if it is not available.
func (l *Ledger) Claim(ctx context.Context, appID, id, token string) (*Claimed, error) {
	k := keyspace.KeysOf(appID)
	r, err := l.run(ctx, claim, append([]string{k.Effect(id)}, k.Ledger()...), id, appID, token, maxClaims)
	if err != nil || r.Status != "ok" && r.Status != "crashed" && r.Status != "begun" {
		return nil, err
	}
	c := readClaimed(r)
	c.ID, c.Crashed, c.Begun = id, r.Status == "crashed", r.Status == "begun"
	return &c, nil
}

func readClaimed(r reply) Claimed {
	c := Claimed{
		Entry:   keyspace.Entry{ID: r.text("id"), Kind: r.text("kind"), Body: r.text("body"), Session: r.text("session"), Trigger: r.text("trigger"), Part: r.text("part")},
		Attempt: r.number("attempt"), Fails: r.number("fails"), Revived: r.number("revived"), Age: r.duration("age"), Lease: r.duration("lease"),
		Given: r.text("given"), Since: r.time("since"), Until: r.time("until"),
	}
	for line := range strings.Lines(r.text("unended")) {
		attempt, began, _ := strings.Cut(strings.TrimSpace(line), " ")
		c.Unended = append(c.Unended, Unended{Attempt: number(attempt), Began: time.UnixMilli(int64(number(began))).UTC()})
	}
	return c
}

// A run is the part of an outbox that is published between two round trips to Redis: at most runEvents events,
// of which only the last may exceed runBytes.
const (
	runEvents = 128
	runBytes  = 1 << 20
)

// claimRun takes or renews the lease of a due outbox, and reads its first events.
//
//	KEYS outbox, then effects, then the ledger
//	ARGV those that are named, then the id of each effect, in the order of the outbox
//	=>   {status, ...}
//	     gone   it is empty
//	     taken  another token has it, or it is not due
//	     moved  its first event has changed
//	     batch  it begins with a batch
//	     ok     events, in their order, each with id, body, session, trigger, part,
//	            attempt, fails, age (ms) and revived (how often)
var claimRun = keyspace.NewFreeingScript(keyspace.DueLua, `
KEYS outbox
ARGV app box token lease mostBytes
local outbox, app, box, token, most = @outbox, $app, $box, $token, tonumber($mostBytes)
local at, ids, events, bytes = now(), redis.call('LRANGE', @outbox, 0, others - 2), {}, 0
if redis.call('HGET', ledger.holders, box) ~= token then
  local due = redis.call('ZSCORE', ledger.outboxes, box)
  if due and tonumber(due) > at then return {'taken'} end
end
if string.sub(ids[1] or '', 1, 1) == '#' then return {'batch'} end
for i = 2, others do
  if ids[i - 1] ~= ARGV[i + 4] then break end
  local e = redis.call('HMGET', KEYS[i], 'body', 'session', 'trigger', 'part', 'tries', 'fails', 'created', 'revived', 'state')
  if not e[1] or e[9] == 'dead' then
    if #events > 0 then break end
    pop(outbox)
  else
    bytes = bytes + #e[1]
    if #events > 0 and bytes > most then break end
    events[#events + 1] = {'id', ARGV[i + 4], 'kind', 'event', 'body', e[1], 'session', e[2], 'trigger', e[3], 'part', e[4],
      'attempt', tostring(tonumber(e[5]) + 1), 'fails', e[6], 'age', tostring(at - tonumber(e[7])), 'revived', e[8] or '0'}
  end
end
if redis.call('LLEN', outbox) == 0 then
  redis.call('HDEL', ledger.holders, box)
  unschedule('outboxes', box)
  return {'gone'}
end
if #events == 0 then return {'moved'} end
redis.call('HSET', ledger.holders, box, token)
schedule(app, 'outboxes', box, at + tonumber($lease))
return {'ok', 'events', events}
`)

// ClaimRun takes or renews the lease of an outbox and returns its first events, or none if it is not available.
// A batch is unpacked: its last holder did not settle it.
func (l *Ledger) ClaimRun(ctx context.Context, appID, box, token string) ([]Claimed, error) {
	k := keyspace.KeysOf(appID)
	for {
		ids, err := l.db.LRange(ctx, k.Outbox(box), 0, runEvents-1).Result()
		if err != nil {
			return nil, keyspace.Unavailable(err)
		}
		keys := []string{k.Outbox(box)}
		args := []any{appID, box, token, keyspace.EventLease.Milliseconds(), runBytes}
		for _, id := range ids {
			keys, args = append(keys, k.Effect(id)), append(args, id)
		}
		r, err := l.run(ctx, claimRun, append(keys, k.Ledger()...), args...)
		if err != nil || r.Status == "gone" || r.Status == Taken {
			return nil, err
		}
		if r.Status == "batch" {
			if err := l.unpack(ctx, appID, box, ids[0], ""); err != nil {
				return nil, err
			}
		}
		if r.Status != "ok" {
			continue
		}

		events := r.lists["events"]
		run := make([]Claimed, len(events))
		for i, event := range events {
			fields, _ := event.([]any)
			var one reply
			one.readFields(fields)
			run[i] = readClaimed(one)
			entry := keyspace.EventEntry(run[i].ID, run[i].Session, run[i].Trigger, run[i].Body)
			entry.Part, entry.Box = run[i].Part, box
			run[i].Entry = entry
		}
		return run, nil
	}
}
