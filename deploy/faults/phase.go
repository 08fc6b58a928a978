package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"earshot/deploy/testbed"
	"earshot/repositories/failpoint"
)

type phase struct {
	name     string
	kills    int // of replicas, before anything else goes wrong
	amid     int // of replicas, while the faults take their course
	faults   []fault
	actions  []action // of the clients
	full     int64    // the size of the stream, which is emptied when nothing fits; 0: unbounded
	deleted  bool     // the stream is
	calm     bool     // recovery is measured all through it
	restored bool     // Redis forgets some of what it has answered; it is restored when all is quiet, or a master dies
	cluster  *layout  // of a Redis Cluster; nil for one Redis
	moody    bool     // the MCP server is busy, or cuts connections, now and then
}

func phases(o options) []phase {
	kills, amid := len(failpoint.Points()), 0
	if o.long() {
		kills, amid = kills*4, 10
	}
	withoutNATS := outage(o.pick(5*time.Second, time.Minute))
	list := []phase{
		{name: "kills", kills: kills, actions: everything, moody: true},
		{name: "recovery", faults: []fault{death}, calm: true, actions: everything},
		{name: "faults", faults: faults, actions: everything},
		{name: "outage", faults: []fault{withoutNATS}, amid: amid, actions: everything},
		{name: "full", faults: []fault{filling}, amid: amid, full: 256 << 10, actions: everything},
		{name: "restore", faults: []fault{snapshot}, restored: true, actions: plain},
		{name: "deletion", faults: []fault{deletion}, kills: 5, deleted: true, actions: everything},
		{name: "cluster", faults: []fault{losing(apps[0])}, cluster: &layout{wait: 1}, actions: clustered},
		{name: "failover", faults: []fault{losing(apps...)}, restored: true, cluster: &layout{alone: true}, actions: plain},
	}
	if !o.long() {
		return list[:len(list)-1] // in another way, the cluster loses a master already
	}
	list[3].faults = []fault{trouble, withoutNATS}
	list[7].faults, list[7].amid = []fault{losing(apps...), lagging(false), losing(apps...)}, amid
	return list
}

func (o options) withPhases(names string) (options, error) {
	o.phases = nil
	for _, one := range phases(o) {
		if names == "" || slices.Contains(strings.Split(names, ","), one.name) {
			o.phases = append(o.phases, one)
		}
	}
	if want := len(strings.Split(names, ",")); names != "" && len(o.phases) != want {
		return o, fmt.Errorf("-phases %s: there are kills, recovery, faults, outage, full, restore, deletion, cluster, and with -kills or -for failover", names)
	}
	return o, nil
}

const (
	talkers    = 24
	killsLimit = 15 * time.Minute
	// retriesByHand bounds the retries of failed calls: on a busy machine an endpoint may be late, and not all calls are idempotent.
	retriesByHand = 5
)

// run carries the phase out and closes its books. An error is recorded as trouble.
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
		for _, app := range apps {
			s.books.must(http.MethodPut, pathOf(app, ""), s.app(app))
			s.books.must(http.MethodPut, pathOf(app, "")+"/repositories/desk", s.desk())
			s.books.must(http.MethodPut, pathOf(app, "")+"/repositories/remote", `{"from":"remote"}`)
		}
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

// storm is the part of the phase in which things go wrong. When it returns, all clients are silent.
func (p phase) storm(s *system, found *outcome) error {
	begun, total := time.Now(), 0
	for _, a := range p.actions {
		total += a.weight
	}
	talking, silence := context.WithCancel(s.ctx)
	var group sync.WaitGroup
	stop := func() {
		silence()
		group.Wait()
	}
	defer stop()
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
				testbed.Wait(talking, time.Duration(c.dice.IntN(40))*time.Millisecond)
			}
		})
	}

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

