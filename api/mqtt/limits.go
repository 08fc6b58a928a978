package mqtt

import "sync"

// Filters are bounded, since a replica keeps each while its client is connected: some 1 KiB per level.
const (
	maxFilters = 64
	// maxFilterBytes bounds a filter: the longest topic has less than 300 bytes.
	maxFilterBytes = 512
	// maxFilterLevels bounds the levels of a filter: topics have at most 6, and a shared subscription 2 more.
	maxFilterLevels = 8
	// maxRefused is how many SUBSCRIBE packets of a client may exceed the limits. The next one ends its
	// connection.
	maxRefused = 8
	// defaultFilters bounds the filters of an app's clients on a replica.
	defaultFilters = 1 << 15
	appsWorth      = 2
	// maxOfCaller bounds the connections of a replica per key, including keys made by it, or per access token,
	// including its renewals. Event streams of a session have the same bound.
	maxOfCaller = 100
)

// limits counts what the clients of a replica use. It is safe for concurrent use.
type limits struct {
	ofApp, inAll int // the most filters
	mu           sync.Mutex
	filters      map[string]int // by app
	all          int
	callers      map[string]int // connections by caller
}

// addFilters adds n filters of an app; n may be negative. It refuses more than the limit.
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

// enter counts a connection of a caller until leave; false if the limit is reached.
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
