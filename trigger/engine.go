// Package trigger is the core of Earshot: a message becomes a turn, a turn becomes firings of tools, a firing
// becomes effects.
//
// It guarantees:
//
//   - An accepted message is decided exactly once, or listed dead with a reason.
//   - A trigger's effects each happen at least once, every attempt with one id.
//   - A triggerOnce repository fires at most once per registration, under any number of replicas,
//     crashes and retries.
//   - After kill -9 at any instant nothing accepted is lost: it goes on when the lease of the dead
//     process has ended, within a second.
//   - Events of one session reach JetStream in the order in which they were decided.
//
// This holds because one Redis script decides (ledger/commit.go): it checks the lease of the turn and the
// generation of every repository that fires, writes all effects and closes the turn, in one slot, and returns
// the same answer when it runs again. Everything later replays a decision.
//
// A message is accepted (accept.go), decided (decide.go, plan.go) and delivered (delivery/first.go).
package trigger

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"earshot/matcher"
	"earshot/repositories/audit"
	"earshot/repositories/keyspace"
	"earshot/repositories/store"
	"earshot/repositories/tracing"
	"earshot/trigger/delivery"
	"earshot/trigger/effect"
	"earshot/trigger/explain"
	"earshot/trigger/ledger"
	"earshot/trigger/query"
	"earshot/trigger/scope"
	"earshot/trigger/usage"
	"earshot/trigger/webhooks"
	"earshot/trigger/worker"
)

// Options are the dependencies and settings of an Engine. DB, Store, Matcher, Events and Calls are required;
// other zero values mean the defaults.
type Options struct {
	DB      *keyspace.DB
	Store   *store.Store
	Matcher matcher.Matcher
	// Words is the Matcher if it asks no model: it tries examples of tools when they are written.
	Words  matcher.Matcher
	Events effect.Deliverer // of KindEvent
	Calls  effect.Deliverer // of KindCall, over HTTP
	// Statements delivers the calls of SQL tools; if it is nil, these calls fail.
	Statements effect.Deliverer
	// Answers looks for external answers, which do not arrive by Answer, before a trigger without one is given up; nil
	// for none.
	Answers effect.Deliverer
	Logger  *slog.Logger
	Metrics *worker.Metrics // nil: none
	Usage   *usage.Counter  // nil: one of its own
	// History is the number of earlier messages that a matcher sees; 0 means 40.
	History int
	// Lease, Poll, Workers, Now, NewID and Jitter are those of worker.Options.
	Lease   time.Duration
	Poll    time.Duration
	Workers int
	Now     func() time.Time
	NewID   func() string
	Jitter  func(time.Duration) time.Duration
	// Webhooks sends the events of Stream to the webhooks of apps; if it is nil, nothing is sent.
	Webhooks webhooks.Sender
	Stream   webhooks.Events
	// LogTexts adds message texts to the log.
	LogTexts bool
	// Audit records confirmations and denials by message; nil: none.
	Audit Audit
	// Tracer begins the spans of messages, of tools that fire, and of attempts; nil: none.
	Tracer *tracing.Tracer
}

// Audit records who did what to an app. audit.Log implements it.
type Audit interface {
	During(ctx context.Context, appID string, do func() (done bool, err error), entries ...audit.Entry) error
}

// Engine processes messages: it turns them into decisions, and decisions into effects. Any number of
// engines on the same Redis form one service. It is safe for concurrent use.
//
// Its parts are layered in this order; none calls a later one:
//
//   - worker.Worker: the ledger, the clock, and the goroutines of the process;
//   - query.Records: the records of messages and triggers;
//   - scope.Reader: the tools that an app or a session has;
//   - delivery.Deliveries: attempts at effects;
//   - webhooks.Webhooks: events that are sent to URLs of the app;
//   - Holds: triggers that wait for a yes, a no, their time or a retry;
//   - Turns: messages from their request to their answer, and Firings: triggers without a message.
type Engine struct {
	*worker.Worker
	*query.Records
	*scope.Reader
	*delivery.Deliveries
	*Holds
	*Turns
	*Firings
	Webhooks *webhooks.Webhooks
}

