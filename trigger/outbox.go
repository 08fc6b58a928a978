package trigger

import (
	"context"
	"slices"
	"time"

	"earshot/repositories/crash"
	"earshot/repositories/keyspace"
	"earshot/trigger/effect"
)

// A run is what is published of an outbox between two round trips to Redis: so many
// events, of which only the last may exceed so many bytes.
const (
	runEvents = 128
	runBytes  = 1 << 20
)

// claimRun takes the lease of an outbox that is due, or renews it, and reads the first
// events.
//
//	KEYS outbox, then effects, then the ledger
//	ARGV 1 appId, 2 member of the outboxes, 3 token, 4 lease (ms), 5 most bytes, then the
//	     id of each effect, as they stand in the outbox
//	=>   {status, ...}
//	     gone   there is nothing in it
//	     taken  another has it, or it is not due
//	     moved  its first event is another than that
//	     ok     then for each event, in their order, id, body, session, trigger, part,
//	            attempt, fails, age (ms) and how often it was revived
var claimRun = keyspace.NewFreeingScript(keyspace.DueLua, `
local outbox, app, box, token, most = KEYS[1], ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[5])
local at, ids, reply, bytes = now(), redis.call('LRANGE', KEYS[1], 0, others - 2), {'ok'}, 0
if redis.call('HGET', ledger.holders, box) ~= token then
  local due = redis.call('ZSCORE', ledger.outboxes, box)
  if due and tonumber(due) > at then return {'taken'} end
end
for i = 2, others do
  if ids[i - 1] ~= ARGV[i + 4] then break end
  local e = redis.call('HMGET', KEYS[i], 'body', 'session', 'trigger', 'part', 'tries', 'fails', 'created', 'revived', 'state')
  if not e[1] or e[9] == 'dead' then
    if #reply > 1 then break end
    dequeue(outbox)
  else
    bytes = bytes + #e[1]
    if #reply > 1 and bytes > most then break end
    for _, field in ipairs({ARGV[i + 4], e[1], e[2], e[3], e[4], tostring(tonumber(e[5]) + 1), e[6], tostring(at - tonumber(e[7])), e[8] or '0'}) do
      reply[#reply + 1] = field
    end
  end
end
if redis.call('LLEN', outbox) == 0 then
  redis.call('HDEL', ledger.holders, box)
  unschedule('outboxes', box)
  return {'gone'}
end
if #reply == 1 then return {'moved'} end
redis.call('HSET', ledger.holders, box, token)
schedule(app, 'outboxes', box, at + tonumber(ARGV[4]))
return reply
`)

// runFields is how many fields an event has in the reply of claimRun.
const runFields = 9

// claimRun takes the first events of an outbox; none where it is not to be had.
func (e *Engine) claimRun(ctx context.Context, of outbox, token string) ([]attempt, error) {
	k := keyspace.KeysOf(of.app)
	for {
		ids, err := e.db.LRange(ctx, k.Outbox(of.session), 0, runEvents-1).Result()
		if err != nil {
			return nil, keyspace.Unavailable(err)
		}
		keys := []string{k.Outbox(of.session)}
		args := []any{of.app, keyspace.Box(of.session), token, keyspace.EventLease.Milliseconds(), runBytes}
		for _, id := range ids {
			keys, args = append(keys, k.Effect(id)), append(args, id)
		}
		reply, err := claimRun.Strings(ctx, e.db, append(keys, k.Ledger()...), args...)
		if err != nil {
			e.giveUp(taken{turnID: turnID{app: of.app, session: of.session}, token: token}, err)
			return nil, err
		}
		if reply[0] == "gone" || reply[0] == "taken" {
			return nil, nil
		}
		if reply[0] == "ok" {
			crash.At(crash.EffectClaimed)
			return readRun(of.app, reply[1:])
		}
	}
}

func readRun(appID string, fields []string) ([]attempt, error) {
	var run []attempt
	for f := range slices.Chunk(fields, runFields) {
		owed := keyspace.EventEntry(f[0], f[2], f[1])
		owed.Trigger, owed.Part = f[3], f[4]
		a := attempt{owed: owed, fails: number(f[6]), age: millis(f[7]), revived: number(f[8])}
		a.Effect = effect.Effect{
			ID: f[0], Kind: effect.KindEvent, AppID: appID, SessionID: f[2], TriggerID: f[3], Attempt: number(f[5]), Event: &effect.Event{},
		}
		if err := decode(owed.Body, a.Event); err != nil {
			return nil, err
		}
		a.TraceParent = a.Event.TraceParent
		run = append(run, a)
	}
	return run, nil
}

// drain publishes what is in an outbox, run after run for as long as it has the lease,
// until nothing is left or NATS does not take it.
func (e *Engine) drain(appID, sessionID, token string) {
	of := outbox{appID, sessionID}
	for token != "" {
		next, err := e.publishRun(of, token)
		if err != nil && e.life.Err() == nil {
			e.log.Warn("outbox.unfinished", "app", of.app, "session", of.session, "error", err.Error())
		}
		token = next
	}
}

// publishRun publishes one run. It returns the token under which this process has the
// outbox then; empty where it does not.
func (e *Engine) publishRun(of outbox, token string) (string, error) {
	ctx, cancel := context.WithTimeout(e.life, keyspace.EventLease)
	defer cancel()
	begun := time.Now()
	run, err := e.claimRun(ctx, of, token)
	if err != nil || len(run) == 0 {
		return "", err
	}
	tried := e.publishInOrder(ctx, run, begun)
	r := report{App: of.app, Session: of.session, Token: token, Next: e.nextHolder()}
	for _, a := range tried {
		outcome, err := a.report()
		if err != nil {
			return "", err
		}
		r.Outcomes = append(r.Outcomes, outcome)
	}
	holds, _, err := e.record(ctx, r)
	if err != nil {
		return "", err
	}
	e.waiting.tell(of, tried)
	if !holds {
		e.Wake(of.app) // it may have been given back for the sake of others
		return "", nil
	}
	return r.Next, nil
}

// publishInOrder tries events one after the other, up to the first that is to be tried
// again, and no longer than leaves time for the slowest and for writing it all down.
func (e *Engine) publishInOrder(ctx context.Context, run []attempt, begun time.Time) []attempt {
	for i, a := range run {
		run[i] = e.deliver(ctx, a)
		if run[i].outcome.Verdict == effect.Retry || time.Since(begun) > keyspace.EventLease/4 {
			return run[:i+1]
		}
	}
	return run
}

// nextHolder is the token under which an outbox is kept beyond what is written; none
// where others have waited for longer, or the process ends.
func (e *Engine) nextHolder() string {
	if e.closing.Load() || e.slots[keyspace.LaneOutboxes].scarce() {
		return ""
	}
	return e.token()
}

// token is a new token of a lease; it shows whose it is.
func (e *Engine) token() string { return e.name + e.newID() }
