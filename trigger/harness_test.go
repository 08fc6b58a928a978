package trigger_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/redistest"
	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/keyspace"
	"earshot/repositories/parameters"
	"earshot/repositories/store"
	"earshot/trigger"
	"earshot/trigger/effect"
	"earshot/trigger/query"
)

// world is a service of one or more replicas on one Redis, with everything around it
// under the control of a test.
type world struct {
	t       testing.TB
	server  *redistest.Server
	sealer  *store.Sealer
	matcher *words
	events  *outside
	calls   *outside
	inbox   *outside // answers that were published
	store   *store.Store
	engine  *trigger.Engine
	keeper  *trigger.Engine // another replica, which looks at the ledger
	// trips counts the round trips of the first replica.
	trips *redistest.Trips
	ttl   time.Duration
	keep  store.Retention
	lease time.Duration
	// workers of each replica
	workers int
	// replicas of Redis must have what engines that are added accept and decide.
	replicas keyspace.Replicas
	// log is that of engines that are added; nil: the process's.
	log *slog.Logger
}

// each runs a test on miniredis, on a real server and on a cluster: what holds for one
// has to hold for the others.
func each(t *testing.T, test func(t *testing.T, w *world)) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server *redistest.Server) { test(t, newWorld(t, server)) })
}

func newWorld(t testing.TB, server *redistest.Server) *world {
	w := idleWorld(t, server, 0)
	_, w.keeper = w.replica()
	w.run(w.keeper)
	return w
}

// idleWorld is a world in which nobody looks at the ledger. Its replicas have so many
// workers; 0 for as many as is usual.
func idleWorld(t testing.TB, server *redistest.Server, workers int) *world {
	sealer, err := store.NewSealer([]byte(strings.Repeat("k", store.KeySize)))
	require.NoError(t, err)
	w := &world{
		t: t, server: server, sealer: sealer, matcher: &words{}, events: &outside{}, calls: &outside{}, inbox: &outside{outcome: nobody},
		trips: &redistest.Trips{}, ttl: time.Hour, lease: 3 * time.Second, workers: workers,
	}
	w.store, w.engine = w.replica(w.trips)
	w.app("clinic", "{}")
	return w
}

// replica adds a replica that does not look at the ledger.
func (w *world) replica(hooks ...redis.Hook) (*store.Store, *trigger.Engine) {
	client := w.server.Connect(redis.UniversalOptions{DialTimeout: time.Second, ReadTimeout: time.Second, ContextTimeoutEnabled: true})
	for _, hook := range hooks {
		client.AddHook(hook)
	}
	db := &keyspace.DB{UniversalClient: client, Embedded: w.server.Embedded(), Replicas: w.replicas}
	store := store.New(db, store.Options{Sealer: w.sealer, SessionTTL: w.ttl, Retention: w.keep})
	engine, err := trigger.NewEngine(trigger.Options{
		DB: db, Store: store, Matcher: w.matcher, Events: w.events, Calls: w.calls, Answers: w.inbox, Logger: w.log,
		Lease: w.lease, Poll: 20 * time.Millisecond, Workers: w.workers, Jitter: func(d time.Duration) time.Duration { return d / 50 },
	})
	require.NoError(w.t, err)
	store.OnChange(engine.Wake)
	w.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = engine.Stop(ctx)
		_ = client.Close()
	})
	return store, engine
}

// unhurried gives the first replica, and those that are added, a lease that the embedded
// store keeps within when many messages come at once on a machine that does much else.
func (w *world) unhurried() {
	w.lease = 10 * time.Minute
	w.store, w.engine = w.replica(w.trips)
}

// run lets a replica look at the ledger until the test ends.
func (w *world) run(engine *trigger.Engine) {
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		engine.Run(ctx)
	}()
	w.t.Cleanup(func() {
		stop()
		<-done
	})
}

// passing is a redis.Hook that lets everything pass: others embed it and override what they
// are about.
type passing struct{}

func (passing) DialHook(next redis.DialHook) redis.DialHook { return next }

func (passing) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (passing) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (w *world) app(id, body string) {
	app, err := repositories.DecodeApp(id, []byte(body))
	require.NoError(w.t, err)
	_, err = w.store.PutApp(w.t.Context(), app)
	require.NoError(w.t, err)
}

// put registers a repository in the session, or in the app where that is empty, and
// waits until its tool.changed is published.
func (w *world) put(session, id, body string) {
	w.register(session, id, body)
	w.keeper.Wake("clinic")
	w.rest()
}

