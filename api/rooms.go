package api

import "sync"

// mostStreams is how many event streams an app may have open on one replica: each is a
// connection and a buffer, and other apps need theirs.
const mostStreams = 10_000

// rooms counts the open event streams of each app.
type rooms struct {
	most int
	mu   sync.Mutex
	open map[string]int
}

func newRooms(most int) *rooms { return &rooms{most: most, open: map[string]int{}} }

func (r *rooms) enter(appID string) (leave func(), ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open[appID] >= r.most {
		return nil, false
	}
	r.open[appID]++
	return func() { r.leave(appID) }, true
}

func (r *rooms) leave(appID string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open[appID]--; r.open[appID] == 0 {
		delete(r.open, appID)
	}
}
