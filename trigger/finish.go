package trigger

import (
	"context"

	"earshot/repositories/crash"
	"earshot/repositories/exactjson"
	"earshot/repositories/keyspace"
	"earshot/trigger/effect"
)

// finish writes what came of effects, what that owes in turn, and the answer of a
// turn, all of it in one round trip.
//
//	KEYS 1 outbox of the session, 2 pending, 3 failed, 4 turns, 5 dead, then effect and
//	     trigger of each outcome, then the effect of each owed, over, then the ledger
//	ARGV 1 report (JSON)
//	=>   {answer, holds}
//	     answer  the one that holds, where the report has one: another may have been
//	             given meanwhile, by a replica that took this one for dead
//	     holds   1 where the outbox holds events and its lease is that of doc.next
//
// Outcomes whose lease was lost are not written. Events leave their outbox at its head,
// in their order; behind one that is to be tried again none does, and the outbox waits
// with it. Else the outbox goes to doc.next, or to anybody where that is empty.
//
// A dead effect is kept, so that it can be revived, and goes with the record of its trigger.
// One that belongs to no trigger, or to one that is gone, leaves nothing. A second run finds
// the effects gone or their tokens cleared, and changes nothing.
var finish = keyspace.NewFreeingScript(keyspace.OweLua, tallyLua, `
local doc, at, applied = cjson.decode(ARGV[1]), now(), {}
local held = redis.call('HGET', ledger.holders, doc.box) == doc.token
local function settle(trigger, o)
  if o.part == '' or redis.call('EXISTS', trigger) == 0 then return end
  if o.state ~= '' then redis.call('HSET', trigger, o.part, o.state) end
  local log = redis.call('HGET', trigger, 'log') or ''
  redis.call('HSET', trigger, 'log', log .. o.attempt .. '\n')
  if o.verdict == 'retry' then return end
  local open = redis.call('HINCRBY', trigger, 'open', o.opens - 1)
  if o.verdict == 'dead' then
    redis.call('HINCRBY', trigger, 'dead', 1)
    redis.call('ZADD', KEYS[3], micros(), o.trigger)
    tally(KEYS[5], doc.app, KEYS[3])
  end
  if open > 0 then return end
  redis.call('ZREM', KEYS[2], o.trigger)
  local keep = redis.call('HGET', trigger, 'dead') == '0' and doc.keep or doc.keepDead
  redis.call('ZADD', KEYS[others], at + keep, doc.app .. '/' .. o.trigger)
end
local function pass()
  if redis.call('LLEN', KEYS[1]) > 0 and doc.next ~= '' then
    redis.call('HSET', ledger.holders, doc.box, doc.next)
    schedule(doc.app, 'outboxes', doc.box, at + doc.lease)
    return
  end
  redis.call('HDEL', ledger.holders, doc.box)
  if redis.call('LLEN', KEYS[1]) > 0 then
    schedule(doc.app, 'outboxes', doc.box, at)
  else
    unschedule('outboxes', doc.box)
  end
end
local function ours(key, o)
  if o.event then return held and redis.call('LINDEX', KEYS[1], 0) == o.id end
  return redis.call('HGET', key, 'token') == doc.token
end
local function again(key, o)
  redis.call('HSET', key, 'token', '', 'until', 0, 'claims', 0)
  if redis.call('HEXISTS', key, 'begun') == 1 then redis.call('HSET', key, 'begun', '') end
  redis.call('HINCRBY', key, 'fails', o.counts)
  if o.event then
    redis.call('HINCRBY', key, 'tries', 1)
    redis.call('HDEL', ledger.holders, doc.box)
    held = false
    schedule(doc.app, 'outboxes', doc.box, at + o.pause)
  else
    schedule(doc.app, 'calls', o.id, at + o.pause)
  end
end
for i, o in ipairs(doc.outcomes) do
  local key, trigger = KEYS[4 + 2 * i], KEYS[5 + 2 * i]
  applied[i] = ours(key, o)
  if applied[i] then
    if o.verdict == 'retry' then
      again(key, o)
    else
      if o.event then dequeue(KEYS[1]) else unschedule('calls', o.id) end
      local orphan = o.part == '' or redis.call('EXISTS', trigger) == 0
      if o.verdict == 'done' or orphan then
        redis.call('DEL', key)
      else
        redis.call('HSET', key, 'token', '', 'until', 0, 'state', 'dead')
      end
    end
    settle(trigger, o)
    if o.result ~= '' and redis.call('HEXISTS', KEYS[4], 'm:' .. o.message) == 1 then
      local results = redis.call('HGET', KEYS[4], 'r:' .. o.message) or ''
      redis.call('HSET', KEYS[4], 'r:' .. o.message, results .. o.result .. '\n')
    end
  end
end
if held then pass() end
for i, e in ipairs(doc.owes) do
  if applied[e.after] then owe(KEYS[5 + 2 * #doc.outcomes + i], e, doc.app, KEYS[1], doc.next) end
end
local holds = doc.next ~= '' and redis.call('HGET', ledger.holders, doc.box) == doc.next and 1 or 0
local id = doc.message
if id ~= '' then
  if redis.call('HGET', KEYS[4], 'k:' .. id) == doc.token then
    local ours = redis.call('HSETNX', KEYS[4], 'a:' .. id, doc.answer) == 1
    if ours and doc.reply ~= '' then redis.call('HSET', KEYS[4], 'p:' .. id, doc.reply) end
    redis.call('HDEL', KEYS[4], 'k:' .. id, 'u:' .. id, 'c:' .. id)
  end
  return {redis.call('HGET', KEYS[4], 'a:' .. id) or doc.answer, holds}
end
if doc.trigger ~= '' and redis.call('EXISTS', KEYS[4]) == 1 then
  redis.call('HSETNX', KEYS[4], 'answer', doc.answer)
  return {redis.call('HGET', KEYS[4], 'answer'), holds}
end
return {doc.answer, holds}
`)

