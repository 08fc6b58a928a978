package mqtt

import "sync"

// The filters of clients are bounded, since a replica holds each for as long as its client is
// connected: some 1 KiB for each of its levels.
const (
	maxFilters = 64
	// maxFilterBytes is how long a filter may be: the longest topic has less than 300 bytes.
	maxFilterBytes = 512
	// maxFilterLevels is how many levels a filter may have: topics have 6 at most, and a shared
	// subscription has 2 more.
	maxFilterLevels = 8
	// maxRefused is how many SUBSCRIBE packets of a client may ask for more than it may have.
	// With the next one its connection ends.
	maxRefused = 8
	// defaultFilters is how many filters the clients of an app may have on a replica.
	defaultFilters = 1 << 15
	appsWorth      = 2
	// maxOfCaller is how many connections a replica keeps for one key, with those made by it, or for
	// one access token, with those that it is renewed to. It is that of the event streams of a
	// session.
	maxOfCaller = 100
)

// limits counts what the clients of a replica hold. It is safe for concurrent use.
type limits struct {
	ofApp, inAll int // the most filters
	mu           sync.Mutex
	filters      map[string]int // by app
	all          int
	callers      map[string]int // connections by caller
}

// addFilters counts n more filters of an app, or fewer. It refuses more than the app may have.
func (l *limits) addFilters(appID string, n int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n > 0 && (l.filters[appID] >= l.ofApp || l.all >= l.inAll) {
		return false
	}
	l.all += n
	if l.filters[appID] += n; l.filters[appID] == 0 {
		delete(l.filters, appID)
	}
	return true
}

// enter counts one more connection of a caller, until it leaves; false if it has as many as it may
// have.
func (l *limits) enter(caller string) (leave func(), room bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.callers[caller] >= maxOfCaller {
		return nil, false
	}
	l.callers[caller]++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.callers[caller]--; l.callers[caller] == 0 {
			delete(l.callers, caller)
		}
	}, true
}
