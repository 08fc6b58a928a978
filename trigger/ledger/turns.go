package ledger

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"earshot/repositories/keyspace"
)

// turnFields are the fields of a turn in the hash of its session, by name: a short prefix before the messageId,
// since there are as many as messages. Scripts use the same names (TurnLua).
//
// The hash also has unfinished: the session's calls that lack values; left: how many messages have left its
// history; used: the arrival (ms) of the last one; and late: the time (µs) of the last late result (see addResult).
var turnFields = map[string]string{
	"message":   "m:", // as JSON
	"arrived":   "t:", // time (ms), a space, and a hash of its words
	"says":      "h:", // that hash, from earlier builds
	"lease":     "k:", // its token, a tab, and its end (ms); or AsDecided
	"ends":      "u:", // end of the lease (ms), from earlier builds
	"claims":    "c:", // how often the lease was taken; if missing, a lease counts as once
	"decision":  "d:", // the answer as decided, opaque
	"decider":   "x:", // token of the decision, from earlier builds
	"answer":    "a:", // JSON
	"reply":     "p:", // JSON
	"results":   "r:", // of calls, a line of JSON each
	"failure":   "f:", // JSON: why it could not be decided
	"explained": "e:", // explanation of the decision, packed
	"verified":  "v:", // claims that tools need, until the decision
	"retracted": "b:", // the triggers that it takes back, separated by spaces
	"acted":     "g:", // how many messages of a chat that fired tools are answered to the end, from this one on; 0 if none
	"called":    "i:", // the matches that its chat's model has fired, a line of JSON each
}

// TurnLua defines turn, a table of turnFields, and readers of fields that have two forms: leaseOf(lease, ends),
// token and end of a lease; leaseText(token, ends), the stored form of a lease; arrivedAt(arrived), the time;
// hashOf(arrived, says), the hash of the words; and
// addResult(turns, id, line), which appends a result to a message of the history. A result is late if the message is
// answered already.
var TurnLua = func() string {
	var lua strings.Builder
	lua.WriteString("local turn = {")
	for _, name := range slices.Sorted(maps.Keys(turnFields)) {
		lua.WriteString(name + " = '" + turnFields[name] + "', ")
	}
	return lua.String() + "}\n" + `
local function leaseOf(lease, ends)
  if not lease or lease == '` + AsDecided + `' then return nil, 0 end
  local token, time = string.match(lease, '^(.*)\t(%d+)$')
  return token or lease, tonumber(time or ends) or 0
end
local function leaseText(token, ends) return token .. string.format('\t%d', ends) end
local function arrivedAt(arrived) return tonumber(string.match(arrived or '', '^%d+') or 0) end
local function hashOf(arrived, says) return says or string.match(arrived or '', ' (.*)') end
local function addResult(turns, id, line)
  local of = redis.call('HMGET', turns, turn.message .. id, turn.results .. id, turn.lease .. id)
  if not of[1] then return end
  local fields = {turn.results .. id, (of[2] or '') .. line .. '\n'}
  if not leaseOf(of[3]) then fields[3], fields[4] = 'late', whole(micros()) end
  redis.call('HSET', turns, unpack(fields))
end
`
}()

// trimmed bounds the messages that leave the history per new one. It exceeds one, so that a lowered limit, or
// one held up by a turn in progress, is reached.
const trimmed = "16"

// trimLua defines trim(of), which removes the oldest messages of a session while there are more than most. An
// undecided message, or one in progress, stays with all later ones. It needs DueLua and TurnLua. of has
//
//	order, turns  keys of the session
//	session       the prefix of its turns' names
//	most          messages that may stay
//	length, new   messages in all, and those that this script has added
const trimLua = `
local function trim(of)
  local over = math.min(of.length - of.most, ` + trimmed + ` * of.new, 128) -- the embedded store unpacks some 5,000 values, Redis 8,000
  if over <= 0 then return end
  local ids, leases, fields, gone = redis.call('LRANGE', of.order, 0, over - 1), {}, {}, 0
  for i, id in ipairs(ids) do leases[2 * i - 1], leases[2 * i] = turn.lease .. id, turn.ends .. id end
  leases = redis.call('HMGET', of.turns, unpack(leases))
  for i, id in ipairs(ids) do
    local lease = leases[2 * i - 1]
    local _, ends = leaseOf(lease, leases[2 * i])
    if ends > now() or lease ~= '` + AsDecided + `' and redis.call('ZSCORE', ledger.turns, of.session .. id) then break end
    for _, field in pairs(turn) do fields[#fields + 1] = field .. id end
    gone = i
  end
  if gone == 0 then return end
  redis.call('LPOP', of.order, gone)
  redis.call('HDEL', of.turns, unpack(fields))
  redis.call('HINCRBY', of.turns, 'left', gone)
end
`

