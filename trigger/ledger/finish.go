package ledger

import (
	"context"
	"strconv"
	"time"

	"earshot/repositories/exactjson"
	"earshot/repositories/failpoint"
	"earshot/repositories/keyspace"
)

// finish writes the outcomes of effects, the effects that follow from them, and the answer of a turn in one
// round trip.
//
//	KEYS 1 outbox, 2 pending, 3 failed, 4 turns, 5 dead, then effect and
//	     trigger of each outcome, then the fence of each that has one, then the effect of
//	     each new entry, chat outbox, effect of the reply's event, triggers of the app, over, then
//	     the ledger
//	ARGV 1 report (JSON)
//	=>   ok, with
//	     answer  the valid one, if the report has one: another may have been
//	             stored meanwhile, by a replica that considered this one dead
//	     holds   1 if the outbox holds events and doc.next has its lease
//
// Outcomes with a lost lease are not written. Events leave their outbox in order, at its head. An event to be
// retried stays at the head, and the outbox waits with it. Else the outbox is passed to doc.next, or to any
// worker if that is empty.
//
// A dead effect is kept for a manual retry, until its trigger's record is removed. An effect without an
// existing trigger is deleted. Another trigger may have the id by now, if the app was deleted and created again
// or the session was erased: it gets no outcome, no answer and no event. A second run finds the effects gone or
// their tokens cleared, and changes nothing.
var finish = keyspace.NewFreeingScript(keyspace.EffectLua, TurnLua, TallyLua, firedLua, passLua, `
local doc, applied, fences, popped, done, over = cjson.decode(ARGV[1]), {}, 0, 0, {}, {}
local publishes = #doc.outcomes + #doc.followUps > 0
local held = publishes and redis.call('HGET', ledger.holders, doc.box) == doc.token
local function settle(trigger, o, open, log, dead) -- the last three as they are stored
  local fields = {}
  local function set(field, value) fields[#fields + 1], fields[#fields + 2] = field, value end
  if o.state ~= '' then set(o.part, o.state) end
  if o.attempt ~= '' then set('log', (log or '') .. o.attempt .. '\n') end
  if o.verdict ~= 'retry' then
    open, dead = open + o.opens - 1, tonumber(dead) or 0
    set('open', open)
  end
  if o.verdict == 'dead' then
    dead = dead + 1
    set('dead', dead)
    redis.call('ZADD', KEYS[3], fired(KEYS[others - 1], o.trigger), o.trigger)
    tally(KEYS[5], doc.app, KEYS[3])
  end
  if #fields > 0 then redis.call('HSET', trigger, unpack(fields)) end
  if o.verdict == 'retry' or open > 0 then return end
  done[#done + 1] = o.trigger
  over[#over + 1], over[#over + 2] = now() + (dead == 0 and doc.keep or doc.keepDead), doc.app .. '/' .. o.trigger
end
local events, first, gone = 0, {}, {} -- outcomes of events, the first events of the outbox, and effects to delete
for _, o in ipairs(doc.outcomes) do
  if o.event then events = events + 1 end
end
if held and events > 0 then first = redis.call('LRANGE', KEYS[1], 0, events - 1) end
local function ours(key, o)
  if o.event then return held and first[popped + 1] == o.id end
  return redis.call('HGET', key, 'token') == doc.token
end
local function free(fence, key, o)
  if o.verdict ~= 'dead' or o.sent or redis.call('HEXISTS', key, 'sent') == 1 then return end
  local had = redis.call('GET', fence)
  if had and string.sub(had, -#o.trigger - 1) == ' ' .. o.trigger then redis.call('DEL', fence) end
end
local function again(key, o)
  if o.sent then redis.call('HSET', key, 'sent', 1) end
  redis.call('HSET', key, 'token', '', 'until', 0, 'claims', 0)
  redis.call('HDEL', key, 'unended') -- the log has them now
  if redis.call('HEXISTS', key, 'begun') == 1 then redis.call('HSET', key, 'begun', '') end
  redis.call('HINCRBY', key, 'fails', o.counts)
  if o.event then
    redis.call('HINCRBY', key, 'tries', o.counts)
    redis.call('HDEL', ledger.holders, doc.box)
    held = false
    schedule(doc.app, 'outboxes', doc.box, now() + o.pause)
  else
    redis.call('HINCRBY', key, 'tries', o.counts - 1) -- it was counted when it was claimed
    schedule(doc.app, 'calls', o.id, now() + o.pause)
  end
end
local function stop(key, o, orphan) -- no attempt follows
  if o.event then popped = popped + 1 else unschedule('calls', o.id) end
  if o.verdict == 'done' or orphan then
    gone[#gone + 1] = key
  else
    redis.call('HSET', key, 'token', '', 'until', 0, 'state', 'dead')
    redis.call('HDEL', key, 'unended')
  end
end
for i, o in ipairs(doc.outcomes) do
  local key, trigger = KEYS[4 + 2 * i], KEYS[5 + 2 * i]
  applied[i] = ours(key, o)
  if o.fence ~= '' then
    fences = fences + 1
    if applied[i] then free(KEYS[5 + 2 * #doc.outcomes + fences], key, o) end
  end
  if applied[i] then
    local had = o.part ~= '' and redis.call('HMGET', trigger, 'open', 'log', 'dead', 'fire') or {}
    if had[4] and string.sub(o.id, 1, #had[4] + 1) ~= had[4] .. '.' then had, applied[i], o.verdict = {}, false, 'dead' end
    if o.verdict == 'retry' then again(key, o) else stop(key, o, not had[1]) end
    if had[1] then settle(trigger, o, tonumber(had[1]), had[2], had[3]) end
    if o.result ~= '' and applied[i] then addResult(KEYS[4], o.message, o.result) end
  end
end
if #gone > 0 then redis.call('DEL', unpack(gone)) end
if popped > 0 then
  redis.call('LPOP', KEYS[1], popped)
  redis.call('INCRBY', ledger.owed, -popped)
end
if #done > 0 then
  redis.call('ZREM', KEYS[2], unpack(done))
  redis.call('ZADD', KEYS[others], unpack(over))
end
if held then pass(doc.app, redis.call('EXISTS', KEYS[1]) == 1, doc.box, doc.next, doc.lease) end
for i, e in ipairs(doc.followUps) do
  if applied[e.after] then enqueue(KEYS[5 + 2 * #doc.outcomes + fences + i], e, doc.app, KEYS[1], doc.next) end
end
local holds = publishes and doc.next ~= '' and redis.call('HGET', ledger.holders, doc.box) == doc.next and '1' or '0'
local id, answer = doc.message, doc.answer
if id ~= '' then
  local of = redis.call('HMGET', KEYS[4], turn.lease .. id, turn.answer .. id)
  answer = of[2] or answer
  if leaseOf(of[1]) == doc.token then
    local fields = {}
    if not of[2] then fields = {turn.answer .. id, answer} end
    if not of[2] and doc.reply ~= '' then fields[3], fields[4] = turn.reply .. id, doc.reply end
    if #fields > 0 then redis.call('HSET', KEYS[4], unpack(fields)) end
    if not of[2] and doc.replyEvent then enqueue(KEYS[others - 2], doc.replyEvent, doc.app, KEYS[others - 3], '') end
    redis.call('HDEL', KEYS[4], turn.lease .. id, turn.ends .. id, turn.claims .. id)
  end
elseif doc.trigger ~= '' and redis.call('HGET', KEYS[4], 'token') == doc.token then
  redis.call('HSETNX', KEYS[4], 'answer', answer)
  answer = redis.call('HGET', KEYS[4], 'answer')
end
return {'ok', 'answer', answer, 'holds', holds}
`)

