package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"earshot/repositories/failpoint"
)

// schedule chooses where replicas die. The order of its choices hangs on the seed
// alone.
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
	times  []time.Time
}

func newSchedule(seed int64, points []failpoint.Point) *schedule {
	return &schedule{seed: seed, points: points, dice: rand.New(rand.NewPCG(uint64(seed), 0)), kills: map[failpoint.Point]int{}, late: map[failpoint.Point]bool{}}
}

// arm asks for so many more kills.
func (s *schedule) arm(kills int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wanted += kills
}

// next is the point at which a replica that starts now is to die, and how many times
// it is passed before; empty for none.
func (s *schedule) next() (failpoint.Point, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wanted <= 0 {
		return "", ""
	}
	s.wanted--
	s.armed++
	if len(s.queue) == 0 {
		s.queue = slices.Clone(s.points)
		s.dice.Shuffle(len(s.queue), func(i, j int) { s.queue[i], s.queue[j] = s.queue[j], s.queue[i] })
	}
	point := s.queue[0]
	s.queue = s.queue[1:]
	passes := 1
	if !rare[point] {
		passes += s.dice.IntN(3)
	}
	return point, fmt.Sprintf("EARSHOT_CRASH=%s:%d", point, passes)
}

// rare are points that a replica seldom passes.
var rare = map[failpoint.Point]bool{
	failpoint.CommitStale: true, failpoint.RebuildBefore: true, failpoint.SessionHalf: true, failpoint.ShutdownBegun: true, failpoint.ReviveBefore: true,
	failpoint.RetractBefore: true, failpoint.RetractReply: true, failpoint.NextBefore: true, failpoint.ReviveReply: true, failpoint.GiveBackBefore: true, failpoint.AttemptDead: true, failpoint.AttemptRetried: true, failpoint.RepositoryBefore: true, failpoint.RepositoryReply: true,
	failpoint.AskedBefore: true, failpoint.AskedReply: true, failpoint.AskedChanged: true, failpoint.AskedFired: true,
}

// patience is how long a replica is given to come to its point. Then it is killed
// wherever it is, and the point is put off.
func patience(point failpoint.Point) time.Duration {
	switch {
	case point == failpoint.RebuildBefore || point == failpoint.ShutdownBegun:
		return 25 * time.Second // the one comes after a lease, the other after what is in flight
	case rare[point]:
		return 8 * time.Second
	default:
		return 4 * time.Second
	}
}

// died notes a kill; point is empty for one at no point in particular.
func (s *schedule) died(point failpoint.Point) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.times = append(s.times, time.Now())
	if point == "" {
		s.random++
		return
	}
	s.kills[point]++
}

// missed puts a point that was not reached back to the end of the queue, and asks for
// another kill the first time, so that a slow machine comes to all points as well.
func (s *schedule) missed(point failpoint.Point) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append(s.queue, point)
	if !s.late[point] {
		s.late[point] = true
		s.wanted++
	}
}

// over notes that the life of a replica that was on its way to a point has ended,
// however.
func (s *schedule) over() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.armed--
}

// quiet reports whether no replica is to die any more.
func (s *schedule) quiet() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wanted == 0 && s.armed == 0
}

// pending reports whether kills are still to come.
func (s *schedule) pending() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wanted > 0
}

func (s *schedule) total() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.times)
}