func (w *world) register(session, id, body string) {
	scope := repositories.Scope{AppID: "clinic", SessionID: session}
	repository, err := repositories.DecodeRepository(scope, id, []byte(body))
	require.NoError(w.t, err)
	_, err = w.store.PutRepository(w.t.Context(), repository)
	require.NoError(w.t, err)
}

// say posts a message of the user in session s1.
func (w *world) say(id, text string) (query.Answer, error) {
	return w.sayOn(w.engine, "s1", id, text)
}

func (w *world) sayOn(engine *trigger.Engine, session, id, text string) (answer query.Answer, err error) {
	raw, err := engine.Post(w.t.Context(), trigger.Message{AppID: "clinic", SessionID: session, ID: id, Actor: matcher.ActorUser, Text: text})
	if err == nil {
		err = json.Unmarshal(raw, &answer)
	}
	return answer, err
}

func (w *world) fire(d trigger.Direct) (match query.Match, err error) {
	d.AppID = "clinic"
	raw, err := w.engine.Fire(w.t.Context(), d)
	if err == nil {
		err = json.Unmarshal(raw, &match)
	}
	return match, err
}

// until waits for a condition, by asking for it again and again.
func (w *world) until(what string, condition func() bool) {
	w.t.Helper()
	require.Eventually(w.t, condition, time.Minute, 5*time.Millisecond, what)
}

// settled waits until what the first replica has answered is written; it asks for a
// trigger, which is one round trip.
func (w *world) settled() {
	w.t.Helper()
	_, err := w.engine.Trigger(w.t.Context(), "clinic", "none")
	require.ErrorIs(w.t, err, query.ErrNotFound)
}

// expired lets the time of a session be over.
func (w *world) expired(session string) {
	w.t.Helper()
	client, keys := w.server.Client(), keyspace.KeysOf("clinic")
	require.NoError(w.t, client.ZAdd(w.t.Context(), keys.Idle(), redis.Z{Score: 1, Member: "clinic/" + session}).Err())
	if client.Exists(w.t.Context(), keys.Turns(session)).Val() == 1 {
		require.NoError(w.t, client.HSet(w.t.Context(), keys.Turns(session), "used", 1).Err())
	}
}

// rest waits until nothing is owed any more.
func (w *world) rest() {
	w.t.Helper()
	client := w.server.Client()
	key := keyspace.KeysOf("clinic").Owed()
	require.Eventually(w.t, func() bool {
		owed, err := client.Get(context.Background(), key).Int()
		return owed == 0 && (err == nil || errors.Is(err, redis.Nil))
	}, time.Minute, 5*time.Millisecond, "the ledger is empty")
}

// lapse lets the time of a member of the clinic's lanes be over.
func (w *world) lapse(lane keyspace.Lane, member string) {
	client, keys := w.server.Client(), keyspace.KeysOf("clinic")
	client.ZAdd(context.Background(), keys.Lane(lane), redis.Z{Member: member})
	client.ZAdd(context.Background(), keys.Due(), redis.Z{Member: string(lane) + "/clinic"})
}

// words is a matcher that takes what is said literally: a message of
// `book {"day":"monday"}; other {}` calls the tools book and other.
type words struct {
	mu      sync.Mutex
	before  func(matcher.Request) error // called first; its error is the outcome
	within  func(context.Context) error // the same, of a model that takes its time
	with    func(*matcher.Match)        // changes every match
	asked   []matcher.Request
	replies []([]matcher.PastCall)
}

func (m *words) Match(ctx context.Context, request matcher.Request) (matcher.Result, error) {
	m.mu.Lock()
	m.asked = append(m.asked, request)
	before, within, with := m.before, m.within, m.with
	m.mu.Unlock()
	if within != nil {
		if err := within(ctx); err != nil {
			return matcher.Result{}, err
		}
	}
	if before != nil {
		if err := before(request); err != nil {
			return matcher.Result{}, err
		}
	}
	result := matcher.Result{Stage: matcher.StageLLM, Text: "I heard: " + request.Text}
	for part := range strings.SplitSeq(request.Text, ";") {
		name, arguments, _ := strings.Cut(strings.TrimSpace(part), " ")
		for _, candidate := range request.Candidates {
			if candidate.Tool.Name == name {
				result = call(request, result, candidate, arguments)
			}
		}
	}
	for i := range result.Matches {
		if with != nil {
			with(&result.Matches[i])
		}
	}
	return result, nil
}

