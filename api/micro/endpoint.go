package micro

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

// endpoint is one kind of request.
type endpoint struct {
	name    string
	subject string // with a * for each id
	path    string // of REST, with a * for each of them
	sub     *nats.Subscription
	closed  chan struct{}

	mu    sync.Mutex
	stats micro.EndpointStats
}

// endpoints are the requests that are taken.
func endpoints() []*endpoint {
	all := []*endpoint{
		{name: "message", subject: "earshot.v1.message.*.*", path: "/v1/apps/*/sessions/*/messages"},
		{name: "trigger", subject: "earshot.v1.trigger.*", path: "/v1/apps/*/triggers"},
		{name: "session-trigger", subject: "earshot.v1.trigger.*.*", path: "/v1/apps/*/sessions/*/triggers"},
	}
	for _, e := range all {
		e.stats = micro.EndpointStats{Name: e.name, Subject: e.subject, QueueGroup: micro.DefaultQueueGroup}
	}
	return all
}

func subjects(all []*endpoint) []string {
	list := make([]string, len(all))
	for i, e := range all {
		list[i] = e.subject
	}
	return list
}

// subscribed keeps the subscription, to wait for its end.
func (e *endpoint) subscribed(sub *nats.Subscription) {
	e.sub, e.closed = sub, make(chan struct{})
	sub.SetClosedHandler(func(string) { close(e.closed) })
}

// drained waits until no more requests come.
func (e *endpoint) drained(ctx context.Context) {
	select {
	case <-e.closed:
	case <-ctx.Done():
	}
}

// pathOf is the path of REST for a subject. The ids of the subject are checked there.
func (e *endpoint) pathOf(subject string) string {
	parts := strings.Split(e.path, "*")
	tokens := strings.Split(subject, ".")
	ids := tokens[len(tokens)+1-len(parts):]
	path := parts[0]
	for i, id := range ids {
		path += url.PathEscape(id) + parts[i+1]
	}
	return path
}

// count counts a request that was answered, as those are told who ask for $SRV.STATS.
func (e *endpoint) count(took time.Duration, fault string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stats.NumRequests++
	e.stats.ProcessingTime += took
	e.stats.AverageProcessingTime = e.stats.ProcessingTime / time.Duration(e.stats.NumRequests)
	if fault != "" {
		e.stats.NumErrors++
		e.stats.LastError = fault
	}
}

func (e *endpoint) counted() *micro.EndpointStats {
	e.mu.Lock()
	defer e.mu.Unlock()
	stats := e.stats
	return &stats
}

// room is what may be under work at once.
type room struct {
	mu                sync.Mutex
	requests, bytes   int
	atMost, bytesMost int
}

func newRoom(requests, bytes int) *room { return &room{atMost: requests, bytesMost: bytes} }

var errFull = errors.New("too many requests are under work here")

// take takes room for a body, or returns errFull. One body has room always.
func (r *room) take(size int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.requests == r.atMost || r.requests > 0 && r.bytes+size > r.bytesMost {
		return errFull
	}
	r.requests, r.bytes = r.requests+1, r.bytes+size
	return nil
}

func (r *room) giveBack(size int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests, r.bytes = r.requests-1, r.bytes-size
}
