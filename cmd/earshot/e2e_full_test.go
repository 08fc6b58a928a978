package main

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/repositories"
)

// fill sets Redis's maxmemory below what it uses: whatever is written is too much.
func (w *world) fill() {
	w.t.Helper()
	require.NoError(w.t, w.client().ConfigSet(w.t.Context(), "maxmemory", "1mb").Err())
	require.ErrorContains(w.t, w.client().Set(w.t.Context(), "more", strings.Repeat("x", 100), 0).Err(), "OOM")
}

// drain takes the bound off again.
func (w *world) drain() {
	w.t.Helper()
	require.NoError(w.t, w.client().ConfigSet(w.t.Context(), "maxmemory", "0").Err())
}

func TestWithRedisFullWhatFreesOrRevokesStillWorks(t *testing.T) {
	t.Parallel()
	w, sink := serving(t, 1), newSink(t)
	w.put("/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"book","url":"`+sink.URL+`"}]}`)
	w.put("/v1/apps/clinic/repositories/old", `{"tools":[{"name":"old"}]}`)
	w.put("/v1/apps/other", `{}`)
	w.put("/v1/apps/other/repositories/desk", `{"tools":[{"name":"book"}]}`)
	key := read[struct{ KeyID, Key string }](t, w.call(201, "POST", "/v1/apps/clinic/keys", `{"name":"stolen","scopes":["messages"]}`))
	with := func(status int, method, path, body string) answer {
		return w.call(status, method, path, body, "Authorization", "Bearer "+key.Key)
	}
	with(200, "POST", messages("s1"), message("m1", "hello"))
	w.say("s2", "m1", "hello")
	w.rest()
	w.nats.Stop() // what fires now is owed
	require.Equal(t, "pending", w.fire("s1", "book", "{}").Event.State)

	w.fill()
	got := with(503, "POST", messages("s1"), message("m2", "hello"))
	require.Contains(t, got.Body, "Redis is full")
	require.NotEmpty(t, got.Header.Get("Retry-After"))
	require.Contains(t, w.call(503, "PUT", "/v1/apps/clinic/repositories/new", `{"tools":[]}`).Body, "Redis is full")
	require.Contains(t, w.call(503, "GET", "/readyz", "").Body, "redis is full")
	w.until("the metric and the log say it", func() bool {
		return strings.Contains(w.call(200, "GET", "/metrics", "").Body, "\nearshot_redis_full 1\n") &&
			strings.Count(w.replicas[0].log.String(), "redis.full") == 1
	})

	w.nats.Start()
	w.until("what was owed is delivered", func() bool { return len(w.events("tool.trigger.clinic.s1.book")) == 1 })
	w.until("its record says so", func() bool {
		return strings.Contains(w.call(200, "GET", "/v1/apps/clinic/triggers", "").Body, `"state":"published"`)
	})
	w.call(204, "DELETE", "/v1/apps/clinic/keys/"+key.KeyID, "")
	with(401, "GET", messages("s1"), "")
	w.call(204, "DELETE", "/v1/apps/clinic/repositories/old", "")
	w.call(204, "DELETE", "/v1/apps/clinic/sessions/s1", "")
	require.JSONEq(t, `{"items":[]}`, w.call(200, "GET", messages("s1"), "").Body)
	idle := repositories.KeysOf("clinic").Idle()
	require.NoError(t, w.client().Eval(t.Context(), "#!lua flags=allow-oom\nredis.call('ZADD', KEYS[1], 1, 'clinic/s2') return 1", []string{idle}).Err())
	w.until("the other session expires", func() bool {
		return w.client().Exists(t.Context(), repositories.KeysOf("clinic").Turns("s2")).Val() == 0
	})
	w.call(204, "DELETE", "/v1/apps/other", "")
	w.call(404, "GET", "/v1/apps/other", "")
	w.rest()
	require.Contains(t, w.call(503, "GET", "/readyz", "").Body, "redis is full", "so far it was")

	w.drain()
	w.until("it is ready again", func() bool { return w.ask(w.replicas[0], "GET", "/readyz", "").Status == http.StatusOK })
	require.Len(t, w.say("s1", "m2", "call book {}").Matches, 1)
	w.until("the metric says it", func() bool {
		return strings.Contains(w.call(200, "GET", "/metrics", "").Body, "\nearshot_redis_full 0\n")
	})
}

func TestKeyThatWasNotUsedForAWhileIsGoodWithRedisFull(t *testing.T) {
	t.Parallel()
	w := serving(t, 1)
	key := read[struct{ KeyID, Key string }](t, w.call(201, "POST", "/v1/apps/clinic/keys", `{"scopes":["app"]}`))
	long := strconv.FormatInt(time.Now().Add(-time.Hour).UnixMilli(), 10)
	require.NoError(t, w.client().HSet(t.Context(), repositories.KeysOf("clinic").KeyUses(), key.KeyID, long).Err())
	w.fill()
	w.call(204, "DELETE", "/v1/apps/clinic/keys/"+key.KeyID, "", "Authorization", "Bearer "+key.Key)
	w.drain()
}
