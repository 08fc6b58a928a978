package apitest

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"earshot/api"
	"earshot/deploy/testbed"
	"earshot/deploy/testbed/natstest"
	"earshot/deploy/testbed/redistest"
	"earshot/emitter"
	"earshot/matcher"
	"earshot/repositories/audit"
	"earshot/repositories/keyspace"
	"earshot/repositories/store"
	"earshot/trigger"
	"earshot/trigger/effect"
	"earshot/trigger/pendingcalls"
	"earshot/trigger/query"
	"earshot/trigger/trial"
	"earshot/trigger/usage"
)

// Bodies and paths of requests: an app, a repository with one tool, a message, and an answer without a match.
const (
	ClinicBody  = `{"name":"Clinic","signingSecret":"whsec_plantedA","modules":[{"moduleId":"calendar","secret":"planted-and-long-enough","tokenUrl":"https://id.example.org/token"}]}`
	BookingBody = `{"tools":[{"name":"book","description":"User needs an appointment",
		"schema":[{"parameter":"date","type":"string","required":true}],
		"url":"https://example.org/book","request":{"auth":"module","moduleId":"calendar","headers":{"X-Api-Key":"planted"}}}]}`
	BookingPath = "/v1/apps/clinic/sessions/s1/repositories/booking"

	MessagesPath = "/v1/apps/clinic/sessions/s1/messages"
	HelloBody    = `{"messageId":"m1","actor":"user","text":"hello"}`
	NoMatch      = `{"messageId":"m1","matches":[],"rejected":[],"reply":null,"skipResponse":false}`
)

// World is a service with the real store and engine on a Redis, a scripted matcher, and a sink of all effects.
type World struct {
	*Service
	Redis *redistest.Server
	Sink  *Sink
	Store *store.Store
}

// Live starts a world on a Redis of its own.
func Live(t *testing.T, match Scripted, change ...func(*api.Options)) World {
	return LiveOn(t, redistest.Mini(t), match, change...)
}

// LiveOn starts a world on a Redis.
func LiveOn(t testing.TB, server *redistest.Server, match matcher.Matcher, change ...func(*api.Options)) World {
	out := &Sink{}
	// A client that gives up at once when nobody answers, so that a test of an outage need not wait. An answer has its time.
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), MaxRetries: -1, DialerRetries: 1, ReadTimeout: testbed.Patience})
	db := &keyspace.DB{UniversalClient: client, Embedded: server.Embedded()}
	w := World{Redis: server, Sink: out}
	w.Service = Serve(t, func(o *api.Options) {
		w.Store = store.New(db, store.Options{Sealer: o.Tokens.(*store.Sealer), SessionTTL: time.Hour})
		o.Audit = &audit.Log{DB: db, Now: time.Now}
		used := usage.NewCounter(db, time.Now)
		o.Usage = used
		engine, err := trigger.NewEngine(trigger.Options{
			Audit: o.Audit, Usage: used, DB: db, Store: w.Store, Matcher: match, Events: out, Calls: out, Logger: slog.New(slog.DiscardHandler),
		})
		require.NoError(t, err)
		w.Store.OnChange(engine.Wake)
		t.Cleanup(func() {
			require.NoError(t, engine.Stop(context.Background()))
			require.NoError(t, client.Close())
		})
		testbed.Background(t, engine.Run)
		o.Store, o.Engine, o.Keys, o.Origins = w.Store, engine, w.Store, w.Store
		o.Rehearser = &trial.Rehearser{Engine: engine, Words: match, Models: match, History: 40, Now: time.Now}
		o.PendingCalls = pendingcalls.New(db, w.Store.SessionTTL(), time.Now)
		o.Ready = []api.Check{{Name: "redis", Ready: func(ctx context.Context) error { return db.Shards(ctx)[0].Err }}}
		for _, alter := range change {
			alter(o)
		}
	})
	return w
}

// Replica is another replica over the same Redis and with the same endpoints, with an engine of its own.
func (w World) Replica(change ...func(*api.Options)) World {
	other := LiveOn(w.T, w.Redis, Scripted(Everything), change...)
	other.Sink.calls, other.Sink.passes = w.Sink.calls, w.Sink
	return World{other.Service, w.Redis, w.Sink, other.Store}
}

