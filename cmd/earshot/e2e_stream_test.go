package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"earshot/emitter"
)

func TestAFullStreamIsSeenAndWhatIsOwedGoesOutWhenItIsEmptied(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.env["EARSHOT_STREAM_MAX_BYTES"] = "64KiB"
	r := w.serve()
	w.put("/v1/apps/clinic", `{"name":"Clinic"}`)
	w.tool(`"schema":[{"parameter":"n","type":"string"}]`)
	fired := 0
	var pending match
	w.until("the stream is full", func() bool {
		fired++
		pending = w.fire("s1", "book", fmt.Sprintf(`{"n":"%d %s"}`, fired, strings.Repeat("x", 9000)))
		return pending.Event.State == "pending"
	})
	require.Contains(t, w.call(503, "GET", "/readyz", "").Body, "nats refuses events: its stream is full")
	require.Contains(t, w.call(200, "GET", "/metrics", "").Body, "\nearshot_stream_full 1\n")
	require.Equal(t, 1, strings.Count(r.log.String(), `"msg":"stream.full"`))
	before := w.events("tool.trigger.>")

	w.nats.Purge(emitter.Stream)
	w.rest()
	after := w.events("tool.trigger.>")
	require.Equal(t, fired, len(before)+len(after), "none was lost, none was dropped for a newer one")
	require.Equal(t, pending.TriggerID, after[len(after)-1].Payload["id"])
	w.call(200, "GET", "/readyz", "")
	require.Contains(t, w.call(200, "GET", "/metrics", "").Body, "\nearshot_stream_full 0\n")
	require.Equal(t, 1, strings.Count(r.log.String(), `"msg":"stream.room"`))
}

func TestTheStreamTakesTheLimitsOfTheFlags(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, c := range []struct {
		flags []string
		age   time.Duration
		bytes int64
	}{
		{nil, 168 * time.Hour, 4 << 30},
		{[]string{"--stream-max-age", "1s", "--stream-max-bytes", "1000000"}, time.Second, 1000000},
		{[]string{"--stream-max-age=48h", "--stream-max-bytes=512MiB"}, 48 * time.Hour, 512 << 20},
	} {
		require.Zero(t, w.serve(c.flags...).stop())
		config := w.nats.StreamConfig(emitter.Stream)
		require.Equal(t, c.age, config.MaxAge)
		require.Equal(t, c.bytes, config.MaxBytes)
		require.Equal(t, jetstream.DiscardNew, config.Discard)
	}
}

func TestAnEventThatIsDeniedIsGivenUpAndItsSessionGoesOn(t *testing.T) {
	t.Parallel()
	operator, user := &server.User{Username: "operator", Password: "o"}, &server.User{Username: "earshot", Password: "p"}
	user.Permissions = &server.Permissions{Publish: &server.SubjectPermission{Deny: []string{"app.clinic.desk.ring"}}}
	w := newWorld(t, func(o *server.Options) {
		o.Username, o.Password, o.Users = operator.Username, operator.Password, []*server.User{operator, user}
	})
	w.env["NATS_URL"] = strings.Replace(w.nats.URL(), "nats://", "nats://earshot:p@", 1)
	w.serve()
	w.put("/v1/apps/clinic", `{"name":"Clinic"}`)
	w.put("/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"book","emitter":"desk.ring"},{"name":"wave"}]}`)
	denied := w.fire("s1", "book", "{}")
	require.Equal(t, "published", denied.Event.State)
	require.Equal(t, "pending", denied.Emitter.State)
	behind := w.fire("s1", "wave", "{}")
	require.Equal(t, "pending", behind.Event.State, "events of a session keep their order")
	require.Equal(t, "published", w.fire("s2", "wave", "{}").Event.State, "other sessions go on")

	body := w.call(http.StatusServiceUnavailable, "GET", "/readyz", "").Body
	require.Contains(t, body, "nats refuses events: it denies them to the user")
	require.NotContains(t, body, "clinic", "a probe tells strangers nothing of apps")
	require.Contains(t, w.call(200, "GET", "/metrics", "").Body, "\nearshot_publish_denied 1\n")

	// What is owed for a quarter of an hour is given up. The time is moved, not waited for.
	for _, key := range w.client().Keys(t.Context(), "*:effect:clinic:*").Val() {
		require.NoError(t, w.client().HIncrBy(t.Context(), key, "created", -15*time.Minute.Milliseconds()).Err())
	}
	w.until("the session goes on", func() bool { return len(w.events("tool.trigger.clinic.s1.wave")) == 1 })
	require.Contains(t, w.call(200, "GET", "/v1/apps/clinic/triggers?state=failed", "").Body, denied.TriggerID)
	require.Contains(t, w.call(200, "GET", "/v1/apps/clinic/triggers/"+denied.TriggerID, "").Body, "has no permission for")
	require.Empty(t, w.events("app.>"))

	user.Permissions = nil
	w.nats.Restart()
	w.call(http.StatusAccepted, "POST", "/v1/apps/clinic/triggers/"+denied.TriggerID+"/retry", "")
	w.until("it is published", func() bool { return len(w.events("app.clinic.desk.ring")) == 1 })
	w.until("all is well", func() bool { return w.ask(w.replicas[0], "GET", "/readyz", "").Status == http.StatusOK })
}
