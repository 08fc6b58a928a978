// Package enginetest is a service of one or more replicas on one Redis; a test controls everything around it.
package enginetest

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/deploy/testbed/redistest"
	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/keyspace"
	"earshot/repositories/lists"
	"earshot/repositories/store"
	"earshot/trigger"
	"earshot/trigger/query"
	"earshot/trigger/worker"
)

// Booking is a repository with a tool that has an emitter and a call.
const Booking = `{"tools":[{"name":"book","description":"User needs an appointment",
  "schema":[{"parameter":"day","type":"string","required":true},
            {"parameter":"number","type":"integer"},
            {"parameter":"desk","type":"string","value":"A","ignore":true}],
  "url":"http://calendar.example/book/:day","emitter":"calendar.request"}]}`

// World is the service, with the app "clinic".
type World struct {
	T       testing.TB
	Server  *redistest.Server
	Matcher *Words
	Events  *Outside
	Calls   *Outside
	Inbox   *Outside // answers that were published
	Store   *store.Store
	Engine  *trigger.Engine
	Keeper  *trigger.Engine  // another replica, which looks at the ledger
	Trips   *redistest.Trips // round trips of the first replica
	// Of replicas that are added:
	TTL       time.Duration
	Retention store.Retention
	Lease     time.Duration
	Timeout   time.Duration // of Redis, for an answer
	Workers   int
	Replicas  keyspace.Replicas // of Redis, that must have what is accepted and decided
	Log       *slog.Logger
	Metrics   *worker.Metrics

	sealer *store.Sealer
}

// Each runs a test on a real server, and at night on miniredis and on a cluster.
func Each(t *testing.T, test func(t *testing.T, w *World)) {
	t.Parallel()
	redistest.OnRedis(t, func(t *testing.T, server *redistest.Server) { test(t, New(t, server)) })
}

// Keeping runs a test like Each, with one replica that keeps no more than that, and a repository with a tool.
func Keeping(t *testing.T, keep store.Retention, test func(t *testing.T, w *World)) {
	t.Parallel()
	redistest.OnRedis(t, func(t *testing.T, server *redistest.Server) {
		w := Idle(t, server, 0)
		w.Retention, w.Lease = keep, time.Minute
		w.Store, w.Engine = w.Replica()
		w.Keeper = w.Engine
		w.Run(w.Engine)
		w.Put("", "r", `{"tools":[{"name":"book","url":"http://x.example"}]}`)
		test(t, w)
	})
}

// New returns a World whose keeper looks at the ledger.
func New(t testing.TB, server *redistest.Server) *World {
	w := Idle(t, server, 0)
	_, w.Keeper = w.Replica()
	w.Run(w.Keeper)
	return w
}

// Idle returns a World in which no replica looks at the ledger. Its replicas have so many workers; 0: the default.
func Idle(t testing.TB, server *redistest.Server, workers int) *World {
	sealer := testbed.Got(store.NewSealer([]byte(strings.Repeat("k", store.KeySize))))(t)
	w := &World{
		T: t, Server: server, sealer: sealer, Matcher: &Words{}, Events: &Outside{}, Calls: &Outside{}, Inbox: &Outside{outcome: Nobody},
		Trips: &redistest.Trips{}, TTL: time.Hour, Lease: 15 * time.Second, Timeout: testbed.Patience, Workers: workers,
	}
	w.Store, w.Engine = w.Replica(w.Trips)
	w.App("clinic", "{}")
	return w
}

// Replica adds a replica that does not look at the ledger.
func (w *World) Replica(hooks ...redis.Hook) (*store.Store, *trigger.Engine) {
	client := w.Server.Connect(redis.UniversalOptions{DialTimeout: testbed.Patience, ReadTimeout: w.Timeout, ContextTimeoutEnabled: true})
	for _, hook := range hooks {
		client.AddHook(hook)
	}
	db := &keyspace.DB{UniversalClient: client, Embedded: w.Server.Embedded(), Replicas: w.Replicas}
	definitions := store.New(db, store.Options{Sealer: w.sealer, SessionTTL: w.TTL, Retention: w.Retention})
	engine, err := trigger.NewEngine(trigger.Options{
		DB: db, Store: definitions, Matcher: w.Matcher, Events: w.Events, Calls: w.Calls, Answers: w.Inbox, Logger: w.Log, Metrics: w.Metrics,
		Lease: w.Lease, Poll: 20 * time.Millisecond, Workers: w.Workers, Jitter: func(d time.Duration) time.Duration { return d / 50 },
	})
	require.NoError(w.T, err)
	definitions.OnChange(engine.Wake)
	w.T.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = engine.Stop(ctx)
		_ = client.Close()
	})
	return definitions, engine
}