func call(request matcher.Request, result matcher.Result, candidate matcher.Candidate, arguments string) matcher.Result {
	given := map[string]any{}
	for _, begun := range request.Unfinished {
		if begun.Tool == candidate.Tool {
			maps.Copy(given, begun.Values)
		}
	}
	if arguments != "" {
		decoded, err := parameters.DecodeValues([]byte(arguments))
		if err != nil {
			return result
		}
		maps.Copy(given, decoded)
	}
	reading := candidate.Tool.Params().Read(given)
	if len(reading.Errors) > 0 {
		result.Rejected = append(result.Rejected, matcher.Rejected{
			Candidate: candidate, Values: reading.Values, Missing: reading.Missing, Errors: reading.Errors,
		})
		return result
	}
	result.Matches = append(result.Matches, matcher.Match{Candidate: candidate, Values: reading.Values})
	return result
}

// decorate adds to every match what a real matcher would.
func (m *words) decorate(with func(*matcher.Match)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.with = with
}

func (m *words) Reply(_ context.Context, _ matcher.Request, fired []matcher.PastCall) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.replies = append(m.replies, fired)
	return fmt.Sprintf("done: %s", fired[0].Name), nil
}

func (m *words) intercept(before func(matcher.Request) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.before = before
}

// takes has every match wait for what within waits for.
func (m *words) takes(within func(context.Context) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.within = within
}

// requests is how many messages were matched.
func (m *words) requests() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.asked)
}

// outside is NATS or an endpoint: it takes effects, or is down.
type outside struct {
	mu       sync.Mutex
	outcome  func(effect.Effect) effect.Outcome // nil: Done
	once     func(context.Context)              // what the next attempt hangs in, and fails
	attempts []effect.Effect
	taken    []effect.Effect
}

// hang lets the next attempt do something, and fail.
func (o *outside) hang(once func(context.Context)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.once = once
}

func (o *outside) Deliver(ctx context.Context, delivery effect.Effect) effect.Outcome {
	o.mu.Lock()
	o.attempts = append(o.attempts, delivery)
	answer, once := o.outcome, o.once
	o.once = nil
	o.mu.Unlock()
	if once != nil {
		once(ctx)
		return down(delivery)
	}
	outcome := effect.Outcome{Verdict: effect.Done}
	if delivery.Kind == effect.KindCall {
		outcome.Status, outcome.Result = 200, json.RawMessage(`{"ok":true}`)
	}
	if answer != nil {
		outcome = answer(delivery)
	}
	if outcome.Verdict == effect.Done {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.taken = append(o.taken, delivery)
	}
	return outcome
}

func (o *outside) answers(outcome func(effect.Effect) effect.Outcome) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.outcome = outcome
}

// subjects lists the subjects of the events that were taken, in their order, but for
// tool.changed.
func (o *outside) subjects() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	list := []string{}
	for _, effect := range o.taken {
		if !strings.HasPrefix(effect.Event.Subject, "tool.changed.") {
			list = append(list, effect.Event.Subject)
		}
	}
	return list
}

// changes lists the operations of the tool.changed events of a repository.
func (o *outside) changes(repositoryID string) []string {
	list := []string{}
	for _, payload := range o.payloads("tool.changed.clinic." + repositoryID) {
		list = append(list, payload["operation"].(string))
	}
	return list
}

// payloads lists the payloads of the events on a subject.
func (o *outside) payloads(subject string) []map[string]any {
	o.mu.Lock()
	defer o.mu.Unlock()
	var list []map[string]any
	for _, effect := range o.taken {
		if effect.Event != nil && effect.Event.Subject == subject {
			payload := map[string]any{}
			_ = json.Unmarshal(effect.Event.Data, &payload)
			list = append(list, payload)
		}
	}
	return list
}

// first is what was attempted first.
func (o *outside) first() effect.Effect {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.attempts[0]
}

func (o *outside) count() (attempts, taken int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.attempts), len(o.taken)
}

// nobody is the outcome of waiting for an answer that was not published.
func nobody(effect.Effect) effect.Outcome { return effect.Unanswered() }

// down is the outcome of everything while the other side is away.
func down(effect.Effect) effect.Outcome {
	return effect.Outcome{Verdict: effect.Retry, Reason: effect.ReasonRequest, Error: "connection refused"}
}

func session(id string) repositories.Scope { return repositories.Scope{AppID: "clinic", SessionID: id} }

func asJSON(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	require.NoError(t, err)
	return string(text)
}
