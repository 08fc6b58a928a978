package api_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"earshot/api"
	"earshot/api/admission"
	"earshot/api/ratelimit"
)

// TestAFloodOfATokenIsRefusedUnread goes on with a token whose limit is reached.
func TestAFloodOfATokenIsRefusedUnread(t *testing.T) {
	number, now := 0, time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	w := live(t, everything, func(o *api.Options) {
		o.Metrics = prometheus.NewRegistry()
		o.Walls = ratelimit.New(admission.Bounds{}, o.Metrics, func() time.Time { return now })
	})
	w.call("PUT", "/v1/apps/clinic", `{"settings":{"limits":{"sessionMessagesPerMinute":1}}}`).is(201, "")
	token := w.call("POST", "/v1/apps/clinic/sessions/s1/token", "").made().Token
	neighbour := w.call("POST", "/v1/apps/clinic/sessions/s2/token", "").made().Token
	posts := func(session, credential string) answer {
		number++
		return w.posts("/v1/apps/clinic/sessions/"+session+"/messages", fmt.Sprintf(`{"messageId":"n%d","actor":"user","text":"Hello"}`, number), credential)
	}
	posts("s1", token).is(200, "")
	for range 20 {
		posts("s1", token).problem(429, "sessionMessagesPerMinute is reached")
	}
	unread := func() answer { return w.posts(messagesPath, "no JSON at all", token) }
	unread().problem(429, "this session goes on although its limits are reached")
	require.Equal(t, "1", unread().Header.Get("Retry-After"))

	w.call("GET", messagesPath, "", "Authorization: Bearer "+token).is(200, "")
	posts("s2", neighbour).is(200, "")
	posts("s1", adminKey).problem(429, "sessionMessagesPerMinute is reached")

	w.call("PATCH", "/v1/apps/clinic", `{"settings":{"limits":{"sessionMessagesPerMinute":100}}}`).is(200, "")
	unread().problem(429, "this session goes on")
	now = now.Add(time.Second)
	posts("s1", token).is(200, "")
}
