package delivery_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/deploy/testbed/enginetest"
	"earshot/deploy/testbed/redistest"
	"earshot/repositories/keyspace"
	"earshot/trigger"
	"earshot/trigger/effect"
)

// enqueueScript queues many events in the ledger as every script does.
//
//	KEYS outbox and effect of each, then the ledger
//	ARGV appId, then the Entry of each
var enqueueScript = keyspace.NewScript(keyspace.EffectLua, `
for i = 1, others, 2 do enqueue(KEYS[i + 1], cjson.decode(ARGV[(i + 3) / 2]), ARGV[1], KEYS[i], '') end
return 'ok'
`)

// enqueue queues n events in a session, numbered from 0, as an outage of NATS leaves them.
func (w *world) enqueue(app, session string, n int) {
	w.enqueueIn(app, n, func(int) string { return session })
}

// enqueueEach queues one event in each of n sessions.
func (w *world) enqueueEach(app string, n int) {
	w.enqueueIn(app, n, func(i int) string { return fmt.Sprintf("each-%d", i) })
}

func (w *world) enqueueIn(app string, n int, session func(int) string) {
	w.T.Helper()
	db := &keyspace.DB{UniversalClient: w.Server.Client(), Embedded: w.Server.Embedded()}
	k := keyspace.KeysOf(app)
	for chunk := range slices.Chunk(upTo(n), 500) {
		keys, args := []string{}, []any{app}
		for _, i := range chunk {
			id := fmt.Sprintf("%s.%d", session(i), i)
			event := effect.Event{Subject: "tool.trigger." + app + "." + session(i) + ".a", ID: id, Data: json.RawMessage(strconv.Itoa(i))}
			body := testbed.Got(json.Marshal(event))(w.T)
			owed := testbed.Got(json.Marshal(keyspace.EventEntry(id, session(i), "", string(body))))(w.T)
			keys, args = append(keys, k.Outbox(session(i)), k.Effect(id)), append(args, owed)
		}
		_, err := enqueueScript.Run(w.T.Context(), db, append(keys, k.Ledger()...), args...)
		require.NoError(w.T, err)
	}
}

// order returns the numbers of the published events of a session, in order.
func (w *world) order(session string) []int {
	list := []int{}
	for _, effect := range w.Events.Events() {
		if effect.SessionID == session {
			n, _ := strconv.Atoi(string(effect.Event.Data))
			list = append(list, n)
		}
	}
	return list
}

func upTo(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// many returns nightly in builds with that tag, else daily; the embedded store scans all its keys for every
// command.
func many(server *redistest.Server, daily, nightly int) int {
	switch {
	case server.Embedded():
		return min(daily, 200)
	case testbed.Nightly:
		return nightly
	}
	return daily
}

// TestBacklogOfASessionCostsAFewRoundTripsPerHundred queues thousands of events in one session: the cost of
// their delivery grows linearly.
func TestBacklogOfASessionCostsAFewRoundTripsPerHundred(t *testing.T) {
	t.Parallel()
	redistest.OnRedis(t, func(t *testing.T, server *redistest.Server) {
		n := many(server, 1_000, 5_000)
		w := idleWorld(t, server, 0)
		w.enqueue("clinic", "s1", n)
		var commands atomic.Int64 // commands; looks at the ledger are pipelines, as many as the time that a test takes
		_, engine := w.Replica(enginetest.Hook{Command: func(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error {
			commands.Add(1)
			return next(ctx, cmd)
		}})
		w.Run(engine)
		w.Rest()
		require.Equal(t, upTo(n), w.order("s1"))
		attempts, _ := w.Events.Count()
		require.Equal(t, n, attempts, "none was tried before its turn")
		require.Less(t, commands.Load(), int64(20+n/10)) // some for what the replica does at its start
		left, err := server.Client().Exists(t.Context(), keyspace.KeysOf("clinic").Holders(), keyspace.KeysOf("clinic").Outbox("s1")).Result()
		require.NoError(t, err)
		require.Zero(t, left)
	})
}

// TestFailedEventBlocksLaterEventsOfItsRun has NATS refuse one event out of
// many for a while.
func TestFailedEventBlocksLaterEventsOfItsRun(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		var refused atomic.Int64
		w.Events.Answer(func(delivery effect.Effect) effect.Outcome {
			if delivery.ID == "s1.40" && refused.Add(1) < 4 {
				return down(delivery)
			}
			return effect.Outcome{Verdict: effect.Done}
		})
		w.enqueue("clinic", "s1", 300)
		w.Rest()
		require.Equal(t, upTo(300), w.order("s1"))
		attempts, _ := w.Events.Count()
		require.Equal(t, 303, attempts)
		numbers := []int{}
		for _, attempt := range w.Events.Attempts {
			if attempt.ID == "s1.40" {
				numbers = append(numbers, attempt.Attempt)
			}
		}
		require.Equal(t, []int{1, 2, 3, 4}, numbers)
	})
}

