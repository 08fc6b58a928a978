package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"earshot/deploy/testbed"
	"earshot/deploy/testbed/redistest"
	"earshot/emitter"
	"earshot/repositories/keyspace"
)

type fault struct {
	name string
	do   func(*system)
}

// faults neither add to the stream nor take from it.
var faults = []fault{
	trouble, // first, as calls that fail again and again wait for up to minutes
	{"Redis is killed and comes back", func(s *system) {
		for range 3 {
			s.redis.Kill()
			s.wait(300 * time.Millisecond)
			s.redis.Start()
			s.wait(time.Second)
		}
	}},
	{"1 % of Redis's replies are lost", func(s *system) {
		s.proxy.Loss.Store(10)
		defer s.proxy.Loss.Store(0)
		s.wait(8 * time.Second)
	}},
	{"Redis forgets its scripts", func(s *system) {
		for range 20 {
			s.must(s.client.ScriptFlush(s.ctx).Err())
			s.wait(50 * time.Millisecond)
		}
	}},
	{"Redis is at maxmemory", func(s *system) { // every write that needs memory is refused
		s.must(s.client.ConfigSet(s.ctx, "maxmemory", "1").Err())
		s.wait(s.pick(3*time.Second, 15*time.Second))
		s.must(s.client.ConfigSet(context.WithoutCancel(s.ctx), "maxmemory", "0").Err())
		s.wait(time.Second)
	}},
	{"NATS is killed and comes back", func(s *system) {
		for range 3 {
			s.nats.Kill()
			s.wait(500 * time.Millisecond)
			s.must(s.nats.Start())
			s.wait(2 * time.Second)
		}
	}},
	{"NATS is frozen while replicas die", func(s *system) { // it takes events when their publishers are dead
		s.nats.Freeze()
		s.wait(500 * time.Millisecond)
		for _, r := range s.replicas[1:] {
			r.killAnywhere()
		}
		s.nats.Thaw()
		s.wait(time.Second)
	}},
	{"a replica is frozen past its leases", func(s *system) {
		last := s.replicas[len(s.replicas)-1]
		last.Freeze()
		s.wait(frozen)
		last.Thaw()
		s.wait(2 * time.Second)
	}},
}

// frozen is longer than the lease of a turn, of an event and of the calls here.
const frozen = 17 * time.Second

var trouble = fault{"the MCP server answers 503, and is away", func(s *system) {
	defer s.remote.set(well)
	for _, one := range []mood{busy, away} {
		s.remote.set(one)
		s.wait(s.pick(time.Second, 10*time.Second))
	}
}}

// death measures recovery: nothing else goes wrong, and the slow model keeps much in flight. Each replica dies on its own.
var death = fault{"a replica is killed, the others are well", func(s *system) {
	s.llm.pause.Store(int64(150 * time.Millisecond))
	defer s.llm.pause.Store(0)
	for i, r := range s.replicas {
		if i == 0 || s.long() {
			s.wait(time.Second)
			r.killAnywhere()
			s.wait(frozen)
		}
	}
}}

func outage(d time.Duration) fault {
	return fault{fmt.Sprintf("NATS is away for %s", d), func(s *system) {
		s.nats.Kill()
		s.wait(d)
		s.must(s.nats.Start())
	}}
}

var deletion = fault{"the stream is deleted", func(s *system) {
	for range 4 {
		if err := s.js.DeleteStream(s.ctx, emitter.Stream); !errors.Is(err, jetstream.ErrStreamNotFound) {
			s.must(err)
		}
		s.wait(time.Second)
	}
}}

// filling lets the stream fill, so that events pile up, and empties it; its events are recorded before.
var filling = fault{"the stream is full and is emptied", func(s *system) {
	for range 2 {
		s.must(testbed.Until(s.ctx, time.Minute, func(ctx context.Context) error {
			if s.hasRoom(ctx, little) {
				return fmt.Errorf("a stream of %d bytes is not full", s.phase.full)
			}
			return nil
		}))
		s.wait(s.pick(2*time.Second, 15*time.Second))
		s.must(s.empty(s.ctx))
	}
}}

