package emitter

import (
	"context"
	"sync"
)

// requests are those that wait for an answer. The client library waits for one until the
// time is up: whoever learns that none will come ends them.
type requests struct {
	mu      sync.Mutex
	waiting map[*request]struct{}
}

// request is one of them, for the subject that an event is to be published on.
type request struct {
	subject string
	end     context.CancelCauseFunc
}

func newRequests() *requests { return &requests{waiting: map[*request]struct{}{}} }

// begin returns a context that ends with ctx, or when end picks the request. Until done is
// called for it, it counts as waiting.
func (r *requests) begin(ctx context.Context, subject string) (context.Context, *request) {
	ctx, end := context.WithCancelCause(ctx)
	begun := &request{subject, end}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting[begun] = struct{}{}
	return ctx, begun
}

func (r *requests) done(one *request) {
	r.mu.Lock()
	delete(r.waiting, one)
	r.mu.Unlock()
	one.end(nil)
}

// end ends those that wait and are picked; cause is the cause of their contexts then.
func (r *requests) end(cause error, picked func(subject string) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for one := range r.waiting {
		if picked(one.subject) {
			one.end(cause)
		}
	}
}
