package trigger

import "sync"

// slots are a semaphore that bounds how much a process works on at the same time in one
// kind of lane. An app may have a quarter of them at most: however many apps have a
// backlog, one that comes later finds a free slot at once, and a slow app does not delay
// another.
type slots struct {
	most int

	mu     sync.Mutex
	taken  int
	used   map[string]int  // by app
	wanted map[string]bool // apps that found no room since something was given back
}

func newSlots(most int) *slots {
	return &slots{most: most, used: map[string]int{}, wanted: map[string]bool{}}
}

// share is how many slots an app may have at most.
func (s *slots) share() int { return max(1, s.most/4) }

// take takes a slot for an app, or remembers that it wants one.
func (s *slots) take(app string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used[app] >= min(s.share(), s.most-s.taken) {
		s.wanted[app] = true
		return false
	}
	s.used[app]++
	s.taken++
	return true
}

// give gives a slot of an app back, and returns the apps that may find room now.
func (s *slots) give(app string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken--
	if s.used[app]--; s.used[app] == 0 {
		delete(s.used, app)
	}
	apps := make([]string, 0, len(s.wanted))
	for wanting := range s.wanted {
		apps = append(apps, wanting)
	}
	clear(s.wanted)
	return apps
}

// of is how many slots an app has.
func (s *slots) of(app string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used[app]
}

// scarce reports whether some app waits for a slot.
func (s *slots) scarce() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.wanted) > 0
}
