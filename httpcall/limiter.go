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

// hostHealth is what an attempt tells the circuit breaker about its host.
type hostHealth int

const (
	unknown hostHealth = iota // the attempt never got there, or was broken off by us
	alive                     // it answered
	down                      // it did not answer, or with a 5xx
)

// maxHosts is how many hosts are remembered. One that is forgotten starts afresh, with
// all its slots free.
const maxHosts = 8192

// hostLimiter is a concurrency limit and a circuit breaker for each host that an app calls,
// so that an endpoint that is slow or dead neither holds all workers nor is hammered: at
// most so many calls at a time, and none for a while after so many failures in a row.
type hostLimiter struct {
	mu         sync.Mutex
	hosts      *lru.Cache[string, *hostState]
	slots      int // of each host
	slotWait   time.Duration
	breakAfter uint32
	breakFor   time.Duration
	jitter     func(time.Duration) time.Duration
}

// hostState is the semaphore and the circuit breaker of one host for one app.
type hostState struct {
	slots   *semaphore.Weighted
	breaker *gobreaker.TwoStepCircuitBreaker[struct{}]
}

func newHostLimiter(o Options) *hostLimiter {
	hosts, _ := lru.New[string, *hostState](maxHosts) // fails for a size of 0 only
	return &hostLimiter{
		hosts: hosts, slots: o.HostLimit, slotWait: o.SlotWait,
		breakAfter: uint32(o.BreakAfter), breakFor: o.BreakFor, jitter: o.Jitter,
	}
}

// acquire waits for a slot of the host and returns how to release it. Its error puts the
// call off without using up its budget: the host is closed off or has no slot.
func (l *hostLimiter) acquire(ctx context.Context, appID string, target *url.URL) (release func(hostHealth), err error) {
	host := l.host(appID + " " + target.Scheme + " " + strings.ToLower(target.Host))
	if !l.takeSlot(ctx, host) {
		return nil, effect.Deferral(l.jitter(l.slotWait), "host %s has no room: this app has %d calls to it under way", target.Host, l.slots)
	}
	report, err := host.breaker.Allow()
	if err != nil {
		host.slots.Release(1)
		return nil, effect.Deferral(l.jitter(l.breakFor), "host %s is closed off after %d failures in a row; it is tried every %s",
			target.Host, l.breakAfter, l.breakFor)
	}
	return func(state hostHealth) {
		host.slots.Release(1)
		report(errorOf(state))
	}, nil
}

func (l *hostLimiter) host(key string) *hostState {
	l.mu.Lock()
	defer l.mu.Unlock()
	if known, ok := l.hosts.Get(key); ok {
		return known
	}
	made := &hostState{
		slots: semaphore.NewWeighted(int64(l.slots)),
		breaker: gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
			MaxRequests: 1,
			Timeout:     l.breakFor,
			ReadyToTrip: func(counts gobreaker.Counts) bool { return counts.ConsecutiveFailures >= l.breakAfter },
			IsExcluded:  func(err error) bool { return errors.Is(err, errUnknown) },
		}),
	}
	l.hosts.Add(key, made)
	return made
}

// takeSlot waits for a slot for at most slotWait.
func (l *hostLimiter) takeSlot(ctx context.Context, host *hostState) bool {
	if host.slots.TryAcquire(1) {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, l.slotWait)
	defer cancel()
	return host.slots.Acquire(ctx, 1) == nil
}

var (
	errUnknown = errors.New("nothing was learnt about the host")
	errDown    = errors.New("the host is down")
)

func errorOf(state hostHealth) error {
	switch state {
	case alive:
		return nil
	case down:
		return errDown
	default:
		return errUnknown
	}
}
