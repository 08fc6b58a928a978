package trigger

import (
	"context"
	"errors"
	"net"
	"time"

	"earshot/repositories/keyspace"
	"earshot/trigger/effect"
)

// release gives back what a token has taken, by a script whose reply was lost, before
// anything was done with it: others go on at once, and need not wait for the lease to end.
//
//	KEYS 1 turns, 2 trigger, 3 outbox, then effects of calls, then the ledger
//	ARGV 1 token, 2 appId, 3 messageId ('' for none), 4 member of the turns, 5 member of
//	     the outboxes, then the id of each call
//	=>   1 where there was something, else 0
//
// How often a turn or a call was claimed stays counted: one that nobody can work on must
// not go round for ever.
var release = keyspace.NewFreeingScript(keyspace.DueLua, `
local token, app, id, at, had = ARGV[1], ARGV[2], ARGV[3], now(), 0
if id ~= '' and redis.call('HGET', KEYS[1], 'k:' .. id) == token then
  had = 1
  redis.call('HDEL', KEYS[1], 'k:' .. id, 'u:' .. id)
  if redis.call('HEXISTS', KEYS[1], 'd:' .. id) == 0 then schedule(app, 'turns', ARGV[4], at) end
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

// taken is what a token may have taken.
type taken struct {
	turnID  // without a message where it is no turn
	token   string
	trigger string   // that a direct trigger has made
	calls   []string // ids
}

// takenBy is what the decision of a plan takes.
func takenBy(p *plan) taken {
	all := taken{turnID: p.turnID, token: p.token}
	if p.message == "" {
		all.trigger = p.fires[0].triggerID
	}
	for _, delivery := range p.effects {
		if delivery.Kind == effect.KindCall {
			all.calls = append(all.calls, delivery.ID)
		}
	}
	return all
}

// releases is how often something is given back, at growing intervals, until something was
// there: a Redis that has stopped for a moment may run what took it after what gives it
// back.
const releases = 5

// giveUp gives back what a token may have taken where err leaves that open. It returns at
// once.
func (e *Engine) giveUp(held taken, err error) {
	if errors.Is(err, keyspace.ErrUnavailable) && !errors.Is(err, keyspace.ErrReplicas) && !unreached(err) {
		e.handBack(held)
	}
}

// handBack gives back what a token may have taken, and returns at once.
func (e *Engine) handBack(held taken) {
	e.work(func() {
		ctx, cancel := context.WithTimeout(e.life, max(e.lease, keyspace.EventLease))
		defer cancel()
		for i := range releases {
			had, err := e.release(ctx, held)
			if had || err != nil {
				e.Wake(held.app)
				return
			}
			if !pause(ctx, e.jitter(time.Duration(i+1)*200*time.Millisecond)) {
				return
			}
		}
	})
}

// release runs the script until Redis has answered or ctx ends.
func (e *Engine) release(ctx context.Context, held taken) (had bool, err error) {
	k := held.keys()
	keys := []string{k.Turns(held.session), k.Trigger(held.trigger), k.Outbox(held.session)}
	args := []any{held.token, held.app, held.message, held.member(), keyspace.Box(held.session)}
	for _, id := range held.calls {
		keys, args = append(keys, k.Effect(id)), append(args, id)
	}
	err = e.persist(ctx, func() error {
		reply, err := release.Run(ctx, e.db, append(keys, k.Ledger()...), args...)
		had = reply == int64(1)
		return err
	})
	return had, err
}

// unreached reports whether there was no connection at all: nothing was taken then.
func unreached(err error) bool {
	var network *net.OpError
	return errors.As(err, &network) && network.Op == "dial"
}
