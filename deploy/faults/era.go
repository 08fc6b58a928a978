package main

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"earshot/deploy/faults/endpoints"
	"earshot/deploy/faults/servers"
	"earshot/repositories/failpoint"
)

// era is a time in which certain things go wrong, in a world of its own.
type era struct {
	name   string
	dir    string
	kills  int // of replicas, before anything else goes wrong
	amid   int // of replicas, while the faults take their course
	faults []fault
	deeds  []deed // of the clients
	// full is the size of the stream, which is emptied whenever nothing fits into it any
	// more; 0 for one with room for everything.
	full    int64
	deleted bool // the stream is
	calm    bool // recovery is measured all through it
	// restored says that Redis forgets some of what it has answered: it is put back to where it
	// was some seconds ago, when nobody says anything any more, or a master of the cluster dies.
	restored bool
	cluster  *layout // of a Redis Cluster; nil for one Redis
	moody    bool    // the MCP server is busy, or cuts connections, now and then
}

// eras are what a campaign consists of. In the long form kills are in the mix of most of
// them.
func eras(o options) []era {
	kills, amid := len(failpoint.Points()), 0
	if o.long() {
		kills, amid = kills*4, 10
	}
	list := []era{
		{name: "kills", kills: kills, deeds: everything, moody: true},
		{name: "recovery", faults: []fault{death(o)}, calm: true, deeds: everything},
		{name: "faults", faults: faults(o), deeds: everything},
		{name: "outage", faults: []fault{outage(o.outage)}, amid: amid, deeds: everything},
		{name: "full", faults: []fault{filling(o)}, amid: amid, full: 256 << 10, deeds: everything},
		{name: "restore", faults: []fault{snapshot}, restored: true, deeds: plain},
		{name: "deletion", faults: []fault{deletion}, kills: 5, deleted: true, deeds: everything},
		{name: "cluster", faults: []fault{losing(o, apps[0])}, cluster: &layout{wait: 1}, deeds: clustered},
		{name: "failover", faults: []fault{losing(o, apps...)}, restored: true, cluster: &layout{alone: true}, deeds: plain},
	}
	if !o.long() {
		return list[:len(list)-1] // in another way, the cluster loses a master already
	}
	for i, one := range list {
		if one.name == "outage" {
			list[i].faults = append([]fault{trouble(o)}, one.faults...)
		}
	}
	list[len(list)-2].faults, list[len(list)-2].amid = []fault{losing(o, apps...), lagging(false), losing(o, apps...)}, amid
	return list
}

// run lets the era take its course and closes its books. What keeps it from coming to
// rest, or the books from being closed, is noted as trouble.
func (r era) run(ctx context.Context, o options, plan *schedule, found *outcome) {
	a := &account{era: r.name, dir: r.dir}
	found.accounts = append(found.accounts, a)
	if err := os.Mkdir(r.dir, 0o700); err != nil { // what another run has left there would be taken for this one's
		a.trouble(err)
		return
	}
	w, err := newWorld(ctx, r, plan, o)
	if err != nil {
		a.trouble(err)
		return
	}
	defer w.close()
	var storm atomic.Bool
	storm.Store(!r.calm)
	c := &clients{world: w, calm: func() bool { return !storm.Load() }, retried: map[string]int{}}
	w.clients = c
	if err := c.prepare(ctx); err != nil {
		a.trouble(err)
		return
	}
	if err := r.storm(ctx, o, w, c, found); err != nil {
		a.trouble(err)
	}
	a.rest(w)
	o.logf("era %s: %d operations; %d were owed, and %d are after %s", r.name, len(c.done), a.owed, w.due(), a.rested.Round(time.Millisecond))
	if err := r.restore(w); err != nil {
		a.trouble(err)
	}
	if err := r.balance(ctx, w, c, a, found); err != nil {
		a.trouble(err)
	}
	a.trouble(w.troubles()...)
	if ctx.Err() != nil {
		a.trouble(fmt.Errorf("it was cut off: %w", context.Cause(ctx)))
	}
}

// killsLimit is how long the kills of an era may take until all of them took place.
const killsLimit = 15 * time.Minute

// storm is the part of the era in which things go wrong. When it returns, nobody says
// anything any more.
func (r era) storm(ctx context.Context, o options, w *world, c *clients, found *outcome) error {
	begun := time.Now()
	stop := c.begin(ctx, o.seed, r.deeds)
	defer stop()
	if r.moody {
		w.sink.Remote.Set(endpoints.Moody)
	}
	if err := w.plan.carryOut(ctx, r.kills); err != nil {
		return err
	}
	w.plan.arm(r.amid)
	for _, one := range r.faults {
		o.logf("era %s: %s", r.name, one.name)
		if err := one.do(w, ctx); err != nil {
			return fmt.Errorf("%s: %w", one.name, err)
		}
		found.faults[one.name]++
	}
	err := w.plan.carryOut(ctx, 0)
	stop()
	o.logf("era %s: quiet after %s", r.name, time.Since(begun).Round(time.Second))
	return err
}

// carryOut waits until so many more kills took place, and all that were asked for before.
func (s *schedule) carryOut(ctx context.Context, kills int) error {
	s.arm(kills)
	if servers.Until(killsLimit, func() bool { return ctx.Err() != nil || s.quiet() }) != nil {
		return fmt.Errorf("the kills that it asked for did not all take place within %s", killsLimit)
	}
	return ctx.Err()
}

func (r era) restore(w *world) error {
	if !r.restored || r.cluster != nil {
		return nil
	}
	return w.restore()
}

// retriesByHand is how often what has failed is retried at most: on a busy machine an
// endpoint that is well may answer too late, and such a call is not made again by itself
// where it is not idempotent.
const retriesByHand = 5

// balance closes the books of the era.
func (r era) balance(ctx context.Context, w *world, c *clients, a *account, found *outcome) error {
	if err := w.await(ctx); err != nil {
		return err
	}
	for range retriesByHand {
		retried, err := c.retryFailed(ctx)
		if err != nil {
			return err
		}
		a.rest(w)
		if retried == 0 {
			break
		}
	}
	var kept map[string]bool
	if !r.restored {
		var err error
		if kept, err = c.listed(ctx); err != nil {
			return err
		}
	}
	again := c.askAgain(ctx)
	a.rest(w)
	e, err := gather(ctx, w, c, r.deleted)
	if err != nil {
		return err
	}
	e.again, e.restored, e.kept, e.losses = again, r.restored, kept, w.losses
	for _, violation := range e.violations() {
		a.violations = append(a.violations, r.name+": "+violation)
	}
	a.closed = true
	found.count(e)
	if w.proxy != nil {
		found.lost += w.proxy.Lost.Load()
	}
	return nil
}
