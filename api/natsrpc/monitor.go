package natsrpc

import (
	"encoding/json"
	"log/slog"
	"regexp"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

// verbs are what is told of the service to those who ask on $SRV. The library would tell it
// too; it takes a request for done once the subscription has handed it over, and so would
// know neither errors nor times of requests that are worked on side by side.
func (s *Service) verbs() map[micro.Verb]func() any {
	return map[micro.Verb]func() any{
		micro.PingVerb:  func() any { return micro.Ping{ServiceIdentity: s.identity(), Type: micro.PingResponseType} },
		micro.InfoVerb:  s.info,
		micro.StatsVerb: s.stats,
	}
}

func (s *Service) identity() micro.ServiceIdentity {
	return micro.ServiceIdentity{Name: serviceName, ID: s.id, Version: version, Metadata: map[string]string{"program": s.options.Program}}
}

func (s *Service) info() any {
	info := micro.Info{
		ServiceIdentity: s.identity(), Type: micro.InfoResponseType,
		Description: "Posts chat messages and fires tools; the bodies are those of the REST API",
	}
	for _, e := range s.endpoints {
		info.Endpoints = append(info.Endpoints, micro.EndpointInfo{
			Name: e.name, Subject: e.subject, QueueGroup: micro.DefaultQueueGroup, Metadata: map[string]string{"rest": "POST " + e.path},
		})
	}
	return info
}

func (s *Service) stats() any {
	stats := micro.Stats{ServiceIdentity: s.identity(), Type: micro.StatsResponseType, Started: s.started}
	for _, e := range s.endpoints {
		stats.Endpoints = append(stats.Endpoints, e.counted())
	}
	return stats
}

// tell answers a question about the service.
func (s *Service) tell(message *nats.Msg, what any) {
	text, err := json.Marshal(what)
	if err != nil || message.Reply == "" || !s.options.Replies.allow(message.Reply) {
		return
	}
	_ = message.Respond(text) // who asks for it asks again
}

// denials logs what the server denies to the user of the connection, each kind of it once as
// long as it is the same connection.
type denials struct {
	log  *slog.Logger
	mu   sync.Mutex
	said map[string]bool
}

// violation is how a server names what it denies.
var violation = regexp.MustCompile(`Permissions Violation for (Publish|Subscription) to "([^".]+)`)

// observe is told what goes wrong on the connection beside its requests.
func (d *denials) observe(conn *nats.Conn, _ *nats.Subscription, err error) {
	if !conn.IsConnected() {
		return // the emitter tells of outages
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
	if d.said == nil {
		d.said = map[string]bool{}
	}
	if first := strings.HasPrefix(found[2], "$"); !d.said[kind] && !first {
		d.said[kind] = true
		d.log.Error("ingress.denied", "error", "NATS denies this to the user of Earshot: "+way, "cause", err.Error())
	}
}
