package ratelimit_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"earshot/api"
	"earshot/api/admission"
	"earshot/api/ratelimit"
	"earshot/deploy/testbed/apitest"
)

// TestAFloodOfATokenIsRefusedUnread continues with a token over its limit.
func TestAFloodOfATokenIsRefusedUnread(t *testing.T) {
	number, now := 0, time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	w := apitest.Live(t, apitest.Everything, func(o *api.Options) {
		o.Metrics = prometheus.NewRegistry()
		o.Walls = ratelimit.New(admission.Bounds{}, o.Metrics, func() time.Time { return now })
	})
	w.Call("PUT", "/v1/apps/clinic", `{"settings":{"limits":{"sessionMessagesPerMinute":1}}}`).Is(201, "")
	token := w.Call("POST", "/v1/apps/clinic/sessions/s1/token", "").Made().Token
	neighbour := w.Call("POST", "/v1/apps/clinic/sessions/s2/token", "").Made().Token
	posts := func(session, credential string) apitest.Answer {
		number++
		return w.Post("/v1/apps/clinic/sessions/"+session+"/messages", fmt.Sprintf(`{"messageId":"n%d","actor":"user","text":"Hello"}`, number), credential)
	}
	posts("s1", token).Is(200, "")
	for range 20 {
		posts("s1", token).Problem(429, "sessionMessagesPerMinute is reached")
	}
	unread := func() apitest.Answer { return w.Post(apitest.MessagesPath, "no JSON at all", token) }
	unread().Problem(429, "this session keeps sending although its limits are reached")
	require.Equal(t, "1", unread().Header.Get("Retry-After"))

	w.Call("GET", apitest.MessagesPath, "", "Authorization: Bearer "+token).Is(200, "")
	posts("s2", neighbour).Is(200, "")
	posts("s1", apitest.AdminKey).Problem(429, "sessionMessagesPerMinute is reached")

	w.Call("PATCH", "/v1/apps/clinic", `{"settings":{"limits":{"sessionMessagesPerMinute":100}}}`).Is(200, "")
	unread().Problem(429, "this session keeps sending")
	now = now.Add(time.Second)
	posts("s1", token).Is(200, "")
}