// report is what finish reads.
type report struct {
	App      string          `json:"app"`
	Session  string          `json:"session"`
	Box      string          `json:"box"`
	Token    string          `json:"token"`
	Next     string          `json:"next"`
	Lease    int64           `json:"lease"`    // ms, of the outbox
	Keep     int64           `json:"keep"`     // ms, of a trigger that is done
	KeepDead int64           `json:"keepDead"` // ms, of one that has failed
	Outcomes []reportOutcome `json:"outcomes"`
	Owes     []reportOwed    `json:"owes"`
	// Message and Answer close a turn; Trigger and Answer a direct trigger.
	Message string `json:"message"`
	Trigger string `json:"trigger"`
	Answer  string `json:"answer"`
	Reply   string `json:"reply"`
}

// reportOutcome is what came of one effect.
type reportOutcome struct {
	ID      string `json:"id"`
	Event   bool   `json:"event"`   // one of the outbox
	Verdict string `json:"verdict"` // done, retry or dead
	Pause   int64  `json:"pause"`   // ms, before a retry
	Counts  int    `json:"counts"`  // 1 where a retry uses up the budget
	Trigger string `json:"trigger"`
	Part    string `json:"part"`
	State   string `json:"state"`   // JSON of the part's state
	Attempt string `json:"attempt"` // JSON of the Attempt
	Opens   int    `json:"opens"`   // effects of the trigger that this one owes
	Message string `json:"message"`
	Result  string `json:"result"` // JSON of the callResult, where a call has ended
}

// reportOwed is an effect that an outcome owes.
type reportOwed struct {
	keyspace.Entry
	After int `json:"after"` // the outcome that owes it, counted from 1
}

var verdicts = map[effect.Verdict]string{effect.Done: "done", effect.Retry: "retry", effect.Dead: "dead"}

// finish runs the script until Redis has answered or ctx ends. It returns the answer
// that holds, and goes on with the session's outbox where more is in it.
func (e *Engine) finish(ctx context.Context, r report) (answer string, err error) {
	holds, answer, err := e.record(ctx, r)
	if holds {
		e.work(func() { e.drain(r.App, r.Session, r.Next) })
	}
	return answer, err
}

// record runs the script, and reports whether r.Next has the outbox.
func (e *Engine) record(ctx context.Context, r report) (holds bool, answer string, err error) {
	keep := e.store.Retention()
	r.Keep, r.KeepDead = keep.Done.Milliseconds(), keep.Dead.Milliseconds()
	text, err := r.encode()
	if err != nil {
		return false, "", err
	}
	if e.life.Err() != nil { // what was broken off is given back all the same
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), parting)
		defer cancel()
		ctx = last
	}
	crash.At(crash.FinishBefore)
	err = e.persist(ctx, func() error {
		reply, err := finish.Run(ctx, e.db, r.keys(), text)
		crash.At(crash.FinishReply)
		if fields, ok := reply.([]any); ok && err == nil {
			answer, _ = fields[0].(string)
			holds = fields[1] == int64(1)
		}
		return err
	})
	return holds, answer, err
}

// encode writes the report; Lua tells an empty list from a missing one.
func (r report) encode() (string, error) {
	r.Lease, r.Box = keyspace.EventLease.Milliseconds(), keyspace.Box(r.Session)
	if r.Outcomes == nil {
		r.Outcomes = []reportOutcome{}
	}
	if r.Owes == nil {
		r.Owes = []reportOwed{}
	}
	text, err := exactjson.Encode(r)
	return string(text), err
}

func (r report) keys() []string {
	k := keyspace.KeysOf(r.App)
	turns := k.Turns(r.Session)
	if r.Trigger != "" {
		turns = k.Trigger(r.Trigger)
	}
	keys := []string{k.Outbox(r.Session), k.InState(StatePending), k.InState(StateFailed), turns, k.Dead()}
	for _, o := range r.Outcomes {
		keys = append(keys, k.Effect(o.ID), k.Trigger(o.Trigger))
	}
	for _, owed := range r.Owes {
		keys = append(keys, k.Effect(owed.ID))
	}
	return append(append(keys, k.Over()), k.Ledger()...)
}
