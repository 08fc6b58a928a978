package trigger

import (
	"context"
	"encoding/json"
	"time"

	"earshot/repositories"
	"earshot/repositories/crash"
)

// finish writes what came of effects, what that owes in turn, and the answer of a
// turn, all of it in one round trip.
//
//	KEYS 1 due, 2 outbox of the session, 3 outbox of the app, 4 pending, 5 failed,
//	     6 turns, 7 dead, then effect and trigger of each outcome, then the effect of
//	     each owed
//	ARGV 1 report (JSON)
//	=>   the answer that holds, where the report has one: another may have been given
//	     meanwhile, by a replica that took this one for dead
//
// Outcomes whose lease was lost are not written.
//
// A dead effect is kept, so that it can be revived, unless its trigger was deleted with
// the app. A second run finds the effects gone or their tokens cleared, and changes nothing.
var finish = repositories.NewScript(repositories.OweLua, tallyLua, `
local doc, at, applied, moved = cjson.decode(ARGV[1]), now(), {}, {}
local function outbox(e) return e.session == '' and KEYS[3] or KEYS[2] end
local function settle(trigger, o)
  if o.part == '' or redis.call('EXISTS', trigger) == 0 then return end
  if o.state ~= '' then redis.call('HSET', trigger, o.part, o.state) end
  local log = redis.call('HGET', trigger, 'log') or ''
  redis.call('HSET', trigger, 'log', log .. o.attempt .. '\n')
  if o.verdict == 'retry' then return end
  local open = redis.call('HINCRBY', trigger, 'open', o.opens - 1)
  if o.verdict == 'dead' then
    redis.call('HINCRBY', trigger, 'dead', 1)
    redis.call('ZADD', KEYS[5], micros(), o.trigger)
    tally(KEYS[7], doc.app, KEYS[5])
  end
  if open > 0 then return end
  redis.call('ZREM', KEYS[4], o.trigger)
  if redis.call('HGET', trigger, 'dead') == '0' then redis.call('PEXPIRE', trigger, doc.keep) end
end
for i, o in ipairs(doc.outcomes) do
  local key, trigger = KEYS[6 + 2 * i], KEYS[7 + 2 * i]
  applied[i] = '0'
  if redis.call('HGET', key, 'token') == doc.token then
    applied[i] = '1'
    if o.verdict == 'retry' then
      redis.call('HSET', key, 'token', '', 'until', 0, 'claims', 0)
      redis.call('HINCRBY', key, 'fails', o.counts)
      redis.call('ZADD', KEYS[1], at + o.pause, member(doc.app, o.session, o.id))
    else
      redis.call('ZREM', KEYS[1], member(doc.app, o.session, o.id))
      if redis.call('LREM', outbox(o), 0, o.id) > 0 then moved[outbox(o)] = o.session end
      local orphan = o.part ~= '' and redis.call('EXISTS', trigger) == 0
      if o.verdict == 'done' or orphan then
        redis.call('DEL', key)
      else
        redis.call('HSET', key, 'token', '', 'until', 0, 'state', 'dead')
      end
    end
    settle(trigger, o)
    if o.result ~= '' and redis.call('HEXISTS', KEYS[6], 'm:' .. o.message) == 1 then
      local results = redis.call('HGET', KEYS[6], 'r:' .. o.message) or ''
      redis.call('HSET', KEYS[6], 'r:' .. o.message, results .. o.result .. '\n')
    end
  end
end
for i, e in ipairs(doc.owes) do
  if applied[e.after] == '1' then
    owe(KEYS[7 + 2 * #doc.outcomes + i], e, {app = doc.app, due = KEYS[1], outbox = outbox(e)}, '')
  end
end
for box, session in pairs(moved) do
  local head = redis.call('LINDEX', box, 0)
  if head then redis.call('ZADD', KEYS[1], 'XX', 'LT', at, member(doc.app, session, head)) end
end
local id = doc.message
if id ~= '' then
  if redis.call('HGET', KEYS[6], 'k:' .. id) == doc.token then
    local ours = redis.call('HSETNX', KEYS[6], 'a:' .. id, doc.answer) == 1
    if ours and doc.reply ~= '' then redis.call('HSET', KEYS[6], 'p:' .. id, doc.reply) end
    redis.call('HDEL', KEYS[6], 'k:' .. id, 'u:' .. id, 'c:' .. id)
  end
  return redis.call('HGET', KEYS[6], 'a:' .. id) or doc.answer
end
if doc.trigger ~= '' and redis.call('EXISTS', KEYS[6]) == 1 then
  redis.call('HSETNX', KEYS[6], 'answer', doc.answer)
  return redis.call('HGET', KEYS[6], 'answer')
end
return doc.answer
`)

// keepFor is how long the record of a trigger is kept when all of it is delivered.
const keepFor = 7 * 24 * time.Hour

// report is what finish reads.
type report struct {
	App      string          `json:"app"`
	Session  string          `json:"session"`
	Token    string          `json:"token"`
	Keep     int64           `json:"keep"`
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
	Session string `json:"session"`
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
	repositories.Owed
	After int `json:"after"` // the outcome that owes it, counted from 1
}

var verdicts = map[Verdict]string{Done: "done", Retry: "retry", Dead: "dead"}

// finish runs the script until Redis has answered or ctx ends, and returns the answer
// that holds.
func (e *Engine) finish(ctx context.Context, r report) (answer string, err error) {
	text, err := r.encode()
	if err != nil {
		return "", err
	}
	crash.At(crash.FinishBefore)
	err = e.persist(ctx, func() error {
		reply, err := finish.Run(ctx, e.db, r.keys(), text)
		crash.At(crash.FinishReply)
		answer, _ = reply.(string)
		return err
	})
	return answer, err
}

// encode writes the report; Lua tells an empty list from a missing one.
func (r report) encode() (string, error) {
	r.Keep = keepFor.Milliseconds()
	if r.Outcomes == nil {
		r.Outcomes = []reportOutcome{}
	}
	if r.Owes == nil {
		r.Owes = []reportOwed{}
	}
	text, err := json.Marshal(r)
	return string(text), err
}

func (r report) keys() []string {
	k := repositories.KeysOf(r.App)
	turns := k.Turns(r.Session)
	if r.Trigger != "" {
		turns = k.Trigger(r.Trigger)
	}
	keys := []string{k.Due(), k.Outbox(r.Session), k.Outbox(""), k.InState(StatePending), k.InState(StateFailed), turns, k.Dead()}
	for _, o := range r.Outcomes {
		keys = append(keys, k.Effect(o.ID), k.Trigger(o.Trigger))
	}
	for _, owed := range r.Owes {
		keys = append(keys, k.Effect(owed.ID))
	}
	return keys
}