// Report records the outcomes of effects, and closes a turn or a direct trigger.
type Report struct {
	App       string     `json:"app"`
	Session   string     `json:"session"`
	Box       string     `json:"box"`
	Token     string     `json:"token"`
	Next      string     `json:"next"`
	Lease     int64      `json:"lease"`    // ms, of the outbox
	Keep      int64      `json:"keep"`     // ms, for a delivered trigger
	KeepDead  int64      `json:"keepDead"` // ms, for a failed trigger
	Outcomes  []Outcome  `json:"outcomes"`
	FollowUps []FollowUp `json:"followUps"`
	// Message and Answer close a turn, Trigger and Answer a direct trigger.
	Message string `json:"message"`
	Trigger string `json:"trigger"`
	Answer  string `json:"answer"`
	Reply   string `json:"reply"`
	// ReplyEvent is the event of the reply; nil for none.
	ReplyEvent *keyspace.Entry `json:"replyEvent,omitempty"`
}

// Outcome is the recorded outcome of one attempt at an effect.
type Outcome struct {
	ID      string `json:"id"`
	Event   bool   `json:"event"`   // an event of the outbox
	Verdict string `json:"verdict"` // done, retry or dead
	Pause   int64  `json:"pause"`   // ms, before a retry
	Counts  int    `json:"counts"`  // 1 if an attempt precedes the retry, else 0
	Trigger string `json:"trigger"`
	Part    string `json:"part"`
	State   string `json:"state"`   // JSON of the part's state
	Attempt string `json:"attempt"` // JSON of the Attempt, a line each for several; empty for none
	Opens   int    `json:"opens"`   // number of effects that follow from this one
	Message string `json:"message"`
	Result  string `json:"result"` // JSON of the CallResult of an ended call
	// Fence is the fence of a call's values, empty for none. It is freed when the call is dead and no attempt
	// was Sent.
	Fence string `json:"fence"`
	Sent  bool   `json:"sent"`
}

