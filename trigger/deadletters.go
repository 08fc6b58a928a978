package trigger

import (
	"context"

	"earshot/repositories/keyspace"
)

// Dead letters are the triggers of which an effect was given up. They stay listed
// until they are retried or purged.

// RetryAll makes the failed effects of all triggers that match due again, and returns
// the number of triggers. The state of the query is StateFailed, whatever it says.
func (e *Engine) RetryAll(ctx context.Context, q Query) (int, error) {
	count, err := e.eachFailed(ctx, q, func(record Record) (bool, error) {
		stored, err := e.readTrigger(ctx, q.AppID, record.TriggerID)
		if err != nil || stored == nil {
			return false, err
		}
		return true, e.revive(ctx, q.AppID, record.TriggerID, stored)
	})
	e.Wake(q.AppID)
	return count, err
}

// Purge removes all failed triggers that match, with what they still owe, and returns
// their number. One of which an effect is being delivered stays.
func (e *Engine) Purge(ctx context.Context, q Query) (int, error) {
	return e.eachFailed(ctx, q, func(record Record) (bool, error) { return e.purge(ctx, q.AppID, record.TriggerID) })
}

// eachFailed does something to each failed trigger that matches, and counts those to
// which it was done. The list is read as it stands at the beginning.
func (e *Engine) eachFailed(ctx context.Context, q Query, do func(Record) (bool, error)) (int, error) {
	q.State, q.Page = StateFailed, Page{Limit: chunk}
	count := 0
	for {
		records, next, err := e.Triggers(ctx, q)
		if err != nil {
			return count, err
		}
		for _, record := range records {
			done, err := do(record)
			if err != nil {
				return count, err
			}
			if done {
				count++
			}
		}
		if next == "" {
			return count, nil
		}
		q.Page.After = next
	}
}

// purge removes a trigger that has failed and owes nothing that is on its way.
//
//	KEYS 1 trigger, 2 failed, 3 triggers of the app, 4 those of the session, 5 dead,
//	     6 over, then its effects
//	ARGV 1 triggerId, 2 appId
//	=>   1, or 0 where it stays
var purge = keyspace.NewFreeingScript(tallyLua, `
local counts = redis.call('HMGET', KEYS[1], 'open', 'dead')
if not counts[1] or tonumber(counts[1]) > 0 or tonumber(counts[2]) == 0 then return 0 end
redis.call('DEL', KEYS[1], unpack(KEYS, 7))
redis.call('ZREM', KEYS[6], ARGV[2] .. '/' .. ARGV[1])
for i = 2, 4 do redis.call('ZREM', KEYS[i], ARGV[1]) end
tally(KEYS[5], ARGV[2], KEYS[2])
return 1
`)

func (e *Engine) purge(ctx context.Context, appID, triggerID string) (bool, error) {
	stored, err := e.readTrigger(ctx, appID, triggerID)
	if err != nil || stored == nil {
		return false, err
	}
	k := keyspace.KeysOf(appID)
	keys := []string{k.Trigger(triggerID), k.InState(StateFailed), k.Triggers(""), k.Triggers(stored.record.SessionID), k.Dead(), k.Over()}
	reply, err := purge.Run(ctx, e.db, append(keys, k.Effects(stored.fire)...), triggerID, appID)
	return reply == int64(1), err
}
