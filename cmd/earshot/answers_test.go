package main

import (
	"net/http"
	"regexp"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"earshot/emitter"
	"earshot/repositories/keyspace"
)

// publishAnswer publishes an answer as any subscriber may, and waits until the stream has it.
func (w *world) publishAnswer(triggerID, body string) time.Time {
	w.t.Helper()
	js, err := jetstream.New(w.nats.Connect())
	require.NoError(w.t, err)
	subject := "answer.clinic." + triggerID
	w.until("it is published", func() bool { // the stream is made beside all else
		_, err := js.Publish(w.t.Context(), subject, []byte(body))
		return err == nil
	})
	stored := w.nats.Stored(emitter.StreamIn, subject)
	return stored[len(stored)-1].Time
}

// dueAt moves the end of the hour in which the one answer that is waited for may come.
func (w *world) dueAt(end time.Time) {
	w.t.Helper()
	client, keys := w.client(), keyspace.KeysOf("clinic")
	waiting := client.ZRange(w.t.Context(), keys.Lane(keyspace.LaneCalls), 0, -1).Val()
	require.Len(w.t, waiting, 1)
	require.NoError(w.t, client.HSet(w.t.Context(), keys.Effect(waiting[0]), "created", end.Add(-time.Hour).UnixMilli()).Err())
	require.NoError(w.t, client.ZAddXX(w.t.Context(), keys.Lane(keyspace.LaneCalls), redis.Z{Score: float64(end.UnixMilli()), Member: waiting[0]}).Err())
	require.NoError(w.t, client.ZAdd(w.t.Context(), keys.Due(), redis.Z{Score: float64(end.UnixMilli()), Member: string(keyspace.LaneCalls) + "/clinic"}).Err())
}

// callOf is where the call of a trigger stands.
func (w *world) callOf(triggerID string) callState {
	w.t.Helper()
	return *read[matched](w.t, w.call(200, "GET", "/v1/apps/clinic/triggers/"+triggerID, "")).Call
}

const asksForAnAnswer = `{"tools":[{"name":"turn","answer":{"within":"1h"},"request":{"timeout":"1m"}},
	{"name":"wave","answer":{"within":"1h"},"request":{"timeout":"1ms"}}]}`

func TestAMessageIsAnsweredByWhoeverSubscribes(t *testing.T) {
	t.Parallel()
	w := serving(t, 2)
	w.put("/v1/apps/clinic", `{"settings":{"chatModeEnabled":true}}`)
	w.put("/v1/apps/clinic/repositories/desk", asksForAnAnswer)
	said := make(chan httpAnswer, 1)
	go func() { said <- w.ask(w.replicas[0], "POST", messagesPath("s1"), messageBody("m1", "call turn {}")) }()
	var asked []storedEvent
	w.until("it is asked for", func() bool {
		asked = w.events("tool.trigger.clinic.s1.turn")
		return len(asked) == 1
	})
	place := asked[0].Payload["answer"].(map[string]any)
	id := asked[0].Payload["id"].(string)
	require.Equal(t, map[string]any{"subject": "answer.clinic." + id, "url": "/v1/apps/clinic/triggers/" + id + "/answer"}, place)

	w.publishAnswer(id, "not an answer")
	w.publishAnswer(id, `{"ok":true,"result":{"page":7}}`)
	posted := read[posted](t, <-said)
	require.Equal(t, &callState{State: "delivered", Attempts: 1, Result: map[string]any{"page": 7.0}}, posted.Matches[0].Call)
	require.NotNil(t, posted.Reply, "the reply is written with the result in hand")

	got := w.ask(w.replicas[1], "POST", place["url"].(string), `{"ok":false,"error":"no, after all"}`)
	require.Equal(t, http.StatusOK, got.Status, got.Body)
	require.Equal(t, "delivered", read[matched](t, got).Call.State, "the first holds")
	w.rest()
	results := w.events("tool.result.clinic.s1.turn")
	require.Len(t, results, 1)
	require.Equal(t, map[string]any{"page": 7.0}, results[0].Payload["result"])
}

func TestAnAnswerCountsThatWasPublishedInTimeWhileEveryReplicaWasDown(t *testing.T) {
	t.Parallel()
	w := serving(t, 1)
	w.put("/v1/apps/clinic/repositories/desk", asksForAnAnswer)
	fired := w.fire("s1", "wave", "{}")
	require.Equal(t, "pending", fired.Call.State)
	require.Zero(t, w.replicas[0].stop())
	end := w.publishAnswer(fired.TriggerID, `{"ok":true,"result":"in time"}`)
	w.publishAnswer(fired.TriggerID, `{"ok":true,"result":"later"}`)
	w.dueAt(end.Add(time.Millisecond))

	w.replicas = nil
	w.serve()
	w.until("it is found", func() bool { return w.callOf(fired.TriggerID).State == "delivered" })
	require.Equal(t, "in time", w.callOf(fired.TriggerID).Result)
}

func TestATriggerIsNotGivenUpWhileNATSMayHaveItsAnswer(t *testing.T) {
	t.Parallel()
	w := serving(t, 1)
	w.put("/v1/apps/clinic/repositories/desk", asksForAnAnswer)
	fired := w.fire("s1", "wave", "{}")
	w.nats.Stop()
	w.dueAt(time.Now().Add(-time.Second))
	w.replicas[0].log.Await(t, regexp.QuoteMeta(`"kind":"answer"`))
	require.Equal(t, "pending", w.callOf(fired.TriggerID).State)
	w.nats.Start()
	w.until("its time is over", func() bool { return w.callOf(fired.TriggerID).State == "failed" })
	require.Equal(t, "timeout", w.callOf(fired.TriggerID).Reason)
	got := w.ask(w.replicas[0], "POST", "/v1/apps/clinic/triggers/"+fired.TriggerID+"/answer", `{"ok":true}`)
	require.Equal(t, http.StatusConflict, got.Status, "too late: %s", got.Body)
	w.until("it is told", func() bool { return len(w.events("tool.result.clinic.s1.wave")) == 1 })
}