// extend renews the lease of a turn.
//
//	=>   ok, or lost if another token has the turn
var extend = keyspace.NewScript(TurnLua, `
KEYS turns due
ARGV id token lease member
if leaseOf(redis.call('HGET', @turns, turn.lease .. $id)) ~= $token then return 'lost' end
local ends = now() + tonumber($lease)
redis.call('HSET', @turns, turn.lease .. $id, leaseText($token, ends))
redis.call('ZADD', @due, 'XX', ends, $member)
return 'ok'
`)

// Extend renews the lease of a turn, and reports whether the token still had it.
func (l *Ledger) Extend(ctx context.Context, t Turn, token string, lease time.Duration) (held bool, err error) {
	k := t.keys()
	raw, err := extend.Run(ctx, l.db, []string{k.Turns(t.Session), k.Lane(keyspace.LaneTurns)}, t.Message, token, lease.Milliseconds(), t.Member())
	return raw == "ok", err
}

// endChat notes how far the chat of a message was answered, and the outcome of the message the first time.
//
//	=>   a letter of keyspace.OutcomeTo the first time, else empty. The field came has the letters of the session's
//	     messages, the last one first
var endChat = keyspace.NewScript(TurnLua, `
KEYS turns
ARGV id length outcome
local had = redis.call('HMGET', @turns, turn.message .. $id, turn.acted .. $id, turn.called .. $id, 'came')
local outcome = had[3] and '`+keyspace.OutcomeFired+`' or $outcome
if not had[1] or outcome == '' then return '' end
local length = had[3] and $length or '0'
if tonumber(had[2] or -1) < tonumber(length) then redis.call('HSET', @turns, turn.acted .. $id, length) end
if had[2] then return '' end
if not had[3] then redis.call('HSET', @turns, 'came', outcome .. string.gsub(had[4] or '', outcome, '')) end
return outcome
`)

// EndChat notes that a request of a message's chat has ended, and returns the outcome of the message, as a letter of
// keyspace.OutcomeTo: the given one unless its model has fired tools. It is empty if it was known before, is not yet known because
// the given one is empty, or if the message is not in the history. If tools have fired, the length is that of ChatLength.
func EndChat(ctx context.Context, l *Ledger, t Turn, length int, outcome string) (string, error) {
	found, err := endChat.Run(ctx, l.db, []string{t.keys().Turns(t.Session)}, t.Message, length, outcome)
	letter, _ := found.(string)
	return letter, err
}

// ChatLength returns the largest length given to EndChat for a message whose chat has fired tools; 0 for none.
func ChatLength(ctx context.Context, l *Ledger, t Turn) (length int, err error) {
	length, err = l.db.HGet(ctx, t.keys().Turns(t.Session), turnFields["acted"]+t.Message).Int()
	if errors.Is(err, redis.Nil) {
		return 0, nil
	}
	return length, keyspace.Unavailable(err)
}

// releaseUndecided releases a turn that could not be decided.
//
//	ARGV pause (ms) is -1 if only the client may try again: then it has the failure, with its event
//	     (JSON of an Entry, '' for none)
//	=>   ok, or lost
var releaseUndecided = keyspace.NewFreeingScript(keyspace.EffectLua, TurnLua, `
KEYS turns chatOutbox failedEffect
ARGV id token failure pause member app event
local id = $id
if leaseOf(redis.call('HGET', @turns, turn.lease .. id)) ~= $token then return 'lost' end
redis.call('HDEL', @turns, turn.lease .. id, turn.ends .. id, turn.claims .. id)
if tonumber($pause) < 0 then
  redis.call('HSET', @turns, turn.failure .. id, $failure)
  unschedule('turns', $member)
else
  schedule($app, 'turns', $member, now() + tonumber($pause))
end
if $event ~= '' then enqueue(@failedEffect, cjson.decode($event), $app, @chatOutbox, '') end
return 'ok'
`)

