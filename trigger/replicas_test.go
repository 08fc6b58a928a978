package trigger_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/redistest"
	"earshot/repositories/keyspace"
	"earshot/trigger"
	"earshot/trigger/effect"
	"earshot/trigger/query"
)

// How long the tests let an engine wait for replicas: where they answer, and where they
// are known not to.
const (
	patient = time.Minute
	waiting = 200 * time.Millisecond
)

// TestWhatIsNotOnReplicasIsRefusedAndDoneOnce stops the replica of Redis that has to have
// what is accepted and decided, and lets it come back.
func TestWhatIsNotOnReplicasIsRefusedAndDoneOnce(t *testing.T) {
	t.Parallel()
	master := redistest.Run(t)
	replica := redistest.RunReplica(t, master)
	w := newWorld(t, master)
	w.replicas = keyspace.Replicas{Count: 1, Timeout: waiting}
	_, hasty := w.replica()
	w.replicas.Timeout = patient
	_, answering := w.replica(w.trips)
	w.engine = answering
	w.put("s1", "booking", booking)
	_, err := w.say("m0", `book {"day":"sunday"}`) // the scripts are known now
	require.NoError(t, err)
	w.rest() // what settles behind an answer makes trips as well
	trips := w.trips.Made()
	_, err = w.say("m1", `book {"day":"monday"}`)
	require.NoError(t, err)
	require.LessOrEqual(t, w.trips.Made()-trips, int64(3), "waiting costs no trip")
	w.put("s1", "asking", `{"tools":[{"name":"ask","answer":{"within":"1h"},"request":{"timeout":"1ms"}}]}`)
	asked, err := w.fire(trigger.Direct{SessionID: "s1", Name: "ask", Source: query.SourceUI})
	require.NoError(t, err)

	replica.Stop()
	w.engine = hasty
	asynchronous := trigger.Message{AppID: "clinic", SessionID: "s1", ID: "m3", Actor: "user", Text: `book {"day":"friday"}`}
	direct := trigger.Direct{SessionID: "s1", Name: "book", Source: "ui", TriggerID: "t1", Values: map[string]any{"day": "sunday"}}
	for range 2 { // the second time it finds what the first has left
		_, err = w.say("m2", `book {"day":"tuesday"}`)
		require.ErrorIs(t, err, keyspace.ErrReplicas)
		_, err = w.engine.PostAsync(t.Context(), asynchronous)
		require.ErrorIs(t, err, keyspace.ErrReplicas)
		_, err = w.fire(direct)
		require.ErrorIs(t, err, keyspace.ErrReplicas)
		_, err = hasty.Answer(t.Context(), "clinic", asked.TriggerID, yes)
		require.ErrorIs(t, err, keyspace.ErrReplicas)
		w.rest()
	}
	replica.Start()
	w.engine = answering
	w.until("it is answered again", func() bool {
		answer, err := w.say("m2", `book {"day":"tuesday"}`)
		return err == nil && len(answer.Matches) == 1
	})
	_, err = w.engine.PostAsync(t.Context(), asynchronous)
	require.NoError(t, err)
	_, err = w.fire(direct)
	require.NoError(t, err)
	record, err := answering.Answer(t.Context(), "clinic", asked.TriggerID, effect.Answer{Error: "no"})
	require.NoError(t, err)
	require.JSONEq(t, `{"page":7}`, string(record.Call.Result))
	w.rest()
	require.Len(t, w.events.payloads("tool.trigger.clinic.s1.book"), 5)
	w.events.distinct(t)
}

// TestReplicasAreThoseOfTheNodeThatHoldsTheApp has a cluster whose nodes have none.
func TestReplicasAreThoseOfTheNodeThatHoldsTheApp(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a cluster needs seconds to form")
	}
	w := newWorld(t, redistest.RunCluster(t).Server)
	w.replicas = keyspace.Replicas{Count: 1, Timeout: waiting}
	_, w.engine = w.replica()
	w.put("s1", "booking", booking)
	for range 2 {
		_, err := w.say("m1", `book {"day":"monday"}`)
		require.ErrorIs(t, err, keyspace.ErrReplicas)
		w.rest()
	}
	require.Len(t, w.events.payloads("tool.trigger.clinic.s1.book"), 1)
}
