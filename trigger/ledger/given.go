package ledger

import (
	"context"
	"strconv"
	"time"

	"earshot/repositories/failpoint"
	"earshot/repositories/keyspace"
)

// keepGiven keeps the first answer to a trigger that waits for one, and makes it due: whoever
// claims it turns it into an outcome.
//
//	KEYS 1 effect, 2 trigger, then the ledger
//	ARGV 1 id of the effect, 2 appId, 3 answer (JSON), 4 when it was given (ms), '' for now
//	=>   ok     it is the one that holds
//	     given  another was given before; so was this one, where a client sends it again
//	     early  it was given before it was asked for again
//	     late   it was given when its time was over, or is given when nobody waits any more
//	     none   no answer is waited for
//	     gone   there is no such trigger
//
// The trigger keeps that it was answered: what was delivered leaves no effect behind. That is
// written again for a repeat, so that replicas are waited for as they were the first time.
var keepGiven = keyspace.NewFreeingScript(keyspace.DueLua, `
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

// What becomes of an answer to a trigger, beside Gone.
const (
	Kept     Status = "ok"    // it is the one that holds
	Given    Status = "given" // one was given before
	Early    Status = "early" // it came before its time
	Late     Status = "late"  // it was given when nobody waited any more
	NotAsked Status = "none"  // no answer is waited for
)

// GivenAnswer is an answer to a trigger.
type GivenAnswer struct {
	App, Trigger string
	Effect       string    // id of the effect that waits for it
	Answer       string    // JSON
	At           time.Time // when it was given; zero for now
}

// Answer keeps the first answer to a trigger. It answers Given where it is asked again. With
// keyspace.ErrReplicas it has answered as well, but too few replicas of Redis know of it.
func (l *Ledger) Answer(ctx context.Context, g GivenAnswer) (Status, error) {
	k, at := keyspace.KeysOf(g.App), ""
	if !g.At.IsZero() {
		at = strconv.FormatInt(g.At.UnixMilli(), 10)
	}
	failpoint.At(failpoint.GivenBefore)
	raw, err := keepGiven.RunSafely(ctx, l.db, append([]string{k.Effect(g.Effect), k.Trigger(g.Trigger)}, k.Ledger()...), g.Effect, g.App, g.Answer, at)
	failpoint.At(failpoint.GivenReply)
	status, _ := raw.(string)
	return Status(status), err
}