// Triggers returns the triggers of a session of the app clinic, newest first.
func (w World) Triggers(session string) []query.Record {
	var list struct{ Items []query.Record }
	require.NoError(w.T, json.Unmarshal(w.Call("GET", "/v1/apps/clinic/sessions/"+session+"/triggers", "").Is(200, "").Body, &list))
	return list.Items
}

// Stage is a world whose event streams read a real NATS server.
type Stage struct {
	World
	emitter *emitter.Emitter
	Closing chan struct{}
}

// OnStage starts a stage with the app clinic.
func OnStage(t *testing.T, change ...func(*api.Options)) Stage {
	server := natstest.Run(t)
	out := testbed.Got(emitter.Connect(server.URL(), emitter.Options{Timeout: testbed.Patience, Logger: slog.New(slog.DiscardHandler)}))(t)
	t.Cleanup(out.Close)
	tail := out.Tail(0)
	testbed.Background(t, tail.Run)
	closing := make(chan struct{})
	w := Live(t, Everything, append([]func(*api.Options){func(o *api.Options) { o.Events, o.Closing = tail, closing }}, change...)...)
	w.Call("PUT", "/v1/apps/clinic", `{}`).Is(201, "")
	return Stage{w, out, closing}
}

// Publish puts an event of a session on the stream.
func (s Stage) Publish(subject, session, payload string) {
	id := fmt.Sprint(time.Now().UnixNano())
	outcome := s.emitter.Deliver(s.T.Context(), effect.Effect{ID: id, Kind: effect.KindEvent, Event: &effect.Event{
		Subject: subject, ID: id, Type: "earshot.tool", Source: "/apps/clinic/sessions/" + session, Time: time.Now(), Data: json.RawMessage(payload),
	}})
	require.Equal(s.T, effect.Done, outcome.Verdict, outcome.Error)
}

// Scripted is a matcher that is one function.
type Scripted func(matcher.Request) (matcher.Result, error)

// Match calls the function.
func (s Scripted) Match(_ context.Context, request matcher.Request) (matcher.Result, error) {
	return s(request)
}

// Reply writes no reply.
func (Scripted) Reply(context.Context, matcher.Request, []matcher.PastCall) (string, error) {
	return "", nil
}

// Everything calls for every candidate with the text as its one value.
func Everything(request matcher.Request) (matcher.Result, error) {
	result := matcher.Result{Stage: matcher.StageLLM}
	for _, candidate := range request.Candidates {
		result.Matches = append(result.Matches, matcher.Match{Candidate: candidate, Values: map[string]any{"date": request.Text}})
	}
	return result, nil
}

// Sink takes every effect as delivered, and keeps the events.
type Sink struct {
	mu     sync.Mutex
	events []effect.Event
	calls  func(effect.Effect) effect.Outcome
	passes *Sink // gets the effects instead
}

// Deliver takes an effect.
func (s *Sink) Deliver(ctx context.Context, delivery effect.Effect) effect.Outcome {
	if s.passes != nil {
		return s.passes.Deliver(ctx, delivery)
	}
	s.mu.Lock()
	calls := s.calls
	if delivery.Event != nil {
		s.events = append(s.events, *delivery.Event)
	}
	s.mu.Unlock()
	if delivery.Event == nil && calls != nil {
		return calls(delivery)
	}
	return effect.Outcome{Verdict: effect.Done, Status: 200, Result: json.RawMessage(`{"ok":true}`)}
}

// Answers has a function decide how calls end.
func (s *Sink) Answers(calls func(effect.Effect) effect.Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = calls
}

// All returns the events so far.
func (s *Sink) All() []effect.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.events)
}

// QuietEvents are a stream without events that ends at once.
type QuietEvents struct{}

// Now is the stream's start.
func (QuietEvents) Now(context.Context) (uint64, error) { return 0, nil }

// Follow returns the end of the stream.
func (QuietEvents) Follow(context.Context, string, string, uint64) (<-chan effect.Published, error) {
	over := make(chan effect.Published)
	close(over)
	return over, nil
}

type memory struct{}

func (memory) Erase(context.Context, string, string) error { return nil }

func (memory) EraseUser(context.Context, string, string) (int, error) { return 0, nil }

func (memory) Stored(context.Context, string, string, func(effect.Published) error) error { return nil }
