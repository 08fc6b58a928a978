package trigger

import (
	"context"
	"fmt"

	"earshot/repositories/crash"
	"earshot/repositories/exactjson"
	"earshot/repositories/keyspace"
)

// Retry makes the failed effects of a trigger due again. Retrying one of which
// nothing has failed is no error.
func (e *Engine) Retry(ctx context.Context, appID, triggerID string) error {
	stored, err := e.readTrigger(ctx, appID, triggerID)
	if err != nil {
		return err
	}
	if stored == nil {
		return fmt.Errorf("trigger %q: %w", triggerID, ErrNotFound)
	}
	if err := e.revive(ctx, appID, triggerID, stored); err != nil {
		return err
	}
	e.Wake(appID)
	return nil
}

// revive makes dead effects of a trigger due again, under the ids that they had.
//
//	KEYS 1 trigger, 2 pending, 3 failed, 4 outbox, 5 dead, then effects, over, then the ledger
//	ARGV 1 triggerId, 2 appId, 3 member of the outboxes, then for each effect id, part and state
//	=>   how many
var revive = keyspace.NewScript(keyspace.DueLua, tallyLua, `
local revived, at = 0, now()
for i = 6, others - 1 do
  local id, part, state = ARGV[3 * (i - 5) + 1], ARGV[3 * (i - 5) + 2], ARGV[3 * (i - 5) + 3]
  if redis.call('HGET', KEYS[i], 'state') == 'dead' then
    revived = revived + 1
    redis.call('HSET', KEYS[i], 'state', 'due', 'token', '', 'until', 0, 'claims', 0, 'fails', 0, 'created', at)
    redis.call('HINCRBY', KEYS[i], 'revived', 1)
    if redis.call('HEXISTS', KEYS[i], 'begun') == 1 then redis.call('HSET', KEYS[i], 'begun', '') end
    if redis.call('HGET', KEYS[i], 'order') == '1' then
      enqueue(KEYS[4], ARGV[3], ARGV[2], id, '', 0)
    else
      schedule(ARGV[2], 'calls', id, at)
    end
    if state ~= '' then redis.call('HSET', KEYS[1], part, state) end
    redis.call('HINCRBY', KEYS[1], 'open', 1)
    redis.call('HINCRBY', KEYS[1], 'dead', -1)
  end
end
if revived > 0 then
  redis.call('ZADD', KEYS[2], micros(), ARGV[1])
  redis.call('ZREM', KEYS[others], ARGV[2] .. '/' .. ARGV[1])
end
if redis.call('HGET', KEYS[1], 'dead') == '0' then redis.call('ZREM', KEYS[3], ARGV[1]) end
tally(KEYS[5], ARGV[2], KEYS[3])
return revived
`)

func (e *Engine) revive(ctx context.Context, appID, triggerID string, stored *storedTrigger) error {
	k, session := keyspace.KeysOf(appID), stored.record.SessionID
	keys := []string{k.Trigger(triggerID), k.InState(StatePending), k.InState(StateFailed), k.Outbox(session), k.Dead()}
	args := []any{triggerID, appID, keyspace.Box(session)}
	for _, part := range keyspace.Parts {
		state, err := stored.record.pendingAgain(part)
		if err != nil {
			return err
		}
		id := effectID(stored.fire, part)
		keys, args = append(keys, k.Effect(id)), append(args, id, part, state)
	}
	crash.At(crash.ReviveBefore)
	_, err := revive.Run(ctx, e.db, append(append(keys, k.Over()), k.Ledger()...), args...)
	crash.At(crash.ReviveReply)
	return err
}

// pendingAgain is the state of a part that is to be tried again; empty for a part
// that the trigger does not have.
func (r Record) pendingAgain(part string) (string, error) {
	state, has := r.parts()[part]
	if !has {
		return "", nil
	}
	switch s := state.(type) {
	case *EventState:
		s.State, s.Error = StatePending, ""
	case *CallState:
		s.State, s.Reason, s.Error = StatePending, "", ""
	}
	text, err := exactjson.Encode(state)
	return string(text), err
}