// FollowUp is a new effect that follows from an outcome.
type FollowUp struct {
	keyspace.Entry
	After int `json:"after"` // index of the outcome that it follows from, from 1
}

// Finish records a report. It returns the valid answer, if the report has one: a replica that considered this
// one dead may have stored another. holds reports whether the report's next token has the outbox with more
// events.
func (l *Ledger) Finish(ctx context.Context, r Report) (answer string, holds bool, err error) {
	r.Lease = keyspace.EventLease.Milliseconds()
	r.Outcomes, r.FollowUps = append([]Outcome{}, r.Outcomes...), append([]FollowUp{}, r.FollowUps...) // Lua tells an empty list from a missing one
	text, err := exactjson.Encode(r)
	if err != nil {
		return "", false, err
	}
	k := keyspace.KeysOf(r.App)
	turns := k.Turns(r.Session)
	if r.Trigger != "" {
		turns = k.Trigger(r.Trigger)
	}
	keys := []string{k.Outbox(r.Box), k.InState(keyspace.Pending), k.InState(keyspace.Failed), turns, k.Dead()}
	for _, o := range r.Outcomes {
		keys = append(keys, k.Effect(o.ID), k.Trigger(o.Trigger))
	}
	for _, o := range r.Outcomes {
		if o.Fence != "" {
			keys = append(keys, k.Fence(o.Fence))
		}
	}
	for _, entry := range r.FollowUps {
		keys = append(keys, k.Effect(entry.ID))
	}
	keys = append(keys, k.Outbox(keyspace.ChatBox(r.Session)), effectKey(k, r.ReplyEvent), k.Triggers(""), k.Over())
	done, err := l.run(ctx, finish, append(keys, k.Ledger()...), text)
	failpoint.At(failpoint.FinishReply)
	return done.text("answer"), done.is("holds"), err
}

// storeGiven stores the first answer to a trigger that waits for one, and makes the effect due: its claim turns
// the answer into an outcome.
//
//	KEYS 1 effect, 2 trigger, then the ledger
//	ARGV 1 id of the effect, 2 appId, 3 answer (JSON), 4 when it was given (ms), '' for now
//	=>   ok     it is the valid answer
//	     given  this or another answer was given before
//	     early  it was given before the question was repeated
//	     late   it was given after its time, or the wait has ended
//	     none   no answer is expected
//	     gone   there is no such trigger
//
// The trigger records that it was answered, since a delivered effect is deleted. A repeat writes the mark
// again, so that it waits for replicas as the first did.
var storeGiven = keyspace.NewFreeingScript(keyspace.DueLua, `
local found = redis.call('HMGET', KEYS[1], 'wait', 'given', 'state', 'created', 'revived')
if redis.call('EXISTS', KEYS[2]) == 0 then return 'gone' end
if redis.call('HEXISTS', KEYS[2], 'answered') == 1 and (found[2] or not found[1]) then
  redis.call('HSET', KEYS[2], 'answered', '1')
  return 'given'
end
if not found[1] then return 'none' end
local since, at = tonumber(found[4]), tonumber(ARGV[4]) or now()
if found[5] and at < since then return 'early' end
if found[3] == 'dead' or at > since + tonumber(found[1]) then return 'late' end
redis.call('HSET', KEYS[1], 'given', ARGV[3])
redis.call('HSET', KEYS[2], 'answered', '1')
schedule(ARGV[2], 'calls', ARGV[1], now())
return 'ok'
`)

// Statuses of Answer, beside Gone.
const (
	Stored       Status = "ok"    // it is the valid answer
	AlreadyGiven Status = "given" // an answer was given before
	Early        Status = "early" // it was given before the question was repeated
	Late         Status = "late"  // it was given after the wait ended
	NotExpected  Status = "none"  // no answer is expected
)

// ExternalAnswer is an answer to a trigger.
type ExternalAnswer struct {
	App, Trigger string
	Effect       string    // id of the effect that waits for it
	Answer       string    // JSON
	At           time.Time // when it was given; zero for now
}

// Answer stores the first answer to a trigger, and returns AlreadyGiven for a repeat. With keyspace.ErrReplicas the
// answer is stored, but too few Redis replicas have it.
func (l *Ledger) Answer(ctx context.Context, g ExternalAnswer) (Status, error) {
	k, at := keyspace.KeysOf(g.App), ""
	if !g.At.IsZero() {
		at = strconv.FormatInt(g.At.UnixMilli(), 10)
	}
	failpoint.At(failpoint.GivenBefore)
	keys := append([]string{k.Effect(g.Effect), k.Trigger(g.Trigger)}, k.Ledger()...)
	raw, err := storeGiven.RunSafely(ctx, l.db, keys, g.Effect, g.App, g.Answer, at)
	failpoint.At(failpoint.GivenReply)
	status, _ := raw.(string)
	return Status(status), err
}
