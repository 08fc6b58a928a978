package natsrpc

import (
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"earshot/api"
)

// endpoint is a REST operation that NATS serves.
type endpoint struct {
	api.Request
	sub    *nats.Subscription
	closed chan struct{}

	mu    sync.Mutex
	stats micro.EndpointStats
}

func endpoints() (all []*endpoint) {
	for _, r := range api.Requests() {
		all = append(all, &endpoint{Request: r, stats: micro.EndpointStats{Name: r.Name, Subject: r.Subject, QueueGroup: micro.DefaultQueueGroup}})
	}
	return all
}

// target returns the REST method and path for a subject. REST checks the ids.
func (e *endpoint) target(subject string) (method, path string) {
	ids := strings.Split(subject, ".")[strings.Count(e.Subject, ".")+1-strings.Count(e.Subject, "*"):]
	return e.Target(func(string) (id string) {
		id, ids = ids[0], ids[1:]
		return id
	})
}

// count counts an answered request, for $SRV.STATS.
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
