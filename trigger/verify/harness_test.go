package verify_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
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
	"earshot/trigger/effect"
	"earshot/trigger/query"
	"earshot/trigger/verify"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// world is a service on a Redis that does not process the ledger until it is run.
type world struct {
	t      *testing.T
	server *redistest.Server
	client redis.UniversalClient
	db     *keyspace.DB
	store  *store.Store
	engine *trigger.Engine
	events *outside
	calls  *outside
	k      keyspace.Keys
	ids    map[string]string // triggers by the names of their tools
}

func newWorld(t *testing.T, server *redistest.Server) *world {
	client := server.Client()
	sealer, err := store.NewSealer([]byte(strings.Repeat("k", store.KeySize)))
	require.NoError(t, err)
	db := &keyspace.DB{UniversalClient: client, Embedded: server.Embedded()}
	w := &world{
		t: t, server: server, client: client, db: db, store: store.New(db, store.Options{Sealer: sealer, SessionTTL: time.Hour}),
		events: &outside{}, calls: &outside{}, k: keyspace.KeysOf("clinic"), ids: map[string]string{},
	}
	w.engine, err = trigger.NewEngine(trigger.Options{
		DB: db, Store: w.store, Matcher: named{}, Events: w.events, Calls: w.calls, Answers: w.calls, Poll: 10 * time.Millisecond,
		Jitter: func(d time.Duration) time.Duration { return d / 100 },
	})
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = w.engine.Stop(ctx)
	})
	return w
}

// desk has tools with all sorts of outcomes; see fill.
const desk = `{"tools":[{"name":"note"},{"name":"book","url":"https://example.org/book","emitter":"calendar.request"},
	{"name":"busy","url":"https://example.org/busy"},{"name":"risky","url":"https://example.org/risky"},
	{"name":"late"},{"name":"lamp","settle":"60s"},{"name":"refund","confirm":"always"},{"name":"wait","answer":{"within":"1h"},"request":{"timeout":"1ms"}},
	{"name":"alarm","dedupe":{"within":"10m"}}]}`

// fill makes a ledger with delivered, pending, held and failed triggers, of a session and of the app.
func (w *world) fill() {
	w.app("clinic")
	w.app("museum")
	w.put("", "desk", desk)
	w.put("s3", "own", `{"tools":[{"name":"mine"}]}`)
	_, _, err := w.store.CreateKey(w.t.Context(), "clinic", store.NewKey{Scopes: []store.Permission{store.PermitTools}})
	require.NoError(w.t, err)
	for _, tool := range []string{"note", "book", "busy", "risky", "wait", "alarm", "lamp", "refund", "late"} {
		w.say("s1", tool)
	}
	w.say("s2", "note")
	raw := testbed.Got(w.engine.Fire(w.t.Context(), trigger.Direct{AppID: "clinic", Name: "note", Source: "task"}))(w.t)
	match := query.Match{}
	require.NoError(w.t, json.Unmarshal(raw, &match))
	w.ids["direct"] = match.TriggerID
	_, err = w.engine.Post(w.t.Context(), trigger.Message{AppID: "clinic", SessionID: "s1", ID: "away", Actor: matcher.ActorUser, Text: "away"})
	require.Error(w.t, err)
	w.settled()
}

func (w *world) app(id string) {
	app := testbed.Got(repositories.DecodeApp(id, []byte(`{}`)))(w.t)
	_, err := w.store.PutApp(w.t.Context(), app)
	require.NoError(w.t, err)
}

func (w *world) put(session, id, body string) {
	repository := testbed.Got(repositories.DecodeRepository(repositories.Scope{AppID: "clinic", SessionID: session}, id, []byte(body)))(w.t)
	_, err := w.store.PutRepository(w.t.Context(), repository)
	require.NoError(w.t, err)
}

// say posts a message that names a tool. The events of the tool late are not accepted.
func (w *world) say(session, tool string) {
	w.events.refuse(tool == "late")
	raw, err := w.engine.Post(w.t.Context(), trigger.Message{AppID: "clinic", SessionID: session, ID: "m-" + tool, Actor: matcher.ActorUser, Text: tool})
	require.NoError(w.t, err)
	var answer query.Answer
	require.NoError(w.t, json.Unmarshal(raw, &answer))
	require.Len(w.t, answer.Matches, 1, tool)
	w.ids[session+" "+tool] = answer.Matches[0].TriggerID
	w.settled()
	w.events.refuse(false)
}

// tell posts one of many messages, which fires a tool.
func (w *world) tell(ctx context.Context, session string, n int) error {
	tools := []string{"note", "book", "lamp", "alarm", "risky", "nothing"}
	_, err := w.engine.Post(ctx, trigger.Message{AppID: "clinic", SessionID: session, ID: fmt.Sprintf("n%d", n), Actor: matcher.ActorUser, Text: tools[n%len(tools)]})
	return err
}

// settled waits until all answered triggers are written.
func (w *world) settled() {
	_, err := w.engine.Trigger(w.t.Context(), "clinic", "none")
	require.ErrorIs(w.t, err, query.ErrNotFound)
}

// firing returns the prefix of the ids of a trigger's effects.
func (w *world) firing(id string) string {
	fire := testbed.Got(w.client.HGet(w.t.Context(), w.k.Trigger(id), "fire").Result())(w.t)
	return fire
}