// DB is the database of the service.
func (w *World) DB() *keyspace.DB {
	return &keyspace.DB{UniversalClient: w.Server.Client(), Embedded: w.Server.Embedded()}
}

// Unhurried gives the first and all later replicas a lease that is long enough for many messages on a busy machine.
func (w *World) Unhurried() {
	w.Lease = 10 * time.Minute
	w.Store, w.Engine = w.Replica(w.Trips)
}

// Run lets a replica look at the ledger until the test ends.
func (w *World) Run(engine *trigger.Engine) { testbed.Background(w.T, engine.Run) }

// Session is the scope of a session of the clinic, or of the app if id is empty.
func Session(id string) repositories.Scope { return repositories.Scope{AppID: "clinic", SessionID: id} }

// App writes an app.
func (w *World) App(id, body string) {
	app := testbed.Got(repositories.DecodeApp(id, []byte(body)))(w.T)
	testbed.Got(w.Store.PutApp(w.T.Context(), app))(w.T)
}

// Put registers a repository in the session, or in the app if that is empty, and waits for its tool.changed.
func (w *World) Put(session, id, body string) {
	w.Register(Session(session), id, body)
	w.Keeper.Wake("clinic")
	w.Rest()
}

// Register registers a repository.
func (w *World) Register(in repositories.Scope, id, body string) {
	repository := testbed.Got(repositories.DecodeRepository(in, id, []byte(body)))(w.T)
	testbed.Got(w.Store.PutRepository(w.T.Context(), repository))(w.T)
}

// Close closes session s1.
func (w *World) Close() { require.NoError(w.T, w.Store.CloseSession(w.T.Context(), "clinic", "s1")) }

// AnswerOf reads the answer to a message.
func AnswerOf(raw json.RawMessage, err error) (answer query.Answer, _ error) {
	if err == nil {
		err = json.Unmarshal(raw, &answer)
	}
	return answer, err
}

// SayOn posts a message of the user.
func (w *World) SayOn(engine *trigger.Engine, session, id, text string) (query.Answer, error) {
	return AnswerOf(engine.Post(w.T.Context(), trigger.Message{AppID: "clinic", SessionID: session, ID: id, Actor: matcher.ActorUser, Text: text}))
}

// TrySay posts a message of the user in session s1.
func (w *World) TrySay(id, text string) (query.Answer, error) {
	return w.SayOn(w.Engine, "s1", id, text)
}

// Say posts a message of the user in session s1, which is decided.
func (w *World) Say(id, text string) query.Answer { return testbed.Got(w.TrySay(id, text))(w.T) }

// One says what matches one tool, and returns the match.
func (w *World) One(id, text string) query.Match {
	answer := w.Say(id, text)
	require.Len(w.T, answer.Matches, 1, text)
	return answer.Matches[0]
}

// Agent posts a message of an agent in session s1.
func (w *World) Agent(id, text string) {
	testbed.Got(w.Engine.Post(w.T.Context(), trigger.Message{AppID: "clinic", SessionID: "s1", ID: id, Actor: matcher.ActorAgent, Text: text}))(w.T)
}

// TryFire fires a tool of the clinic.
func (w *World) TryFire(d trigger.Direct) (match query.Match, err error) {
	d.AppID = "clinic"
	raw, err := w.Engine.Fire(w.T.Context(), d)
	if err == nil {
		err = json.Unmarshal(raw, &match)
	}
	return match, err
}

