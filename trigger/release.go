package trigger

import (
	"context"
	"errors"
	"net"
	"time"

	"earshot/repositories/keyspace"
	"earshot/trigger/effect"
	"earshot/trigger/ledger"
)

// takenBy is what the decision of a plan takes.
func takenBy(p *plan) ledger.Holding {
	all := ledger.Holding{Turn: p.Turn, Token: p.token}
	if p.Message == "" {
		all.Trigger = p.fires[0].triggerID
	}
	for _, delivery := range p.effects {
		if delivery.Kind == effect.KindCall {
			all.Calls = append(all.Calls, delivery.ID)
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
func (e *Engine) giveUp(held ledger.Holding, err error) {
	if errors.Is(err, keyspace.ErrUnavailable) && !errors.Is(err, keyspace.ErrReplicas) && !unreached(err) {
		e.handBack(held)
	}
}

// handBack gives back what a token may have taken, and returns at once.
func (e *Engine) handBack(held ledger.Holding) {
	e.work(func() {
		ctx, cancel := context.WithTimeout(e.life, max(e.lease, keyspace.EventLease))
		defer cancel()
		for i := range releases {
			had, err := e.release(ctx, held)
			if had || err != nil {
				e.Wake(held.App)
				return
			}
			if !pause(ctx, e.jitter(time.Duration(i+1)*200*time.Millisecond)) {
				return
			}
		}
	})
}

// release runs the script until Redis has answered or ctx ends.
func (e *Engine) release(ctx context.Context, held ledger.Holding) (had bool, err error) {
	err = e.persist(ctx, func() error {
		had, err = e.ledger.Release(ctx, held)
		return err
	})
	return had, err
}

// unreached reports whether there was no connection at all: nothing was taken then.
func unreached(err error) bool {
	var network *net.OpError
	return errors.As(err, &network) && network.Op == "dial"
}
