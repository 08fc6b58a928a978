package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"earshot/deploy/testbed"
	"earshot/repositories/failpoint"
)

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

func (s *schedule) deathTimes() (list []time.Time) {
	s.locked(func() { list = slices.Clone(s.deaths) })
	return list
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
