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

	"earshot/trigger/effect"
)

// health is what an attempt tells about its host.
type health int

const (
	unknown health = iota // the attempt never got there, or was broken off by us
	alive                 // it answered
	down                  // it did not answer, or with a 5xx
)

// mostHosts is how many hosts are remembered. One that is forgotten starts afresh, with
// all its slots free.
const mostHosts = 8192

// hostLimiter bounds what one app does to one host, so that an endpoint that is slow or dead
// neither holds all workers nor is hammered: at most so many calls at a time, and none
// for a while after so many failures in a row.
type hostLimiter struct {
	mu         sync.Mutex
	hosts      *lru.Cache[string, *hostState]
	slots      int
	slotWait   time.Duration
	breakAfter uint32
	breakFor   time.Duration
	jitter     func(time.Duration) time.Duration
}

type hostState struct {
	slots   chan struct{}
	breaker *gobreaker.TwoStepCircuitBreaker[struct{}]
}

func newHostLimiter(o Options) *hostLimiter {
	hosts, _ := lru.New[string, *hostState](mostHosts) // fails for a size of 0 only
	return &hostLimiter{
		hosts: hosts, slots: o.HostLimit, slotWait: o.SlotWait,
		breakAfter: uint32(o.BreakAfter), breakFor: o.BreakFor, jitter: o.Jitter,
	}
}

// enter waits for a slot of the host and returns how to leave it. Its error puts the
// call off without using up its budget: the host is closed off or has no slot.
func (g *hostLimiter) enter(ctx context.Context, appID string, target *url.URL) (leave func(health), err error) {
	host := g.host(appID + " " + target.Scheme + " " + strings.ToLower(target.Host))
	if !g.takeSlot(ctx, host) {
		return nil, g.deferred(g.slotWait, "host %s has no room: this app has %d calls to it under way", target.Host, g.slots)
	}
	report, err := host.breaker.Allow()
	if err != nil {
		<-host.slots
		return nil, g.deferred(g.breakFor, "host %s is closed off after %d failures in a row; it is tried every %s",
			target.Host, g.breakAfter, g.breakFor)
	}
	return func(state health) {
		<-host.slots
		report(errorOf(state))
	}, nil
}

func (g *hostLimiter) host(key string) *hostState {
	g.mu.Lock()
	defer g.mu.Unlock()
	if known, ok := g.hosts.Get(key); ok {
		return known
	}
	made := &hostState{
		slots: make(chan struct{}, g.slots),
		breaker: gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
			MaxRequests: 1,
			Timeout:     g.breakFor,
			ReadyToTrip: func(counts gobreaker.Counts) bool { return counts.ConsecutiveFailures >= g.breakAfter },
			IsExcluded:  func(err error) bool { return errors.Is(err, errUnknown) },
		}),
	}
	g.hosts.Add(key, made)
	return made
}

// takeSlot waits at most slotWait. A slot that is free is taken without a timer.
func (g *hostLimiter) takeSlot(ctx context.Context, host *hostState) bool {
	select {
	case host.slots <- struct{}{}:
		return true
	default:
	}
	timer := time.NewTimer(g.slotWait)
	defer timer.Stop()
	select {
	case host.slots <- struct{}{}:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

func (g *hostLimiter) deferred(pause time.Duration, format string, args ...any) error {
	outcome := outcomeOf(retry(effect.ReasonRequest, format, args...))
	outcome.Deferred, outcome.After = true, g.jitter(pause)
	return &effect.Failure{Outcome: outcome}
}

var (
	errUnknown = errors.New("nothing was learnt about the host")
	errDown    = errors.New("the host is down")
)

func errorOf(state health) error {
	switch state {
	case alive:
		return nil
	case down:
		return errDown
	default:
		return errUnknown
	}
}