// effect returns the key of an effect of a trigger.
func (w *world) effect(id, part string) string {
	return w.k.Effect(keyspace.EffectID(w.firing(id), part))
}

func (w *world) verify(mend bool) *verify.Report {
	w.t.Helper()
	report, err := verify.Ledger(w.t.Context(), verify.Options{
		DB: w.db, Mend: mend, Done: store.DefaultRetention, Dead: store.DefaultDeadRetention, Pause: func(context.Context) error { return nil },
	})
	require.NoError(w.t, err)
	return report
}

// run has the service process the ledger until the test ends.
func (w *world) run() {
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.engine.Run(ctx)
	}()
	w.t.Cleanup(func() {
		stop()
		<-done
	})
}

// named is a matcher that calls the tool named by the text; for the text away it is unavailable.
type named struct{}

func (named) Match(_ context.Context, request matcher.Request) (result matcher.Result, err error) {
	if request.Text == "away" {
		return result, &matcher.Unavailable{Reason: "it is not there"}
	}
	for _, candidate := range request.Candidates {
		if candidate.Tool.Name == request.Text {
			result.Matches = append(result.Matches, matcher.Match{Candidate: candidate, Values: map[string]any{}})
		}
	}
	return result, nil
}

func (named) Reply(context.Context, matcher.Request, []matcher.PastCall) (string, error) {
	return "", nil
}

// outside is NATS or an endpoint: it accepts everything but effects of the tools busy and risky.
type outside struct {
	before  func() // what happens before each delivery; nil for nothing
	mu      sync.Mutex
	refuses bool
	mended  bool           // it takes all
	taken   map[string]int // how often, by id
}

func (o *outside) refuse(all bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.refuses = all
}

func (o *outside) takeAll() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.mended = true
}

func (o *outside) Deliver(_ context.Context, delivery effect.Effect) effect.Outcome {
	if o.before != nil {
		o.before()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case delivery.Kind == effect.KindAnswer:
		return effect.Unanswered()
	case o.refuses, !o.mended && delivery.Call != nil && strings.HasSuffix(delivery.Call.URL, "busy"):
		return effect.Outcome{Verdict: effect.Retry, Reason: effect.ReasonRequest, Error: "it is busy"}
	case !o.mended && delivery.Call != nil && strings.HasSuffix(delivery.Call.URL, "risky"):
		return effect.Outcome{Verdict: effect.Dead, Reason: effect.ReasonRequest, Error: "it is refused"}
	}
	if o.taken == nil {
		o.taken = map[string]int{}
	}
	o.taken[delivery.ID]++
	return effect.Outcome{Verdict: effect.Done}
}

// times returns how often each effect was accepted.
func (o *outside) times() map[string]int {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := map[string]int{}
	for id, n := range o.taken {
		all[id] = n
	}
	return all
}

// dump returns the content of Redis, by key.
func (w *world) dump() map[string]string {
	held := map[string]string{}
	for _, key := range w.server.Keys() {
		if place, is := keyspace.ParseKey(key); !is || place.Kind == keyspace.KindConfirm {
			continue
		}
		held[key] = w.content(key)
	}
	return held
}

// content returns the content of a key as text, and whether it expires.
func (w *world) content(key string) string {
	ctx := w.t.Context()
	var held any
	switch w.client.Type(ctx, key).Val() {
	case "hash":
		held = w.client.HGetAll(ctx, key).Val()
	case "zset":
		held = w.client.ZRangeWithScores(ctx, key, 0, -1).Val()
	case "list":
		held = w.client.LRange(ctx, key, 0, -1).Val()
	default:
		held = w.client.Get(ctx, key).Val()
	}
	return fmt.Sprint(held, w.client.PTTL(ctx, key).Val() < 0)
}

// keep returns a function that restores the current content of Redis.
func (w *world) keep() (restore func()) {
	held := map[string][2]any{} // a writer, and for how long it is kept
	for _, key := range w.server.Keys() {
		held[key] = [2]any{w.writer(key), w.client.PTTL(w.t.Context(), key).Val()}
	}
	return func() {
		for _, key := range w.server.Keys() {
			require.NoError(w.t, w.client.Del(w.t.Context(), key).Err())
		}
		for key, how := range held {
			require.NoError(w.t, how[0].(func() error)())
			if left := how[1].(time.Duration); left > 0 {
				require.NoError(w.t, w.client.PExpire(w.t.Context(), key, left).Err())
			}
		}
	}
}

// writer returns a function that writes a key with its current content.
func (w *world) writer(key string) func() error {
	ctx := w.t.Context()
	switch w.client.Type(ctx, key).Val() {
	case "hash":
		held := w.client.HGetAll(ctx, key).Val()
		return func() error { return w.client.HSet(ctx, key, held).Err() }
	case "zset":
		held := w.client.ZRangeWithScores(ctx, key, 0, -1).Val()
		return func() error { return w.client.ZAdd(ctx, key, held...).Err() }
	case "list":
		held := lists.Map(w.client.LRange(ctx, key, 0, -1).Val(), func(item string) any { return item })
		return func() error { return w.client.RPush(ctx, key, held...).Err() }
	}
	held := w.client.Get(ctx, key).Val()
	return func() error { return w.client.Set(ctx, key, held, 0).Err() }
}
