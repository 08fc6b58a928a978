package ratelimit_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"earshot/api"
	"earshot/api/admission"
	"earshot/api/answer"
	"earshot/api/ratelimit"
	"earshot/deploy/testbed/apitest"
)

func body(memory *ratelimit.Memory, of ratelimit.Payer, size int, most int64) *ratelimit.Body {
	request := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(strings.Repeat("x", size)))
	request.ContentLength = most // whatever is announced
	return memory.Hold(request, of, most)
}

// TestOnlyWhatHasArrivedIsBooked announces much, sends little, and then the rest.
func TestOnlyWhatHasArrivedIsBooked(t *testing.T) {
	memory := ratelimit.NewMemory(1 << 20)
	sent, rest := io.Pipe()
	request := httptest.NewRequest(http.MethodPost, "/", sent)
	request.ContentLength = 1 << 20
	held := memory.Hold(request, ratelimit.Payer{App: "clinic"}, 1<<20)
	arrived := make([]byte, 1)
	go func() { _, _ = rest.Write([]byte("x")) }()
	_, err := held.Read(arrived)
	require.NoError(t, err)
	require.Zero(t, memory.Taken(), "a byte of a megabyte that was announced")
	go func() {
		_, _ = rest.Write(bytes.Repeat([]byte("x"), 100_000))
		_ = rest.Close()
	}()
	whole, err := io.ReadAll(held)
	require.NoError(t, err)
	require.Len(t, whole, 100_000)
	require.GreaterOrEqual(t, memory.Taken(), int64(100_001-4096))
	require.Less(t, memory.Taken(), int64(2*100_000))
	held.Free()
	held.Free()
	require.Zero(t, memory.Taken())
}

// TestAnAppLeavesMemoryForOthers lets one app take all it can, then one caller of another.
func TestAnAppLeavesMemoryForOthers(t *testing.T) {
	const most = 16 << 20
	memory := ratelimit.NewMemory(most)
	var open []*ratelimit.Body
	fill := func(of ratelimit.Payer) (bodies int) {
		for {
			one := body(memory, of, 512<<10, 512<<10)
			open = append(open, one)
			if _, err := io.ReadAll(one); err != nil {
				require.Equal(t, http.StatusServiceUnavailable, answer.ProblemOf(err).Status)
				return bodies
			}
			bodies++
		}
	}
	require.InDelta(t, most/2/(512<<10), fill(ratelimit.Payer{App: "clinic"}), 1, "alone an app has half")
	require.InDelta(t, most/16/(512<<10), fill(ratelimit.Payer{App: "rival", Caller: "rival/s1"}), 1, "a token has a sixteenth")
	require.Positive(t, fill(ratelimit.Payer{App: "rival", Caller: "rival/s2"}), "beside which another of its app has its own")
	require.Positive(t, fill(ratelimit.Payer{App: "third"}))
	for _, one := range open {
		one.Free()
	}
	require.Zero(t, memory.Taken())
}

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