// ReleaseUndecided releases a turn that could not be decided. It is due again after the pause, and pending until then. A
// negative pause leaves the retry to the client: the message has failed, with the failure (JSON) and its event, if any.
func (l *Ledger) ReleaseUndecided(ctx context.Context, t Turn, token, failure string, pause time.Duration, says *keyspace.Entry) error {
	k, wait := t.keys(), pause.Milliseconds()
	if pause < 0 {
		wait = -1
	}
	event, err := says.Encode()
	if err != nil {
		return err
	}
	keys := []string{k.Turns(t.Session), k.Outbox(keyspace.ChatBox(t.Session)), effectKey(k, says)}
	_, err = releaseUndecided.Run(ctx, l.db, append(keys, k.Ledger()...), t.Message, token, failure, wait, t.Member(), t.App, event)
	return err
}

// release releases the leases that a token took by a script whose reply was lost, before any work was done, so
// that others need not wait for them to end.
//
//	KEYS 1 turns, 2 trigger, 3 outbox, then effects of calls, then the ledger
//	ARGV 1 token, 2 appId, 3 messageId ('' for none), 4 member of the turns, 5 member of
//	     the outboxes, then the id of each call
//	=>   1 if there was a lease, else 0
//
// The claims of a turn or a call stay counted, so that one that always fails is given up.
var release = keyspace.NewFreeingScript(keyspace.DueLua, TurnLua, batchLua, `
local token, app, id, at, had = ARGV[1], ARGV[2], ARGV[3], now(), 0
if id ~= '' and leaseOf(redis.call('HGET', KEYS[1], turn.lease .. id)) == token then
  had = 1
  redis.call('HSETNX', KEYS[1], turn.claims .. id, 1)
  redis.call('HDEL', KEYS[1], turn.lease .. id, turn.ends .. id)
  if redis.call('HEXISTS', KEYS[1], turn.decision .. id) == 0 then schedule(app, 'turns', ARGV[4], at) end
end
if id == '' and redis.call('HGET', KEYS[2], 'token') == token then
  had = 1
  redis.call('HSET', KEYS[2], 'until', 0)
end
for i = 4, others do
  if redis.call('HGET', KEYS[i], 'token') == token then
    had = 1
    redis.call('HSET', KEYS[i], 'token', '', 'until', 0)
    if redis.call('HGET', KEYS[i], 'begun') == token then redis.call('HSET', KEYS[i], 'begun', '') end
    schedule(app, 'calls', ARGV[i + 2], at)
  end
end
if begins(redis.call('LINDEX', KEYS[3], 0), token) then
  had = 1
  schedule(app, 'outboxes', ARGV[5], at)
end
if redis.call('HGET', ledger.holders, ARGV[5]) == token then
  had = 1
  redis.call('HDEL', ledger.holders, ARGV[5])
  if redis.call('LLEN', KEYS[3]) > 0 then
    schedule(app, 'outboxes', ARGV[5], at)
  else
    unschedule('outboxes', ARGV[5])
  end
end
return had
`)

// HeldLeases lists the leases that a token may hold.
type HeldLeases struct {
	Turn    // without a message for a direct trigger
	Token   string
	Box     string   // outbox of its events
	Trigger string   // of a direct trigger
	Calls   []string // ids
}

// Release releases the leases of a token, and reports whether there were any.
func (l *Ledger) Release(ctx context.Context, h HeldLeases) (held bool, err error) {
	k := h.keys()
	keys := []string{k.Turns(h.Session), k.Trigger(h.Trigger), k.Outbox(h.Box)}
	args := []any{h.Token, h.App, h.Message, h.Member(), h.Box}
	for _, id := range h.Calls {
		keys, args = append(keys, k.Effect(id)), append(args, id)
	}
	raw, err := release.Run(ctx, l.db, append(keys, k.Ledger()...), args...)
	return raw == int64(1), err
}
