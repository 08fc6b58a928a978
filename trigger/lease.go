package trigger

import (
	"context"
	"errors"
	"time"

	"earshot/repositories/crash"
	"earshot/repositories/exactjson"
	"earshot/repositories/keyspace"
)

// extend renews the lease of a turn.
//
//	KEYS turns, turns that are due
//	ARGV messageId, token, lease (ms), member of the turns
//	=>   ok, or lost where another has the turn
var extend = keyspace.NewScript(`
if redis.call('HGET', KEYS[1], 'k:' .. ARGV[1]) ~= ARGV[2] then return 'lost' end
local ends = now() + tonumber(ARGV[3])
redis.call('HSET', KEYS[1], 'u:' .. ARGV[1], ends)
redis.call('ZADD', KEYS[2], 'XX', ends, ARGV[4])
return 'ok'
`)

// errLost is why the context of a turn ended: its lease is another's.
var errLost = errors.New("the lease of the turn was lost")

// hold keeps the lease of a turn until the returned function is called. The context
// ends when the lease is lost: a process that was frozen must not go on.
func (e *Engine) hold(ctx context.Context, t *turn) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	ticks := time.NewTicker(e.lease / heartbeats)
	e.running.Go(func() {
		defer ticks.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticks.C:
				e.renew(ctx, t, cancel)
			}
		}
	})
	return ctx, func() { cancel(nil) }
}

func (e *Engine) renew(ctx context.Context, t *turn, cancel context.CancelCauseFunc) {
	keys := t.keys()
	reply, err := extend.Run(ctx, e.db, []string{keys.Turns(t.session), keys.Lane(keyspace.LaneTurns)},
		t.turnID.message, t.token, e.lease.Milliseconds(), t.member())
	if err == nil && reply == "lost" {
		cancel(errLost)
	}
}

// fail gives a turn back that could not be decided.
//
//	KEYS turns, then the ledger
//	ARGV messageId, token, failure (JSON), pause (ms; -1: it is tried again only when
//	     its client sends it again), member of the turns, appId
//	=>   ok, or lost
var fail = keyspace.NewFreeingScript(keyspace.DueLua, `
local id = ARGV[1]
if redis.call('HGET', KEYS[1], 'k:' .. id) ~= ARGV[2] then return 'lost' end
redis.call('HDEL', KEYS[1], 'k:' .. id, 'u:' .. id, 'c:' .. id)
redis.call('HSET', KEYS[1], 'f:' .. id, ARGV[3])
if tonumber(ARGV[4]) < 0 then
  unschedule('turns', ARGV[5])
else
  schedule(ARGV[6], 'turns', ARGV[5], now() + tonumber(ARGV[4]))
end
return 'ok'
`)

// failure is what a session keeps of a turn that was not decided.
type failure struct {
	Error string `json:"error"`
}

// giveBack writes the failure of a turn. A negative pause leaves the next try to the
// client.
func (e *Engine) giveBack(ctx context.Context, t *turn, cause error, pause time.Duration) error {
	text, err := exactjson.Encode(failure{Error: cause.Error()})
	if err != nil {
		return err
	}
	crash.At(crash.GiveBackBefore)
	keys, wait := t.keys(), pause.Milliseconds()
	if pause < 0 {
		wait = -1
	}
	return e.persist(ctx, func() error {
		_, err := fail.Run(ctx, e.db, append([]string{keys.Turns(t.session)}, keys.Ledger()...),
			t.turnID.message, t.token, text, wait, t.member(), t.app)
		return err
	})
}
