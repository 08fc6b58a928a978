// Package natsrpc serves REST operations on an app's tools, sessions, messages and triggers over NATS
// (api.Requests). It is a micro service named earshot; all replicas form one queue group.
//
// It is a client of the REST API in the same process. A request is passed to the REST handler, and its answer
// is the reply, so checks, limits, admission and answers are those of REST. A request has the rights of the key
// in its Authorization header. Without one it has the admin's rights, guarded by the publish permissions of
// NATS; Options.Keyed refuses it.
//
// Core NATS stores neither requests nor replies. A client without a reply asks again: messageId and triggerId
// make it the same request.
package natsrpc

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
	"github.com/prometheus/client_golang/prometheus"

	"earshot/api"
	"earshot/api/ratelimit"
	"earshot/repositories/lists"
	"earshot/repositories/secret"
)

const (
	serviceName = "earshot" // the name in $SRV.PING.earshot
	version     = "1.0.0"   // the version of requests and replies, whose v1 is also in the subjects
)

// defaultBytes bounds bodies of requests: unlike HTTP bodies, they are in memory before admission.
const defaultBytes = 64 << 20

// Options configures New. All fields but AdminKey, Metrics and Bytes are required.
type Options struct {
	REST     http.Handler  // the handler of the API
	AdminKey secret.Secret // REST's admin key; empty for none
	// Keyed requires a key or session token with each request.
	Keyed bool
	// Connect opens the connection for requests, which is closed at the end. trouble gets its errors, such as
	// denied subjects.
	Connect func(trouble nats.ErrHandler) (*nats.Conn, error)
	Program string  // the program's version, for the service's metadata
	Replies Replies // the allowed reply prefixes
	// Metrics gets the counter of refused requests. Missing: it is not exported.
	Metrics prometheus.Registerer
	// AtOnce bounds running and waiting requests. Further ones are answered 503.
	AtOnce int
	// Bytes bounds their bodies in total, fairly between apps. Missing: 64 MiB.
	Bytes         int
	ShutdownGrace time.Duration // how long requests may run after the end was requested
	Logger        *slog.Logger
	// Now measures the time of requests.
	Now func() time.Time
}

// Doors lists the requirements of requests over NATS, including those of REST.
func Doors() (all []ratelimit.Needs) {
	for _, r := range api.Requests() {
		needs := r.Needs
		needs.Surface, needs.Operation, needs.Bounds = ratelimit.NATS, r.Subject, "replies go to inboxes alone"
		all = append(all, needs)
	}
	return all
}

// Service answers requests over NATS.
type Service struct {
	options   Options
	id        string
	started   time.Time
	endpoints []*endpoint
	slots     chan struct{} // one element per running request
	memory    *ratelimit.Memory
	working   sync.WaitGroup
	denied    denials
	refused   prometheus.Counter

	// baseCtx ends when the service no longer waits for requests.
	baseCtx context.Context
	cancel  context.CancelFunc
	conn    *nats.Conn
}

// New returns a service that is not connected.
func New(o Options) *Service {
	refused := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "earshot_ingress_refused_total", Help: "Requests over NATS that were refused because their reply subject is not allowed.",
	})
	if o.Metrics != nil {
		o.Metrics.MustRegister(refused)
	}
	ctx, cancel := context.WithCancel(context.Background())
	return &Service{
		options: o, id: rand.Text(), endpoints: endpoints(), slots: make(chan struct{}, o.AtOnce), memory: ratelimit.NewMemory(int64(cmp.Or(o.Bytes, defaultBytes))),
		denied: denials{log: o.Logger}, refused: refused, baseCtx: ctx, cancel: cancel,
	}
}

// Run serves requests until ctx ends, through outages of NATS. Then it waits for running requests, at most for
// the grace period. Call it once.
func (s *Service) Run(ctx context.Context) error {
	defer s.cancel()
	conn, err := s.options.Connect(s.denied.observe)
	if err != nil {
		return fmt.Errorf("take requests over NATS: %w", err)
	}
	defer conn.Close()
	s.conn, s.started = conn, s.options.Now().UTC()
	if err := s.subscribe(); err != nil {
		return fmt.Errorf("take requests over NATS: %w", err)
	}
	subjects := lists.Map(s.endpoints, func(e *endpoint) string { return e.Subject })
	s.options.Logger.Info("ingress.listening", "service", serviceName, "id", s.id, "subjects", subjects)
	<-ctx.Done()
	grace, cancel := context.WithTimeout(context.Background(), s.options.ShutdownGrace)
	defer cancel()
	for _, e := range s.endpoints {
		_ = e.sub.Drain() // fails if the connection is gone, which also ends requests
	}
	for _, e := range s.endpoints {
		select {
		case <-e.closed:
		case <-grace.Done():
		}
	}
	idle := make(chan struct{})
	go func() {
		s.working.Wait()
		close(idle)
	}()
	select {
	case <-idle:
	case <-grace.Done():
		s.options.Logger.Warn("ingress.interrupted", "error", "requests over NATS were still in progress after "+s.options.ShutdownGrace.String()+"; their clients ask again")
	}
	_ = s.conn.FlushWithContext(grace) // the last replies
	return nil
}

func (s *Service) subscribe() error {
	var faults []error
	for _, e := range s.endpoints {
		sub, err := s.conn.QueueSubscribe(e.Subject, micro.DefaultQueueGroup, func(message *nats.Msg) { s.take(e, message) })
		if err != nil {
			return err
		}
		e.sub, e.closed = sub, make(chan struct{})
		sub.SetClosedHandler(func(string) { close(e.closed) })
	}
	for verb, content := range map[micro.Verb]func() any{
		micro.PingVerb:  func() any { return micro.Ping{ServiceIdentity: s.identity(), Type: micro.PingResponseType} },
		micro.InfoVerb:  s.info,
		micro.StatsVerb: s.stats,
	} {
		for _, of := range [][2]string{{}, {serviceName}, {serviceName, s.id}} {
			subject, err := micro.ControlSubject(verb, of[0], of[1])
			faults = append(faults, err)
			_, err = s.conn.Subscribe(subject, func(message *nats.Msg) {
				text, err := json.Marshal(content())
				if err == nil && message.Reply != "" && s.options.Replies.allow(message.Reply) {
					_ = message.Respond(text) // otherwise its client asks again
				}
			})
			faults = append(faults, err)
		}
	}
	return errors.Join(faults...)
}

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
