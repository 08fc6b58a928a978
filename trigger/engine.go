// Package trigger is the heart of Earshot: a message becomes a turn, a turn becomes
// firings of tools, a firing becomes effects.
//
// The promise, which everything here serves:
//
//   - An accepted message is decided exactly once, or listed dead with a reason.
//   - A trigger's effects each happen at least once, every attempt with one id.
//   - A triggerOnce repository fires at most once per registration, under any number
//     of replicas, crashes and retries.
//   - After kill -9 at any instant nothing accepted is lost: it goes on when the
//     lease of the dead process has ended, within a second.
//   - Events of one session reach JetStream in the order in which they were decided.
//
// It holds because one Redis script decides (ledger/commit.go): it checks the lease of the
// turn and the generation of every repository that fires, writes all effects and
// closes the turn, in one slot, and gives the same answer when it runs twice. All
// after it is replay of a decision that is already made.
package trigger

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	mathrand "math/rand/v2"
	"sync"
	"time"

	"earshot/matcher"
	"earshot/repositories/failpoint"
	"earshot/repositories/keyspace"
	"earshot/repositories/outages"
	"earshot/repositories/store"
	"earshot/repositories/tracing"
	"earshot/trigger/effect"
	"earshot/trigger/explain"
	"earshot/trigger/goroutines"
	"earshot/trigger/ledger"
	"earshot/trigger/usage"
)

// Numbers that depend on each other; NewEngine refuses an Options whose do not fit.
const (
	// DefaultLease is how long a turn is held without a renewal. The work of a process that
	// died is resumed after that.
	DefaultLease = 15 * time.Second
	// DefaultPoll is the interval at which the ledger is polled for work that is due.
	DefaultPoll = 250 * time.Millisecond
	// DefaultLinger is how long the outcome of an event waits for the call of the
	// same trigger, so that one round trip writes both.
	DefaultLinger = 20 * time.Millisecond
	// DefaultWorkers bounds the calls that a process makes from the ledger at the same
	// time, and likewise the outboxes and the turns that it takes up. Of each an app
	// has a quarter at most.
	DefaultWorkers = 256
	// DefaultSweep is the interval at which expired records are removed: none stays for
	// much longer than a minute.
	DefaultSweep = 10 * time.Second
	// parting is how long Stop waits for interrupted work to release its leases.
	parting = time.Second
	// heartbeats is how many times a lease is renewed within its length.
	heartbeats = 3
	// wakes is how many calls to look at a partition can wait.
	wakes = 256
)

// Options are the dependencies and settings of an Engine. DB, Store, Matcher, Events and
// Calls are required; zero values of the others mean the defaults.
type Options struct {
	DB      *keyspace.DB
	Store   *store.Store
	Matcher matcher.Matcher
	// Words is the Matcher where it asks no model, to which the examples of tools are said when
	// they are written; if it is nil, they are not.
	Words  matcher.Matcher
	Events effect.Deliverer // of KindEvent
	Calls  effect.Deliverer // of KindCall, over HTTP
	// Statements delivers the calls of SQL tools; if it is nil, these calls fail.
	Statements effect.Deliverer
	// Answers looks for answers that came otherwise than by Answer, and is asked before a
	// trigger is given up for want of one; if it is nil, there are none.
	Answers effect.Deliverer
	Logger  *slog.Logger
	Metrics *Metrics // nil: none
	// History is how many earlier messages a matcher sees; 0 means 40.
	History int
	Lease   time.Duration
	Poll    time.Duration
	Linger  time.Duration
	Workers int
	Sweep   time.Duration
	// Now, NewID and Jitter are injected by tests. Jitter spreads a pause; it
	// defaults to ±20 %.
	Now    func() time.Time
	NewID  func() string
	Jitter func(time.Duration) time.Duration
	// LogTexts lets message texts into the log.
	LogTexts bool
	// Tracer begins the spans of messages, of tools that fire, and of attempts; nil: none.
	Tracer *tracing.Tracer
}

// Engine processes messages: it turns them into decisions, and decisions into effects. Any
// number of engines on the same Redis form one service. It is safe for concurrent use.
//
// Its parts stand on each other in this order, and none calls one above it:
//
//   - core: the ledger, the clock, and the goroutines of the process;
//   - Records: what is read of messages, triggers and explanations;
//   - Scopes: the tools that an app or a session has;
//   - Deliveries: attempts at effects, and the outboxes of sessions;
//   - decisions: matching, planning, and the commit;
//   - Holds: triggers that wait for a yes, a no or their time;
//   - Turns: messages from their request to their answer;
//   - Firings and Drafts: triggers without a message, and messages that are not sent yet.
//
// Engine itself takes up what is due in the ledger.
type Engine struct {
	*core
	*Records
	*Scopes
	*Deliveries
	*Holds
	*Turns
	*Firings
	*Drafts

	poll    time.Duration
	sweep   time.Duration
	unknown sync.Map // entries of the ledger that were logged as of no known kind
	busy    sync.Map // members of the ledger that a worker of this process has
}

