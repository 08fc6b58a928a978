package natsrpc

import (
	"log/slog"
	"regexp"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

// The answers on $SRV are made here: the library counts a request as done once its subscription has delivered
// it, so it would not know errors and times of concurrent requests.

func (s *Service) identity() micro.ServiceIdentity {
	return micro.ServiceIdentity{Name: serviceName, ID: s.id, Version: version, Metadata: map[string]string{"program": s.options.Program}}
}

func (s *Service) info() any {
	info := micro.Info{
		ServiceIdentity: s.identity(), Type: micro.InfoResponseType,
		Description: "Takes messages, fires tools and registers them; the bodies are those of the REST API",
	}
	for _, e := range s.endpoints {
		parts := strings.Split(e.Operation, "/")
		for i, part := range parts {
			if id, is := strings.CutPrefix(part, ":"); is {
				parts[i] = "{" + id + "}"
			}
		}
		info.Endpoints = append(info.Endpoints, micro.EndpointInfo{
			Name: e.Name, Subject: e.Subject, QueueGroup: micro.DefaultQueueGroup, Metadata: map[string]string{"rest": strings.Join(parts, "/")},
		})
	}
	return info
}

func (s *Service) stats() any {
	stats := micro.Stats{ServiceIdentity: s.identity(), Type: micro.StatsResponseType, Started: s.started}
	for _, e := range s.endpoints {
		e.mu.Lock()
		counted := e.stats
		e.mu.Unlock()
		stats.Endpoints = append(stats.Endpoints, &counted)
	}
	return stats
}

// denials logs what the server denies to the user, each kind once per connection.
type denials struct {
	log    *slog.Logger
	mu     sync.Mutex
	logged map[string]bool
}

var violation = regexp.MustCompile(`Permissions Violation for (Publish|Subscription) to "([^".]+)`)

func (d *denials) observe(conn *nats.Conn, _ *nats.Subscription, err error) {
	if !conn.IsConnected() {
		return // the emitter logs outages
	}
	found := violation.FindStringSubmatch(err.Error())
	if found == nil {
		d.log.Error("ingress.failed", "error", err.Error())
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	kind, way := found[1], "requests are not heard; allow it to subscribe to earshot.v1.> and $SRV.>"
	if kind == "Publish" {
		way = "clients get no reply; allow it to publish to their inboxes, as _INBOX.>, or to reply (allow_responses)"
	}
	if d.logged == nil {
		d.logged = map[string]bool{}
	}
	if first := strings.HasPrefix(found[2], "$"); !d.logged[kind] && !first {
		d.logged[kind] = true
		d.log.Error("ingress.denied", "error", "NATS denies this to the user of Earshot: "+way, "cause", err.Error())
	}
}