func (p phase) balance(s *system, a *account, found *outcome) error {
	if err := s.await(); err != nil {
		return err
	}
	for range retriesByHand {
		retried := 0
		for _, app := range apps {
			for _, one := range readAll[record](s.books, pathOf(app, "")+"/triggers") {
				if one.State != "failed" || one.Name == "mute" { // nobody answers that
					continue
				}
				s.books.failed = append(s.books.failed, one)
				s.books.retried[one.TriggerID]++
				s.books.must(http.MethodPost, pathOf(app, "")+"/triggers/"+one.TriggerID+"/retry", "")
				retried++
			}
		}
		if a.rest(s); retried == 0 {
			break
		}
	}
	var kept map[string]bool
	if !p.restored {
		kept = map[string]bool{}
		for _, app := range apps {
			for _, one := range readAll[record](s.books, pathOf(app, "")+"/triggers") {
				kept[one.TriggerID] = true
			}
		}
	}
	again := s.books.askAgain()
	a.rest(s)
	a.trouble(s.serveWebhooks())
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

var rare = []failpoint.Point{
	failpoint.CommitStale, failpoint.RebuildBefore, failpoint.SessionHalf, failpoint.ShutdownBegun, failpoint.ReviveBefore,
	failpoint.RetractBefore, failpoint.RetractReply, failpoint.NextBefore, failpoint.ReviveReply, failpoint.GiveBackBefore, failpoint.AttemptDead,
	failpoint.AttemptRetried, failpoint.RepositoryBefore, failpoint.RepositoryReply,
	failpoint.AskedBefore, failpoint.AskedReply, failpoint.AskedChanged, failpoint.AskedFired,
}

// schedule chooses where replicas die. The seed alone determines the order.
type schedule struct {
	seed   int64
	points []failpoint.Point

	mu     sync.Mutex
	dice   *rand.Rand
	queue  []failpoint.Point
	wanted int                      // kills still to come
	armed  int                      // replicas on their way to their point
	kills  map[failpoint.Point]int  // that took place
	late   map[failpoint.Point]bool // points that were missed
	random int                      // kills at no point in particular
	deaths []time.Time
}

func newSchedule(seed int64, points []failpoint.Point) *schedule {
	return &schedule{seed: seed, points: points, dice: rand.New(rand.NewPCG(uint64(seed), 0)), kills: map[failpoint.Point]int{}, late: map[failpoint.Point]bool{}}
}

func (s *schedule) locked(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do()
}

func (s *schedule) arm(kills int) { s.locked(func() { s.wanted += kills }) }

func (s *schedule) carryOut(ctx context.Context, kills int) error {
	s.arm(kills)
	return testbed.Until(ctx, killsLimit, func(context.Context) error {
		if !s.quiet() {
			return errors.New("the kills that were asked for did not all take place")
		}
		return nil
	})
}

// next is the point at which a replica that starts now dies, at which of its passes; empty for none.
func (s *schedule) next() (point failpoint.Point, passes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wanted <= 0 {
		return "", 0
	}
	s.wanted--
	s.armed++
	if len(s.queue) == 0 {
		s.queue = slices.Clone(s.points)
		s.dice.Shuffle(len(s.queue), func(i, j int) { s.queue[i], s.queue[j] = s.queue[j], s.queue[i] })
	}
	point, s.queue = s.queue[0], s.queue[1:]
	passes = 1
	if !slices.Contains(rare, point) {
		passes += s.dice.IntN(3)
	}
	return point, passes
}

// died records a kill; point is empty for one at no point in particular.
func (s *schedule) died(point failpoint.Point) {
	s.locked(func() {
		s.deaths = append(s.deaths, time.Now())
		if point == "" {
			s.random++
		} else {
			s.kills[point]++
		}
	})
}

// missed queues a point that was not reached, once with another kill, so that a slow machine reaches all points as well.
func (s *schedule) missed(point failpoint.Point) {
	s.locked(func() {
		s.queue = append(s.queue, point)
		if !s.late[point] {
			s.late[point] = true
			s.wanted++
		}
	})
}

func (s *schedule) over() { s.locked(func() { s.armed-- }) }

func (s *schedule) quiet() (is bool) {
	s.locked(func() { is = s.wanted == 0 && s.armed == 0 })
	return is
}

func (s *schedule) pending() (are bool) {
	s.locked(func() { are = s.wanted > 0 })
	return are
}
