package natsrpc

import (
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

type endpoint struct {
	name    string
	subject string // with a * for each id
	path    string // of REST, with a * for each of them
	sub     *nats.Subscription
	closed  chan struct{}

	mu    sync.Mutex
	stats micro.EndpointStats
}

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

// pathOf is the path of REST for a subject. The ids of the subject are checked there.
func (e *endpoint) pathOf(subject string) string {
	path, tokens := strings.Split(e.path, "*"), strings.Split(subject, ".")
	for i, id := range tokens[len(tokens)+1-len(path):] {
		path[i] += url.PathEscape(id)
	}
	return strings.Join(path, "")
}

// count counts a request that was answered, for $SRV.STATS.
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