// NewEngine returns an Engine. Post and Fire work at once; Run takes up retries and the work of dead replicas.
func NewEngine(o Options) (*Engine, error) {
	w, err := worker.New(worker.Options{
		DB: o.DB, Store: o.Store, Log: o.Logger, Metrics: o.Metrics, Tracer: o.Tracer,
		Lease: o.Lease, Poll: o.Poll, Workers: o.Workers, Now: o.Now, NewID: o.NewID, Jitter: o.Jitter,
	})
	if err != nil {
		return nil, err
	}
	counter := query.NewCounter(o.DB, w.Now)
	if w.Usage = o.Usage; w.Usage == nil {
		w.Usage = usage.NewCounter(o.DB, w.Now)
	}
	w.OnSweep = func(ctx context.Context) {
		if err := errors.Join(counter.Flush(ctx), w.Usage.Flush(ctx)); err == nil {
			w.Outages.Over(ctx, "uses", "uses.written")
		} else if ctx.Err() == nil {
			w.Outages.Trouble(ctx, "uses", "", "uses.unwritten", "error", err.Error())
		}
	}
	packer := explain.NewPacker(o.Store.Retention().Explain, w.Now)
	records := &query.Records{Ledger: ledger.NewReader(o.DB), Now: w.Now, Counter: counter, ExplanationTTL: o.Store.Retention().Explain, UnexplainedShare: o.Store.Retention().Unexplained}
	scopes := scope.NewReader(scope.Options{Ledger: w.Ledger, Store: o.Store, Packer: packer, Matcher: o.Matcher, Words: o.Words, Log: w.Log, Now: w.Now})
	hooks := webhooks.New(webhooks.Options{Worker: w, Apps: o.Store, Events: o.Stream, Sender: o.Webhooks})
	deliveries := delivery.New(delivery.Options{
		Worker: w, Records: records, Events: o.Events, Calls: o.Calls, Statements: o.Statements, Answers: o.Answers, OnPublish: hooks.Published,
	})
	d := &decider{
		Worker: w, records: records, conversations: query.NewConversationCache(), scopes: scopes, deliveries: deliveries, matcher: o.Matcher, packer: packer,
		audit: o.Audit, history: o.History, logTexts: o.LogTexts, drafts: draftMatches{running: map[ledger.Turn]*draftMatch{}},
	}
	if d.history == 0 {
		d.history = 40
	}
	holds := &Holds{d}
	d.Handle(keyspace.LaneHeld, holds.takeHeld)
	return &Engine{w, records, scopes, deliveries, holds, newTurns(d, holds), &Firings{d}, hooks}, nil
}

// Open lists the open items of a session from all requests: calls that lack values, then triggers, newest
// first.
//
// Errors: repositories.ErrNotFound without the app, keyspace.ErrUnavailable.
func (e *Engine) Open(ctx context.Context, appID, sessionID string) ([]scope.OpenCall, error) {
	open, err := e.Reader.Open(ctx, appID, sessionID)
	if err != nil {
		return nil, err
	}
	waiting, err := e.Waiting(ctx, appID, sessionID)
	for _, record := range waiting {
		item := scope.OpenCall{
			TriggerID: record.TriggerID, State: record.State, Question: record.Question, Digest: record.Digest, ExpiresAt: record.ExpiresAt,
			RepositoryID: record.RepositoryID, Name: record.Name, Values: record.Values, Missing: []string{},
		}
		if record.DueAt != nil {
			item.State, item.ExpiresAt = scope.OpenSettling, record.DueAt
		}
		open = append(open, item)
	}
	return open, err
}

// Count counts a request against the limits of a minute, for requests that nothing else counts.
//
// Errors: *ledger.RateError, repositories.ErrNotFound without the app, keyspace.ErrUnavailable.
func (e *Engine) Count(ctx context.Context, appID, sessionID string, use ledger.Use) error {
	return e.Worker.Ledger.Count(ctx, appID, sessionID, use)
}
