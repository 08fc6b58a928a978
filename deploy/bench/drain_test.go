package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/deploy/testbed/natstest"
	"earshot/deploy/testbed/redistest"
	"earshot/emitter"
	"earshot/matcher"
	"earshot/repositories/keyspace"
	"earshot/repositories/store"
	"earshot/trigger"
	"earshot/trigger/effect"
)

// BenchmarkDrain measures how one replica publishes pending events after an outage of NATS: the time for an event must not grow
// with their number. The first case is NATS alone, with one publisher that waits for each acknowledgement.
func BenchmarkDrain(b *testing.B) {
	b.Run("broker/10000", func(b *testing.B) {
		out, began := published(b), time.Now()
		for i := range 10_000 {
			require.Equal(b, effect.Done, out.Deliver(b.Context(), effect.Effect{ID: strconv.Itoa(i), Kind: effect.KindEvent, Event: event("app", "s")}).Verdict)
		}
		b.ReportMetric(10_000/time.Since(began).Seconds(), "events/s")
	})
	for _, shape := range []shape{{"session", 1, 1}, {"app", 1, 100}, {"sessions", 20, 500}} {
		for _, n := range []int{1_000, 10_000, 100_000} {
			b.Run(fmt.Sprintf("%s/%d", shape.name, n), func(b *testing.B) {
				for b.Loop() {
					drain(b, shape, n)
				}
			})
		}
	}
}

type shape struct {
	name           string
	apps, sessions int // sessions of each app
}

func (s shape) of(i int) (app, session string) {
	return fmt.Sprintf("app-%d", i%s.apps), fmt.Sprintf("s%d", i/s.apps%s.sessions)
}

type outage struct {
	effect.Deliverer
	back           atomic.Bool
	refused, taken atomic.Int64
	began          atomic.Int64 // ns, the first event after the outage
}

func (o *outage) Deliver(ctx context.Context, delivery effect.Effect) effect.Outcome {
	if !o.back.Load() {
		o.refused.Add(1)
		return effect.Outcome{Verdict: effect.Retry, Deferred: true, Error: "NATS is away"}
	}
	o.began.CompareAndSwap(0, time.Now().UnixNano())
	o.taken.Add(1)
	return o.Deliverer.Deliver(ctx, delivery)
}

func drain(b *testing.B, shape shape, n int) {
	b.StopTimer()
	server := redistest.Run(b)
	db := &keyspace.DB{UniversalClient: server.Client()}
	enqueue(b, db, shape, n)
	hook, nats := &redistest.Trips{}, &outage{Deliverer: published(b)}
	db.AddHook(hook)
	engine := replica(b, db, nats)
	stop := testbed.Background(b, engine.Run)
	require.Eventually(b, func() bool { return nats.refused.Load() > 0 }, time.Minute, time.Millisecond)
	b.StartTimer()
	before := hook.Made()
	nats.back.Store(true)
	client := server.Client()
	require.Eventually(b, func() bool { return drained(b, client) }, time.Hour, 10*time.Millisecond)
	took := time.Duration(time.Now().UnixNano() - nats.began.Load())
	b.StopTimer()
	stop()
	require.NoError(b, engine.Stop(context.Background()))
	require.EqualValues(b, n, nats.taken.Load(), "each is published once")
	b.ReportMetric(float64(n)/took.Seconds(), "events/s")
	b.ReportMetric(float64(took.Microseconds())/float64(n), "µs/event")
	b.ReportMetric(float64(hook.Made()-before)/float64(n), "trips/event")
	b.StartTimer()
}

func published(b *testing.B) *emitter.Emitter {
	out := testbed.Got(emitter.Connect(natstest.Run(b).URL(), emitter.Options{}))(b)
	b.Cleanup(out.Close)
	require.NoError(b, out.Ready(b.Context()))
	return out
}

func replica(b *testing.B, db *keyspace.DB, events effect.Deliverer) *trigger.Engine {
	sealer := testbed.Got(store.NewSealer([]byte(strings.Repeat("k", store.KeySize))))(b)
	engine, err := trigger.NewEngine(trigger.Options{
		DB: db, Store: store.New(db, store.Options{Sealer: sealer, SessionTTL: time.Hour}),
		Matcher: nobody{}, Events: events, Calls: events,
	})
	require.NoError(b, err)
	return engine
}

type nobody struct{ matcher.Matcher }

func drained(b *testing.B, client redis.UniversalClient) bool {
	pipe := client.Pipeline()
	for _, key := range keyspace.AllPendingCounts() {
		pipe.Get(b.Context(), key)
	}
	replies, err := pipe.Exec(b.Context())
	require.True(b, err == nil || errors.Is(err, redis.Nil), "%v", err)
	return !slices.ContainsFunc(replies, func(reply redis.Cmder) bool {
		owed, _ := reply.(*redis.StringCmd).Int()
		return owed > 0
	})
}

// owing writes the event of a trigger into the ledger, with its record.
//
//	KEYS outbox, effect and trigger of each, then the ledger
//	ARGV appId, then the Entry of each
var owing = keyspace.NewScript(keyspace.EffectLua, `
for i = 1, others, 3 do
  redis.call('HSET', KEYS[i + 2], 'record', '{}', 'open', 1, 'dead', 0)
  enqueue(KEYS[i + 1], cjson.decode(ARGV[(i + 5) / 3]), ARGV[1], KEYS[i], '')
end
return 'ok'
`)

func event(app, session string) *effect.Event {
	data := json.RawMessage(`"` + strings.Repeat("x", 500) + `"`)
	return &effect.Event{Subject: "tool.trigger." + app + "." + session + ".ring", ID: "e", Type: "earshot.tool.trigger", Data: data}
}

func enqueue(b *testing.B, db *keyspace.DB, shape shape, n int) {
	byApp := map[string][]int{}
	for i := range n {
		app, _ := shape.of(i)
		byApp[app] = append(byApp[app], i)
	}
	for app, all := range byApp {
		k := keyspace.KeysOf(app)
		for some := range slices.Chunk(all, 1000) {
			keys, args := []string{}, []any{app}
			for _, i := range some {
				_, session := shape.of(i)
				id := fmt.Sprintf("%032x", i)
				body := testbed.Got(json.Marshal(event(app, session)))(b)
				effect := keyspace.EventEntry(id+".event", session, id, string(body))
				effect.Part = "event"
				owed := testbed.Got(json.Marshal(effect))(b)
				keys, args = append(keys, k.Outbox(session), k.Effect(effect.ID), k.Trigger(id)), append(args, owed)
			}
			testbed.Got(owing.Run(b.Context(), db, append(keys, k.Ledger()...), args...))(b)
		}
	}
}
