package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"earshot/deploy/testbed"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// errPending is the error of a request that was answered before its event was published.
var errPending = errors.New("answered, but not done yet")

// send sends the i-th request. It returns the time that counts, or 0 for that of the whole request. It must be safe
// for concurrent use.
type send func(ctx context.Context, i int) (time.Duration, error)

// plan is a closed loop of so many connections, or an open loop of a rate. It ends with span or requests, whichever
// comes first.
type plan struct {
	connections int           // requests that are under way at once; at most so many in an open loop
	rate        float64       // requests that begin each second; 0 for a closed loop
	span        time.Duration // in which requests are begun; 0: until there were enough
	requests    int           // the most that are begun; 0: as many as there is time for
	first       int           // the number of the first request
}

func (p plan) String() string {
	if p.rate > 0 {
		return fmt.Sprintf("%g requests/s over at most %d connections", p.rate, p.connections)
	}
	if p.connections == 1 {
		return "one connection"
	}
	return fmt.Sprintf("%d connections", p.connections)
}

type result struct {
	// times are of all requests but failures, in microseconds. In an open loop a time begins when the request was
	// due.
	times *hdrhistogram.Histogram
	took  time.Duration // from the first request to the last answer
	// done includes pending.
	done, pending, failed int64
	failure               error // of one of those that failed
}

const longest = 2 * time.Minute

func newResult() result {
	return result{times: hdrhistogram.New(1, longest.Microseconds(), 3)}
}

func (r *result) note(took time.Duration, err error) {
	switch {
	case errors.Is(err, errPending):
		r.pending++
	case err != nil:
		r.failed++
		r.failure = err
		return
	}
	r.done++
	_ = r.times.RecordValue(min(took, longest).Microseconds()) // no value is above the largest
}

func (r result) ms(percent float64) float64 {
	return float64(r.times.ValueAtPercentile(percent)) / 1000
}

// run sends requests. Those that failed are in the result.
func (p plan) run(ctx context.Context, one send) (result, error) {
	total := newResult()
	if p.connections < 1 || p.rate < 0 || (p.span <= 0 && p.requests < 1) {
		return total, fmt.Errorf("%d connections, %g a second, %d requests, for %s: give at least one connection, and an end", p.connections, p.rate, p.requests, p.span)
	}
	began, results := time.Now(), make([]result, p.connections)
	var begun atomic.Int64
	var group sync.WaitGroup
	for c := range results {
		results[c] = newResult()
		group.Go(func() {
			for {
				n, due := int(begun.Add(1))-1, time.Now()
				if p.rate > 0 {
					due = began.Add(time.Duration(float64(n) / p.rate * float64(time.Second)))
				}
				if (p.requests > 0 && n >= p.requests) || (p.span > 0 && due.Sub(began) >= p.span) {
					return
				}
				if testbed.Wait(ctx, time.Until(due)); ctx.Err() != nil {
					return
				}
				took, err := one(ctx, p.first+n)
				if took == 0 {
					took = time.Since(due)
				}
				results[c].note(took, err)
			}
		})
	}
	group.Wait()
	total.took = time.Since(began)
	for _, r := range results {
		total.times.Merge(r.times)
		total.done, total.pending, total.failed = total.done+r.done, total.pending+r.pending, total.failed+r.failed
		if r.failure != nil {
			total.failure = r.failure
		}
	}
	return total, ctx.Err()
}
