package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/deploy/testbed/natstest"
	"earshot/deploy/testbed/redistest"
)

// The least program keeps the promise that Earshot is measured by, or its figures say nothing.
func TestWhatThePromiseHasAcceptedIsDecidedOnceThoughItDies(t *testing.T) {
	const messages = 20
	back := make(chan struct{}) // closed when the model answers
	model := testbed.Serve(t, "", http.HandlerFunc(func(out http.ResponseWriter, request *http.Request) {
		<-back
		answering(0).ServeHTTP(out, request)
	}))
	answer := sync.OnceFunc(func() { close(back) })
	t.Cleanup(answer)
	folder := t.TempDir()
	redis, nats := redistest.Run(t), natstest.Run(t)
	w := &world{t: t, folder: folder}
	s := w.play("promise", role{Name: rolePromise, Redis: redis.URL(), NATS: nats.URL(), LLM: model + "/v1", Lease: time.Second})
	c := newClient(s, messages)
	require.NoError(t, workload{app: "kept", tools: 3}.register(t.Context(), c))
	post := func(ctx context.Context, i int, text string) (testbed.Answer, error) {
		body := testbed.Got(json.Marshal(map[string]any{"messageId": fmt.Sprint("m", i), "actor": "user", "text": text}))(t)
		return c.Ask(ctx, http.MethodPost, fmt.Sprintf("/v1/apps/kept/sessions/s%d/messages", i%3), string(body))
	}
	text := func(i int) string { return calling("Please", toolName(i%3)) }
	for i := range messages {
		go func() { _, _ = post(t.Context(), i, text(i)) }()
	}
	published := func() int { return len(nats.Stored("FLOOR", "")) }
	owes := func(n int64) func() bool {
		return func() bool {
			owed, err := redis.Client().ZCard(t.Context(), promiseOwed("kept")).Result()
			return err == nil && owed == n
		}
	}
	require.Eventually(t, owes(messages), time.Minute, time.Millisecond)
	s.Kill()
	answer()
	require.NoError(t, s.Start())
	require.Eventually(t, owes(0), time.Minute, time.Millisecond)

	require.EqualValues(t, messages, published())
	for i := range messages {
		var record struct{ Name, Text, MessageID string }
		require.NoError(t, c.send(t.Context(), http.MethodGet, fmt.Sprintf("/v1/apps/kept/triggers/s%d-m%d-0", i%3, i), nil, &record))
		require.Equal(t, toolName(i%3), record.Name)
		require.Equal(t, text(i), record.Text)
		again := testbed.Got(post(t.Context(), i, text(i)))(t)
		require.Equal(t, http.StatusOK, again.Status)
		require.Contains(t, string(again.Body), fmt.Sprintf(`"triggerId":"s%d-m%d-0"`, i%3, i))
	}
	require.EqualValues(t, messages, published(), "none is published again")
	require.Equal(t, http.StatusConflict, testbed.Got(post(t.Context(), 0, "something else"))(t).Status)
	c.Key = "guessed"
	require.Equal(t, http.StatusUnauthorized, testbed.Got(post(t.Context(), 99, text(0)))(t).Status)
}
