package httpcall

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/sony/gobreaker/v2"
	"golang.org/x/sync/semaphore"

	"earshot/trigger/effect"
)

// hostHealth is the result of an attempt for the circuit breaker.
type hostHealth int

const (
	unknown hostHealth = iota // the host was not reached, or we aborted
	alive                     // it answered
	down                      // it did not answer, or answered 5xx
)

var (
	errUnknown     = errors.New("nothing was learnt about the host")
	breakerReports = [...]error{unknown: errUnknown, alive: nil, down: errors.New("the host is down")}
)

// maxHosts is how many hosts are tracked. An evicted one starts fresh.
const maxHosts = 8192

// breakerPause is how long a circuit stays open before one call probes the host.
const breakerPause = 30 * time.Second

// hostLimiter bounds an app's calls to a host and breaks the circuit: a slow or dead endpoint neither blocks
// all workers nor is flooded.
type hostLimiter struct {
	options Options
	mu      sync.Mutex
	hosts   *lru.Cache[string, *hostState]
}

type hostState struct {
	slots   *semaphore.Weighted
	breaker *gobreaker.TwoStepCircuitBreaker[struct{}]
}

// acquire waits for a slot and returns its release. Its error defers the call.
func (l *hostLimiter) acquire(ctx context.Context, appID string, target *url.URL) (release func(hostHealth), err error) {
	o, key := l.options, appID+" "+target.Scheme+" "+strings.ToLower(target.Host)
	l.mu.Lock()
	host, known := l.hosts.Get(key)
	if !known {
		host = &hostState{
			slots: semaphore.NewWeighted(int64(o.HostLimit)),
			breaker: gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
				MaxRequests: 1,
				Timeout:     breakerPause,
				ReadyToTrip: func(counts gobreaker.Counts) bool { return counts.ConsecutiveFailures >= uint32(o.BreakAfter) },
				IsExcluded:  func(err error) bool { return errors.Is(err, errUnknown) },
			}),
		}
		l.hosts.Add(key, host)
	}
	l.mu.Unlock()
	if !host.slots.TryAcquire(1) {
		waitCtx, cancel := context.WithTimeout(ctx, o.SlotWait)
		err = host.slots.Acquire(waitCtx, 1)
		cancel()
	}
	if err != nil {
		return nil, effect.Deferral(o.Jitter(o.SlotWait), "host %s has no room: this app has %d calls to it under way", target.Host, o.HostLimit)
	}
	report, err := host.breaker.Allow()
	if err != nil {
		host.slots.Release(1)
		return nil, effect.Deferral(o.Jitter(breakerPause), "host %s is closed off after %d failures in a row; it is tried every %s",
			target.Host, o.BreakAfter, breakerPause)
	}
	return func(health hostHealth) {
		host.slots.Release(1)
		report(breakerReports[health])
	}, nil
}