// NewEngine returns an Engine. Post and Fire work at once; retries, and the work of
// replicas that died, are taken up while Run runs.
func NewEngine(o Options) (*Engine, error) {
	o = o.withDefaults()
	if o.Lease < heartbeats*o.Poll {
		return nil, errors.New("the lease must be at least three times the time between two looks at the ledger")
	}
	life, die := context.WithCancel(context.Background())
	c := &core{
		ledger: ledger.New(o.DB), store: o.Store, log: o.Logger, troubles: outages.New(o.Logger), tracer: o.Tracer, metrics: o.Metrics, lease: o.Lease,
		now: o.Now, newID: o.NewID, jitter: o.Jitter, logTexts: o.LogTexts,
		life: life, die: die, pool: goroutines.New(), slots: slotsOfLanes(o.Workers), wake: make(chan int, wakes), settling: newSettling(), name: rand.Text() + ".",
	}
	packer := explain.NewPacker(o.Store.Retention().Explain, o.Now)
	records := &Records{core: c, uses: usage.New(o.DB, o.Now)}
	scopes := &Scopes{core: c, apps: newAppCache(packer), matcher: o.Matcher, words: o.Words}
	deliveries := &Deliveries{
		core: c, records: records, events: o.Events, calls: o.Calls, statements: o.Statements, answers: o.Answers, linger: o.Linger,
		waiting: waiting{events: map[outbox]map[string]chan<- attempt{}},
	}
	decided := &decisions{
		core: c, records: records, scopes: scopes, deliveries: deliveries, packer: packer, historyLimit: o.History,
		drafts: drafting{open: map[ledger.Turn]*draftMatch{}},
	}
	holds := &Holds{core: c, records: records, deliveries: deliveries, decisions: decided}
	turns := &Turns{core: c, records: records, scopes: scopes, deliveries: deliveries, decisions: decided, holds: holds, pasts: newPastCache(), restings: newRestings()}
	return &Engine{
		core: c, Records: records, Scopes: scopes, Deliveries: deliveries, Holds: holds, Turns: turns,
		Firings: &Firings{core: c, records: records, scopes: scopes, deliveries: deliveries, decisions: decided, turns: turns},
		Drafts:  &Drafts{core: c, records: records, decisions: decided, turns: turns},
		poll:    o.Poll, sweep: o.Sweep,
	}, nil
}

func slotsOfLanes(most int) map[keyspace.Lane]*slots {
	return map[keyspace.Lane]*slots{
		keyspace.LaneTurns: newSlots(most), keyspace.LaneCalls: newSlots(most), keyspace.LaneOutboxes: newSlots(most),
		keyspace.LaneHeld: newSlots(most),
	}
}

func (o Options) withDefaults() Options {
	setDefault(&o.Lease, DefaultLease)
	setDefault(&o.Poll, DefaultPoll)
	setDefault(&o.Linger, DefaultLinger)
	setDefault(&o.Workers, DefaultWorkers)
	setDefault(&o.Sweep, DefaultSweep)
	setDefault(&o.History, 40)
	if o.Statements == nil {
		o.Statements = noStatements{}
	}
	if o.Answers == nil {
		o.Answers = noAnswers{}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Metrics == nil {
		o.Metrics = NewMetrics()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = rand.Text
	}
	if o.Jitter == nil {
		o.Jitter = spread
	}
	return o
}

func setDefault[T comparable](value *T, fallback T) {
	var zero T
	if *value == zero {
		*value = fallback
	}
}

// spread moves a pause by up to 20 % either way, so that what failed together does not
// come back together.
func spread(pause time.Duration) time.Duration {
	return time.Duration(float64(pause) * (0.8 + 0.4*mathrand.Float64()))
}

// Stop waits for the work in flight, at most until ctx ends. Unfinished work is then
// interrupted, its leases are released if Redis answers, and another replica resumes it.
// Stop the senders of messages and Run first.
func (e *Engine) Stop(ctx context.Context) error {
	failpoint.At(failpoint.ShutdownBegun)
	e.closing.Store(true)
	idle := make(chan struct{})
	go func() {
		e.running.Wait()
		close(idle)
	}()
	defer e.die()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
	}
	e.die()
	select {
	case <-idle:
	case <-time.After(parting):
	}
	return ctx.Err()
}

// Beside runs f for a request that does not wait for it: Stop does. The context ends with the
// engine.
func (e *Engine) Beside(f func(ctx context.Context)) { e.work(func() { f(e.life) }) }

// untilRoom is the pause before a turn that a full Redis has no room for is claimed again.
const untilRoom = 5 * time.Second

// watchRedis records whether Redis is full, and how many of its shards are away, and logs when
// the first changes. If a shard does not answer that may be full, the last state is kept.
func (e *Engine) watchRedis(ctx context.Context, was bool) (full bool) {
	away, fault := 0, error(nil)
	for _, shard := range e.ledger.DB().Shards(ctx) {
		switch {
		case errors.Is(shard.Err, keyspace.ErrMemory):
			fault = shard.Err
		case shard.Err != nil:
			away++
		}
	}
	if ctx.Err() != nil {
		return was
	}
	e.metrics.shardsAway.Set(float64(away))
	full = fault != nil
	switch {
	case away > 0 && !full:
		return was
	case full && !was:
		e.log.Error("redis.full", "error", fault.Error())
	case was && !full:
		e.log.Info("redis.has_room")
	}
	e.metrics.full(full)
	return full
}

// noStatements is the Deliverer of an engine that was given none for SQL tools.
type noStatements struct{}

// Deliver ends the call: a later attempt would meet the same engine.
func (noStatements) Deliver(context.Context, effect.Effect) effect.Outcome {
	return effect.Outcome{Verdict: effect.Dead, Reason: effect.ReasonRequest, Error: "this service runs no statements"}
}