// Fire fires a tool of the clinic, from a page unless there is another source.
func (w *World) Fire(d trigger.Direct) query.Match {
	if d.Source == "" {
		d.Source = query.SourceUI
	}
	return testbed.Got(w.TryFire(d))(w.T)
}

// Trigger reads the record of a trigger.
func (w *World) Trigger(id string) query.Record {
	return testbed.Got(w.Engine.Trigger(w.T.Context(), "clinic", id))(w.T)
}

// Triggers reads the records that a query finds, as many as there are.
func (w *World) Triggers(q query.Triggers) []query.Record {
	q.AppID, q.Page.Limit = "clinic", 1000
	records, _, err := w.Engine.Triggers(w.T.Context(), q)
	require.NoError(w.T, err)
	return records
}

// History reads what was said in a session.
func (w *World) History(session string) []query.Entry {
	history, _, err := w.Engine.History(w.T.Context(), query.History{AppID: "clinic", SessionID: session, Page: query.Page{Limit: 10}})
	require.NoError(w.T, err)
	return history
}

// Offered lists the names of the tools that the last message was matched against.
func (w *World) Offered() []string {
	last := w.Matcher.Asked[len(w.Matcher.Asked)-1]
	return lists.Map(last.Candidates, func(candidate matcher.Candidate) string { return candidate.Tool.Name })
}

// Until waits for a condition, by asking for it again and again.
func (w *World) Until(what string, condition func() bool) {
	require.Eventually(w.T, condition, testbed.Patience, 5*time.Millisecond, what)
}

// UntilState waits until a trigger is in a state.
func (w *World) UntilState(triggerID, state string) {
	w.Until("it is "+state, func() bool { return w.Trigger(triggerID).State == state })
}

// Flushed waits until what the first replica has answered is written; it asks for a trigger, which is one round trip.
func (w *World) Flushed() {
	_, err := w.Engine.Trigger(w.T.Context(), "clinic", "none")
	require.ErrorIs(w.T, err, query.ErrNotFound)
}

// Rest waits until nothing is owed any more, as long as less and less is.
func (w *World) Rest() {
	client := w.Server.Client() // one for all looks: its connections last as long as the test
	for least := math.MaxInt; least > 0; {
		w.Until("the ledger becomes emptier", func() bool {
			owed, err := client.Get(context.Background(), keyspace.KeysOf("clinic").PendingCount()).Int()
			if err != nil && !errors.Is(err, redis.Nil) || owed >= least {
				return false
			}
			least = owed
			return true
		})
	}
}

// Expire lets the time of a session be over.
func (w *World) Expire(session string) {
	client, keys := w.Server.Client(), keyspace.KeysOf("clinic")
	require.NoError(w.T, client.ZAdd(w.T.Context(), keys.Idle(), redis.Z{Score: 1, Member: "clinic/" + session}).Err())
	if client.Exists(w.T.Context(), keys.Turns(session)).Val() == 1 {
		require.NoError(w.T, client.HSet(w.T.Context(), keys.Turns(session), "used", 1).Err())
	}
}

// Lapse lets the time of a member of the clinic's lanes be over, and the lease of a call.
func (w *World) Lapse(lane keyspace.Lane, member string) {
	client, keys := w.Server.Client(), keyspace.KeysOf("clinic")
	switch lane {
	case keyspace.LaneCalls:
		if client.Exists(context.Background(), keys.Effect(member)).Val() == 1 {
			client.HSet(context.Background(), keys.Effect(member), "until", time.Now().UnixMilli()-1)
		}
	case keyspace.LaneHeld:
		client.HSet(context.Background(), keys.Trigger(member), "due", 1)
	}
	client.ZAdd(context.Background(), keys.Lane(lane), redis.Z{Score: 1, Member: member})
	client.ZAdd(context.Background(), keys.Due(), redis.Z{Score: 1, Member: string(lane) + "/clinic"})
	if w.Keeper != nil {
		w.Keeper.Wake("clinic")
	}
}

// JSON writes a value.
func JSON(t testing.TB, value any) string {
	text := testbed.Got(json.Marshal(value))(t)
	return string(text)
}