// TestEventWithoutBodyBlocksNoOther has an outbox with an event that is gone, as after a manual repair.
func TestEventWithoutBodyBlocksNoOther(t *testing.T) {
	t.Parallel()
	redistest.OnRedis(t, func(t *testing.T, server *redistest.Server) {
		w := idleWorld(t, server, 0)
		w.enqueue("clinic", "s1", 10)
		keys := keyspace.KeysOf("clinic")
		for _, gone := range []string{"s1.0", "s1.1", "s1.5", "s1.9"} {
			require.NoError(t, server.Client().Del(t.Context(), keys.Effect(gone)).Err())
		}
		w.Run(w.Engine)
		w.Rest()
		require.Equal(t, []int{2, 3, 4, 6, 7, 8}, w.order("s1"))
	})
}

// TestOutboxIsReleasedAtShutdown stops a replica in the middle of a backlog: another one continues at once,
// before the lease ends.
func TestOutboxIsReleasedAtShutdown(t *testing.T) {
	t.Parallel()
	redistest.OnRedis(t, func(t *testing.T, server *redistest.Server) {
		w := idleWorld(t, server, 0)
		begun, release := make(chan struct{}), make(chan struct{})
		var once sync.Once
		w.Events.Answer(func(effect.Effect) effect.Outcome {
			once.Do(func() { close(begun); <-release })
			return effect.Outcome{Verdict: effect.Done}
		})
		w.enqueue("clinic", "s1", 400)
		_, doomed := w.Replica()
		ctx, stop := context.WithCancel(t.Context())
		go doomed.Run(ctx)
		<-begun
		stop()
		waits := &watchedContext{Context: t.Context(), begun: make(chan struct{})}
		stopped := make(chan error, 1)
		go func() { stopped <- doomed.Stop(waits) }()
		<-waits.begun
		close(release)
		require.NoError(t, <-stopped)
		require.Less(t, len(w.order("s1")), 400, "it did not stay for all of them")
		due := testbed.Got(server.Client().ZScore(t.Context(), keyspace.KeysOf("clinic").Lane(keyspace.LaneOutboxes), "s1").Result())(t)
		at := testbed.Got(server.Client().Time(t.Context()).Result())(t)
		require.LessOrEqual(t, int64(due), at.UnixMilli(), "it is due at once")
		w.Run(w.Engine)
		w.Rest()
		require.Equal(t, upTo(400), w.order("s1"))
	})
}

// watchedContext reports when its end is awaited.
type watchedContext struct {
	context.Context
	once  sync.Once
	begun chan struct{}
}

func (a *watchedContext) Done() <-chan struct{} {
	a.once.Do(func() { close(a.begun) })
	return a.Context.Done()
}

// TestConcurrentTriggersOfASessionDoNotPoll fires many tools in one session at once: the publisher notifies
// the waiting requests.
func TestConcurrentTriggersOfASessionDoNotPoll(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Unhurried()
		w.Put("s1", "r", `{"tools":[{"name":"a"}]}`)
		const n = 64
		before := w.Trips.Made()
		states := make(chan string, n)
		for range n {
			go func() {
				match, err := w.TryFire(trigger.Direct{SessionID: "s1", Name: "a", Source: "ui"})
				if err != nil {
					states <- err.Error()
					return
				}
				states <- match.Event.State
			}()
		}
		for range n {
			require.Contains(t, []string{"published", "pending"}, <-states)
		}
		w.Rest()
		require.Len(t, w.Events.Payloads("tool.trigger.clinic.s1.a"), n)
		require.Less(t, w.Trips.Made()-before, int64(7*n), "scope, decision and outcome, and at most a run for each")
	})
}

// neighbours returns the names of apps that share the clinic's partition.
func (w *world) neighbours(n int) []string {
	var names []string
	for i := 0; len(names) < n; i++ {
		name := fmt.Sprintf("neighbour-%d", i)
		if keyspace.PartitionOf(name) == keyspace.PartitionOf("clinic") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
