// Package natsrpc is the way in over NATS: a micro service of the name earshot, of which all
// replicas are one queue group, takes messages and direct triggers as requests.
//
// It is a client of the REST API in the same process. A request becomes one to the handler
// of REST with the admin's rights, and the answer of that is the reply, so checks, limits,
// admission and answers are those of REST. Whoever may publish on the subjects may post:
// what else there is to be allowed or denied is for the permissions of NATS to say.
//
// The requests are those of core NATS, and nobody keeps them or their replies. A client that
// got no reply asks again: messageId and triggerId are the keys by which it is the same
// request.
package natsrpc

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
	"github.com/prometheus/client_golang/prometheus"

	"earshot/api/admission"
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

// Defaults of Options.
const (
	// defaultAtOnce is how many requests are under work, or wait for their turn within REST.
	defaultAtOnce = 2048
	// defaultBytes bounds what the bodies of these take: unlike those of HTTP they are here
	// before anybody has admitted them.
	defaultBytes = 64 << 20
	// defaultParting is how long requests may go on after the service was told to end.
	defaultParting = 20 * time.Second
)

// Options are what New needs. REST and Connect must be given; zero values of the others mean
// the defaults.
type Options struct {
	// REST is the handler of the API.
	REST http.Handler
	// AdminKey is the key that REST asks for; empty where it asks for none.
	AdminKey secret.Secret
	// Connect makes the connection that requests come over. It is closed at the end. What
	// goes wrong with it, such as a subject that is denied, is told to the handler.
	Connect func(trouble nats.ErrHandler) (*nats.Conn, error)
	// Program is the version of the program, for those who ask what runs where.
	Program string
	// Replies are where replies may go: _INBOX.
	Replies Replies
	// Metrics gets the counter of requests that were refused. Missing: nobody reads it.
	Metrics prometheus.Registerer
	// AtOnce is how many requests are worked on, or wait, at the same time: 2,048. Further ones
	// are answered 503.
	AtOnce int
	// Bytes is how long their bodies may be together, fairly between apps: 64 MiB.
	Bytes int
	// Parting is how long requests may go on after the end was asked for: 20 s.
	Parting time.Duration
	Logger  *slog.Logger // slog.Default()
	// Now is the clock by which the time of requests is measured: time.Now.
	Now func() time.Time
}

// Doors lists the ways in. What REST asks for there holds for them as well.
func Doors() (all []ratelimit.Needs) {
	for _, e := range endpoints() {
		counts := ratelimit.Triggers
		if e.name == "message" {
			counts = ratelimit.Messages
		}
		all = append(all, ratelimit.Needs{Surface: ratelimit.NATS, Operation: e.subject, Body: 1 << 20, Share: admission.Turn, Counts: counts, Bounds: "who may publish there is for the permissions of NATS; replies go to inboxes alone"})
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

	// life ends when requests are no longer waited for.
	life context.Context
	die  context.CancelFunc
	conn *nats.Conn
}

// New returns a service that is not connected yet.
func New(o Options) *Service {
	o = o.withDefaults()
	life, die := context.WithCancel(context.Background())
	return &Service{options: o, id: rand.Text(), endpoints: endpoints(), slots: make(chan struct{}, o.AtOnce), memory: ratelimit.NewMemory(int64(o.Bytes)), denied: denials{log: o.Logger}, refused: newRefused(o.Metrics), life: life, die: die}
}

func (o Options) withDefaults() Options {
	o.AtOnce, o.Bytes, o.Parting = cmp.Or(o.AtOnce, defaultAtOnce), cmp.Or(o.Bytes, defaultBytes), cmp.Or(o.Parting, defaultParting)
	if o.Replies == nil {
		o.Replies = Replies{DefaultReplies}
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Run takes requests until ctx ends, through all outages of NATS. Then it takes no more, and
// returns when those are answered that it has, or when they may go on no longer. Call it
// once.
func (s *Service) Run(ctx context.Context) error {
	defer s.die()
	conn, err := s.options.Connect(s.denied.observe)
	if err != nil {
		return fmt.Errorf("take requests over NATS: %w", err)
	}
	defer conn.Close()
	s.conn, s.started = conn, s.options.Now().UTC()
	if err := s.subscribe(); err != nil {
		return fmt.Errorf("take requests over NATS: %w", err)
	}
	s.options.Logger.Info("ingress.listening", "service", serviceName, "id", s.id, "subjects", subjects(s.endpoints))
	<-ctx.Done()
	s.part()
	return nil
}

// subscribe subscribes to requests, and to what is asked about the service itself.
func (s *Service) subscribe() error {
	var faults []error
	for _, e := range s.endpoints {
		sub, err := s.conn.QueueSubscribe(e.subject, micro.DefaultQueueGroup, func(message *nats.Msg) { s.take(e, message) })
		if err != nil {
			return err
		}
		e.subscribed(sub)
	}
	for verb, tell := range s.verbs() {
		for _, of := range [][2]string{{}, {serviceName}, {serviceName, s.id}} {
			subject, err := micro.ControlSubject(verb, of[0], of[1])
			faults = append(faults, err)
			_, err = s.conn.Subscribe(subject, func(message *nats.Msg) { s.tell(message, tell()) })
			faults = append(faults, err)
		}
	}
	return errors.Join(faults...)
}

// part takes no more requests, and waits for those that are here.
func (s *Service) part() {
	ctx, cancel := context.WithTimeout(context.Background(), s.options.Parting)
	defer cancel()
	for _, e := range s.endpoints {
		_ = e.sub.Drain() // fails where the connection is gone, and nothing comes any more
	}
	for _, e := range s.endpoints {
		e.drained(ctx)
	}
	idle := make(chan struct{})
	go func() {
		s.working.Wait()
		close(idle)
	}()
	select {
	case <-idle:
	case <-ctx.Done():
		s.options.Logger.Warn("ingress.interrupted", "error", "requests over NATS were still under work after "+s.options.Parting.String()+"; their clients ask again")
	}
	_ = s.conn.FlushWithContext(ctx) // the last replies
}
