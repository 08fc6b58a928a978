package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"
	"time"

	"earshot/deploy/testbed"
	"earshot/repositories/failpoint"
)

// replica is a place for one earshot serve, which is started again as soon as it dies.
type replica struct {
	*testbed.Replica
	system *system
	slot   int
	over   chan struct{} // closed when it is not to be started again
	ended  chan struct{} // closed when its last run is over
}

// newReplica puts the clock of the first replica five minutes ahead of the second's.
func newReplica(s *system, slot int) *replica {
	skew := []string{"0s", "-150s", "150s"}[slot]
	r := &replica{
		Replica: testbed.NewReplica(s.t, s.dir, fmt.Sprintf("replica-%d", slot), s.program, append(s.environment(), "EARSHOT_CLOCK_SKEW="+skew)...),
		system:  s, slot: slot, over: make(chan struct{}), ended: make(chan struct{}),
	}
	s.must(r.Start())
	go r.keep()
	s.t.Cleanup(func() {
		close(r.over)
		r.Thaw()
		r.Kill()
		<-r.ended
	})
	return r
}

// keep starts the replica whenever it has died, each time to die at another point of the schedule.
func (r *replica) keep() {
	defer close(r.ended)
	for point := failpoint.Point(""); ; {
		if r.watch(point); point != "" {
			r.system.plan.over()
		}
		select {
		case <-r.over:
			return
		default:
		}
		var passes int
		point, passes = r.system.plan.next()
		if err := r.Start(fmt.Sprintf("EARSHOT_CRASH=%s:%d", point, passes)); err != nil {
			r.system.trouble(fmt.Errorf("replica %d does not start: %w", r.slot, err))
			return
		}
	}
}

// watch waits until the present run is over, and ends one that does not come to its point. A replica without a point
// is killed as soon as the schedule has one for it.
func (r *replica) watch(point failpoint.Point) {
	patience := 4 * time.Second // to come to its point; then it is killed wherever it is
	switch {
	case point == failpoint.RebuildBefore || point == failpoint.ShutdownBegun:
		patience = 25 * time.Second // the one comes after a lease, the other after what is in flight
	case slices.Contains(rare, point):
		patience = 8 * time.Second
	}
	limit := time.After(patience)
	if point == failpoint.ShutdownBegun {
		_ = testbed.Until(r.system.ctx, comeUp, r.Ready)
		r.Signal(syscall.SIGTERM)
	}
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for {
		select {
		case <-r.Gone():
			switch how := r.End(); {
			case how.Killed && point != "":
				r.system.plan.died(point)
			case !how.Killed && (point != failpoint.ShutdownBegun || how.Code != 0):
				r.system.trouble(fmt.Errorf("replica %d has ended by itself with %d; see %s", r.slot, how.Code, r.Log))
				testbed.Wait(context.Background(), time.Second) // it would end again at once
			}
			return
		case <-look.C:
			if point == "" && r.system.plan.pending() {
				r.killAnywhere()
				return
			}
		case <-limit:
			if point != "" {
				r.system.plan.missed(point)
				r.killAnywhere()
				return
			}
		}
	}
}

func (r *replica) killAnywhere() {
	r.Kill()
	r.system.plan.died("")
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
		if point == "" {
			s.random++
		} else {
			s.kills[point]++
		}
	})
}

// missed puts a point that was not reached back into the queue, and asks for another kill the first time, so that a
// slow machine comes to all points as well.
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

func (s *schedule) total() (kills int) {
	s.locked(func() {
		for _, n := range s.kills {
			kills += n
		}
		kills += s.random
	})
	return kills
}
