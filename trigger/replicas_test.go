package trigger_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/deploy/testbed/redistest"
	"earshot/repositories/keyspace"
	"earshot/trigger"
	"earshot/trigger/effect"
	"earshot/trigger/query"
)

// How long the tests let an engine wait for replicas: for those that answer, and for those known not to.
const (
	patient = time.Minute
	waiting = 200 * time.Millisecond
)

var yes = effect.Answer{OK: true, Result: json.RawMessage(`{"page":7}`)}

// TestWhatIsNotOnReplicasIsRefusedAndDoneOnce stops the Redis replica that must acknowledge acceptance and
// decision, and starts it again.
func TestWhatIsNotOnReplicasIsRefusedAndDoneOnce(t *testing.T) {
	t.Parallel()
	master := redistest.Run(t)
	replica := redistest.RunReplica(t, master)
	w := newWorld(t, master)
	w.Replicas = keyspace.Replicas{Count: 1, Timeout: waiting}
	_, hasty := w.Replica()
	w.Replicas.Timeout = patient
	_, answering := w.Replica(w.Trips)
	w.Engine = answering
	w.Put("s1", "booking", booking)
	_, err := w.TrySay("m0", `book {"day":"sunday"}`) // the scripts are known now
	require.NoError(t, err)
	w.Say("m1", `book {"day":"monday"}`)
	w.Put("s2", "booking", booking)
	least := int64(math.MaxInt64)
	for i := 0; i < 50 && least > 3; i++ { // workers that look for what is due make trips as well
		w.Rest() // and what settles behind an answer
		trips := w.Trips.Made()
		_, err := w.SayOn(answering, "s2", fmt.Sprint("m", i), `book {"day":"monday"}`)
		require.NoError(t, err)
		least = min(least, w.Trips.Made()-trips)
	}
	require.LessOrEqual(t, least, int64(3), "waiting costs no trip")
	w.Put("s1", "asking", `{"tools":[{"name":"ask","answer":{"within":"1h"},"request":{"timeout":"1ms"}}]}`)
	asked := w.Fire(trigger.Direct{SessionID: "s1", Name: "ask", Source: query.SourceUI})

	replica.Stop()
	w.Engine = hasty
	asynchronous := trigger.Message{AppID: "clinic", SessionID: "s1", ID: "m3", Actor: "user", Text: `book {"day":"friday"}`}
	direct := trigger.Direct{SessionID: "s1", Name: "book", Source: "ui", TriggerID: "t1", Values: map[string]any{"day": "sunday"}}
	for range 2 { // the second time it finds what the first has left
		_, err = w.TrySay("m2", `book {"day":"tuesday"}`)
		require.ErrorIs(t, err, keyspace.ErrReplicas)
		_, err = w.Engine.PostAsync(t.Context(), asynchronous)
		require.ErrorIs(t, err, keyspace.ErrReplicas)
		_, err = w.TryFire(direct)
		require.ErrorIs(t, err, keyspace.ErrReplicas)
		_, err = hasty.Answer(t.Context(), "clinic", asked.TriggerID, yes)
		require.ErrorIs(t, err, keyspace.ErrReplicas)
		w.Rest()
	}
	replica.Start()
	w.Engine = answering
	w.Until("it is answered again", func() bool {
		answer, err := w.TrySay("m2", `book {"day":"tuesday"}`)
		return err == nil && len(answer.Matches) == 1
	})
	_, err = w.Engine.PostAsync(t.Context(), asynchronous)
	require.NoError(t, err)
	w.Fire(direct)
	record, err := answering.Answer(t.Context(), "clinic", asked.TriggerID, effect.Answer{Error: "no"})
	require.NoError(t, err)
	require.JSONEq(t, `{"page":7}`, string(record.Call.Result))
	w.Rest()
	require.Len(t, w.Events.Payloads("tool.trigger.clinic.s1.book"), 5)
	w.distinct(t)
}

// TestReplicasAreThoseOfTheNodeThatHoldsTheApp has a cluster whose nodes have no replicas.
func TestReplicasAreThoseOfTheNodeThatHoldsTheApp(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a cluster needs seconds to form")
	}
	w := newWorld(t, redistest.RunCluster(t).Server)
	w.Replicas = keyspace.Replicas{Count: 1, Timeout: waiting}
	_, w.Engine = w.Replica()
	w.Put("s1", "booking", booking)
	for range 2 {
		_, err := w.TrySay("m1", `book {"day":"monday"}`)
		require.ErrorIs(t, err, keyspace.ErrReplicas)
		w.Rest()
	}
	require.Len(t, w.Events.Payloads("tool.trigger.clinic.s1.book"), 1)
}

// TestMessagesThatFailForRedisAloneAreFewLogLines has messages that nobody waits for.
func TestMessagesThatFailForRedisAloneAreFewLogLines(t *testing.T) {
	t.Parallel()
	w, out := idleWorld(t, redistest.Run(t), 0), &testbed.Lines{}
	w.Log = slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: slog.LevelDebug}))
	w.Register(session("s1"), "booking", booking)
	w.Replicas = keyspace.Replicas{Count: 1, Timeout: time.Millisecond}
	_, hasty := w.Replica()
	for i := range 30 {
		_, err := w.SayOn(hasty, "s1", fmt.Sprint("m", i), `book {"day":"monday"}`)
		require.ErrorIs(t, err, keyspace.ErrReplicas)
	}
	lines := func(start string) int { return strings.Count(out.String(), "level="+start+" ") }
	w.Run(hasty)
	w.Until("many were tried again", func() bool { return lines("DEBUG msg=turn.failed")+lines("WARN msg=turn.failed") >= 20 })
	require.LessOrEqual(t, lines("WARN msg=turn.failed"), 1+lines("INFO msg=turns.again"))
}
