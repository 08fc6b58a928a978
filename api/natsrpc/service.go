// Package natsrpc is the way in over NATS: a micro service of the name earshot, of which all
// replicas are one queue group, takes as requests what an app does over REST with its tools, sessions,
// messages and triggers (api.Requests).
//
// It is a client of the REST API in the same process. A request becomes one to the handler
// of REST, and its answer is the reply, so checks, limits, admission and answers are those of REST.
// It has the rights of the key in its Authorization header. Without one it has the admin's, and the
// permissions of NATS say who may publish on which subjects; Options.Keyed refuses it.
//
// The requests are those of core NATS, which keeps neither them nor their replies. A client that
// got no reply asks again: messageId and triggerId make it the same request.
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
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
	"github.com/prometheus/client_golang/prometheus"

	"earshot/api"
	"earshot/api/ratelimit"
	"earshot/repositories/secret"
)

const (
	// serviceName stands in $SRV.PING.earshot.
	serviceName = "earshot"
	// version is that of what is asked and answered here, of which the v1 stands in the
	// subjects as well.
	version = "1.0.0"
)

const (
	// defaultAtOnce is how many requests are under work, or wait for their turn within REST.
	defaultAtOnce = 2048
	// defaultBytes bounds what the bodies of these take: unlike those of HTTP they are here
	// before anybody has admitted them.
	defaultBytes = 64 << 20
	// defaultGrace is how long requests may go on after the end of the context.
	defaultGrace = 20 * time.Second
)

// Options are what New needs. REST and Connect must be given; zero values of the others mean
// the defaults.
type Options struct {
	// REST is the handler of the API.
	REST http.Handler
	// AdminKey is the key that REST asks for; empty for none.
	AdminKey secret.Secret
	// Keyed says that a request needs a key, or a session's token, of its own.
	Keyed bool
	// Connect makes the connection that requests come over. It is closed at the end. The handler
	// gets its errors, such as a subject that is denied.
	Connect func(trouble nats.ErrHandler) (*nats.Conn, error)
	// Program is the version of the program, in the service's metadata.
	Program string
	// Replies are where replies may go: _INBOX.
	Replies Replies
	// Metrics gets the counter of requests that were refused. Missing: it is not exported.
	Metrics prometheus.Registerer
	// AtOnce is how many requests are worked on, or wait, at the same time: 2,048. Further ones
	// are answered 503.
	AtOnce int
	// Bytes is how long their bodies may be together, fairly between apps: 64 MiB.
	Bytes int
	// ShutdownGrace is how long requests may go on after the end was asked for: 20 s.
	ShutdownGrace time.Duration
	Logger        *slog.Logger // slog.Default()
	// Now is the clock by which the time of requests is measured: time.Now.
	Now func() time.Time
}

// Doors lists the ways in. What REST asks for there holds for them as well.
func Doors() (all []ratelimit.Needs) {
	for _, r := range api.Requests() {
		needs := r.Needs
		needs.Surface, needs.Operation, needs.Bounds = ratelimit.NATS, r.Subject, "replies go to inboxes alone"
		all = append(all, needs)
	}
	return all
}

// Service takes requests over NATS.
type Service struct {
	options   Options
	id        string
	started   time.Time
	endpoints []*endpoint
	slots     chan struct{} // has one of each request that is under work
	memory    *ratelimit.Memory
	working   sync.WaitGroup
	denied    denials
	refused   prometheus.Counter

	// baseCtx ends when the service no longer waits for requests.
	baseCtx context.Context
	cancel  context.CancelFunc
	conn    *nats.Conn
}

// New returns a service that is not connected yet.
func New(o Options) *Service {
	o.AtOnce, o.Bytes, o.ShutdownGrace = cmp.Or(o.AtOnce, defaultAtOnce), cmp.Or(o.Bytes, defaultBytes), cmp.Or(o.ShutdownGrace, defaultGrace)
	if o.Replies == nil {
		o.Replies = Replies{DefaultReplies}
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	refused := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "earshot_ingress_refused_total", Help: "Requests over NATS that were refused because their reply subject is not allowed.",
	})
	if o.Metrics != nil {
		o.Metrics.MustRegister(refused)
	}
	ctx, cancel := context.WithCancel(context.Background())
	return &Service{
		options: o, id: rand.Text(), endpoints: endpoints(), slots: make(chan struct{}, o.AtOnce), memory: ratelimit.NewMemory(int64(o.Bytes)),
		denied: denials{log: o.Logger}, refused: refused, baseCtx: ctx, cancel: cancel,
	}
}

// Run takes requests until ctx ends, through all outages of NATS. Then it takes no more, and
// returns when it has answered those that it has, or after the grace period. Call it once.
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
	var subjects []string
	for _, e := range s.endpoints {
		subjects = append(subjects, e.Subject)
	}
	s.options.Logger.Info("ingress.listening", "service", serviceName, "id", s.id, "subjects", subjects)
	<-ctx.Done()
	grace, cancel := context.WithTimeout(context.Background(), s.options.ShutdownGrace)
	defer cancel()
	for _, e := range s.endpoints {
		_ = e.sub.Drain() // fails if the connection is gone, and no more requests come
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
		s.options.Logger.Warn("ingress.interrupted", "error", "requests over NATS were still under work after "+s.options.ShutdownGrace.String()+"; their clients ask again")
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
					_ = message.Respond(text) // its client asks again
				}
			})
			faults = append(faults, err)
		}
	}
	return errors.Join(faults...)
}
