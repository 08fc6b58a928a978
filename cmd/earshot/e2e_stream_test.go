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

// deny makes a user of NATS that may do all but publish on one subject.
func deny(subject string) func(*server.Options) {
	return func(o *server.Options) {
		o.Username, o.Password = "operator", "o"
		o.Users = []*server.User{
			{Username: "operator", Password: "o"},
			{Username: "earshot", Password: "p", Permissions: &server.Permissions{Publish: &server.SubjectPermission{Deny: []string{subject}}}},
		}
	}
}

func TestADeniedSubjectIsSeen(t *testing.T) {
	t.Parallel()
	w := newWorld(t, deny("app.clinic.desk.ring"))
	w.env["NATS_URL"] = strings.Replace(w.nats.URL(), "nats://", "nats://earshot:p@", 1)
	w.serve()
	w.put("/v1/apps/clinic", `{"name":"Clinic"}`)
	w.tool(`"emitter":"desk.ring"`)
	fired := w.fire("s1", "book", "{}")
	require.Equal(t, "published", fired.Event.State)
	require.Equal(t, "pending", fired.Emitter.State)
	body := w.call(http.StatusServiceUnavailable, "GET", "/readyz", "").Body
	require.Contains(t, body, "nats refuses events: it denies them to the user")
	require.NotContains(t, body, "clinic", "a probe tells strangers nothing of apps")
	require.Contains(t, w.call(200, "GET", "/metrics", "").Body, "\nearshot_publish_denied 1\n")
}
