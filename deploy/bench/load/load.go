// Package load sends requests to a service at a constant pressure and keeps how long
// each took: so many at a time (a closed loop), or so many a second (an open loop).
package load

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// ErrPending is what a send returns for a request that was answered before what it
// asks for was done.
var ErrPending = errors.New("answered, but not done yet")

// Send sends the i-th request and returns when it is answered. It must be safe for
// concurrent use.
type Send func(ctx context.Context, i int) error

// Plan is how requests are sent. It ends with For or Requests, whichever comes first;
// what is under way then is waited for.
type Plan struct {
	// Connections is how many requests are under way at once; at most so many in an
	// open loop.
	Connections int
	// Rate is the number of requests that begin each second (an open loop). 0: every
	// connection begins the next one when it has the answer (a closed loop).
	Rate float64
	// For is how long requests are begun. 0: until Requests have been.
	For time.Duration
	// Requests is the most that are begun. 0: as many as For allows.
	Requests int
	// First is the number that the first request gets.
	First int
}

// Result is what came of a run.
type Result struct {
	// Times are those of all requests but failures, in microseconds. In an open loop a
	// time begins when the request was due, however late it could be sent.
	Times *hdrhistogram.Histogram
	// Took is the time from the first request to the last answer.
	Took time.Duration
	// Done, Pending and Failed count the requests; those that are pending are done too.
	Done, Pending, Failed int64
	// Failure is that of one of those that failed.
	Failure error
}

// Rate is the number of requests that were answered each second.
func (r Result) Rate() float64 { return float64(r.Done) / r.Took.Seconds() }

// Times have a precision of three digits, up to longest.
const (
	longest = 2 * time.Minute
	digits  = 3
)

func (p Plan) check() error {
	if p.Connections < 1 || p.Rate < 0 || (p.For <= 0 && p.Requests < 1) {
		return fmt.Errorf("%d connections, %g a second, %d requests, for %s: give at least one connection, and an end", p.Connections, p.Rate, p.Requests, p.For)
	}
	return nil
}

// Run sends requests as the plan says. Its error is that of the plan or the context;
// requests that failed are in the result.
func Run(ctx context.Context, plan Plan, send Send) (Result, error) {
	if err := plan.check(); err != nil {
		return Result{}, err
	}
	r := &run{plan: plan, send: send, began: time.Now()}
	results := make([]Result, plan.Connections)
	var group sync.WaitGroup
	for i := range results {
		group.Go(func() { results[i] = r.connection(ctx) })
	}
	group.Wait()
	total := empty()
	total.Took = time.Since(r.began)
	for _, result := range results {
		total.add(result)
	}
	return total, ctx.Err()
}

func empty() Result {
	return Result{Times: hdrhistogram.New(1, longest.Microseconds(), digits)}
}

func (r *Result) add(other Result) {
	r.Times.Merge(other.Times)
	r.Done += other.Done
	r.Pending += other.Pending
	r.Failed += other.Failed
	if r.Failure == nil {
		r.Failure = other.Failure
	}
}

// run is a plan under way.
type run struct {
	plan  Plan
	send  Send
	began time.Time
	next  atomic.Int64
}

// connection sends one request after the other.
func (r *run) connection(ctx context.Context) Result {
	result := empty()
	for {
		i, due, more := r.begin(ctx)
		if !more {
			return result
		}
		err := r.send(ctx, i)
		result.note(time.Since(due), err)
	}
}

// begin takes the next request and waits until it is due.
func (r *run) begin(ctx context.Context) (i int, due time.Time, more bool) {
	n := int(r.next.Add(1)) - 1
	due = time.Now()
	if r.plan.Rate > 0 {
		due = r.began.Add(time.Duration(float64(n) / r.plan.Rate * float64(time.Second)))
	}
	if (r.plan.Requests > 0 && n >= r.plan.Requests) || (r.plan.For > 0 && due.Sub(r.began) >= r.plan.For) {
		return 0, due, false
	}
	if pause := time.Until(due); pause > 0 {
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
	return r.plan.First + n, due, ctx.Err() == nil
}

func (r *Result) note(took time.Duration, err error) {
	switch {
	case errors.Is(err, ErrPending):
		r.Pending++
	case err != nil:
		r.Failed++
		r.Failure = err
		return
	}
	r.Done++
	_ = r.Times.RecordValue(min(took, longest).Microseconds()) // no value is above the largest
}
