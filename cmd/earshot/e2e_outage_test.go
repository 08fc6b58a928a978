package main

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEventsOfABrokerThatIsDownFollowInOrderWhenItIsBack(t *testing.T) {
	t.Parallel()
	w, sink := serving(t, 2), newSink(t)
	w.put("/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"book","url":"`+sink.URL+`","emitter":"calendar.request",
		"schema":[{"parameter":"day","type":"string"}]}]}`)
	w.rest()
	w.nats.Stop()
	days := []string{"monday", "tuesday", "wednesday", "thursday", "friday"}
	for i, day := range days {
		got := w.ask(w.replicas[i%2], "POST", messages("s1"), message("", `call book {"day":"`+day+`"}`))
		require.Equal(t, http.StatusOK, got.Status, got.Body)
		found := read[posted](t, got).Matches[0]
		require.Equal(t, "pending", found.Event.State)
		require.Equal(t, "pending", found.Emitter.State)
		require.Equal(t, "delivered", found.Call.State, "a broker that is down holds no call up")
	}
	require.Equal(t, http.StatusServiceUnavailable, w.ask(w.replicas[0], "GET", "/readyz", "").Status)
	require.Contains(t, w.call(200, "GET", "/v1/apps/clinic/triggers?state=pending&limit=100", "").Body, `"monday"`)

	w.nats.Start()
	w.rest()
	for _, subject := range []string{"tool.trigger.clinic.s1.book", "app.clinic.calendar.request"} {
		var order []string
		for _, one := range w.events(subject) {
			order = append(order, one.Payload["values"].(map[string]any)["day"].(string))
		}
		require.Equal(t, days, order)
	}
	require.Len(t, w.events("tool.result.clinic.s1.book"), len(days))
	require.Len(t, sink.requests(), len(days))
	require.JSONEq(t, `{"items":[]}`, w.call(200, "GET", "/v1/apps/clinic/triggers?state=pending", "").Body)
	w.until("it is ready again", func() bool { return w.ask(w.replicas[0], "GET", "/readyz", "").Status == http.StatusOK })
	require.Equal(t, "published", w.say("s1", "", `call book {"day":"saturday"}`).Matches[0].Event.State)
}

func TestWithoutRedisItIsUnavailableAndHealsWithoutARestart(t *testing.T) {
	t.Parallel()
	w := serving(t, 2)
	w.put("/v1/apps/clinic/sessions/s1/repositories/desk", `{"tools":[{"name":"book"}]}`)
	w.rest()
	w.redis.Kill()
	for _, got := range together(4, func(i int) answer {
		return w.ask(w.replicas[i%2], "POST", messages("s1"), message("m1", "call book {}"))
	}) {
		require.Equal(t, http.StatusServiceUnavailable, got.Status, got.Body)
		require.Equal(t, "application/problem+json", got.Header.Get("Content-Type"))
		require.NotEmpty(t, got.Header.Get("Retry-After"))
	}
	w.call(503, "GET", "/v1/apps/clinic", "")
	require.Contains(t, w.call(503, "GET", "/readyz", "").Body, "redis")
	w.call(200, "GET", "/healthz", "")

	w.redis.Start()
	for _, r := range w.replicas {
		w.until("it is ready again", func() bool { return w.ask(r, "GET", "/readyz", "").Status == http.StatusOK })
	}
	require.JSONEq(t, `{"items":[]}`, w.call(200, "GET", messages("s1"), "").Body, "nothing was stored")
	require.Len(t, w.say("s1", "m1", "call book {}").Matches, 1)
	w.rest()
	require.Len(t, w.events("tool.trigger.clinic.s1.book"), 1)
}

func TestServiceStartsBeforeItsServers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.redis.Stop()
	w.nats.Stop()
	r := launch(t, w.env, "serve")
	r.url = r.log.await(t, startedAt)
	w.replicas = append(w.replicas, r)
	w.call(200, "GET", "/healthz", "")
	require.Regexp(t, "redis.*nats", w.call(503, "GET", "/readyz", "").Body)
	w.call(503, "PUT", "/v1/apps/clinic", `{}`)
	w.redis.Start()
	w.nats.Start()
	w.until("it is ready", func() bool { return w.ask(r, "GET", "/readyz", "").Status == http.StatusOK })
	w.call(201, "PUT", "/v1/apps/clinic", `{}`)
	require.Zero(t, r.stop())
}
