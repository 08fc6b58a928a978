package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"earshot/deploy/testbed"
	"earshot/repositories/failpoint"
)

// phase is a time in which certain things go wrong, in a system of its own.
type phase struct {
	name    string
	kills   int // of replicas, before anything else goes wrong
	amid    int // of replicas, while the faults take their course
	faults  []fault
	actions []action // of the clients
	// full is the size of the stream, which is emptied whenever nothing fits into it any more; 0 for
	// one with room for everything.
	full    int64
	deleted bool // the stream is
	calm    bool // recovery is measured all through it
	// restored says that Redis forgets some of what it has answered: it is put back to what it was some
	// seconds ago, when nobody says anything any more, or a master of the Redis Cluster dies.
	restored bool
	cluster  *layout // of a Redis Cluster; nil for one Redis
	moody    bool    // the MCP server is busy, or cuts connections, now and then
}

// phases are what a campaign consists of. In the long form kills are in the mix of most of them.
func phases(o options) []phase {
	kills, amid := len(failpoint.Points()), 0
	if o.long() {
		kills, amid = kills*4, 10
	}
	list := []phase{
		{name: "kills", kills: kills, actions: everything, moody: true},
		{name: "recovery", faults: []fault{death(o)}, calm: true, actions: everything},
		{name: "faults", faults: faults(o), actions: everything},
		{name: "outage", faults: []fault{outage(o.outage)}, amid: amid, actions: everything},
		{name: "full", faults: []fault{filling(o)}, amid: amid, full: 256 << 10, actions: everything},
		{name: "restore", faults: []fault{snapshot}, restored: true, actions: plain},
		{name: "deletion", faults: []fault{deletion}, kills: 5, deleted: true, actions: everything},
		{name: "cluster", faults: []fault{losing(o, apps[0])}, cluster: &layout{wait: 1}, actions: clustered},
		{name: "failover", faults: []fault{losing(o, apps...)}, restored: true, cluster: &layout{alone: true}, actions: plain},
	}
	if !o.long() {
		return list[:len(list)-1] // in another way, the cluster loses a master already
	}
	list[3].faults = []fault{trouble(o), outage(o.outage)}
	list[7].faults, list[7].amid = []fault{losing(o, apps...), lagging(false), losing(o, apps...)}, amid
	return list
}

const (
	// talkers is how many clients talk at the same time.
	talkers = 24
	// killsLimit is how long the kills of a phase may take until all of them took place.
	killsLimit = 15 * time.Minute
	// retriesByHand is how often what has failed is retried at most: on a busy machine an endpoint that is
	// well may answer too late, and a call that is not idempotent is not made again by itself.
	retriesByHand = 5
)

// run lets the phase take its course and closes its books. What keeps it from coming to rest, or the
// books from being closed, is noted as trouble.
func (p phase) run(ctx context.Context, dir string, o options, plan *schedule, found *outcome) {
	a := &account{phase: p.name, dir: dir}
	found.accounts = append(found.accounts, a)
	if err := os.Mkdir(dir, 0o700); err != nil { // what another run has left there would be taken for this one's
		a.trouble(err)
		return
	}
	a.trouble(testbed.Run(ctx, dir, func(rig *testbed.Rig) error {
		s := newSystem(rig, dir, p, o, plan)
		var storm atomic.Bool
		storm.Store(!p.calm)
		s.books = &books{system: s, calm: func() bool { return !storm.Load() }, retried: map[string]int{}}
		s.books.prepare()
		if err := p.storm(s, found); err != nil {
			a.trouble(err)
		}
		a.rest(s)
		o.logf("phase %s: %d operations; %d were owed, and %d are after %s", p.name, len(s.books.done), a.owed, s.due(), a.rested.Round(time.Millisecond))
		if p.restored && p.cluster == nil {
			s.restore()
		}
		err := p.balance(s, a, found)
		a.trouble(s.troubles()...)
		return err
	}))
	if ctx.Err() != nil {
		a.trouble(fmt.Errorf("it was cut off: %w", context.Cause(ctx)))
	}
}

// storm is the part of the phase in which things go wrong. When it returns, nobody says anything any
// more.
func (p phase) storm(s *system, found *outcome) error {
	begun := time.Now()
	stop := p.begin(s)
	defer stop()
	if p.moody {
		s.remote.set(moody)
	}
	if err := s.plan.carryOut(s.ctx, p.kills); err != nil {
		return err
	}
	s.plan.arm(p.amid)
	for _, one := range p.faults {
		s.logf("phase %s: %s", p.name, one.name)
		one.do(s)
		if s.ctx.Err() != nil {
			return s.ctx.Err()
		}
		found.faults[one.name]++
	}
	err := s.plan.carryOut(s.ctx, 0)
	stop()
	s.logf("phase %s: quiet after %s", p.name, time.Since(begun).Round(time.Second))
	return err
}

// begin lets clients talk until the returned function is called, which waits for the answers to what
// they have said.
func (p phase) begin(s *system) (stop func()) {
	talking, silence := context.WithCancel(s.ctx)
	total := 0
	for _, a := range p.actions {
		total += a.weight
	}
	var group sync.WaitGroup
	for i := range talkers {
		c := &client{s.books, s.ctx, apps[i%len(apps)], fmt.Sprintf("s%d", i), rand.New(rand.NewPCG(uint64(s.seed), uint64(i)))}
		group.Go(func() {
			for talking.Err() == nil { // what was begun is finished
				at := c.dice.IntN(total)
				for _, a := range p.actions {
					if at -= a.weight; at < 0 {
						a.do(c)
						break
					}
				}
				wait(talking, time.Duration(c.dice.IntN(40))*time.Millisecond)
			}
		})
	}
	return func() {
		silence()
		group.Wait()
	}
}

// balance closes the books of the phase.
func (p phase) balance(s *system, a *account, found *outcome) error {
	if err := s.await(); err != nil {
		return err
	}
	for range retriesByHand {
		retried := s.books.retryFailed()
		if a.rest(s); retried == 0 {
			break
		}
	}
	var kept map[string]bool
	if !p.restored {
		kept = s.books.listed()
	}
	again := s.books.askAgain()
	a.rest(s)
	e := gather(s)
	e.again, e.kept = again, kept
	for _, violation := range e.violations() {
		a.violations = append(a.violations, p.name+": "+violation)
	}
	a.closed = true
	found.count(e)
	if s.proxy != nil {
		found.lost += s.proxy.Lost.Load()
	}
	return nil
}

// account is what became of one phase.
type account struct {
	phase, dir string
	// owed is how much was owed when nobody said anything any more, and rested how long it took until
	// nothing was.
	owed   int64
	rested time.Duration
	// troubles are why the phase did not come to rest or was not carried through. Books that balance prove
	// nothing then: what is missing in them may still come.
	troubles   []string
	closed     bool // its books are
	violations []string
}

// trouble notes why the phase proves nothing.
func (a *account) trouble(errs ...error) {
	for _, err := range errs {
		if err != nil && !slices.Contains(a.troubles, err.Error()) {
			a.troubles = append(a.troubles, err.Error())
		}
	}
}

// rest waits until nothing is owed. If that was in vain before, it gives up soon.
func (a *account) rest(s *system) {
	limit := s.options.rest
	if len(a.troubles) > 0 {
		limit = time.Second
	}
	owed, begun := s.due(), time.Now()
	a.trouble(s.rest(limit))
	if spent := time.Since(begun); spent > a.rested {
		a.owed, a.rested = owed, spent
	}
}

// sound reports whether the phase came to rest and has its books closed.
func (a *account) sound() bool { return a.closed && len(a.troubles) == 0 }