// snapshot copies Redis's files meanwhile. A restored Redis has forgotten its latest answers, but a repeat gets the same ids.
var snapshot = fault{"Redis is restored from a snapshot", func(s *system) {
	s.wait(2 * time.Second)
	s.must(os.CopyFS(s.snapshot(), os.DirFS(s.redis.Folder())))
	s.wait(3 * time.Second)
}}

func (s *system) snapshot() string { return filepath.Join(s.dir, "redis-snapshot") }

func (s *system) restore() {
	const newest = "written-after-the-snapshot"
	s.must(s.client.Set(context.Background(), newest, 1, 0).Err())
	s.redis.Kill()
	s.must(errors.Join(os.RemoveAll(s.redis.Folder()), os.CopyFS(s.redis.Folder(), os.DirFS(s.snapshot()))))
	s.redis.Start()
	if kept, err := s.client.Exists(context.Background(), newest).Result(); err != nil || kept > 0 {
		s.t.Fatalf("nothing was forgotten (%v)", err)
	}
}

type layout struct {
	wait  int  // replicas that have what is answered (EARSHOT_REDIS_WAIT)
	alone bool // masters write though no replica follows them, as one may that has just taken over
}

// loss is the death of a master of the Redis Cluster, in times since then. An answer survives if Redis's replicas are waited for,
// else for a client that repeats it.
type loss struct {
	app                       string
	promoted, whole, answered time.Duration
}

// found is how long the service took after Redis was whole again.
func (l loss) found() time.Duration { return l.answered - max(l.promoted, l.whole) }

func losing(victims ...string) fault {
	return fault{"a master of the Redis Cluster is killed", func(s *system) {
		for _, app := range victims {
			s.loseMaster(app, false)
			s.wait(s.pick(time.Second, 5*time.Second))
		}
	}}
}

// lagging kills a master whose replica lacks the last of what it took.
func lagging(unguarded bool) fault {
	return fault{"a master of the Redis Cluster is killed whose replica lags", func(s *system) {
		for _, node := range s.cluster.Nodes {
			if unguarded {
				s.must(node.Client().ConfigSet(s.ctx, "min-replicas-to-write", "0").Err())
			}
		}
		s.loseMaster(apps[0], true)
	}}
}

// lag is how long a replica hears nothing; shorter than the time after which a node is given up.
const lag = 1500 * time.Millisecond

// loseMaster kills the master of an app until its replica leads. If no master writes alone, the dead one returns first.
func (s *system) loseMaster(app string, lags bool) {
	var master, heir *redistest.Server
	leads := func(ctx context.Context, node *redistest.Server) error {
		if !node.Leads(ctx) {
			return errors.New("it is no master")
		}
		return nil
	}
	s.must(testbed.Until(s.ctx, comeUp, func(ctx context.Context) (err error) {
		if master, heir, err = s.cluster.Shard(ctx, s.client, keyspace.KeysOf(app).Due()); err == nil {
			err = leads(ctx, master)
		}
		return err
	}))
	if lags {
		heir.Process().Freeze()
		s.must(master.Client().Do(s.ctx, "CLIENT", "KILL", "TYPE", "replica").Err())
		s.wait(lag)
	}
	master.Kill()
	died, answered := time.Now(), make(chan time.Duration, 1)
	heir.Process().Thaw()
	go func() { // somebody says something until it is answered
		c := &client{s.books, s.ctx, app, s.books.id("probe"), rand.New(rand.NewPCG(uint64(s.plan.seed), 2))}
		c.say("note", `call note {"day":"monday"}`)
		answered <- time.Since(died)
	}()
	l := loss{app: app}
	s.must(testbed.Until(s.ctx, comeUp, func(ctx context.Context) error { return leads(ctx, heir) }))
	l.promoted = time.Since(died)
	if s.phase.cluster.alone {
		l.answered = <-answered
	}
	master.Start()
	s.must(s.cluster.Whole())
	if !s.phase.cluster.alone {
		l.whole = time.Since(died)
		l.answered = <-answered
	}
	s.losses = append(s.losses, l)
}
